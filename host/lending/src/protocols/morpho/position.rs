//! A wallet's positions in the markets that it used. The state of the markets and the wallet's shares are read first.
//! Then come the rates, by which interest since the last use of a market is added as the contract would; the price of
//! the collateral, if it secures a debt; and the decimals of tokens that have a price in dollars. Anybody can create a
//! market with any token and any oracle, and supply to it for any wallet: no other function of these contracts is
//! called, and dollar prices come only from the chain's own sources, never from a market's oracle.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use alloy::{primitives::Bytes, sol};

use super::math::{MorphoTotals, ORACLE_SCALE, WAD, most_debt};
use crate::{
    asset::Asset,
    figures::{balance::Balance, record::Side},
    protocols::{Held, LendingTerms, MarketTerms, Parts},
};
use assay_domain::{Address, AssetSide, B256, PositionAsset, Prices, U256};
use assay_evm::{Block, Call, Client, Fault, client::Bounds, returned};

sol! {
    #[derive(Debug, PartialEq)]
    struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }
    #[derive(Debug)]
    struct Market {
        uint128 totalSupplyAssets; uint128 totalSupplyShares; uint128 totalBorrowAssets; uint128 totalBorrowShares;
        uint128 lastUpdate; uint128 fee;
    }
    function idToMarketParams(bytes32 id) external view returns (MarketParams params);
    function market(bytes32 id) external view returns (Market market);
    #[derive(Debug)]
    function position(bytes32 id, address user)
        external view returns (uint256 supplyShares, uint128 borrowShares, uint128 collateral);
    function borrowRateView(MarketParams params, Market market) external view returns (uint256 rate);
    function price() external view returns (uint256 price);
    function decimals() external view returns (uint8 decimals);
}

/// A wallet's position in one market, and the market.
#[derive(Debug, Clone)]
struct MorphoPosition {
    id: B256,
    params: MarketParams,
    market: Market,
    supply_shares: U256,
    borrow_shares: U256,
    collateral: U256,
}

/// The markets that a wallet used.
#[derive(Debug, Clone)]
pub(super) struct UsedMarkets {
    positions: Vec<MorphoPosition>,
    /// Time of the block, in seconds since 1970.
    now: u64,
    /// Tokens that have a price, with their decimals if configured.
    priced: BTreeMap<Address, Option<u8>>,
}

/// A question about state that [`UsedMarkets`] does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MorphoQuestion {
    /// The rate of the market at this index.
    Rate(usize),
    /// The price of the collateral of the market at this index.
    Price(usize),
    Decimals(Address),
}

type MorphoAnswers<'a> = BTreeMap<MorphoQuestion, Option<&'a Option<Bytes>>>;

impl UsedMarkets {
    /// The positions of `wallet` in the markets `ids`. `None` if the contract does not answer for one of them.
    pub(super) async fn look_up(
        client: &Client,
        contract: Address,
        wallet: Address,
        ids: BTreeSet<B256>,
        at: Block,
    ) -> Result<Option<Self>, Fault> {
        let three = |id: &B256| {
            [
                Call::new(contract, &idToMarketParamsCall { id: *id }),
                Call::new(contract, &marketCall { id: *id }),
                Call::new(contract, &positionCall { id: *id, user: wallet }),
            ]
        };
        if ids.is_empty() {
            return Ok(Some(Self { positions: Vec::new(), now: at.time, priced: BTreeMap::new() }));
        }
        let answers = client.shared_calls(ids.iter().flat_map(three).collect(), at.hash).await?;
        let positions = ids.into_iter().zip(answers.chunks(3)).map(|(id, answers)| MorphoPosition::read(id, answers));
        let positions = positions.collect::<Option<Vec<_>>>();
        Ok(positions.map(|positions| Self { positions, now: at.time, priced: BTreeMap::new() }))
    }

    fn questions(&self) -> Vec<(MorphoQuestion, Call)> {
        let mut asked = BTreeMap::new();
        for (place, position) in self.positions.iter().enumerate() {
            let MorphoPosition { params, market, .. } = position;
            if position.accrues(self.now) {
                let call = borrowRateViewCall { params: params.clone(), market: market.clone() };
                asked.insert(MorphoQuestion::Rate(place), Call::new(params.irm, &call));
            }
            if !position.borrow_shares.is_zero() {
                asked.insert(MorphoQuestion::Price(place), Call::new(params.oracle, &priceCall {}));
            }
            for token in position.tokens() {
                if self.priced.get(&token) == Some(&None) {
                    asked.insert(MorphoQuestion::Decimals(token), Call::new(token, &decimalsCall {}));
                }
            }
        }
        asked.into_iter().collect()
    }

