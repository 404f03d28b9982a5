//! The fitted scorecard. `fit/fit.py` writes this file and `scorecard.toml`; do not edit it.

/// Points that are lost to a load of 1, debt at the threshold of a liquidation.
pub const LOAD: f64 = 108.65;
/// Points that are lost to a debt of 1,000 dollars or more.
pub const SIZE: f64 = 211.16;
/// Points that are lost to any liquidation.
pub const EVER: f64 = 121.18;
/// Points that are lost to a liquidation now.
pub const RECENCY: f64 = 258.61;
/// Points that are lost to recency times the logarithm of one and the number of liquidations.
pub const REPEATED: f64 = 115.35;
pub const THRESHOLD: f64 = 0.8;
pub const MOST_LOAD: f64 = 1.25;
pub const DUST: f64 = 1.0;
pub const LARGE: f64 = 1000.0;
pub const FADE_DAYS: f64 = 30.0;
pub const UNDATED_DAYS: f64 = 30.0;
pub const MOST_LIQUIDATIONS: f64 = 20.0;
/// The most points of each factor.
pub const POSITION: u32 = 347;
pub const REPAYMENT: u32 = 353;
/// The lowest scores of deciles 2 to 10.
pub const DECILES: [u32; 9] = [653, 702, 741, 779, 846, 1000, 1000, 1000, 1000];
/// The lower end, the share and the upper end of the liquidated within the horizon, by range from `low` on, as far
/// as a range had enough wallets in the test.
pub const RATES: [[f64; 3]; 4] =
    [[0.6276, 0.671, 0.7065], [0.4557, 0.496, 0.5318], [0.0992, 0.1117, 0.1239], [0.0238, 0.045, 0.0732]];
