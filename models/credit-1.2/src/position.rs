//! Current Position: how much is owed, and how near it is to a liquidation.

use crate::{
    scorecard::{factor, whole},
    seen::Seen,
    table::{DUST, LARGE, LOAD, POSITION, SIZE},
    types::Factor,
    words::dollars,
};

/// A debt below a dollar takes nothing; nobody liquidates it for the fee.
pub fn points(seen: &Seen) -> i32 {
    let size = libm::log(seen.owed_usd.clamp(DUST, LARGE)) / libm::log(LARGE);
    whole(f64::from(POSITION) - (LOAD * seen.load + SIZE * size))
}

pub fn explain(seen: &Seen) -> Factor {
    factor("Current Position", points(seen), POSITION, describe(seen))
}

fn describe(seen: &Seen) -> String {
    if seen.owed_usd < DUST {
        return "You owe nothing now, so nothing of yours can be liquidated.".into();
    }
    let owed = dollars(seen.owed_usd);
    if seen.supplied_usd <= 0.0 && !seen.stated {
        return format!("You owe {owed} and no deposit that secures it could be read; repaying would help.");
    }
    let share = (seen.load * 100.0) as u64;
    match share {
        100.. => {
            format!("You owe {owed}, more than your deposits secure; repaying or adding collateral now would help.")
        }
        _ => format!(
            "You owe {owed}, {share} % of what your deposits may secure before a liquidation; \
             repaying or adding collateral would help."
        ),
    }
}
