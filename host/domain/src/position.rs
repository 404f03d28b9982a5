//! A wallet's position in one lending market, by asset, and how far prices may move before it can be liquidated.

use std::collections::BTreeMap;

use crate::{
    Address, B256, ChainId, Protocol, U256,
    holding::{balance_text, whole_tokens},
};

/// The current position of a wallet in one market, in dollars.
#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    pub chain_id: ChainId,
    pub protocol: Protocol,
    pub market_address: Address,
    pub market: Option<String>,
    pub supplied_usd: f64,
    pub borrowed_usd: f64,
    /// Distinct assets supplied.
    pub supplied_assets: u32,
    pub assets: Vec<PositionAsset>,
    /// As the protocol states it, of the account nearest to liquidation; `None` without debt, or if unread.
    pub health_factor: Option<f64>,
    /// `None` if the default rules of the market apply.
    pub mode: Option<LendingMode>,
    /// Credit that the wallet gave or received. It is in no sum, because what was drawn is its owner's debt. `None` if
    /// the history that shows it is not complete.
    pub delegations: Option<Vec<Delegation>>,
}

/// Credit of one wallet that another may draw. The debt is the owner's, and its collateral secures it.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegation {
    pub owner: Address,
    /// Who may draw it, and receives the money.
    pub delegate: Address,
    pub token: Address,
    pub symbol: Option<String>,
    pub decimals: u8,
    /// What may still be drawn, in units of 10^-`decimals`.
    pub allowance: U256,
    /// All that was drawn so far, repaid or not.
    pub drawn: U256,
    /// Dollars for one whole token; `None` without a price.
    pub price_usd: Option<f64>,
}

/// A deposit or a debt in one token that has a price in dollars.
#[derive(Debug, Clone, PartialEq)]
pub struct PositionAsset {
    /// `None` for the native currency.
    pub token: Option<Address>,
    /// `None` if neither the market nor the configuration has one.
    pub symbol: Option<String>,
    pub side: AssetSide,
    /// In units of 10^-`decimals`.
    pub amount: U256,
    pub decimals: u8,
    /// As the sums of the position count it.
    pub usd: f64,
    /// The share of its value that a debt may reach before liquidation, 0 to 1; `None` for assets that secure no debt,
    /// and if unread.
    pub liquidation_threshold: Option<f64>,
    /// Dollars for one whole token, by which the market decides about liquidation; `None` if unread.
    pub price_usd: Option<f64>,
    /// Assets with the same account secure the same debts: a pool, an isolated market, a vault, or the controller of
    /// several markets.
    pub account: B256,
}

/// A larger allowance is one without a limit, from which draws are subtracted.
const UNLIMITED: U256 = U256::from_limbs([0, 0, 1, 0]);

/// The part of a position that an asset belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AssetSide {
    /// Supplied, and secures the debt.
    Collateral,
    /// Supplied, and secures no debt.
    Deposit,
    Debt,
}

/// The rules of a market that a position has chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LendingMode {
    /// Higher thresholds for assets that move together; the market's number and name of the category.
    EMode { category: u8, label: Option<String> },
    /// One collateral asset, whose debts are limited for all wallets together.
    Isolation,
}

/// The prices after a change: for each asset, the factor by which its price is multiplied.
pub type PriceFactors<'a> = &'a dyn Fn(&PositionAsset) -> f64;

/// The assets that secure the same debts.
#[derive(Debug, Clone, PartialEq)]
pub struct CollateralAccount<'a> {
    pub assets: Vec<&'a PositionAsset>,
}

impl Delegation {
    /// What may still be drawn in whole tokens, as exact decimal text; `None` if it is not limited in practice.
    pub fn allowance_text(&self) -> Option<String> {
        (self.allowance < UNLIMITED).then(|| balance_text(self.allowance, self.decimals))
    }

    /// The same in dollars.
    pub fn allowance_usd(&self) -> Option<f64> {
        let limited = Some(self.allowance).filter(|allowance| *allowance < UNLIMITED)?;
        Some(whole_tokens(limited, self.decimals) * self.price_usd?)
    }

    pub fn drawn_text(&self) -> String {
        balance_text(self.drawn, self.decimals)
    }

    pub fn drawn_usd(&self) -> Option<f64> {
        Some(whole_tokens(self.drawn, self.decimals) * self.price_usd?)
    }
}

impl PositionAsset {
    /// Whole tokens.
    pub fn tokens(&self) -> f64 {
        whole_tokens(self.amount, self.decimals)
    }

    /// Whole tokens as decimal text, exact.
    pub fn balance_text(&self) -> String {
        balance_text(self.amount, self.decimals)
    }

    /// The debt that the asset allows, per dollar of its price: negative for a debt. `None` if unread.
    fn allowance(&self) -> Option<f64> {
        match self.side {
            AssetSide::Collateral => Some(self.tokens() * self.liquidation_threshold?),
            AssetSide::Deposit => Some(0.0),
            AssetSide::Debt => Some(-self.tokens()),
        }
    }
}

