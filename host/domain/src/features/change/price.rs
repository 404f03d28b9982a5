//! Moves of prices: of the assets of a class, or of one token in the positions of a wallet.

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::{ChangeError, apply::sum, positions::TokenPositions};
use crate::{
    Address, AssetSide, ExposureClass, Position, PositionAsset,
    features::{Exposure, Features, MarketFeatures, exact},
};

/// Most characters of a symbol.
const SYMBOL: usize = 32;

/// A price that moves by this many percent: -30 leaves 70 % of it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceMove {
    pub asset: Priced,
    #[serde(with = "exact")]
    pub percent: f64,
}

/// What a price is of: `native`, `bitcoin`, `stablecoin`, `other`, or the symbol or the address of a token.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Priced {
    Class(ExposureClass),
    Token(TokenName),
}

/// A token by its symbol, whatever its case and chain, or by its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenName {
    Symbol(String),
    At(Address),
}

/// By which factor each side and class of a market changes its value, and the health factor of the market.
struct Revaluation {
    factors: BTreeMap<(AssetSide, ExposureClass), f64>,
    /// `None`: as the value of all collateral and debt, because the mean threshold holds for each class.
    health: Option<f64>,
}

impl PriceMove {
    /// What the price is multiplied by.
    pub(super) fn factor(&self) -> Result<f64, ChangeError> {
        factor(self.percent)
    }
}

/// What a price is multiplied by that moves by so many percent.
pub(in crate::features) fn factor(percent: f64) -> Result<f64, ChangeError> {
    if percent > -100.0 && percent <= 1_000.0 { Ok(1.0 + percent / 100.0) } else { Err(ChangeError::Percent(percent)) }
}

impl TokenName {
    pub(super) fn names(&self, asset: &PositionAsset) -> bool {
        match self {
            Self::Symbol(symbol) => asset.symbol.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(symbol)),
            Self::At(address) => asset.token == Some(*address),
        }
    }
}

impl Features {
    pub(super) fn reprice_class(&mut self, class: ExposureClass, factor: f64) {
        let sides = [AssetSide::Collateral, AssetSide::Debt];
        let factors: BTreeMap<_, _> = sides.map(|side| ((side, class), factor)).into();
        for at in 0..self.markets.len() {
            self.revalue(at, &Revaluation { factors: factors.clone(), health: None });
        }
    }

    /// Moves all prices that do not follow the dollar. How those of the class `other` move together is not known, so
    /// they move against the wallet: with a fall its collateral of that class, with a rise its debt.
    pub(in crate::features) fn reprice_all(&mut self, factor: f64) {
        let known = [ExposureClass::Native, ExposureClass::Bitcoin];
        let both = known.into_iter().flat_map(|class| [(AssetSide::Collateral, class), (AssetSide::Debt, class)]);
        let against = if factor < 1.0 { AssetSide::Collateral } else { AssetSide::Debt };
        let parts = both.chain([(against, ExposureClass::Other)]);
        let factors: BTreeMap<_, _> = parts.map(|part| (part, factor)).collect();
        for at in 0..self.markets.len() {
            self.revalue(at, &Revaluation { factors: factors.clone(), health: None });
        }
    }

    /// Moves the price of one token, as far as it is collateral or debt in `held`.
    pub(super) fn reprice_token(
        &mut self,
        token: &TokenName,
        factor: f64,
        held: &TokenPositions,
    ) -> Result<(), ChangeError> {
        if !held.positions.iter().flat_map(|position| &position.assets).any(|asset| token.names(asset)) {
            return Err(ChangeError::NoToken { token: token.clone(), known: held.symbols() });
        }
        for at in 0..self.markets.len() {
            let Some(market) = self.markets.get(at).filter(|market| market.has_exposure()) else { continue };
            let name = market.name();
            let position = held.positions.iter().find(|one| one.market_name() == name && !one.assets.is_empty());
            let position = position.ok_or(ChangeError::TokensUnread(name))?;
            let revaluation = Revaluation::of_token(position, token, factor, held);
            self.revalue(at, &revaluation);
        }
        Ok(())
    }

