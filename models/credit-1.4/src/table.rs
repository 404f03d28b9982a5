//! The fitted scorecard. `fit/fit.py` writes this file and `scorecard.toml`; do not edit it.

pub const VERSION: &str = "1.4";
/// Log-odds of a liquidation at the health factor of a safe position, where the score is 1000.
pub const INTERCEPT: f64 = -12.453;
/// Log-odds added with each unit of the log of 1 / health factor.
pub const NEAR: f64 = 4.849;
/// Log of the hazard of another liquidation right after one, but for the count.
pub const LEVEL: f64 = -1.0;
/// Power of `FADE_DAYS / (FADE_DAYS + days)`.
pub const RECENT: f64 = 2.0;
/// Power of one and the number of liquidations.
pub const REPEATED: f64 = 0.1;
/// Log-odds at 640.
pub const BORDER_ODDS: f64 = -2.944439;
/// Points that an unread part takes at least: 639 are left.
pub const UNREAD: f64 = 361.0;
/// The lowest load of a debt whose health factor was not read.
pub const UNREAD_LOAD: f64 = 0.7121;
/// Share of the points above 640 that a wallet without a carried loan keeps: 749 is its highest score.
pub const NEW: f64 = 0.302778;
/// Dollars; a smaller debt counts in proportion.
pub const SMALL: f64 = 100.0;
/// A debt counts in full from 1 / this of what the deposits of other loans could spare.
pub const MATERIAL: f64 = 100.0;
/// The part of a debt that a deposit of its own class carries.
pub const MATCHED: f64 = 0.9;
/// Threshold of a market that states none.
pub const PLAIN_THRESHOLD: f64 = 0.8;
/// Threshold of a debt whose health factor was not read: the lowest in use.
pub const UNREAD_THRESHOLD: f64 = 0.4;
/// Health factor that is left when deposits are spared.
pub const SPARE_HEALTH: f64 = 1.25;
/// The highest load: beyond it nothing is said.
pub const MOST_LOAD: f64 = 1.25;
/// Health factor from which on a position is safe.
pub const HEALTHY: f64 = 10.0;
/// Dollars of a loan that count.
pub const MOST_CARRIED: f64 = 1000.0;
/// Dollars times days that earn half of the rest.
pub const HALF_DOLLAR_DAYS: f64 = 40000.0;
/// Dollars of a loan in another asset than a stablecoin: its events have none.
pub const UNPRICED: f64 = 100.0;
/// Days in which the recency of a liquidation halves.
pub const FADE_DAYS: f64 = 30.0;
/// Age of a liquidation without a date.
pub const UNDATED_DAYS: f64 = 30.0;
/// Liquidations that count.
pub const MOST_LIQUIDATIONS: f64 = 20.0;
/// Dollars by which the sum of markets may differ from that of a chain.
pub const ROUNDING: f64 = 1.0;
/// The points of each factor that lost none.
pub const POSITION: u32 = 300;
pub const REPAYMENT: u32 = 149;
pub const CARRIED: u32 = 251;
/// The lowest scores of deciles 2 to 10.
pub const DECILES: [u32; 9] = [581, 631, 649, 660, 674, 691, 713, 744, 801];
