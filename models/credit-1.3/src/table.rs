//! The fitted scorecard. `fit/fit.py` writes this file and `scorecard.toml`; do not edit it.

pub const VERSION: &str = "1.3";
/// The wallets of the claims.
pub const POPULATION: &str = "wallets that owe at least $10 and whose health factor or utilisation was read, as \
    measured on MakerDAO ETH-B vaults from November 2020 to September 2021; others have no \
    claim";
/// The `near` from which the points fall fast.
pub const BEND: f64 = 1.3148;
/// Points lost with each unit of `near` up to the bend.
pub const SAFE: f64 = 60.85;
/// Points lost with each unit of `near` beyond the bend.
pub const NEAR: f64 = 449.81;
/// Points lost with each unit of `repeated`.
pub const REPEATED: f64 = 28.75;
/// Points lost if a debt may exist that was not read: the average of the population.
pub const UNREAD: f64 = 308.0;
/// Points lost with each unit of `recency` if a debt may exist that was not read.
pub const UNREAD_RECENCY: f64 = 269.82;
/// The same with each unit of `repeated`.
pub const UNREAD_REPEATED: f64 = 67.86;
pub const THRESHOLD: f64 = 0.8;
pub const MOST_LOAD: f64 = 1.25;
pub const DUST: f64 = 10.0;
pub const HEALTHY: f64 = 10.0;
pub const FADE_DAYS: f64 = 30.0;
pub const UNDATED_DAYS: f64 = 30.0;
pub const MOST_LIQUIDATIONS: f64 = 20.0;
pub const NO_LOAN: f64 = 251.0;
/// The most points of each factor.
pub const POSITION: u32 = 500;
pub const REPAYMENT: u32 = 200;
/// The lowest scores of deciles 2 to 10.
pub const DECILES: [u32; 9] = [585, 631, 674, 720, 774, 835, 901, 930, 952];
/// By range, 0 for `low`: lower end, share and upper end of the liquidated within the horizon.
pub const RATES: [(usize, [f64; 3]); 5] = [
    (0, [0.0433, 0.0951, 0.158]),
    (1, [0.0074, 0.0243, 0.0474]),
    (2, [0.0, 0.0107, 0.0343]),
    (3, [0.0, 0.0106, 0.0428]),
    (4, [0.0, 0.0044, 0.0216]),
];
