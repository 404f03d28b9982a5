//! Applies a change to features. Every caller that asks what would be uses [`Features::changed`], so a change that one
//! of them reports has the same result for all.

use super::{Change, ChangeError, MOST_DAYS, MarketAmount, MarketName, Priced};
use crate::{
    AssetClass, ChainId, Coverage, ExposureClass,
    features::{ChainFeatures, Exposure, Features, Holding, MarketFeatures, PositionFeatures},
};

const DAY: u64 = 86_400;
/// A rest of a sum below this share of it is the rounding of that sum.
const ROUNDING: f64 = 1e-9;

impl Features {
    /// These features after `change`.
    ///
    /// # Errors
    /// [`ChangeError`] if the change is out of bounds, or names a market or an amount that the wallet does not have.
    pub fn changed(&self, change: &Change) -> Result<Self, ChangeError> {
        let mut changed = self.clone();
        match change {
            Change::Repay(of) => changed.repay(of)?,
            Change::Borrow(of) => changed.borrow(of)?,
            Change::Deposit(of) => changed.deposit(of)?,
            Change::Withdraw(of) => changed.withdraw(of)?,
            Change::Price(of) => match &of.asset {
                Priced::Class(class) => changed.reprice_class(*class, of.factor()?),
                Priced::Token(token) => return Err(ChangeError::NoTokens(token.clone())),
            },
            Change::Days(days @ 1..=MOST_DAYS) => changed.as_of = changed.as_of.saturating_add(days * DAY),
            Change::Days(days) => return Err(ChangeError::Days(*days)),
        }
        Ok(changed)
    }

    /// These features after `changes`, in their order.
    ///
    /// # Errors
    /// That of the first change which does not apply.
    pub fn after(&self, changes: &[Change]) -> Result<Self, ChangeError> {
        changes.iter().try_fold(self.clone(), |features, change| features.changed(change))
    }

    fn repay(&mut self, MarketAmount { market: name, usd }: &MarketAmount) -> Result<(), ChangeError> {
        let market = self.named(name)?;
        let (usd, owes) = (amount(*usd)?, market.borrowed_usd);
        if usd > owes {
            return Err(ChangeError::MoreThanOwed { market: name.clone(), usd, owes });
        }
        let left = owes - usd;
        market.owe(left);
        self.sum_chain(name.chain_id, owes, left, |chain| &mut chain.borrowed_usd);
        Ok(())
    }

    fn borrow(&mut self, MarketAmount { market: name, usd }: &MarketAmount) -> Result<(), ChangeError> {
        let market = self.named(name)?;
        let owed = market.borrowed_usd;
        let owes = owed + amount(*usd)?;
        market.owe(owes);
        self.sum_chain(name.chain_id, owed, owes, |chain| &mut chain.borrowed_usd);
        Ok(())
    }

    fn deposit(&mut self, MarketAmount { market: name, usd }: &MarketAmount) -> Result<(), ChangeError> {
        let market = self.named(name)?;
        let (usd, had) = (amount(*usd)?, market.supplied_usd);
        if let Some(position) = market.position.as_mut().filter(|position| position.coverage != Coverage::Failed) {
            let secured = sum(&position.collateral);
            if secured <= 0.0 {
                return Err(ChangeError::NoCollateral(name.clone()));
            }
            position.secure(secured, secured + usd);
        }
        self.supply(name, had, had + usd)
    }

    fn withdraw(&mut self, MarketAmount { market: name, usd }: &MarketAmount) -> Result<(), ChangeError> {
        let market = self.named(name)?;
        let (usd, has) = (amount(*usd)?, market.supplied_usd);
        if usd > has {
            return Err(ChangeError::MoreThanSupplied { market: name.clone(), usd, has });
        }
        if let Some(position) = &mut market.position {
            let secured = sum(&position.collateral);
            position.secure(secured, (secured - usd).max(0.0));
        }
        self.supply(name, has, has - usd)
    }

