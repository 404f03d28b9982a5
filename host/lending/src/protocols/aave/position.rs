//! A wallet's position in an Aave pool: aToken and debt balances from the pool's data provider, times the prices of the
//! pool's oracle. Arithmetic is in integers until the last step.

use std::{collections::BTreeSet, sync::Arc};

use alloy::{primitives::Bytes, sol};
use futures::FutureExt;

use super::{
    Version,
    delegation::{self, Credit},
    fixed,
    rules::{BASIS, Category, ReserveRules, Stated, getUserEModeCall},
    scaled,
    terms::{PoolTerms, Reserve},
};
use crate::{
    asset::Asset,
    figures::{
        balance::Balance,
        hints::{Hint, Naming, TRANSFER},
        record::Side,
    },
    protocols::{FoundParts, Held, HeldParts, LendingTerms, MarketTerms, Parts, Used},
};
use assay_domain::{Address, AssetSide, Delegation, PositionAsset, U256};
use assay_evm::{Block, Call, Client, returned};

sol! {
    function getUserReserveData(address asset, address user) external view returns (
        uint256 aTokenBalance, uint256 stableDebt, uint256 variableDebt, uint256 principalStableDebt,
        uint256 scaledVariableDebt,
        uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated, bool usageAsCollateral);
    /// On aTokens and debt tokens of v3: not zero for a wallet that ever received one.
    function getPreviousIndex(address user) external view returns (uint256 index);
    /// On aTokens: the stored balance, which is the balance divided by the index.
    function scaledBalanceOf(address user) external view returns (uint256 amount);
    /// On a rewards controller of v2: the index at the last change of a balance; not zero for a wallet that ever had
    /// one.
    function getUserAssetData(address user, address asset) external view returns (uint256 index);
    function getUserAccountData(address user) external view returns (
        uint256 totalCollateral, uint256 totalDebt, uint256 availableBorrows, uint256 currentLiquidationThreshold,
        uint256 ltv, uint256 healthFactor);
    function getAssetsPrices(address[] assets) external view returns (uint256[] prices);
}

/// Scale of sums, in dollars or the quoted asset.
const SCALE: u64 = 1_000_000_000_000_000_000;

impl LendingTerms for PoolTerms {
    fn calls(&self, user: Address) -> Vec<Call> {
        let assets: Vec<_> = self.reserves.iter().map(|reserve| reserve.asset).collect();
        let balances =
            assets.iter().map(|asset| Call::new(self.data_provider, &getUserReserveDataCall { asset: *asset, user }));
        let prices = Call::new(self.oracle, &getAssetsPricesCall { assets: assets.clone() });
        let account = Call::new(self.pool, &getUserAccountDataCall { user });
        let scaled = self.scaled_supplies().map(|reserve| Call::new(reserve.token, &scaledBalanceOfCall { user }));
        let mode = (self.version == Version::V3).then(|| Call::new(self.pool, &getUserEModeCall { user }));
        let credit = self.credit.iter().map(Credit::call);
        balances.chain([prices, account]).chain(scaled).chain(mode).chain(credit).collect()
    }

    fn receipts(&self) -> Vec<Address> {
        let tokens = |reserve: &Reserve| {
            [Some(reserve.token), Some(reserve.debt_token), reserve.stable_debt_token].into_iter().flatten()
        };
        self.reserves.iter().flat_map(tokens).collect()
    }

    /// Tokens of v2 keep no trace, and do not answer. Their rewards controller has one for each change of a balance
    /// since it began to pay rewards (April 2021 on Ethereum).
    fn traces(&self, user: Address) -> Vec<Call> {
        let call = |(token, _, reserve): (Address, Side, &Reserve)| match reserve.rewards {
            Some(controller) => Call::new(controller, &getUserAssetDataCall { user, asset: token }),
            None => Call::new(token, &getPreviousIndexCall { user }),
        };
        self.tokens().map(call).collect()
    }

    /// Each change of a balance leaves a trace and emits a transfer. In v2 claiming a token's rewards also leaves a
    /// trace; only the wallet itself can claim.
    fn ever_held(&self, answers: &[Option<Bytes>]) -> bool {
        answers
            .iter()
            .any(|answer| returned::<getPreviousIndexCall>(Some(answer)).is_some_and(|index| !index.is_zero()))
    }

