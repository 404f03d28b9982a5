//! The scenarios of the host: those of a tester's file, and those that every sandbox has besides the generator's.

use std::{sync::LazyLock, time::Duration};

use assay_domain::{Address, Score, address};
use assay_registry::{MockSubject, Scenario};

use crate::{
    condition::{Condition, PaymentOutcome},
    failure::{Failure, ModelFault},
    watch_step::WatchStep,
};

/// A scenario with its condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Scripted {
    pub scenario: Scenario,
    pub condition: Condition,
    /// What a watch of the wallet reads, the earliest first; empty if it is not watched.
    pub watch: Vec<WatchStep>,
}

/// The steps of the wallet that everything happens to.
fn watched() -> Vec<WatchStep> {
    let step = |at, health_factor, score| WatchStep {
        at: Duration::from_secs(at),
        health_factor: Some(health_factor),
        debt_usd: 5_000.0,
        score: Score::new(score).unwrap_or(Score::MIN),
        unread: false,
        reorganises: false,
        liquidated_usd: None,
    };
    vec![
        step(0, 1.8, 720),
        step(60, 1.2, 610),
        step(120, 1.6, 700),
        WatchStep { unread: true, ..step(180, 1.6, 700) },
        step(900, 1.6, 700),
        step(960, 1.1, 590),
        WatchStep { reorganises: true, ..step(1_020, 1.6, 700) },
        WatchStep { debt_usd: 3_000.0, liquidated_usd: Some(2_000.0), ..step(1_080, 1.5, 540) },
    ]
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
        watch: Vec::new(),
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
            watch: Vec::new(),
        },
        Scripted {
            watch: watched(),
            ..address(
                address!("0x0000000000000000000000000000000000000301"),
                "watched",
                "A watch that everything happens to",
                "A watch of it crosses at 60 s of `PUT /api/v2/sandbox/clock`, clears at 120, is stale at 780 and \
                 current at 900, crosses at 960, is retracted at 1,020 and liquidated at 1,080. Other answers are \
                 plain.",
                Condition::default(),
            )
        },
    ]
});