    /// The one market of this name.
    fn named(&mut self, name: &MarketName) -> Result<&mut MarketFeatures, ChangeError> {
        match self.markets.iter().filter(|market| name.is_of(market)).count() {
            0 => {
                let known: Vec<_> = self.markets.iter().map(|market| market.name().to_string()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Err(ChangeError::NoMarket { name: name.clone(), known })
            }
            1 => {
                let unknown = || ChangeError::NoMarket { name: name.clone(), known: "none".to_owned() };
                self.markets.iter_mut().find(|market| name.is_of(market)).ok_or_else(unknown)
            }
            _ => Err(ChangeError::Several(name.clone())),
        }
    }

    /// Sets the deposits of a market, with the sums that they are part of.
    fn supply(&mut self, name: &MarketName, had: f64, has: f64) -> Result<(), ChangeError> {
        let market = self.named(name)?;
        market.supplied_usd = has;
        market.utilise();
        self.sum_chain(name.chain_id, had, has, |chain| &mut chain.supplied_usd);
        self.hold(has - had);
        Ok(())
    }

    /// Replaces a part of a sum of its chain.
    pub(super) fn sum_chain(&mut self, id: ChainId, was: f64, is: f64, sum: fn(&mut ChainFeatures) -> &mut f64) {
        for chain in self.chains.iter_mut().filter(|chain| chain.chain_id == id) {
            let sum = sum(chain);
            let rest = *sum - was;
            *sum = if rest.abs() <= ROUNDING * sum.abs() { is } else { (rest + is).max(0.0) };
        }
    }

    /// Deposits are holdings of the class `collateral`.
    pub(super) fn hold(&mut self, more: f64) {
        match self.holdings.iter_mut().find(|holding| holding.class == AssetClass::Collateral) {
            Some(holding) => holding.usd = (holding.usd + more).max(0.0),
            None if more > 0.0 => {
                self.holdings.push(Holding { class: AssetClass::Collateral, usd: more, assets: 1 });
                self.holdings.sort_by_key(|holding| holding.class);
            }
            None => {}
        }
    }
}

impl MarketFeatures {
    /// Sets the debt.
    fn owe(&mut self, owes: f64) {
        let owed = std::mem::replace(&mut self.borrowed_usd, owes);
        self.utilise();
        let Some(position) = self.position.as_mut().filter(|position| position.coverage != Coverage::Failed) else {
            return;
        };
        if owes <= 0.0 {
            position.debt.clear();
            position.health_factor = None;
        } else if owed > 0.0 && !position.debt.is_empty() {
            let factor = owes / owed;
            position.debt.iter_mut().for_each(|exposure| exposure.usd *= factor);
            position.health_factor = position.health_factor.map(|health| health / factor);
        } else if owed <= 0.0 {
            position.debt = vec![Exposure { class: ExposureClass::Stablecoin, usd: owes }];
            let secured = sum(&position.collateral);
            position.health_factor = match position.liquidation_threshold {
                Some(threshold) => Some(secured * threshold / owes),
                None => (secured <= 0.0).then_some(0.0),
            };
            if position.health_factor.is_none() {
                position.coverage = Coverage::Partial;
            }
        } else {
            position.health_factor = position.health_factor.map(|health| health * owed / owes);
        }
    }

    /// Computes the utilisation again, if it is known.
    pub(super) fn utilise(&mut self) {
        let (supplied, borrowed) = (self.supplied_usd, self.borrowed_usd);
        if let Some(position) = self.position.as_mut().filter(|position| position.coverage != Coverage::Failed) {
            position.utilisation = (supplied > 0.0).then(|| borrowed / supplied);
        }
    }
}

impl PositionFeatures {
    /// Scales the collateral from `had` to `has` dollars.
    fn secure(&mut self, had: f64, has: f64) {
        let factor = ratio(has, had);
        self.collateral.iter_mut().for_each(|exposure| exposure.usd *= factor);
        self.health_factor = self.health_factor.map(|health| health * factor);
        if has <= 0.0 {
            self.collateral.clear();
            self.liquidation_threshold = None;
        }
    }
}

fn amount(usd: f64) -> Result<f64, ChangeError> {
    if usd > 0.0 && usd <= 1e12 { Ok(usd) } else { Err(ChangeError::Amount(usd)) }
}

pub(super) fn sum(exposures: &[Exposure]) -> f64 {
    exposures.iter().map(|exposure| exposure.usd).sum()
}

/// 1 for a whole that is 0 or no number.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}
