//! The risk: what five factors add to nothing.

use crate::{
    RiskAssessment, identity,
    trace::Trace,
    types::{Factor, Features, Rating},
};

/// The risk of `features`, the same to the bit wherever it is computed.
pub fn risk(features: &Features) -> RiskAssessment {
    let trace = Trace::of(features);
    let factors =
        vec![age(&trace), transactions(&trace), counterparties(&trace), timing(&trace), attestations(features)];
    let risk = factors.iter().fold(0, |sum, factor| sum + factor.points.unsigned_abs());
    RiskAssessment { risk, factors }
}

/// A wallet farm is set up for one season; two years is longer than any has waited.
fn age(trace: &Trace) -> Factor {
    let points = match trace.age_days {
        None | Some(0..7) => 25,
        Some(7..30) => 21,
        Some(30..180) => 15,
        Some(180..365) => 9,
        Some(365..730) => 4,
        Some(730..) => 0,
    };
    let description = match trace.age_days {
        None => "No transaction of yours was found; a wallet in use for two years shows a person.".into(),
        Some(days) => format!(
            "Your first transaction was {days} day{} ago; a wallet in use for two years shows a person.",
            s(days)
        ),
    };
    factor("Wallet Age", points, 25, description)
}

/// Farms do the few transactions that a reward asks for, and no more.
fn transactions(trace: &Trace) -> Factor {
    let sent = trace.transactions;
    let points = match sent {
        0 => 15,
        1..5 => 13,
        5..20 => 9,
        20..100 => 4,
        100.. => 0,
    };
    factor(
        "Transactions",
        points,
        15,
        format!("You have sent {sent} transaction{}; a hundred or more show lasting use.", s(sent)),
    )
}

/// The wallets of a farm deal with one another and with few contracts.
fn counterparties(trace: &Trace) -> Factor {
    let (points, description) = match trace.counterparties {
        _ if trace.transactions == 0 => {
            (15, "You have dealt with nobody yet; dealing with fifty others shows a person.".into())
        }
        None => (
            UNKNOWN_COUNTERPARTIES,
            "Whom you dealt with could not be read; this counts neither for nor against you.".into(),
        ),
        Some(others) => {
            let points = match others {
                0..3 => 15,
                3..10 => 10,
                10..50 => 5,
                50.. => 0,
            };
            (
                points,
                format!("You have dealt with {others} other{}; dealing with fifty shows a person.", s(others.into())),
            )
        }
    };
    factor("Counterparties", points, 15, description)
}

/// Half of what there is, so that a source that does not count is no verdict.
const UNKNOWN_COUNTERPARTIES: i32 = 7;

/// Programs do not sleep, and act in bursts seconds apart.
fn timing(trace: &Trace) -> Factor {
    if trace.transactions == 0 {
        return factor(
            "Timing",
            20,
            20,
            "There is no transaction to judge the timing of; using this wallet on many days shows a person.".into(),
        );
    }
    let hours = match trace.active_hours {
        // Few transactions cannot fill a day: only a full clock tells.
        Some(23..) => 7,
        Some(20..23) => 3,
        Some(_) => 0,
        None => 2,
    };
    let gap = match trace.median_gap {
        Some(0..30) => 7,
        Some(30..300) => 3,
        Some(_) => 0,
        None => 2,
    };
    // One burst and nothing after it is how a reward is collected.
    let days = match trace.active_days {
        Some(0..3) => 6,
        Some(3..15) => 3,
        Some(_) => 0,
        None => 2,
    };
    let description = match (trace.active_days, trace.active_hours) {
        (Some(days), Some(hours)) => {
            format!(
                "You were active on {days} day{}, in {hours} of 24 hours of the day; \
                 many days and a night's rest show a person.",
                s(days.into())
            )
        }
        (Some(days), None) => {
            format!("You were active on {days} day{}; many days with pauses between show a person.", s(days.into()))
        }
        _ => "When you were active could not be read in full; what is missing counts little.".into(),
    };
    factor("Timing", hours + gap + days, 20, description)
}

/// The heaviest beside age, since it is the only one a farm cannot wait for or automate.
fn attestations(features: &Features) -> Factor {
    let missing = identity::FULL - identity::shown(&features.identity);
    let held = features.identity.len() as u64;
    let description = match held {
        0 => "You hold no identity attestation; a verified account or a name would help most.".into(),
        _ => format!(
            "You hold {held} identity attestation{}; verified accounts and names of different providers show a person.",
            s(held)
        ),
    };
    factor("Attestations", missing.cast_signed(), identity::FULL, description)
}

/// A factor that adds `points` of risk out of `possible`. The rating is that of the wallet: no risk is excellent.
fn factor(label: &str, points: i32, possible: u32, description: String) -> Factor {
    let rating = match i64::from(points) * 100 / i64::from(possible) {
        ..=10 => Rating::Excellent,
        11..=30 => Rating::VeryGood,
        31..=50 => Rating::Good,
        51..=75 => Rating::Fair,
        _ => Rating::Low,
    };
    Factor { label: label.into(), rating, description, points, possible }
}

/// The ending of a noun after `n`.
fn s(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}
