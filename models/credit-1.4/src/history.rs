//! Repayment History: the liquidations behind a wallet, whatever it owes now.

use crate::{
    curve,
    factor::{Part, rated},
    seen::Seen,
    table::{FADE_DAYS, LEVEL, MOST_LIQUIDATIONS, RECENT, REPAYMENT, REPEATED},
    types::Factor,
    words::{ago, count},
};

/// The risk that liquidations come back, beside that of the position: it falls with a power of the time since the last
/// one and rises with their number.
pub fn risk(seen: &Seen) -> f64 {
    let Some(days) = seen.liquidation_days else { return 0.0 };
    let recency = libm::log(FADE_DAYS / (FADE_DAYS + days));
    let times = libm::log(1.0 + (seen.liquidations as f64).min(MOST_LIQUIDATIONS));
    1.0 - libm::exp(-libm::exp(LEVEL + RECENT * recency + REPEATED * times))
}

pub fn explain(seen: &Seen, part: Part) -> Factor {
    // Rated by the history, not by the points that it takes beside the position.
    let alone = if seen.liquidations > 0 { curve::lost(risk(seen)) } else { 0.0 };
    rated("Repayment History", alone, part, REPAYMENT, describe(seen))
}

fn describe(seen: &Seen) -> String {
    match seen.liquidation_days {
        None if !seen.borrowed => "No loan of yours was found, so there is no history to judge.".into(),
        None if seen.repays == 0 => {
            "No liquidation and no repayment of yours was found; keeping your debt small helps.".into()
        }
        None => format!(
            "You made {} and were never liquidated; staying far from a liquidation keeps it so.",
            count(seen.repays, "repayment", "repayments")
        ),
        Some(days) => {
            let times = count(seen.liquidations, "time", "times");
            let last = if seen.is_dated { format!(", last {}", ago(days)) } else { String::new() };
            format!("You were liquidated {times}{last}; only time without another one makes up for it.")
        }
    }
}
