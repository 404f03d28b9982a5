//! What off-chain assets add to a score: a share of the gap to 1000, growing with the assets, and never above 15 %.

#[cfg(target_arch = "wasm32")]
mod export;

/// The contract `wit/v1`, generated for the component. Native code takes the kit's types.
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
const FULL_ASSETS: u32 = 50_000;

/// Kind, version and inputs, as the host lists them.
pub fn describe() -> ModelInfo {
    ModelInfo {
        kind: Kind::Boost,
        version: "1.1".into(),
        title: "At most 15 % of the gap to 1000 for off-chain assets".into(),
        authors: vec!["Assay".into()],
        reads: vec!["score".into(), "off-chain.total-asset-usd".into()],
    }
}

/// `score` raised by what `off_chain` is worth, rounded down. Assets that are negative or no finite number add nothing;
/// a score above 1000 comes back as 1000.
pub fn boost(score: u32, off_chain: &OffChain) -> u32 {
    let score = score.min(TOP);
    let most = SHARE_PERCENT * (TOP - score);
    score + points(most, off_chain.total_asset_usd)
}

/// The share of `most` hundredths of a point. The only division is the last step, so that 9 is 9 and not the float
/// below it, which rounds down to 8.
fn points(most: u32, assets: f64) -> u32 {
    let full = f64::from(FULL_ASSETS);
    if assets >= full {
        return if assets.is_finite() { most / 100 } else { 0 };
    }
    if assets > 0.0 { (f64::from(most) * assets / (100.0 * full)) as u32 } else { 0 }
}
