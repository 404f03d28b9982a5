//! {name}: the risk that a wallet is a bot.

use assay_model::{Factor, Features, Kind, ModelInfo, Rating, RiskAssessment, SybilModel};

/// The model.
pub struct Model;

impl SybilModel for Model {
    fn describe() -> ModelInfo {
        ModelInfo {
            kind: Kind::Sybil,
            version: "0.1".into(),
            title: "{name}".into(),
            authors: vec![],
            reads: vec!["chains.transactions".into(), "identity.provider".into()],
        }
    }

    fn risk(features: Features) -> RiskAssessment {
        let sent = features.chains.iter().fold(0_u64, |sum, chain| sum.saturating_add(chain.transactions));
        let named = !features.identity.is_empty();
        let risk = if named { 10 } else if sent > 100 { 40 } else { 80 };
        let factor = Factor {
            label: "Identity".into(),
            rating: if named { Rating::Good } else { Rating::Low },
            description: format!("You have {} attestations and sent {sent} transactions.", features.identity.len()),
            points: 0,
            possible: 0,
        };
        RiskAssessment { risk, factors: vec![factor] }
    }
}

assay_model::export!(sybil Model);

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::{Wallet, testing};

    /// The golden wallets: a features file.
    const WALLETS: &str = include_str!("../wallets.jsonl");

    #[test]
    fn the_host_would_accept_it() {
        testing::sybil::<Model>(&Wallet::read_all(WALLETS).unwrap());
    }

    #[test]
    fn the_golden_wallets_keep_their_risks() {
        let wallets = Wallet::read_all(WALLETS).unwrap();
        let risks: Vec<_> = wallets.into_iter().map(|one| Model::risk(one.features).risk).collect();
        assert_eq!(risks, [80, 80]);
    }
}
