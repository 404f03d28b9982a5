//! The curve between the risk of a liquidation and points: 640 at 5 %, 100 points for a log-odd below it, and a
//! straight line in log-odds above it, to 1000 at the risk of a position that counts as safe.

use crate::table::{BORDER_ODDS, INTERCEPT};

const TOP: f64 = 1000.0;
/// The score at the risk with `BORDER_ODDS`, where `fair` begins.
pub const BORDER: f64 = 640.0;
/// Points lost with each log-odd below the border.
const PER_LOG_ODD: f64 = 100.0;

/// The points that a risk takes from 1000, 0 to 700.
pub fn lost(risk: f64) -> f64 {
    lost_at(libm::log(risk / (1.0 - risk)))
}

/// The points that a risk with these log-odds takes.
pub fn lost_at(log_odds: f64) -> f64 {
    let above = (log_odds - INTERCEPT) / (BORDER_ODDS - INTERCEPT);
    match () {
        () if log_odds.is_nan() || above <= 0.0 => 0.0,
        () if above <= 1.0 => (TOP - BORDER) * above,
        () => (TOP - BORDER + PER_LOG_ODD * (log_odds - BORDER_ODDS)).min(700.0),
    }
}

/// The risk that takes this many points; none for none.
pub fn risk(lost: f64) -> f64 {
    let over = lost - (TOP - BORDER);
    let odds = match () {
        () if lost <= 0.0 => return 0.0,
        () if over <= 0.0 => INTERCEPT + (BORDER_ODDS - INTERCEPT) * lost / (TOP - BORDER),
        () => BORDER_ODDS + over / PER_LOG_ODD,
    };
    1.0 / (1.0 + libm::exp(-odds))
}
