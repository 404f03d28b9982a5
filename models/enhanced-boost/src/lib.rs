//! What off-chain assets add to a score: a share of the gap to 1000, growing with the assets.

#[cfg(target_arch = "wasm32")]
mod export;

/// The contract `wit/v1`, generated for the component as it was for the release. Native code takes the kit's types.
#[cfg(target_arch = "wasm32")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/v1", world: "score-boost", additional_derives: [PartialEq] });
}

#[cfg(not(target_arch = "wasm32"))]
pub use assay_model::types;
#[cfg(target_arch = "wasm32")]
pub use bindings::assay::model::types;

use types::{Kind, ModelInfo, OffChain};

/// The top of the scale, where there is no gap left.
const TOP: u32 = 1000;
/// At most this many hundredths of the gap: what a caller vouches for must never outweigh what the chains show.
const SHARE_PERCENT: u32 = 15;
/// Assets in dollars that earn the whole share.
const FULL_ASSETS: f64 = 50_000.0;

/// Kind, version and inputs, as the host lists them.
pub fn describe() -> ModelInfo {
    ModelInfo {
        kind: Kind::Boost,
        version: "1.0".into(),
        title: "Up to 15 % of the gap to 1000 for off-chain assets".into(),
        authors: vec!["Assay".into()],
        reads: vec!["score".into(), "off-chain.total-asset-usd".into()],
    }
}

/// `score` raised by what `off_chain` is worth, rounded to the nearest point, halves up. Assets that are negative or no
/// finite number add nothing; a score above 1000 comes back as 1000.
pub fn boost(score: u32, off_chain: &OffChain) -> u32 {
    let assets = off_chain.total_asset_usd;
    let share = if assets.is_finite() && assets > 0.0 { (assets / FULL_ASSETS).min(1.0) } else { 0.0 };
    let score = score.min(TOP);
    // The percentage stays an integer until the last division, so that 10.5 is 10.5 and not the float below it.
    let most = f64::from(SHARE_PERCENT * (TOP - score));
    score + (most * share / 100.0 + 0.5).floor() as u32
}