    /// The decimals of a token; `None` for a token without a price.
    fn decimals(&self, token: Address, answers: &MorphoAnswers<'_>) -> Option<u8> {
        match self.priced.get(&token)? {
            Some(configured) => Some(*configured),
            None => returned::<decimalsCall>(*answers.get(&MorphoQuestion::Decimals(token))?),
        }
    }

    /// Adds the position at `place` to `held`, and returns its collateral in dollars times its threshold.
    fn add(
        &self,
        place: usize,
        position: &MorphoPosition,
        answers: &MorphoAnswers<'_>,
        prices: &Prices,
        held: &mut Held,
    ) -> Option<f64> {
        let MorphoPosition { id, params, collateral, .. } = position;
        let totals = position.totals(self.now, answers.get(&MorphoQuestion::Rate(place)).copied().flatten())?;
        let (supplied, borrowed) = (totals.supplied(position.supply_shares)?, totals.borrowed(position.borrow_shares)?);
        let asset = |side, token: Address, amount: U256| {
            let decimals = self.decimals(token, answers)?;
            let price = prices.get(&Some(token))?.usd;
            let usd = f64::from(amount) / 10_f64.powi(decimals.into()) * price;
            let (token, symbol, price_usd) = (Some(token), None, Some(price));
            let liquidation_threshold = None;
            Some(PositionAsset {
                token,
                symbol,
                side,
                amount,
                decimals,
                usd,
                liquidation_threshold,
                price_usd,
                account: *id,
            })
        };
        let price = returned::<priceCall>(answers.get(&MorphoQuestion::Price(place)).copied().flatten());
        // The market's price of the collateral, if it secures a debt whose token has decimals and a price.
        let mut priced = None;
        if !borrowed.is_zero() {
            let debt = asset(AssetSide::Debt, params.loanToken, borrowed)?;
            held.borrowed_usd += debt.usd;
            match price.and_then(|price| most_debt(*collateral, price, params.lltv)) {
                Some(most) => held.parts.nearest(f64::from(most) / f64::from(borrowed)),
                None => held.parts.lacking = true,
            }
            priced = price.map(|price| (price, debt.decimals, debt.price_usd));
            held.parts.assets.push(debt);
        }
        if !supplied.is_zero() {
            match asset(AssetSide::Deposit, params.loanToken, supplied) {
                Some(asset) => {
                    held.supplied_usd += asset.usd;
                    held.parts.assets.push(asset);
                }
                None => held.parts.unpriced.push(params.loanToken),
            }
        }
        let mut weighted = 0.0;
        if !collateral.is_zero() {
            match asset(AssetSide::Collateral, params.collateralToken, *collateral) {
                Some(mut asset) => {
                    let threshold = f64::from(params.lltv) / f64::from(WAD);
                    held.supplied_usd += asset.usd;
                    weighted = asset.usd * threshold;
                    asset.liquidation_threshold = Some(threshold);
                    if !borrowed.is_zero() {
                        asset.price_usd = priced.and_then(|(price, decimals, loan)| {
                            let whole = 10_f64.powi(i32::from(asset.decimals) - i32::from(decimals));
                            Some(f64::from(price) / f64::from(ORACLE_SCALE) * whole * loan?)
                        });
                    }
                    held.parts.assets.push(asset);
                }
                // A debt without its collateral would be misleading.
                None if !borrowed.is_zero() => return None,
                None => held.parts.unpriced.push(params.collateralToken),
            }
        }
        Some(weighted)
    }
}

impl Parts for UsedMarkets {
    fn tokens(&self) -> BTreeSet<Address> {
        self.positions.iter().flat_map(MorphoPosition::tokens).collect()
    }

    fn priced(mut self: Box<Self>, priced: &dyn Fn(Address) -> Option<Option<u8>>) -> MarketTerms {
        let all =
            self.positions.iter().flat_map(|position| [position.params.loanToken, position.params.collateralToken]);
        self.priced = all.filter_map(|token| Some((token, priced(token)?))).collect();
        Arc::new(*self)
    }
}

impl LendingTerms for UsedMarkets {
    fn calls(&self, _: Address) -> Vec<Call> {
        self.questions().into_iter().map(|(_, call)| call).collect()
    }

