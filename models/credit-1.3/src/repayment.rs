//! Repayment History: the liquidations behind a wallet, and how long ago the last one was.

use crate::{
    factor::factor,
    seen::Seen,
    table::{FADE_DAYS, MOST_LIQUIDATIONS, REPAYMENT, REPEATED, UNREAD_RECENCY, UNREAD_REPEATED},
    types::Factor,
    words::{ago, count},
};

/// The points that the history takes away: little beside a position that was read, more if a debt was not read.
pub fn lost(seen: &Seen) -> f64 {
    let Some(days) = seen.liquidation_days else { return 0.0 };
    let recency = FADE_DAYS / (FADE_DAYS + days);
    let repeated = recency * libm::log(1.0 + (seen.liquidations as f64).min(MOST_LIQUIDATIONS));
    let known = REPEATED * repeated;
    if seen.unread_debt { known.max(UNREAD_RECENCY * recency + UNREAD_REPEATED * repeated) } else { known }
}

pub fn explain(seen: &Seen) -> Factor {
    factor("Repayment History", lost(seen), REPAYMENT, describe(seen))
}

fn describe(seen: &Seen) -> String {
    let repaid = count(seen.repays, "repayment", "repayments");
    match seen.liquidation_days {
        None if !seen.loan => "No loan of yours was found, so there is no history to judge.".into(),
        None if seen.repays == 0 => {
            "No liquidation and no repayment of yours was found; keeping your debt small helps.".into()
        }
        None => format!("You made {repaid} and were never liquidated; staying far from a liquidation keeps it so."),
        Some(days) => {
            let times = count(seen.liquidations, "time", "times");
            let last = if seen.dated { format!(", last {}", ago(days)) } else { String::new() };
            format!("You were liquidated {times}{last}; most of what this takes away fades within months.")
        }
    }
}
