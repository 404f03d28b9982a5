//! Current Position: how near the debt is to a liquidation.

use crate::{
    curve,
    factor::{Part, rated},
    loan::Loan,
    seen::Seen,
    table::{HEALTHY, INTERCEPT, MATERIAL, NEAR, POSITION, SMALL, UNREAD},
    types::Factor,
    words::dollars,
};

/// The points that the position takes away. A debt that may exist and was not read counts as one at the border of
/// `low`.
pub fn lost(seen: &Seen) -> f64 {
    let known = worst(&seen.loans);
    if seen.is_unread { known.max(UNREAD) } else { known }
}

/// The worst of the debt, each part by its weight: what is owed at this load or a higher one, in proportion below
/// `SMALL` dollars, and in proportion below the share `1 / MATERIAL` of the deposits that other loans could spare. More
/// debt never lowers a weight; with a share of the whole debt, doubling a safe loan would raise the score.
fn worst(loans: &[Loan]) -> f64 {
    let mut loans = loans.to_vec();
    loans.sort_by(|one, other| other.load.total_cmp(&one.load));
    let (mut owed, mut worst) = (0.0, 0.0_f64);
    for (at, loan) in loans.iter().enumerate().filter(|(_, loan)| loan.owed > 0.0) {
        owed += loan.owed;
        let spare: f64 = loans[at + 1..].iter().map(|other| other.spare).sum();
        let share = if spare > 0.0 { (MATERIAL * owed / spare).min(1.0) } else { 1.0 };
        worst = worst.max((owed / SMALL).min(1.0) * share * by_load(loan.load));
    }
    worst
}

fn by_load(load: f64) -> f64 {
    curve::lost_at(INTERCEPT + NEAR * libm::log((load * HEALTHY).max(1.0)))
}

pub fn explain(seen: &Seen, part: Part) -> Factor {
    rated("Current Position", lost(seen), part, POSITION, describe(seen))
}

fn describe(seen: &Seen) -> String {
    let owed: f64 = seen.loans.iter().map(|loan| loan.owed).sum();
    if owed <= 0.0 {
        return match seen.is_unread {
            true => {
                "Not all of your markets could be read, and one of them may hold a debt or a liquidation; ask again \
                     later."
                    .into()
            }
            false => "You owe nothing now, so nothing of yours can be liquidated.".into(),
        };
    }
    let nearest = seen.loans.iter().filter(|loan| loan.owed > 0.0).max_by(|a, b| a.load.total_cmp(&b.load));
    let (load, near) = nearest.map_or((0.0, 0.0), |loan| (loan.load, loan.owed));
    let unread = if seen.is_unread { "; not all of your markets could be read" } else { "" };
    let of = if near < owed { format!(", {} of it", dollars(near)) } else { String::new() };
    match (load * 100.0) as u64 {
        100.. => format!(
            "You owe {}{of} at or past a liquidation{unread}; repaying or adding collateral now would help.",
            dollars(owed)
        ),
        share => format!(
            "You owe {}{of} at {share} % of what leads to a liquidation{unread}; repaying or adding collateral would \
             help.",
            dollars(owed)
        ),
    }
}