    /// Empty for v2, in which a claim of rewards leaves a trace too.
    fn touched(&self, answers: &[Option<Bytes>], _: Address) -> Vec<(Side, Asset)> {
        let is_touched = |answer| returned::<getPreviousIndexCall>(Some(answer)).is_some_and(|index| !index.is_zero());
        let touched = self.tokens().zip(answers).filter(|(_, answer)| is_touched(answer));
        let shown = touched.filter(|((_, side, reserve), _)| scaled::is_shown(*side, reserve.asset));
        let balances = shown.map(|((_, side, reserve), _)| (side, Asset::Scaled(reserve.asset)));
        balances.filter(|_| self.version == Version::V3).collect()
    }

    fn held(&self, answers: &[Option<Bytes>], quote_usd: Option<f64>) -> Option<Held> {
        let prices = returned::<getAssetsPricesCall>(answers.get(self.reserves.len()))?;
        let (mut supplied, mut borrowed, mut assets) = (U256::ZERO, U256::ZERO, 0);
        let mut found = Vec::new();
        for (i, reserve) in self.reserves.iter().enumerate() {
            let (data, price) = (returned::<getUserReserveDataCall>(answers.get(i))?, *prices.get(i)?);
            let debt = data.stableDebt.checked_add(data.variableDebt)?;
            let owned = self.scaled(data.aTokenBalance, price, reserve.decimals)?;
            let owed = self.scaled(debt, price, reserve.decimals)?;
            supplied = supplied.checked_add(owned)?;
            borrowed = borrowed.checked_add(owed)?;
            assets += u32::from(!data.aTokenBalance.is_zero());
            let side =
                if data.usageAsCollateral && !owned.is_zero() { AssetSide::Collateral } else { AssetSide::Deposit };
            found.push((i, side, data.aTokenBalance, owned, price));
            // A debt too small for its price is none.
            found.push((i, AssetSide::Debt, if owed.is_zero() { U256::ZERO } else { debt }, owed, price));
        }
        found.retain(|(_, _, amount, ..)| !amount.is_zero());
        let empty = supplied.is_zero() && borrowed.is_zero();
        let worth = match self.quote.asset {
            None => 1.0,
            Some(_) if empty => 0.0,
            Some(_) => quote_usd?,
        };
        let dollars = |scaled| f64::from(scaled) / SCALE as f64 * worth;
        let asset = |(place, side, amount, scaled, price): (usize, AssetSide, U256, U256, U256)| {
            let reserve = self.reserves.get(place)?;
            Some(PositionAsset {
                token: Some(reserve.asset),
                symbol: Some(reserve.symbol.clone()).filter(|symbol| !symbol.is_empty()),
                side,
                amount,
                decimals: reserve.decimals,
                usd: dollars(scaled),
                liquidation_threshold: None,
                price_usd: Some(f64::from(price) / f64::from(self.quote.unit) * worth),
                account: self.pool.into_word(),
            })
        };
        let data = returned::<getUserAccountDataCall>(answers.get(self.reserves.len() + 1));
        let mut parts = HeldParts {
            threshold: data.as_ref().and_then(threshold),
            health_factor: data.as_ref().and_then(health_factor),
            lacking: data.is_none() && !empty,
            unpriced: Vec::new(),
            mode: None,
            delegations: Vec::new(),
            assets: found.iter().copied().filter_map(asset).collect(),
        };
        self.add_rules(&mut parts, answers.get(self.mode_at()));
        let price = |place: usize| {
            Some(f64::from(*prices.get(place)?) / f64::from(self.quote.unit) * quote_usd.unwrap_or(worth))
        };
        parts.delegations = self.delegations(answers, price)?;
        let (supplied_usd, borrowed_usd) = (dollars(supplied), dollars(borrowed));
        Some(Held { supplied_usd, borrowed_usd, supplied_assets: assets, parts })
    }

    /// Transfers of each aToken, whose holder owns the supply, and changes of the stored balances.
    fn hints(&self) -> Vec<Hint> {
        let transfers = |reserve: &Reserve| Hint {
            contract: reserve.token.into(),
            topic0: TRANSFER,
            naming: Naming::Holder(reserve.asset),
            explained_by: &[],
        };
        let changes = self
            .reserves
            .iter()
            .flat_map(|reserve| scaled::hints(self.version, reserve.asset, reserve.token, reserve.debt_token));
        let credit = self.reserves.iter().flat_map(|reserve| delegation::hints(self.version, reserve.debt_token));
        let fixed = self.fixed_debts().flat_map(|(reserve, token)| fixed::hints(reserve.asset, token));
        self.reserves.iter().map(transfers).chain(changes).chain(credit).chain(fixed).collect()
    }

