//! How near a position is to a liquidation.

use super::PositionFeatures;
use crate::ExposureClass;

/// The share of the debt's security that may be lost before a liquidation, in percent: (1 - 1 / health factor) x 100.
/// Negative if the position can be liquidated.
pub fn buffer_percent(health_factor: f64) -> Option<f64> {
    Some((1.0 - 1.0 / health_factor) * 100.0).filter(|percent| percent.is_finite())
}

impl PositionFeatures {
    /// The price of the assets of `class`, as a share of their price now, at which the position can be liquidated if no
    /// other price moves; above 1 if it can be now. `None` without a health factor, and if no fall leads there. The
    /// mean threshold counts for each class.
    pub fn liquidation_share(&self, class: ExposureClass) -> Option<f64> {
        let health = self.health_factor?;
        let share = |of: &[super::Exposure]| {
            let sum = |all: bool| of.iter().filter(|one| all || one.class == class).map(|one| one.usd).sum::<f64>();
            (sum(true) > 0.0).then(|| sum(false) / sum(true))
        };
        // At the share f of the price: health x (1 + (f - 1) x collateral) = 1 + (f - 1) x debt.
        let slope = health * share(&self.collateral)? - share(&self.debt)?;
        let found = 1.0 + (1.0 - health) / slope;
        (slope > 0.0 && found > 0.0).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Coverage,
        features::{Change, Exposure, Features, PriceMove, change::tests::wallet},
    };

    #[test]
    fn at_the_price_of_a_liquidation_the_health_factor_is_one() {
        // A quarter of the debt is of the class of the collateral.
        let before = wallet(&[("lenderA_v3", 10_000.0, 4_000.0)]);
        let share = before.markets[0].position.as_ref().unwrap().liquidation_share(ExposureClass::Native).unwrap();
        let percent = (share - 1.0) * 100.0;
        let fall = Change::Price(PriceMove { asset: ExposureClass::Native.into(), percent });
        let after: Features = before.changed(&fall).unwrap();
        let health = after.markets[0].position.as_ref().unwrap().health_factor.unwrap();
        assert!((health - 1.0).abs() < 1e-9, "{health} at {share}");
    }

    #[test]
    fn a_class_that_cannot_lead_there_has_no_price() {
        let exposure = |class, usd| Exposure { class, usd };
        let position = PositionFeatures {
            coverage: Coverage::Complete,
            collateral: vec![exposure(ExposureClass::Native, 100.0), exposure(ExposureClass::Stablecoin, 900.0)],
            debt: vec![exposure(ExposureClass::Stablecoin, 100.0)],
            liquidation_threshold: Some(0.8),
            health_factor: Some(8.0),
            utilisation: Some(0.1),
        };
        assert_eq!(position.liquidation_share(ExposureClass::Native), None, "the rest is enough");
        assert_eq!(position.liquidation_share(ExposureClass::Bitcoin), None);
        let free = PositionFeatures { debt: Vec::new(), health_factor: None, ..position };
        assert_eq!(free.liquidation_share(ExposureClass::Native), None);
    }

    #[test]
    fn the_buffer_is_what_the_collateral_may_lose() {
        assert_eq!(buffer_percent(2.0), Some(50.0));
        assert_eq!(buffer_percent(0.5), Some(-100.0));
        assert_eq!(buffer_percent(0.0), None);
    }
}
