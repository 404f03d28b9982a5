//! {name}: the risk that a wallet is a bot.

use assay_model::{Coverage, Factor, Features, Kind, ModelInfo, Rating, RiskAssessment, SybilModel};

/// The model.
pub struct Model;

/// More transactions say nothing new.
const MOST: u64 = 1_000_000;

impl SybilModel for Model {
    fn describe() -> ModelInfo {
        ModelInfo {
            kind: Kind::Sybil,
            version: "0.1".into(),
            title: "{name}".into(),
            authors: vec![],
            reads: ["chains.coverage", "chains.transactions", "identity.provider"].map(String::from).into(),
        }
    }

    fn risk(features: Features) -> RiskAssessment {
        // A chain that could not be read is left out. It does not count as zero.
        let read = || features.chains.iter().filter(|chain| chain.coverage != Coverage::Failed);
        let sent = read().fold(0_u64, |sum, chain| sum.saturating_add(chain.transactions)).min(MOST);
        let attested = features.identity.len();
        let factor = Factor {
            label: "Identity".into(),
            rating: if attested > 0 { Rating::Good } else { Rating::Low },
            description: format!("You have {attested} attestations and sent {sent} transactions."),
            points: 0,
            possible: 0,
        };
        RiskAssessment { risk: judge(attested, read().count(), sent), factors: vec![factor] }
    }
}

fn judge(attested: usize, read: usize, sent: u64) -> u32 {
    match (attested, read, sent) {
        (1.., ..) => 10,
        (0, 0, _) => 50,
        (0, _, 0..=100) => 80,
        (0, ..) => 40,
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
        assert_eq!(risks, [80, 40]);
    }
}
