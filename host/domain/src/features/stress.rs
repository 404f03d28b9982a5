//! What a fall of prices does to debts: the same change for every caller that asks.

use super::{ChangeError, Features, change::factor};

/// The debts of a wallet, in dollars at the prices now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DebtAtRisk {
    pub owed_usd: f64,
    /// In markets that can be liquidated then: their health factor is below 1.
    pub at_risk_usd: f64,
    /// In markets without a health factor, of which nobody knows.
    pub unknown_usd: f64,
}

impl Features {
    /// These features after all prices that do not follow the dollar moved by `percent`. A debt of the class `other`
    /// does not become cheaper by a fall: a token that nobody classified may follow the dollar.
    ///
    /// # Errors
    /// [`ChangeError::Percent`] unless `percent` is above -100 and at most 1000.
    pub fn after_move(&self, percent: f64) -> Result<Self, ChangeError> {
        let mut moved = self.clone();
        moved.reprice_all(factor(percent)?);
        Ok(moved)
    }

    /// The debts that can be liquidated after [`after_move`](Self::after_move).
    ///
    /// # Errors
    /// As `after_move`.
    pub fn debt_at_risk(&self, percent: f64) -> Result<DebtAtRisk, ChangeError> {
        let then = self.after_move(percent)?;
        let mut found = DebtAtRisk::default();
        for (now, then) in self.markets.iter().zip(&then.markets).filter(|(now, _)| now.borrowed_usd > 0.0) {
            let owed = now.borrowed_usd;
            found.owed_usd += owed;
            match then.position.as_ref().and_then(|position| position.health_factor) {
                Some(health) if health < 1.0 => found.at_risk_usd += owed,
                Some(_) => {}
                None => found.unknown_usd += owed,
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ExposureClass,
        features::{Exposure, change::tests::wallet},
    };

    #[test]
    fn debts_are_at_risk_from_the_fall_that_takes_their_health_factor_below_1() {
        let mut features = wallet(&[("lenderA_v3", 10_000.0, 4_000.0), ("lenderB_v3", 10_000.0, 1_000.0)]);
        let health = features.markets[0].position.as_ref().unwrap().health_factor.unwrap();
        let debts = |features: &Features, percent| features.debt_at_risk(percent).unwrap();
        assert_eq!(debts(&features, 0.0), DebtAtRisk { owed_usd: 5_000.0, ..DebtAtRisk::default() });
        // A quarter of the debt falls too, so the factor falls by less than the prices.
        let fall = [-10.0, -20.0, -30.0, -50.0, -80.0].into_iter().find(|fall| {
            let then = features.after_move(*fall).unwrap();
            then.markets[0].position.as_ref().unwrap().health_factor.unwrap() < 1.0
        });
        let fall = fall.unwrap_or_else(|| panic!("{health} never falls below 1"));
        assert_eq!(debts(&features, fall).at_risk_usd, 4_000.0, "{fall}");
        features.markets[1].position = None;
        assert_eq!((debts(&features, fall).unknown_usd, debts(&features, fall).owed_usd), (1_000.0, 5_000.0));
        assert!(features.debt_at_risk(-100.0).is_err());
    }

    #[test]
    fn a_debt_in_a_token_that_nobody_classified_does_not_fall() {
        let mut features = wallet(&[("lenderA_v3", 10_000.0, 4_000.0)]);
        let position = features.markets[0].position.as_mut().unwrap();
        position.debt = vec![Exposure { class: ExposureClass::Other, usd: 4_000.0 }];
        let health = |percent| {
            let then = features.after_move(percent).unwrap();
            (then.markets[0].position.as_ref().unwrap().health_factor.unwrap() * 1e9).round() / 1e9
        };
        assert_eq!((health(0.0), health(-50.0)), (2.0, 1.0));
        assert_eq!(health(100.0), 2.0, "and it rises with a rise, as the collateral does");
    }
}
