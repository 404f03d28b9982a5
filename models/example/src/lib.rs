//! A credit model to start from: repayments earn points, liquidations take them away.

use assay_model::{Assessment, Coverage, CreditModel, Factor, Features, Kind, ModelInfo, Rating, Refusal};

/// The score of a wallet that never borrowed.
const BASE: u32 = 300;
/// The most that repayments can earn.
const POSSIBLE: u32 = 700;

/// The model.
pub struct Repayments;

impl CreditModel for Repayments {
    fn describe() -> ModelInfo {
        ModelInfo {
            kind: Kind::Credit,
            version: "0.1".into(),
            title: "Repayments and liquidations".into(),
            authors: vec!["Assay".into()],
            reads: ["coverage", "feeds-score", "repay", "liquidation"].map(|field| format!("markets.{field}")).into(),
        }
    }

    fn score(features: Features) -> Result<Assessment, Refusal> {
        let counted = |coverage| coverage != Coverage::Failed;
        let markets = features.markets.iter().filter(|market| market.feeds_score && counted(market.coverage));
        let (repaid, liquidated) = markets.fold((0u64, 0u64), |(repaid, liquidated), market| {
            (
                repaid.saturating_add(market.repay.unwrap_or(0)),
                liquidated.saturating_add(market.liquidation.unwrap_or(0)),
            )
        });
        let points = repaid.saturating_mul(50).saturating_sub(liquidated.saturating_mul(200)).min(POSSIBLE.into());
        let points = u32::try_from(points).unwrap_or(POSSIBLE);
        let score = BASE + points;
        let factor = Factor {
            label: "Repayment History".into(),
            rating: rating(score),
            description: format!("You repaid {repaid} times and were liquidated {liquidated} times."),
            points: points.cast_signed(),
            possible: POSSIBLE,
        };
        Ok(Assessment { score, decile: Self::decile(score), factors: vec![factor] })
    }

    fn decile(score: u32) -> u8 {
        u8::try_from(score.saturating_sub(BASE) / 70 + 1).unwrap_or(10).min(10)
    }
}

assay_model::export!(credit Repayments);

fn rating(score: u32) -> Rating {
    match score {
        920.. => Rating::Excellent,
        840.. => Rating::VeryGood,
        750.. => Rating::Good,
        640.. => Rating::Fair,
        _ => Rating::Low,
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{CreditModel as _, Wallet, testing};

    use super::Repayments;

    /// Two lines of a features file.
    const WALLETS: &str = include_str!("../wallets.jsonl");

    #[test]
    fn it_passes_the_self_test() {
        testing::credit::<Repayments>(&Wallet::read_all(WALLETS).unwrap());
    }

    #[test]
    fn repayments_earn_points_and_liquidations_take_them() {
        let scores: Vec<_> = Wallet::read_all(WALLETS)
            .unwrap()
            .into_iter()
            .map(|wallet| Repayments::score(wallet.features).unwrap().score)
            .collect();
        assert_eq!(scores, [700, 500]);
    }
}
