//! A wallet's position in a Comet market: base supply or debt, and collateral. The market's own feeds price one in the
//! other. The dollar price of the base asset is one of the chain's prices, because some markets quote everything in the
//! base asset.

use alloy::{
    primitives::{Bytes, I256},
    sol,
};

use super::{
    events,
    terms::{CometTerms, INDEX},
};
use crate::{
    asset,
    figures::{
        balance::{Balance, Interest},
        hints::Hint,
        record::Side,
        sums::signed,
    },
    protocols::{Held, LendingTerms},
    tolerances,
};
use assay_domain::{Address, AssetSide, PositionAsset, U256};
use assay_evm::{Call, returned};

sol! {
    function balanceOf(address account) external view returns (uint256 balance);
    function borrowBalanceOf(address account) external view returns (uint256 balance);
    function userCollateral(address account, address asset) external view returns (uint128 balance, uint128 reserved);
    #[derive(Debug)]
    struct UserBasic {
        int104 principal; uint64 baseTrackingIndex; uint64 baseTrackingAccrued; uint16 assetsIn; uint8 reserved;
    }
    function userBasic(address account) external view returns (UserBasic basic);
    function getPrice(address priceFeed) external view returns (uint256 price);
}

/// Position of the first answer about collateral.
const COLLATERAL: usize = 4;

/// Every price of a market is a multiple of 10^-8, in dollars or in the base asset.
const ONE: u64 = 100_000_000;

/// Factors are multiples of 10^-18.
const FACTOR: f64 = 1e18;

const INDEX_SCALE: u64 = 1_000_000_000_000_000;

impl LendingTerms for CometTerms {
    fn calls(&self, account: Address) -> Vec<Call> {
        let mut calls = vec![
            Call::new(self.market, &balanceOfCall { account }),
            Call::new(self.market, &borrowBalanceOfCall { account }),
            Call::new(self.market, &getPriceCall { priceFeed: self.base_feed }),
            Call::new(self.market, &userBasicCall { account }),
        ];
        for asset in &self.assets {
            calls.push(Call::new(self.market, &userCollateralCall { account, asset: asset.token }));
            calls.push(Call::new(self.market, &getPriceCall { priceFeed: asset.feed }));
        }
        calls
    }

    fn traces(&self, account: Address) -> Vec<Call> {
        vec![Call::new(self.market, &userBasicCall { account })]
    }

    /// Rewards accrue only on a base position, and a wallet keeps the accrued amount even after it claimed them. The
    /// index next to it proves nothing, because any sender can set it for any wallet.
    fn ever_held(&self, answers: &[Option<Bytes>]) -> bool {
        returned::<userBasicCall>(answers.first()).is_some_and(|basic| basic.baseTrackingAccrued > 0)
    }

    fn held(&self, answers: &[Option<Bytes>], base_usd: Option<f64>) -> Option<Held> {
        let supplied = returned::<balanceOfCall>(answers.first())?;
        let borrowed = returned::<borrowBalanceOfCall>(answers.get(1))?;
        let mut collateral = Vec::new();
        for (asset, answers) in self.assets.iter().zip(answers.get(COLLATERAL..)?.chunks(2)) {
            let balance = returned::<userCollateralCall>(answers.first())?.balance;
            if balance > 0 {
                collateral.push((asset, U256::from(balance), answers.get(1)));
            }
        }
        let mut held = Held { supplied_assets: u32::try_from(collateral.len()).ok()?, ..Held::default() };
        if supplied.is_zero() && borrowed.is_zero() && collateral.is_empty() {
            return Some(held);
        }
        let base = price(answers.get(2))?;
        let base_usd = base_usd.or_else(|| self.quoted_in_dollars(base))?;
        let base_worth = |amount| f64::from(amount) / f64::from(self.base_scale) * base_usd;
        held.supplied_usd = base_worth(supplied);
        held.borrowed_usd = base_worth(borrowed);
        held.supplied_assets += u32::from(!supplied.is_zero());
        // The market compares its own prices, in dollars or in the base asset.
        let quoted = if self.quoted_in_dollars(base).is_some() { 1.0 } else { base_usd };
        let priced = |price: U256| Some(f64::from(price) / ONE as f64 * quoted);
        for (side, amount) in [(AssetSide::Deposit, supplied), (AssetSide::Debt, borrowed)] {
            if !amount.is_zero() {
                held.parts.assets.push(PositionAsset {
                    usd: base_worth(amount),
                    price_usd: priced(base),
                    ..self.asset(self.base, side, amount, self.base_scale)
                });
            }
        }
        let mut weighted = 0.0;
        for (asset, balance, answer) in collateral {
            let (price, threshold) = (price(answer)?, asset.factor as f64 / FACTOR);
            let usd = f64::from(balance) / f64::from(asset.scale) * (f64::from(price) / f64::from(base)) * base_usd;
            held.supplied_usd += usd;
            weighted += usd * threshold;
            held.parts.assets.push(PositionAsset {
                usd,
                liquidation_threshold: Some(threshold),
                price_usd: priced(price),
                ..self.asset(asset.token, AssetSide::Collateral, balance, asset.scale)
            });
        }
        held.parts.weigh(weighted);
        Some(held)
    }

