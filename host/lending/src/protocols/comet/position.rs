//! A wallet's position in a Comet market: base supply or debt, and collateral. The market's own feeds price one in the
//! other. The dollar price of the base asset is one of the chain's prices, because some markets quote everything in the
//! base asset.

use alloy::{
    primitives::{Bytes, I256},
    sol,
};

use crate::{
    asset,
    history::{hints::Hint, record::Side, sums::signed},
    position::balance::{Balance, Interest},
    protocols::{Held, LendingTerms},
};
use assay_domain::{Address, B256, U256};
use assay_evm::{Call, Client, Fault, returned};

sol! {
    #[derive(Debug)]
    struct AssetInfo {
        uint8 offset; address asset; address priceFeed; uint64 scale;
        uint64 borrowCollateralFactor; uint64 liquidateCollateralFactor; uint64 liquidationFactor; uint128 supplyCap;
    }
    #[derive(Debug)]
    struct Totals {
        uint64 baseSupplyIndex; uint64 baseBorrowIndex; uint64 trackingSupplyIndex; uint64 trackingBorrowIndex;
        uint104 totalSupplyBase; uint104 totalBorrowBase; uint40 lastAccrualTime; uint8 pauseFlags;
    }
    function baseToken() external view returns (address token);
    function baseTokenPriceFeed() external view returns (address feed);
    function baseScale() external view returns (uint256 scale);
    function numAssets() external view returns (uint8 assets);
    function getAssetInfo(uint8 i) external view returns (AssetInfo info);
    function balanceOf(address account) external view returns (uint256 balance);
    function borrowBalanceOf(address account) external view returns (uint256 balance);
    function userCollateral(address account, address asset) external view returns (uint128 balance, uint128 reserved);
    #[derive(Debug)]
    struct UserBasic {
        int104 principal; uint64 baseTrackingIndex; uint64 baseTrackingAccrued; uint16 assetsIn; uint8 reserved;
    }
    function userBasic(address account) external view returns (UserBasic basic);
    function totalsBasic() external view returns (Totals totals);
    function getPrice(address priceFeed) external view returns (uint256 price);
}

/// Position of the first answer about collateral.
const COLLATERAL: usize = 4;

/// Every price of a market is a multiple of 10^-8, in dollars or in the base asset.
const ONE: u64 = 100_000_000;

/// Factors are multiples of 10^-18.
const FACTOR: f64 = 1e18;

/// Indexes of a market are multiples of 10^-15; those of [`Interest`], of 10^-27.
const INDEX: U256 = U256::from_limbs([1_000_000_000_000, 0, 0, 0]);
const INDEX_SCALE: u64 = 1_000_000_000_000_000;
/// Positions smaller than this, in the smallest unit, are too rounded to show the index.
const SMALL: u64 = 1_000_000;

/// The terms of a market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms {
    market: Address,
    base: Address,
    base_feed: Address,
    base_scale: U256,
    /// The growth of supplies and of debts; `None` if the market does not return it.
    interest: Option<(Interest, Interest)>,
    assets: Vec<Asset>,
}

/// A collateral asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asset {
    token: Address,
    feed: Address,
    /// One whole token.
    scale: U256,
    /// The share of its value that a debt may reach before liquidation, times 10^18.
    factor: u64,
}

impl Terms {
    /// Looks up the terms of `markets` together, in two round trips. `None` for a contract that does not answer like a
    /// Comet.
    pub(super) async fn look_up(client: &Client, markets: &[Address], at: B256) -> Result<Vec<Option<Self>>, Fault> {
        let five = |market: &Address| {
            [
                Call::new(*market, &baseTokenCall {}),
                Call::new(*market, &baseTokenPriceFeedCall {}),
                Call::new(*market, &baseScaleCall {}),
                Call::new(*market, &numAssetsCall {}),
                Call::new(*market, &totalsBasicCall {}),
            ]
        };
        let answers = client.calls(&markets.iter().flat_map(five).collect::<Vec<_>>(), at).await?;
        let found: Vec<_> =
            markets.iter().zip(answers.chunks(5)).map(|(market, answers)| Self::bare(*market, answers)).collect();

        let count = |found: &Option<(Self, u8)>| found.as_ref().map_or(0, |(_, assets)| *assets);
        let infos = markets.iter().zip(&found).flat_map(|(market, found)| {
            let info = |i| Call::new(*market, &getAssetInfoCall { i });
            (0..count(found)).map(info)
        });
        let infos = client.calls(&infos.collect::<Vec<_>>(), at).await?;
        let mut infos = infos.iter();
        let whole = found.into_iter().map(|found| {
            let (terms, count) = found?;
            // Every asset consumes its answer, even after one that failed.
            let assets: Vec<_> = infos.by_ref().take(usize::from(count)).map(asset).collect();
            let assets: Vec<Asset> = assets.into_iter().collect::<Option<_>>()?;
            (assets.len() == usize::from(count)).then_some(Self { assets, ..terms })
        });
        Ok(whole.collect())
    }

    fn bare(market: Address, answers: &[Option<Bytes>]) -> Option<(Self, u8)> {
        let base = returned::<baseTokenCall>(answers.first())?;
        let base_feed = returned::<baseTokenPriceFeedCall>(answers.get(1))?;
        let base_scale = returned::<baseScaleCall>(answers.get(2)).filter(|scale| !scale.is_zero())?;
        let assets = returned::<numAssetsCall>(answers.get(3))?;
        let interest = returned::<totalsBasicCall>(answers.get(4)).and_then(|totals| {
            let interest =
                |index: u64| Interest::of(U256::from(index).checked_mul(INDEX)?, U256::from(totals.lastAccrualTime));
            interest(totals.baseSupplyIndex).zip(interest(totals.baseBorrowIndex))
        });
        Some((Self { market, base, base_feed, base_scale, interest, assets: Vec::new() }, assets))
    }
}

impl LendingTerms for Terms {
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
        if held.borrowed_usd > 0.0 {
            held.parts.debt.push((self.base, held.borrowed_usd));
        }
        let mut weighted = 0.0;
        for (asset, balance, answer) in collateral {
            let usd =
                f64::from(balance) / f64::from(asset.scale) * (f64::from(price(answer)?) / f64::from(base)) * base_usd;
            held.supplied_usd += usd;
            weighted += usd * (asset.factor as f64 / FACTOR);
            held.parts.collateral.push((asset.token, usd));
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
        super::hints(self.market)
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

impl Terms {
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
    if principal < U256::from(SMALL) { None } else { Interest::of(index, U256::from(u64::MAX)) }
}

/// The base position without interest.
pub(super) fn principal(basic: &UserBasic) -> Option<I256> {
    I256::try_from(i128::try_from(basic.principal).ok()?).ok()
}

fn price(answer: Option<&Option<Bytes>>) -> Option<U256> {
    returned::<getPriceCall>(answer).filter(|price| !price.is_zero())
}

fn asset(answer: &Option<Bytes>) -> Option<Asset> {
    let info = returned::<getAssetInfoCall>(Some(answer))?;
    (info.scale > 0).then(|| Asset {
        token: info.asset,
        feed: info.priceFeed,
        scale: U256::from(info.scale),
        factor: info.liquidateCollateralFactor,
    })
}

#[cfg(test)]
mod tests;