    /// Anybody can create a market with any token and any oracle.
    fn bounds(&self) -> Option<Bounds> {
        Some(Bounds::ORACLE)
    }

    /// The health factor is that of the market nearest to liquidation: no market secures another's debt.
    fn held_at(&self, answers: &[Option<Bytes>], prices: &Prices) -> Option<Held> {
        let questions = self.questions().into_iter().map(|(question, _)| question).enumerate();
        let answers: MorphoAnswers<'_> = questions.map(|(place, question)| (question, answers.get(place))).collect();
        let (mut held, mut weighted) = (Held::default(), 0.0);
        for (place, position) in self.positions.iter().enumerate() {
            weighted += self.add(place, position, &answers, prices, &mut held)?;
        }
        if held.parts.lacking {
            // The market that did not answer may be nearer.
            held.parts.health_factor = None;
        }
        held.parts.weigh_collateral(weighted);
        let supplied: BTreeSet<Address> = self.positions.iter().flat_map(MorphoPosition::supplied).collect();
        held.supplied_assets = u32::try_from(supplied.len()).ok()?;
        Some(held)
    }

    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        let three = |position: &MorphoPosition| {
            [
                Balance::still(Side::Supply, Asset::Shares(position.id), position.supply_shares),
                Balance::still(Side::Debt, Asset::Shares(position.id), position.borrow_shares),
                Balance::still(Side::Collateral, Asset::Market(position.id), position.collateral),
            ]
        };
        Some(self.positions.iter().flat_map(three).collect())
    }

    fn token(&self, side: Side, asset: Asset) -> Option<(Address, f64)> {
        let Asset::Market(id) = asset else { return None };
        let params = &self.positions.iter().find(|position| position.id == id)?.params;
        let token = if side == Side::Collateral { params.collateralToken } else { params.loanToken };
        // Only a configured token has a class.
        let decimals = self.priced.get(&token).copied().flatten()?;
        Some((token, 10_f64.powi(decimals.into())))
    }
}

impl MorphoPosition {
    fn read(id: B256, answers: &[Option<Bytes>]) -> Option<Self> {
        let params = returned::<idToMarketParamsCall>(answers.first())?;
        let market = returned::<marketCall>(answers.get(1)).filter(|market| market.lastUpdate > 0)?;
        let position = returned::<positionCall>(answers.get(2))?;
        Some(Self {
            id,
            params,
            market,
            supply_shares: position.supplyShares,
            borrow_shares: U256::from(position.borrowShares),
            collateral: U256::from(position.collateral),
        })
    }

    fn is_lent(&self) -> bool {
        !self.supply_shares.is_zero() || !self.borrow_shares.is_zero()
    }

    /// The tokens that the wallet has or owes.
    fn tokens(&self) -> impl Iterator<Item = Address> + use<> {
        let loan = self.is_lent().then_some(self.params.loanToken);
        loan.into_iter().chain((!self.collateral.is_zero()).then_some(self.params.collateralToken))
    }

    fn supplied(&self) -> impl Iterator<Item = Address> + use<> {
        let loan = (!self.supply_shares.is_zero()).then_some(self.params.loanToken);
        loan.into_iter().chain((!self.collateral.is_zero()).then_some(self.params.collateralToken))
    }

    fn seconds(&self, now: u64) -> u64 {
        now.saturating_sub(u64::try_from(self.market.lastUpdate).unwrap_or(u64::MAX))
    }

    /// Whether interest that matters to this position was added since the last use of the market.
    fn accrues(&self, now: u64) -> bool {
        let Self { params, market, .. } = self;
        self.is_lent() && self.seconds(now) > 0 && market.totalBorrowAssets > 0 && !params.irm.is_zero()
    }

    /// The totals of the market with the interest until `now`, at the requested `rate`.
    fn totals(&self, now: u64, rate: Option<&Option<Bytes>>) -> Option<MorphoTotals> {
        let market = &self.market;
        let totals = MorphoTotals {
            supply_assets: U256::from(market.totalSupplyAssets),
            supply_shares: U256::from(market.totalSupplyShares),
            borrow_assets: U256::from(market.totalBorrowAssets),
            borrow_shares: U256::from(market.totalBorrowShares),
            fee: U256::from(market.fee),
        };
        if !self.accrues(now) {
            return Some(totals);
        }
        totals.after(returned::<borrowRateViewCall>(rate)?, self.seconds(now))
    }
}

#[cfg(test)]
mod tests;
