//! {name}: the risk that a wallet is a bot.

use assay_model::v2::{Coverage, Factor, Features, Kind, ModelInfo, Rating, RiskVerdict, SybilModel};

/// The model.
pub struct Model;

/// More transactions say nothing new.
const MOST: u64 = 1_000_000;

/// What the model sees of a wallet. `risk` and `explain` begin with it, so that they cannot differ.
struct Seen {
    attested: usize,
    /// Chains that could be read. The others are left out; they do not count as zero.
    read: usize,
    sent: u64,
}

impl Seen {
    fn of(features: &Features) -> Self {
        let read = || features.chains.iter().filter(|chain| chain.coverage != Coverage::Failed);
        let sent = read().fold(0_u64, |sum, chain| sum.saturating_add(chain.transactions)).min(MOST);
        Self { attested: features.identity.len(), read: read().count(), sent }
    }
}

impl SybilModel for Model {
    fn describe() -> ModelInfo {
        ModelInfo {
            kind: Kind::Sybil,
            version: "0.1".into(),
            title: "{name}".into(),
            authors: vec![],
            reads: ["chains.coverage", "chains.transactions", "identity.provider"].map(String::from).into(),
            claims: None,
        }
    }

    fn risk(features: Features) -> RiskVerdict {
        let Seen { attested, read, sent } = Seen::of(&features);
        RiskVerdict { risk: judge(attested, read, sent), points: vec![0] }
    }

    /// The words of the same factors. A server asks for them only if somebody reads them.
    fn explain(features: Features) -> Vec<Factor> {
        let Seen { attested, sent, .. } = Seen::of(&features);
        vec![Factor {
            label: "Identity".into(),
            rating: if attested > 0 { Rating::Good } else { Rating::Low },
            description: format!("You have {attested} attestations and sent {sent} transactions."),
            points: 0,
            possible: 0,
        }]
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

assay_model::v2::export_with_panics!(sybil Model);

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::v2::{Wallet, testing};

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
