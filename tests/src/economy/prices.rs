//! Weekly prices: two falls, each with a recovery, and some noise.

use super::WEEKS;
use crate::devnet::tokens::{WBTC, WETH};
use crate::dice::Dice;

/// Prices of one week, in dollars.
#[derive(Debug, Clone, Copy)]
pub struct Prices {
    pub ether: f64,
    pub bitcoin: f64,
}

/// The first week of each fall, and the factors of ether and bitcoin in each of its weeks. In the second fall, unlike
/// the first, bitcoin falls as deep as ether.
pub const FALLS: [(u64, [(f64, f64); 4]); 2] = [
    (21, [(0.84, 0.89), (0.79, 0.84), (0.82, 0.87), (0.92, 0.95)]),
    (56, [(0.87, 0.85), (0.80, 0.79), (0.82, 0.81), (0.92, 0.92)]),
];
/// Weekly growth outside the falls, and the noise in both directions.
const GROWTH: f64 = 1.004;
const NOISE: f64 = 0.025;

/// Returns the prices of every week, with both falls or none.
pub fn path(seed: u64, is_calm: bool) -> Vec<Prices> {
    let mut dice = Dice(seed);
    let mut now = Prices { ether: WETH.dollars, bitcoin: WBTC.dollars };
    let week = |week| {
        let mut calm = || GROWTH + (dice.share() - 0.5) * 2.0 * NOISE;
        let (ether, bitcoin) = falling(week).filter(|_| !is_calm).unwrap_or_else(|| (calm(), calm()));
        now = Prices { ether: now.ether * ether, bitcoin: now.bitcoin * bitcoin };
        now
    };
    (0..WEEKS).map(week).collect()
}

/// Returns the factors of a week during a fall.
fn falling(week: u64) -> Option<(f64, f64)> {
    let place = |first| usize::try_from(week.checked_sub(first)?).ok();
    FALLS.iter().find_map(|(first, weeks)| weeks.get(place(*first)?).copied())
}

impl Prices {
    /// Returns the price of a token, given by its symbol.
    pub fn of(self, symbol: &str) -> f64 {
        match symbol {
            "WETH" => self.ether,
            "WBTC" => self.bitcoin,
            _ => 1.0,
        }
    }
}
