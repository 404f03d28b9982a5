//! {name}: a credit model. Repayments earn points, liquidations take them away.

use assay_model::{Assessment, Coverage, CreditModel, Factor, Features, Kind, ModelInfo, Rating, Refusal};

/// The model.
pub struct Model;

/// More events of a kind say nothing new.
const MOST: u64 = 1_000_000;

impl CreditModel for Model {
    fn describe() -> ModelInfo {
        ModelInfo {
            kind: Kind::Credit,
            version: "0.1".into(),
            title: "{name}".into(),
            authors: vec![],
            reads: ["coverage", "feeds-score", "repay", "liquidation"].map(|field| format!("markets.{field}")).into(),
        }
    }

    fn score(features: Features) -> Result<Assessment, Refusal> {
        // A market that could not be read is left out. It does not count as zero.
        let markets = features.markets.iter().filter(|one| one.feeds_score && one.coverage != Coverage::Failed);
        let (mut repaid, mut liquidated) = (0_u64, 0_u64);
        for market in markets {
            repaid = repaid.saturating_add(market.repay.unwrap_or(0));
            liquidated = liquidated.saturating_add(market.liquidation.unwrap_or(0));
        }
        let (repaid, liquidated) = (repaid.min(MOST), liquidated.min(MOST));
        let points = (repaid * 50).saturating_sub(liquidated * 200).min(700);
        let score = 300 + u32::try_from(points).unwrap_or(700);
        let factor = Factor {
            label: "Repayment History".into(),
            rating: if score >= 750 { Rating::Good } else { Rating::Low },
            description: format!("You repaid {repaid} times and were liquidated {liquidated} times."),
            points: i32::try_from(points).unwrap_or(700),
            possible: 700,
        };
        Ok(Assessment { score, decile: Self::decile(score), factors: vec![factor] })
    }

    fn decile(score: u32) -> u8 {
        u8::try_from(score.saturating_sub(300) / 70 + 1).unwrap_or(10).min(10)
    }
}

assay_model::export!(credit Model);

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::{Wallet, testing};

    /// The golden wallets: a features file.
    const WALLETS: &str = include_str!("../wallets.jsonl");

    #[test]
    fn the_host_would_accept_it() {
        testing::credit::<Model>(&Wallet::read_all(WALLETS).unwrap());
    }

    #[test]
    fn the_golden_wallets_keep_their_scores() {
        let wallets = Wallet::read_all(WALLETS).unwrap();
        let scores: Vec<_> = wallets.into_iter().map(|one| Model::score(one.features).unwrap().score).collect();
        assert_eq!(scores, [700, 500]);
    }
}
