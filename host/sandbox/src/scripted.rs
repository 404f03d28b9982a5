//! The scenarios of the host: those of a tester's file, and those that every sandbox has besides the generator's.

use std::sync::LazyLock;

use assay_domain::{Address, address};
use assay_registry::{MockSubject, Scenario};

use crate::{
    condition::{Condition, PaymentOutcome},
    failure::{Failure, ModelFault},
};

/// A scenario with its condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scripted {
    pub scenario: Scenario,
    pub condition: Condition,
}

/// Conditions that a generator of `wit/v2` cannot state.
pub(crate) static SHIPPED: LazyLock<Vec<Scripted>> = LazyLock::new(|| {
    let failing = |failure| Condition { failure: Some(failure), ..Condition::default() };
    let address = |address: Address, id: &str, title: &str, description: &str, condition| Scripted {
        scenario: Scenario {
            id: id.to_owned(),
            title: title.to_owned(),
            subject: MockSubject::Address(address),
            description: description.to_owned(),
        },
        condition,
    };
    vec![
        address(
            address!("0x0000000000000000000000000000000000000201"),
            "timed-out",
            "An answer that takes too long",
            "504 with `Retry-After: 1`: the wallet was not read in time.",
            failing(Failure::TooSlow),
        ),
        address(
            address!("0x0000000000000000000000000000000000000202"),
            "model-failed",
            "A fault of the model",
            "500 with the code `trap` for a score and a report; sums and holdings are answered.",
            failing(Failure::Model(ModelFault::Trap)),
        ),
        address(
            address!("0x0000000000000000000000000000000000000203"),
            "units-used-up",
            "No units left",
            "429 with the code `units_used_up` and no `Retry-After`.",
            failing(Failure::UnitsUsedUp),
        ),
        address(
            address!("0x0000000000000000000000000000000000000204"),
            "not-scored",
            "A wallet that the model refuses",
            "404 with the code `not_scored` for a score; the report has no score.",
            failing(Failure::NotScored),
        ),
        address(
            address!("0x0000000000000000000000000000000000000205"),
            "recovers",
            "Overloaded twice",
            "503 with `Retry-After` for the first two scores or reports of a key, and then the plain answer.",
            Condition { requests: Some(2), ..failing(Failure::Busy) },
        ),
        Scripted {
            scenario: Scenario {
                id: "payment-accepted".to_owned(),
                title: "A payment that is settled".to_owned(),
                subject: MockSubject::Agent(114),
                description: "Without a key: 402 with the terms, and a payment that meets them buys the submission."
                    .to_owned(),
            },
            condition: Condition { payment: Some(PaymentOutcome::Accepted), ..Condition::default() },
        },
    ]
});