    fn balances(&self, answers: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        let still = |side, asset, amount| Balance::still(side, Asset::Scaled(asset), amount);
        let mut balances = Vec::new();
        // These answers follow those of the reserves, the prices and the account.
        for (reserve, i) in self.scaled_supplies().zip(self.reserves.len().saturating_add(2)..) {
            let amount = returned::<scaledBalanceOfCall>(answers.get(i))?;
            balances.push(still(Side::Supply, reserve.asset, amount));
        }
        for (i, reserve) in self.reserves.iter().enumerate() {
            let data = returned::<getUserReserveDataCall>(answers.get(i))?;
            let debt = data.stableDebt.checked_add(data.variableDebt)?;
            let (asset, rebasing) = (reserve.asset, scaled::is_rebasing(reserve.asset));
            if scaled::is_shown(Side::Debt, asset) {
                balances.push(still(Side::Debt, asset, data.scaledVariableDebt));
            }
            if self.fixed_debts().any(|(fixed, _)| fixed.asset == asset) {
                balances.push(Balance::still(Side::Debt, Asset::Fixed(asset), data.principalStableDebt));
            }
            let balance = |side, amount, interest| Balance {
                gains: Some(interest),
                rebasing,
                ..Balance::still(side, asset, amount)
            };
            balances.push(balance(Side::Supply, data.aTokenBalance, reserve.supply));
            balances
                .push(Balance { fixed_rate: !data.stableDebt.is_zero(), ..balance(Side::Debt, debt, reserve.debt) });
        }
        Some(balances)
    }

    fn token(&self, _: Side, asset: Asset) -> Option<(Address, f64)> {
        let Asset::Token(asset) = asset else { return None };
        let reserve = self.reserves.iter().find(|reserve| reserve.asset == asset)?;
        Some((asset, 10_f64.powi(reserve.decimals.into())))
    }

    /// Only for a wallet with credit in its history.
    fn parts<'a>(&'a self, _: &'a Client, wallet: Address, used: Used<'_>, _: Block) -> Option<FoundParts<'a>> {
        let is_listed = |credit: &Credit| self.reserves.iter().any(|reserve| reserve.debt_token == credit.token);
        let credit: Vec<_> = Credit::all(used.sums, wallet).filter(is_listed).collect();
        if credit.is_empty() {
            return None;
        }
        let parts = Box::new(Delegating(Self { credit, ..self.clone() })) as Box<dyn Parts>;
        Some(std::future::ready(Ok(Some(parts))).boxed())
    }

    fn oracle(&self) -> Option<(Address, U256)> {
        self.quote.asset.is_none().then_some((self.oracle, self.quote.unit))
    }

    fn quoted_in(&self) -> Option<Address> {
        self.quote.asset
    }
}

/// The terms of a pool for a wallet that gave or received credit.
struct Delegating(PoolTerms);

impl Parts for Delegating {
    /// None: the pool's oracle prices them.
    fn tokens(&self) -> BTreeSet<Address> {
        BTreeSet::new()
    }

    fn priced(self: Box<Self>, _: &dyn Fn(Address) -> Option<Option<u8>>) -> MarketTerms {
        Arc::new(self.0)
    }
}

/// The pool returns basis points, and zero without collateral.
fn threshold(data: &getUserAccountDataReturn) -> Option<f64> {
    let points = data.currentLiquidationThreshold;
    (!points.is_zero()).then(|| f64::from(points) / BASIS)
}

/// The pool returns the largest number if there is no debt.
fn health_factor(data: &getUserAccountDataReturn) -> Option<f64> {
    (data.healthFactor != U256::MAX).then(|| f64::from(data.healthFactor) / SCALE as f64)
}

impl PoolTerms {
    /// The reserves whose stored supply is requested.
    fn scaled_supplies(&self) -> impl Iterator<Item = &Reserve> {
        self.reserves.iter().filter(|reserve| scaled::is_shown(Side::Supply, reserve.asset))
    }

    /// The reserves with debt at a fixed rate whose logs show it, and its token. In v3 nobody may borrow so.
    fn fixed_debts(&self) -> impl Iterator<Item = (&Reserve, Address)> {
        let reserves = self.reserves.iter().filter(|_| self.version == Version::V2);
        reserves.filter_map(|reserve| Some((reserve, reserve.stable_debt_token?)))
    }

    /// The tokens of the reserves.
    fn tokens(&self) -> impl Iterator<Item = (Address, Side, &Reserve)> {
        self.reserves
            .iter()
            .flat_map(|reserve| [(reserve.token, Side::Supply, reserve), (reserve.debt_token, Side::Debt, reserve)])
            .filter(|(token, ..)| !token.is_zero())
    }

