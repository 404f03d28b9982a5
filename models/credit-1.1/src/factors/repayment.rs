//! Repayment History: loans repaid, and what liquidations take away.

use super::factor;
use crate::{
    curve::{Curve, faded, whole},
    seen::Seen,
    types::Factor,
    words::{ago, count},
};

/// The most of all: nothing tells more of the next loan than how the last ones went.
const POSSIBLE: u32 = 200;

/// Repayments made. The first is the step from none to some; the median borrower makes two, one in five over ten, one
/// in twenty over thirty.
const REPAYS: Curve = Curve(&[(1.0, 40.0), (3.0, 66.0), (10.0, 90.0), (40.0, 110.0)]);

/// For one repayment to every loan. Loans are often repaid in parts, so more than one is no better than one.
const BALANCED: f64 = 50.0;

/// Days since the first event in a market where something was repaid: three years of loans without harm outweigh three
/// weeks of them.
const BORROWER: Curve = Curve(&[(30.0, 6.0), (180.0, 18.0), (365.0, 27.0), (1095.0, 40.0)]);

/// Points lost to liquidations that happened today. One costs about what three repayments earn; of wallets liquidated
/// once, one in five is liquidated again, so each more costs less, up to what no repayment can make good.
const LIQUIDATIONS: Curve = Curve(&[(1.0, 130.0), (3.0, 190.0), (10.0, 250.0)]);
/// Half of what can fade is left after a year, in which a market has usually turned.
const LIQUIDATION_HALF_DAYS: f64 = 365.0;
/// This share of the loss never fades: it happened. An undated liquidation counts as an old one, so that a date can
/// only take points away.
const LIQUIDATION_STAYS: f64 = 0.3;

pub fn judge(seen: &Seen) -> Factor {
    let points = whole(earned(seen) - lost(seen));
    factor("Repayment History", points, POSSIBLE, describe(seen))
}

fn earned(seen: &Seen) -> f64 {
    if seen.repays == 0 {
        return 0.0;
    }
    // Repaying a loan made elsewhere is repaying all the same.
    let balance = if seen.borrows == 0 { 1.0 } else { (seen.repays as f64 / seen.borrows as f64).min(1.0) };
    REPAYS.at(seen.repays as f64) + BALANCED * balance + BORROWER.at(seen.borrower_days.unwrap_or(0.0))
}

fn lost(seen: &Seen) -> f64 {
    if seen.liquidations == 0 {
        return 0.0;
    }
    let recent = seen.liquidation_days.map_or(0.0, |days| faded(days, LIQUIDATION_HALF_DAYS));
    LIQUIDATIONS.at(seen.liquidations as f64) * (LIQUIDATION_STAYS + (1.0 - LIQUIDATION_STAYS) * recent)
}

fn describe(seen: &Seen) -> String {
    let repaid = count(seen.repays, "repayment", "repayments");
    let loans = count(seen.borrows, "loan", "loans");
    if seen.liquidations > 0 {
        let times = count(seen.liquidations, "time", "times");
        let last = seen.liquidation_days.map_or(String::new(), |days| format!(", last {}", ago(days)));
        return format!(
            "You made {repaid} on {loans} but were liquidated {times}{last}; \
             more collateral, repaying early and time would help."
        );
    }
    match (seen.borrows, seen.repays) {
        (0, 0) => {
            "No loan of yours could be read; borrowing a little and repaying it would help more than anything else."
                .into()
        }
        (_, 0) => {
            format!("You took {loans} and have made no repayment yet; repaying would help more than anything else.")
        }
        (borrows, repays) if repays < borrows => {
            format!("You made {repaid} on {loans} and were never liquidated; repaying what is open would help.")
        }
        (_, repays) if repays < 40 => {
            format!("You made {repaid} on {loans} and were never liquidated; keeping at it would help.")
        }
        _ => format!("You made {repaid} on {loans} and were never liquidated; keeping it so is all there is to do."),
    }
}
