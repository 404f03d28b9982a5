//! Loans Carried: how much debt a wallet carried for how long, which limits its score.

use crate::{
    factor::{Part, rated},
    seen::Seen,
    table::{CARRIED, HALF_DOLLAR_DAYS, MOST_CARRIED, NEW},
    types::Factor,
};

/// The points above 640 that a wallet keeps, from the share of a new one to 1.
pub fn kept(seen: &Seen) -> f64 {
    NEW + (1.0 - NEW) * seen.dollar_days / (seen.dollar_days + HALF_DOLLAR_DAYS)
}

pub fn explain(seen: &Seen, part: Part) -> Factor {
    rated("Loans Carried", 360.0 * (1.0 - kept(seen)), part, CARRIED, describe(seen))
}

fn describe(seen: &Seen) -> String {
    let months = (seen.dollar_days / MOST_CARRIED / 30.0) as u64;
    match months {
        _ if seen.dollar_days <= 0.0 => {
            "No loan of yours that lasted was found; a loan of $1,000 or more, carried for months, would help.".into()
        }
        0 => "You carried less than $1,000 for a month; a loan that lasts, well secured, would help.".into(),
        12.. => "You carried loans worth $1,000 for a year or longer; keep them well secured.".into(),
        1 => "You carried loans worth $1,000 for a month; time with a well secured loan would help.".into(),
        months => format!("You carried loans worth $1,000 for {months} months; more time would help."),
    }
}
