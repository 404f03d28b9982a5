//! The terms of a market: its base asset, its collateral assets, and the growth of both sides.

use alloy::{primitives::Bytes, sol};

use crate::figures::balance::Interest;
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
    function totalsBasic() external view returns (Totals totals);
}

/// Indexes of a market are multiples of 10^-15; those of [`Interest`], of 10^-27.
pub(super) const INDEX: U256 = U256::from_limbs([1_000_000_000_000, 0, 0, 0]);

/// The terms of a market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CometTerms {
    pub market: Address,
    pub base: Address,
    pub base_feed: Address,
    pub base_scale: U256,
    /// The growth of supplies and of debts; `None` if the market does not return it.
    pub interest: Option<(Interest, Interest)>,
    pub assets: Vec<Collateral>,
}

/// A collateral asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Collateral {
    pub token: Address,
    pub feed: Address,
    /// One whole token.
    pub scale: U256,
    /// The share of its value that a debt may reach before liquidation, times 10^18.
    pub factor: u64,
}

impl CometTerms {
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
            let assets: Vec<Collateral> = assets.into_iter().collect::<Option<_>>()?;
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

fn asset(answer: &Option<Bytes>) -> Option<Collateral> {
    let info = returned::<getAssetInfoCall>(Some(answer))?;
    (info.scale > 0).then(|| Collateral {
        token: info.asset,
        feed: info.priceFeed,
        scale: U256::from(info.scale),
        factor: info.liquidateCollateralFactor,
    })
}