impl<'a> CollateralAccount<'a> {
    /// The accounts in `positions`, over all their markets. One account may have assets in several positions.
    pub fn all(positions: &'a [Position]) -> Vec<Self> {
        let mut found = BTreeMap::<_, Vec<_>>::new();
        for position in positions {
            for asset in &position.assets {
                found.entry((position.chain_id, position.protocol, asset.account)).or_default().push(asset);
            }
        }
        found.into_values().map(|assets| Self { assets }).collect()
    }

    /// The accounts of one of `positions`.
    pub fn of(position: &Position, positions: &'a [Position]) -> Vec<Self> {
        let has = |account: &Self| account.assets.iter().any(|asset| position.has_account(asset.account));
        let same = |other: &&Position| (other.chain_id, other.protocol) == (position.chain_id, position.protocol);
        let mut found = BTreeMap::<_, Vec<_>>::new();
        for asset in positions.iter().filter(same).flat_map(|other| &other.assets) {
            found.entry(asset.account).or_default().push(asset);
        }
        found.into_values().map(|assets| Self { assets }).filter(has).collect()
    }

    /// The collateral times its threshold over the debt, at the prices multiplied by `factors`. Below 1 it can be
    /// liquidated. `None` without debt, or if a part is unread.
    pub fn health_factor(&self, factors: PriceFactors<'_>) -> Option<f64> {
        let (mut allowed, mut owed) = (0.0, 0.0);
        for asset in self.assets.iter().filter(|asset| asset.side != AssetSide::Deposit) {
            let worth = asset.allowance()? * asset.price_usd? * factors(asset);
            if asset.side == AssetSide::Debt { owed -= worth } else { allowed += worth }
        }
        (owed > 0.0).then(|| allowed / owed)
    }

    /// The debt at the prices by which the market decides about liquidation.
    pub fn owed_usd(&self) -> f64 {
        let debts = self.assets.iter().filter(|asset| asset.side == AssetSide::Debt);
        debts.map(|debt| debt.tokens() * debt.price_usd.unwrap_or_default()).sum()
    }

    /// The price of `token` in dollars at which the health factor is 1, if no other price changes: the account can be
    /// liquidated below it if the token is mainly collateral, above it if it is mainly debt. `None` if no price of it
    /// leads to liquidation, or if a part is unread.
    pub fn liquidation_price(&self, token: Option<Address>) -> Option<f64> {
        let (mut slope, mut rest) = (0.0, 0.0);
        for asset in self.assets.iter().filter(|asset| asset.side != AssetSide::Deposit) {
            let allowance = asset.allowance()?;
            if asset.token == token { slope += allowance } else { rest += allowance * asset.price_usd? }
        }
        Some(-rest / slope).filter(|price| price.is_finite() && *price > 0.0)
    }
}

impl Position {
    fn has_account(&self, account: B256) -> bool {
        self.assets.iter().any(|asset| asset.account == account)
    }

    /// The health factor of the account nearest to liquidation, at the prices multiplied by `factors`. `positions` are
    /// all of the wallet, because an account may have assets in several. `None` without debt, or if a part is unread.
    pub fn health_factor_at(&self, positions: &[Self], factors: PriceFactors<'_>) -> Option<f64> {
        let mut lowest = None;
        for account in CollateralAccount::of(self, positions) {
            if !account.assets.iter().any(|asset| asset.side == AssetSide::Debt) {
                continue;
            }
            let factor = account.health_factor(factors)?;
            lowest = Some(lowest.map_or(factor, |lowest: f64| lowest.min(factor)));
        }
        lowest
    }

