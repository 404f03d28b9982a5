//! A credit model of `wit/v2` to start from: how close the debts are to a liquidation, and what was repaid.

use assay_model::v2::{
    Coverage, CreditModel, EventKind, ExposureClass, Factor, Features, Kind, MarketFeatures, ModelInfo, Position,
    Rating, Refusal, Verdict,
};

/// The score of a wallet whose debts may be liquidated now.
const BASE: i32 = 300;
/// The most that each factor can earn.
const POSITION: u32 = 500;
const REPAYMENT: u32 = 200;
const DAY: u64 = 86_400;

/// The model.
pub struct Leverage;

/// What the model sees of a wallet. `score` and `explain` begin with it, so that they cannot differ.
struct Seen {
    /// The lowest one; none without debt.
    health_factor: Option<f64>,
    /// The highest one.
    utilisation: f64,
    /// Of the debt, in stablecoins.
    stable_share: f64,
    repaid_usd: f64,
    /// Since the newest liquidation.
    quiet_days: Option<u64>,
}

impl Seen {
    fn of(features: &Features) -> Self {
        let counted = |market: &&MarketFeatures| market.feeds_score && market.coverage != Coverage::Failed;
        let markets: Vec<_> = features.markets.iter().filter(counted).collect();
        let positions = || markets.iter().filter_map(|market| market.position.as_ref()).filter(|own| read(own));
        let (stable, debt) = positions().flat_map(|own| &own.debt).fold((0.0, 0.0), |(stable, debt), part| {
            let usd = money(part.usd);
            (stable + if part.class == ExposureClass::Stablecoin { usd } else { 0.0 }, debt + usd)
        });
        let events = || markets.iter().flat_map(|market| &market.events);
        let liquidations = events().filter(|event| event.kind == EventKind::Liquidation);
        Self {
            health_factor: positions().filter_map(|own| own.health_factor).map(money).reduce(f64::min),
            utilisation: positions().filter_map(|own| own.utilisation).map(money).fold(0.0, f64::max),
            stable_share: if debt > 0.0 { stable / debt } else { 0.0 },
            repaid_usd: events()
                .filter(|event| event.kind == EventKind::Repay)
                .filter_map(|event| event.usd)
                .map(money)
                .sum(),
            quiet_days: liquidations.map(|event| features.as_of.saturating_sub(event.time) / DAY).min(),
        }
    }

    fn points(&self) -> [i32; 2] {
        // A health factor of 3 and more is as good as no debt.
        let health = self.health_factor.map_or(1.0, |factor| share((factor - 1.0) / 2.0));
        let position = health * (1.0 - share(self.utilisation) / 2.0) * (1.0 - self.stable_share / 10.0);
        let quiet = self.quiet_days.map_or(1.0, |days| share(days as f64 / 180.0));
        let repayment = quiet * share(self.repaid_usd / 10_000.0);
        [(position, POSITION), (repayment, REPAYMENT)].map(|(share, possible)| (share * f64::from(possible)) as i32)
    }
}

impl CreditModel for Leverage {
    fn describe() -> ModelInfo {
        let reads = ["coverage", "feeds-score", "position", "events"].map(|field| format!("markets.{field}"));
        ModelInfo {
            kind: Kind::Credit,
            version: "0.2".into(),
            title: "How close the debts are to a liquidation".into(),
            authors: vec!["Assay".into()],
            reads: reads.into(),
            claims: None,
        }
    }

    fn score(features: Features) -> Result<Verdict, Refusal> {
        let points = Seen::of(&features).points();
        let score = points.iter().fold(BASE, |sum, points| sum + points).clamp(300, 1000).unsigned_abs();
        Ok(Verdict { score, decile: Self::decile(score), points: points.into() })
    }

    fn explain(features: Features) -> Result<Vec<Factor>, Refusal> {
        let seen = Seen::of(&features);
        let [position, repayment] = seen.points();
        let health = seen.health_factor.map_or("no debt".into(), |factor| format!("a health factor of {factor:.2}"));
        let repaid = format!("You repaid {:.0} dollars that are known.", seen.repaid_usd);
        let factor = |label: &str, description: String, points: i32, possible: u32| Factor {
            label: label.into(),
            rating: rating(points, possible),
            description,
            points,
            possible,
        };
        Ok(vec![
            factor("Current Position", format!("Your positions have {health}."), position, POSITION),
            factor("Repayment History", repaid, repayment, REPAYMENT),
        ])
    }

    fn decile(score: u32) -> u8 {
        u8::try_from(score.saturating_sub(300) / 70 + 1).unwrap_or(10).min(10)
    }
}

assay_model::v2::export_with_panics!(credit Leverage);

/// What could not be read says nothing.
fn read(position: &Position) -> bool {
    position.coverage != Coverage::Failed
}

/// Figures that are negative or not numbers say nothing.
fn money(usd: f64) -> f64 {
    if usd > 0.0 { usd.min(1e12) } else { 0.0 }
}

fn share(of: f64) -> f64 {
    of.clamp(0.0, 1.0)
}

fn rating(points: i32, possible: u32) -> Rating {
    match f64::from(points) / f64::from(possible) {
        0.9.. => Rating::Excellent,
        0.75.. => Rating::VeryGood,
        0.5.. => Rating::Good,
        0.25.. => Rating::Fair,
        _ => Rating::Low,
    }
}

#[cfg(test)]
mod tests {
    use assay_model::v2::{CreditModel as _, testing};

    use super::Leverage;

    #[test]
    fn it_passes_the_self_test() {
        testing::credit::<Leverage>(&[]);
    }

    #[test]
    fn more_debt_never_raises_the_score() {
        let mut last = 1000;
        for factor in [None, Some(9.0), Some(2.0), Some(1.1), Some(0.9)] {
            let mut features = testing::detailed();
            let positions = features.markets.iter_mut().filter_map(|market| market.position.as_mut());
            positions.for_each(|position| position.health_factor = factor);
            let score = Leverage::score(features).unwrap().score;
            assert!(score <= last, "{score} at {factor:?}");
            last = score;
        }
    }
}
