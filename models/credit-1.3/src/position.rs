//! Current Position: how near the debt is to a liquidation.

use crate::{
    factor::factor,
    seen::Seen,
    table::{BEND, HEALTHY, NEAR, NO_LOAN, POSITION, SAFE, UNREAD},
    types::Factor,
    words::dollars,
};

/// The points that the position takes away. A debt that may exist and was not read counts at least as the average of
/// the population, never as none.
pub fn lost(seen: &Seen) -> f64 {
    let known = if seen.load > 0.0 {
        let near = libm::log((seen.load * HEALTHY).max(1.0));
        SAFE * near.min(BEND) + NEAR * (near - BEND).max(0.0)
    } else if seen.loan {
        0.0
    } else {
        NO_LOAN
    };
    if seen.unread_debt { known.max(UNREAD) } else { known }
}

pub fn explain(seen: &Seen) -> Factor {
    factor("Current Position", lost(seen), POSITION, describe(seen))
}

fn describe(seen: &Seen) -> String {
    if seen.load <= 0.0 {
        return match (seen.unread_debt, seen.loan) {
            (true, _) => {
                "Not all of your debt could be read, so you are scored as an average borrower; ask again later."
            }
            (false, true) => "You owe nothing now. This model rates wallets that owe, so it claims no rate for you.",
            (false, false) => {
                "No loan of yours was found. This model rates wallets that owe, so it claims no rate for you."
            }
        }
        .into();
    }
    let owed = dollars(seen.owed_usd);
    if seen.supplied_usd <= 0.0 && !seen.stated {
        return format!("You owe {owed} and no deposit that secures it could be read; repaying would help.");
    }
    let share = (seen.load * 100.0) as u64;
    let unread = if seen.unread_debt { "; other debt could not be read" } else { "" };
    match share {
        100.. => format!(
            "You owe {owed}, more than your deposits secure{unread}; repaying or adding collateral now would help."
        ),
        _ => format!(
            "You owe {owed}, {share} % of what your deposits may secure before a liquidation{unread}; \
             repaying or adding collateral would help."
        ),
    }
}