    /// The price of an asset of this position at which its account can be liquidated; see
    /// [`CollateralAccount::liquidation_price`]. `None` for an asset that secures no debt, and for one whose price
    /// moves the health factor the other way than its side suggests.
    pub fn liquidation_price(&self, asset: &PositionAsset, positions: &[Self]) -> Option<f64> {
        let accounts = CollateralAccount::of(self, positions);
        let account = accounts.iter().find(|account| account.assets.iter().any(|one| one.account == asset.account))?;
        let price = account.liquidation_price(asset.token)?;
        let own = account.assets.iter().filter(|one| one.token == asset.token);
        let slope: f64 = own.map(|one| one.allowance()).sum::<Option<f64>>()?;
        let is_meant = match asset.side {
            AssetSide::Collateral => slope > 0.0,
            AssetSide::Debt => slope < 0.0,
            AssetSide::Deposit => false,
        };
        is_meant.then_some(price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETHER: Address = Address::repeat_byte(1);
    const BITCOIN: Address = Address::repeat_byte(2);
    const DOLLAR: Address = Address::repeat_byte(3);

    fn asset(token: Address, side: AssetSide, whole: u64, price: f64, threshold: f64) -> PositionAsset {
        PositionAsset {
            token: Some(token),
            symbol: None,
            side,
            amount: U256::from(whole) * U256::from(1_000_000),
            decimals: 6,
            usd: whole as f64 * price,
            liquidation_threshold: (side == AssetSide::Collateral).then_some(threshold),
            price_usd: Some(price),
            account: B256::repeat_byte(9),
        }
    }

    fn position(market: u8, assets: Vec<PositionAsset>) -> Position {
        Position {
            chain_id: 1,
            protocol: Protocol::LenderAV3,
            market_address: Address::repeat_byte(market),
            market: None,
            supplied_usd: 1.0,
            borrowed_usd: 1.0,
            supplied_assets: 1,
            assets,
            health_factor: None,
            mode: None,
            delegations: Some(Vec::new()),
        }
    }

    #[test]
    fn at_its_liquidation_price_an_asset_leaves_a_health_factor_of_1() {
        let own = position(
            1,
            vec![
                asset(ETHER, AssetSide::Collateral, 4, 2_000.0, 0.8),
                asset(BITCOIN, AssetSide::Collateral, 1, 1_000.0, 0.75),
                asset(DOLLAR, AssetSide::Deposit, 9_000, 1.0, 0.0),
                asset(DOLLAR, AssetSide::Debt, 3_950, 1.0, 0.0),
            ],
        );
        let all = [own.clone()];
        assert_eq!(own.health_factor_at(&all, &|_| 1.0), Some(7_150.0 / 3_950.0));
        let price = |at: usize| own.liquidation_price(&own.assets[at], &all);
        assert_eq!([price(0), price(1), price(2)], [Some(1_000.0), None, None], "without bitcoin it is safe");
        let at =
            |token, factor: f64| own.health_factor_at(&all, &|of| if of.token == Some(token) { factor } else { 1.0 });
        assert_eq!(at(ETHER, 0.5), Some(1.0));
        let dollars = price(3).unwrap();
        assert!((at(DOLLAR, dollars).unwrap() - 1.0).abs() < 1e-12, "{dollars}");
    }

    #[test]
    fn a_token_on_both_sides_counts_on_both() {
        let own = position(
            1,
            vec![
                asset(ETHER, AssetSide::Collateral, 10, 100.0, 0.8),
                asset(DOLLAR, AssetSide::Collateral, 400, 1.0, 0.5),
                asset(ETHER, AssetSide::Debt, 9, 100.0, 0.0),
            ],
        );
        let all = [own.clone()];
        // 8 of 10 secure a debt of 9, so a higher price makes it worse.
        assert_eq!(own.liquidation_price(&own.assets[0], &all), None);
        assert_eq!(own.liquidation_price(&own.assets[2], &all), Some(200.0));
    }

    #[test]
    fn an_account_spans_markets_and_a_market_has_several_accounts() {
        let (one, other) = (
            position(1, vec![asset(ETHER, AssetSide::Collateral, 1, 1_000.0, 0.5)]),
            position(2, vec![asset(DOLLAR, AssetSide::Debt, 250, 1.0, 0.0)]),
        );
        let all = [one.clone(), other.clone()];
        assert_eq!([&one, &other].map(|own| own.health_factor_at(&all, &|_| 1.0)), [Some(2.0); 2]);
        assert_eq!(one.liquidation_price(&one.assets[0], &all), Some(500.0));

        let apart = |mut asset: PositionAsset| {
            asset.account = B256::repeat_byte(8);
            asset
        };
        let free = apart(asset(BITCOIN, AssetSide::Collateral, 1, 9_000.0, 0.9));
        let near = apart(asset(DOLLAR, AssetSide::Debt, 8_000, 1.0, 0.0));
        let both = position(3, [one.assets, other.assets, vec![free, near]].concat());
        let all = [both.clone()];
        assert_eq!(both.health_factor_at(&all, &|_| 1.0), Some(8_100.0 / 8_000.0), "of the nearest");
        assert_eq!(CollateralAccount::all(&all).len(), 2);
    }

    #[test]
    fn an_unread_threshold_or_price_makes_the_health_factor_unknown() {
        for lacking in [0, 1] {
            let mut own = position(
                1,
                vec![
                    asset(ETHER, AssetSide::Collateral, 1, 1_000.0, 0.5),
                    asset(DOLLAR, AssetSide::Debt, 250, 1.0, 0.0),
                ],
            );
            match lacking {
                0 => own.assets[0].liquidation_threshold = None,
                _ => own.assets[1].price_usd = None,
            }
            let all = [own.clone()];
            assert_eq!(own.health_factor_at(&all, &|_| 1.0), None);
            assert_eq!(own.liquidation_price(&own.assets[0], &all), None);
        }
    }
}
