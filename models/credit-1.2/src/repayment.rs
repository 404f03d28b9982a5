//! Repayment History: the liquidations behind a wallet, and how long ago the last one was.

use crate::{
    scorecard::{factor, whole},
    seen::Seen,
    table::{EVER, FADE_DAYS, MOST_LIQUIDATIONS, RECENCY, REPAYMENT, REPEATED},
    types::Factor,
    words::{ago, count},
};

/// Repayments are counted in words alone: in no set did their number tell who is liquidated.
pub fn points(seen: &Seen) -> i32 {
    let Some(days) = seen.liquidation_days else { return whole(f64::from(REPAYMENT)) };
    let recency = FADE_DAYS / (FADE_DAYS + days);
    let times = libm::log(1.0 + (seen.liquidations as f64).min(MOST_LIQUIDATIONS));
    whole(f64::from(REPAYMENT) - (EVER + RECENCY * recency + REPEATED * (recency * times)))
}

pub fn explain(seen: &Seen) -> Factor {
    factor("Repayment History", points(seen), REPAYMENT, describe(seen))
}

fn describe(seen: &Seen) -> String {
    let repaid = count(seen.repays, "repayment", "repayments");
    match seen.liquidation_days {
        None if seen.repays == 0 => {
            "No liquidation and no repayment of yours was found; keeping your debt small helps.".into()
        }
        None => format!("You made {repaid} and were never liquidated; keeping it so is all there is to do."),
        Some(days) => {
            let times = count(seen.liquidations, "time", "times");
            let last = if seen.dated { format!(", last {}", ago(days)) } else { String::new() };
            format!("You were liquidated {times}{last}; most of what this takes away fades within months.")
        }
    }
}
