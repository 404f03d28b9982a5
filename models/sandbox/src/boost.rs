//! What off-chain assets add to a mock score.

use crate::{score, types::OffChain};

/// At most this many hundredths of the gap to 1000: enough for a tester to see a wallet change its range.
const SHARE_PERCENT: u32 = 50;
/// Assets in dollars that earn the whole share.
const FULL_ASSETS: f64 = 100_000.0;

/// The score raised by what `off_chain` is worth, rounded to the nearest point, halves up. Assets that are negative or
/// no finite number add nothing.
pub fn boosted_score(address: &[u8], off_chain: &OffChain) -> u32 {
    let base = score(address);
    let assets = off_chain.total_asset_usd;
    let share = if assets.is_finite() && assets > 0.0 { (assets / FULL_ASSETS).min(1.0) } else { 0.0 };
    // The percentage stays an integer until the last division, so that a half is a half and not the float below it.
    let most = f64::from(SHARE_PERCENT * 1000u32.saturating_sub(base));
    base + (most * share / 100.0 + 0.5).floor() as u32
}
