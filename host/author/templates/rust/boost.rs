//! {name}: what off-chain assets add to a score.

use assay_model::v2::{BoostModel, Kind, ModelInfo, OffChain};

/// The model.
pub struct Model;

impl BoostModel for Model {
    fn describe() -> ModelInfo {
        ModelInfo {
            kind: Kind::Boost,
            version: "0.1".into(),
            title: "{name}".into(),
            authors: vec![],
            reads: vec!["score".into(), "off-chain.total-asset-usd".into()],
            claims: None,
        }
    }

    /// A tenth of the gap to 1000, from 50,000 dollars on.
    fn boost(score: u32, off_chain: OffChain) -> u32 {
        let share = (off_chain.total_asset_usd / 50_000.0).clamp(0.0, 1.0);
        score + (f64::from(1000 - score) * 0.1 * share) as u32
    }
}

assay_model::v2::export_with_panics!(boost Model);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_would_accept_it() {
        assay_model::v2::testing::boost::<Model>();
    }

    #[test]
    fn the_golden_cases_keep_their_scores() {
        let boosted = |usd| Model::boost(700, OffChain { total_asset_usd: usd });
        assert_eq!([0.0, 25_000.0, 50_000.0, 1e9].map(boosted), [700, 715, 730, 730]);
    }
}
