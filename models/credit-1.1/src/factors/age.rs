//! Wallet Age: how long the wallet has been in use.

use super::factor;
use crate::{
    curve::{Curve, whole},
    seen::Seen,
    types::Factor,
    words::span,
};

/// Time cannot be bought, so it is worth much; it says nothing of debt, so it is worth less than Repayment History.
const POSSIBLE: u32 = 120;

/// In days. A month is what a throwaway wallet reaches, a year has seen most of a market's moods, and five years have
/// seen a crash and what followed; past that, age tells no more.
const AGE: Curve = Curve(&[(7.0, 8.0), (30.0, 30.0), (180.0, 64.0), (365.0, 82.0), (1095.0, 108.0), (1825.0, 120.0)]);

pub fn judge(seen: &Seen) -> Factor {
    let points = whole(seen.age_days.map_or(0.0, |days| AGE.at(days)));
    let description = match seen.age_days {
        None => "No transaction of yours was found; the first one you send starts the clock on this factor.".into(),
        Some(days) if days < 1825.0 => {
            format!("Your wallet has been in use for {}; this factor grows by itself until 5 years.", span(days))
        }
        Some(days) => {
            format!("Your wallet has been in use for {}, which earns all that this factor can give.", span(days))
        }
    };
    factor("Wallet Age", points, POSSIBLE, description)
}
