//! {name}: a credit model. Repayments earn points, liquidations take them away.

use assay_model::v2::{Coverage, CreditModel, Factor, Features, Kind, ModelInfo, Rating, Refusal, Verdict};

/// The model.
pub struct Model;

/// More events of a kind say nothing new.
const MOST: u64 = 1_000_000;
/// The most that repayments can earn.
const POSSIBLE: u32 = 700;

/// What the model sees of a wallet. `score` and `explain` begin with it, so that they cannot differ.
struct Seen {
    repaid: u64,
    liquidated: u64,
}

impl Seen {
    fn of(features: &Features) -> Self {
        // A market that could not be read is left out. It does not count as zero.
        let markets = features.markets.iter().filter(|one| one.feeds_score && one.coverage != Coverage::Failed);
        let (mut repaid, mut liquidated) = (0_u64, 0_u64);
        for market in markets {
            repaid = repaid.saturating_add(market.repay.unwrap_or(0));
            liquidated = liquidated.saturating_add(market.liquidation.unwrap_or(0));
        }
        Self { repaid: repaid.min(MOST), liquidated: liquidated.min(MOST) }
    }

    fn points(&self) -> u32 {
        let points = (self.repaid * 50).saturating_sub(self.liquidated * 200);
        u32::try_from(points).unwrap_or(POSSIBLE).min(POSSIBLE)
    }
}

impl CreditModel for Model {
    fn describe() -> ModelInfo {
        ModelInfo {
            kind: Kind::Credit,
            version: "0.1".into(),
            title: "{name}".into(),
            authors: vec![],
            reads: ["coverage", "feeds-score", "repay", "liquidation"].map(|field| format!("markets.{field}")).into(),
            claims: None,
        }
    }

    fn score(features: Features) -> Result<Verdict, Refusal> {
        let points = Seen::of(&features).points();
        let score = 300 + points;
        Ok(Verdict { score, decile: Self::decile(score), points: vec![points.cast_signed()] })
    }

    /// The words of the same factors. A server asks for them only if somebody reads them.
    fn explain(features: Features) -> Result<Vec<Factor>, Refusal> {
        let seen = Seen::of(&features);
        let Seen { repaid, liquidated } = &seen;
        Ok(vec![Factor {
            label: "Repayment History".into(),
            rating: if seen.points() >= 450 { Rating::Good } else { Rating::Low },
            description: format!("You repaid {repaid} times and were liquidated {liquidated} times."),
            points: seen.points().cast_signed(),
            possible: POSSIBLE,
        }])
    }

    fn decile(score: u32) -> u8 {
        u8::try_from(score.saturating_sub(300) / 70 + 1).unwrap_or(10).min(10)
    }
}

assay_model::v2::export_with_panics!(credit Model);

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::v2::{Wallet, testing};

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