    fn balances(&self, answers: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        let supplied = returned::<balanceOfCall>(answers.first())?;
        let borrowed = returned::<borrowBalanceOfCall>(answers.get(1))?;
        let amount = signed(supplied).checked_sub(signed(borrowed))?;
        let (mut gains, mut costs) = self.interest.unzip();
        // Without its indexes, only the upper bound of interest applies.
        let fixed_rate = self.interest.is_none();
        let principal = returned::<userBasicCall>(answers.get(3)).and_then(|basic| principal(&basic));
        if let Some(own) = principal.and_then(|principal| own_index(amount, principal)) {
            *(if amount.is_negative() { &mut costs } else { &mut gains }) = Some(own);
        }
        let base = Balance::still(Side::Base, Address::ZERO, U256::ZERO);
        let mut balances = vec![Balance { amount, gains, costs, fixed_rate, principal, ..base }];
        for (asset, answers) in self.assets.iter().zip(answers.get(COLLATERAL..)?.chunks(2)) {
            let balance = returned::<userCollateralCall>(answers.first())?.balance;
            balances.push(Balance::still(Side::Collateral, asset.token, U256::from(balance)));
        }
        Some(balances)
    }

    fn hints(&self) -> Vec<Hint> {
        events::hints(self.market)
    }

    fn token(&self, side: Side, asset: asset::Asset) -> Option<(Address, f64)> {
        let asset::Asset::Token(asset) = asset else { return None };
        if side == Side::Base {
            return Some((self.base, f64::from(self.base_scale)));
        }
        let collateral = self.assets.iter().find(|known| known.token == asset)?;
        Some((asset, f64::from(collateral.scale)))
    }

    fn quoted_in(&self) -> Option<Address> {
        Some(self.base)
    }
}

impl CometTerms {
    /// An asset without its price.
    fn asset(&self, token: Address, side: AssetSide, amount: U256, scale: U256) -> PositionAsset {
        let decimals = scale.checked_log10().and_then(|decimals| u8::try_from(decimals).ok()).unwrap_or_default();
        PositionAsset {
            token: Some(token),
            symbol: None,
            side,
            amount,
            decimals,
            usd: 0.0,
            liquidation_threshold: None,
            price_usd: None,
            account: self.market.into_word(),
        }
    }

    /// A market that quotes in its base asset has a feed of constant one for it. Any other number is a price in
    /// dollars.
    fn quoted_in_dollars(&self, base: U256) -> Option<f64> {
        (base != U256::from(ONE)).then(|| f64::from(base) / ONE as f64)
    }
}

/// The growth of supplies or debts as the position shows it; `None` for a position too small to show it.
fn own_index(amount: I256, principal: I256) -> Option<Interest> {
    let (amount, principal) = (amount.unsigned_abs(), principal.unsigned_abs());
    let ray = INDEX.checked_mul(U256::from(INDEX_SCALE))?;
    let index = amount.checked_add(U256::ONE)?.checked_mul(ray)?.checked_div(principal)?;
    if principal < U256::from(tolerances::COMET_SMALL_POSITION) {
        None
    } else {
        Interest::of(index, U256::from(u64::MAX))
    }
}

/// The base position without interest.
pub(super) fn principal(basic: &UserBasic) -> Option<I256> {
    I256::try_from(i128::try_from(basic.principal).ok()?).ok()
}

fn price(answer: Option<&Option<Bytes>>) -> Option<U256> {
    returned::<getPriceCall>(answer).filter(|price| !price.is_zero())
}

#[cfg(test)]
mod tests;