    /// The credit that the wallet gave or received, unless nothing was drawn and nothing can be. `None` if an allowance
    /// is missing.
    fn delegations(&self, answers: &[Option<Bytes>], price: impl Fn(usize) -> Option<f64>) -> Option<Vec<Delegation>> {
        // These answers follow that about the mode, which only v3 has.
        let first = self.mode_at().saturating_add(usize::from(self.version == Version::V3));
        let mut found = Vec::new();
        for (credit, at) in self.credit.iter().zip(first..) {
            let allowance = Credit::allowance(answers.get(at))?;
            let place = self.reserves.iter().position(|reserve| reserve.debt_token == credit.token)?;
            let reserve = self.reserves.get(place)?;
            if allowance.is_zero() && credit.drawn.is_zero() {
                continue;
            }
            found.push(Delegation {
                owner: credit.owner,
                delegate: credit.delegate,
                token: reserve.asset,
                symbol: Some(reserve.symbol.clone()).filter(|symbol| !symbol.is_empty()),
                decimals: reserve.decimals,
                allowance,
                drawn: credit.drawn,
                price_usd: price(place).filter(|price| *price > 0.0),
            });
        }
        Some(found)
    }

    /// The place of the answer about the wallet's category of e-mode.
    fn mode_at(&self) -> usize {
        self.scaled_supplies().count().saturating_add(self.reserves.len()).saturating_add(2)
    }

    /// Adds the mode, and the threshold of each collateral if together they explain what the pool states.
    fn add_rules(&self, parts: &mut HeldParts, category: Option<&Option<Bytes>>) {
        let chosen = match self.version {
            Version::V2 => Some(0),
            Version::V3 => returned::<getUserEModeCall>(category).and_then(|id| u8::try_from(id).ok()),
        };
        let Some(chosen) = chosen else { return };
        let reserve = |asset: &PositionAsset| {
            let place = self.reserves.iter().position(|reserve| Some(reserve.asset) == asset.token)?;
            Some((place, self.reserves.get(place)?.rules))
        };
        let is_collateral = |asset: &&mut PositionAsset| asset.side == AssetSide::Collateral;
        let rules: Vec<ReserveRules> = parts
            .assets
            .iter()
            .filter(|asset| asset.side == AssetSide::Collateral)
            .filter_map(|asset| Some(reserve(asset)?.1))
            .collect();
        parts.mode = Category::mode(&self.categories, chosen, &rules);
        let category = Category::find(&self.categories, chosen);
        for asset in parts.assets.iter_mut().filter(is_collateral) {
            // The pool states the threshold of a single collateral.
            let single = parts.threshold.filter(|_| rules.len() == 1);
            asset.liquidation_threshold = single
                .or_else(|| reserve(asset).and_then(|(place, rules)| Category::threshold(category, place, &rules)));
        }
        let sum = |weight: &dyn Fn(&PositionAsset) -> f64| -> f64 {
            parts.assets.iter().filter(|asset| asset.side == AssetSide::Collateral).map(weight).sum()
        };
        let weighted = sum(&|asset| asset.usd * asset.liquidation_threshold.unwrap_or(f64::NAN));
        // The pool leaves out assets that secure nothing any more.
        let collateral = sum(&|asset| if asset.liquidation_threshold == Some(0.0) { 0.0 } else { asset.usd });
        let debt: f64 = parts.on(AssetSide::Debt).map(|(_, usd)| usd).sum();
        let stated = Stated { threshold: parts.threshold, health_factor: parts.health_factor };
        let mean = (collateral > 0.0).then(|| weighted / collateral);
        if !stated.follows(mean, (debt > 0.0).then(|| weighted / debt)) {
            parts.assets.iter_mut().for_each(|asset| asset.liquidation_threshold = None);
        }
    }

    fn scaled(&self, amount: U256, price: U256, decimals: u8) -> Option<U256> {
        if amount.is_zero() {
            return Some(U256::ZERO);
        }
        // An oracle returns 0 if it has no price.
        let price = Some(price).filter(|price| !price.is_zero())?;
        let divisor = U256::from(10).checked_pow(U256::from(decimals))?.checked_mul(self.quote.unit)?;
        amount.checked_mul(price)?.checked_mul(U256::from(SCALE))?.checked_div(divisor)
    }
}

#[cfg(test)]
mod tests;