    fn revalue(&mut self, at: usize, revaluation: &Revaluation) {
        let Some(market) = self.markets.get_mut(at) else { return };
        let (chain, supplied, borrowed) = (market.chain_id, market.supplied_usd, market.borrowed_usd);
        let Some(position) = &mut market.position else { return };
        let (secured, owed) = (sum(&position.collateral), sum(&position.debt));
        let more_collateral = revaluation.apply(AssetSide::Collateral, &mut position.collateral);
        let more_debt = revaluation.apply(AssetSide::Debt, &mut position.debt);
        if let Some(health) = &mut position.health_factor {
            let mean = || grown(secured, more_collateral) / grown(owed, more_debt);
            *health *= revaluation.health.unwrap_or_else(mean);
        }
        let (supplies, owes) = ((supplied + more_collateral).max(0.0), (borrowed + more_debt).max(0.0));
        (market.supplied_usd, market.borrowed_usd) = (supplies, owes);
        market.utilise();
        self.sum_chain(chain, supplied, supplies, |chain| &mut chain.supplied_usd);
        self.sum_chain(chain, borrowed, owes, |chain| &mut chain.borrowed_usd);
        self.hold(supplies - supplied);
    }
}

impl MarketFeatures {
    fn has_exposure(&self) -> bool {
        self.position.as_ref().is_some_and(|one| !one.collateral.is_empty() || !one.debt.is_empty())
    }
}

impl Revaluation {
    fn of_token(position: &Position, token: &TokenName, factor: f64, held: &TokenPositions) -> Self {
        let mut sums = BTreeMap::<_, (f64, f64)>::new();
        for asset in &position.assets {
            let (own, all) = sums.entry((asset.side, held.class_of(position.chain_id, asset.token))).or_default();
            *own += if token.names(asset) { asset.usd } else { 0.0 };
            *all += asset.usd;
        }
        let share = |(own, all): (f64, f64)| if all > 0.0 { 1.0 + own / all * (factor - 1.0) } else { 1.0 };
        let health = |moved: f64| {
            position.health_factor_at(&held.positions, &|asset| if token.names(asset) { moved } else { 1.0 })
        };
        let health = health(factor).zip(health(1.0)).map(|(then, now)| then / now).filter(|ratio| ratio.is_finite());
        Self { factors: sums.into_iter().map(|(part, sums)| (part, share(sums))).collect(), health }
    }

    /// Returns the dollars that the exposures gained.
    fn apply(&self, side: AssetSide, exposures: &mut [Exposure]) -> f64 {
        let mut more = 0.0;
        for exposure in exposures {
            let factor = self.factors.get(&(side, exposure.class)).copied().unwrap_or(1.0);
            let was = exposure.usd;
            exposure.usd *= factor;
            more += exposure.usd - was;
        }
        more
    }
}

/// The factor of a sum that gained `more`; 1 for nothing.
fn grown(sum: f64, more: f64) -> f64 {
    if sum > 0.0 { (sum + more) / sum } else { 1.0 }
}

impl fmt::Display for Priced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class(class) => f.write_str(class.as_str()),
            Self::Token(token) => token.fmt(f),
        }
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Symbol(symbol) => f.write_str(symbol),
            Self::At(address) => address.fmt(f),
        }
    }
}

impl FromStr for Priced {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(class) = ExposureClass::ALL.into_iter().find(|class| class.as_str() == text) {
            return Ok(Self::Class(class));
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Token(TokenName::At(address)));
        }
        let is_symbol = (1..=SYMBOL).contains(&text.chars().count()) && !text.starts_with("0x");
        if is_symbol { Ok(Self::Token(TokenName::Symbol(text.to_owned()))) } else { Err(UNNAMED.to_owned()) }
    }
}

const UNNAMED: &str = "give native, bitcoin, stablecoin, other, or the symbol or the address of a token";

impl TryFrom<String> for Priced {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Priced> for String {
    fn from(priced: Priced) -> Self {
        priced.to_string()
    }
}

impl From<ExposureClass> for Priced {
    fn from(class: ExposureClass) -> Self {
        Self::Class(class)
    }
}
