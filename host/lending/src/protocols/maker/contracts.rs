//! The contracts that the ChainLog lists, and the kinds of collateral.

use std::sync::Arc;

use alloy::{primitives::Bytes, sol};

use crate::{config::MarketConfig, limits};
use assay_domain::{Address, B256};
use assay_evm::{Call, Client, Fault, returned};

sol! {
    function getAddress(bytes32 key) external view returns (address contractAddress);
    function list() external view returns (bytes32[] ilks);
}

/// By their names in the ChainLog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Contracts {
    pub vat: Address,
    pub manager: Address,
    /// Has one proxy of each owner.
    pub registry: Address,
    /// Knows the proxies that it built.
    pub factory: Address,
    /// Lists the vaults of an account.
    pub lists: Address,
    pub spotter: Address,
    pub jug: Address,
    /// Has the token of each kind of collateral.
    pub kinds: Address,
    pub dai: Address,
    /// Settles all vaults after a shutdown.
    pub end: Address,
}

const NAMES: [&str; 10] = [
    "MCD_VAT",
    "CDP_MANAGER",
    "PROXY_REGISTRY",
    "PROXY_FACTORY",
    "GET_CDPS",
    "MCD_SPOT",
    "MCD_JUG",
    "ILK_REGISTRY",
    "MCD_DAI",
    "MCD_END",
];

impl Contracts {
    /// Looks up the contracts of `markets` together. `None` if the ChainLog lacks a contract or has another Vat.
    pub(super) async fn look_up(
        client: &Client,
        markets: &[&MarketConfig],
        at: B256,
    ) -> Result<Vec<Option<Self>>, Fault> {
        let all = |market: &&MarketConfig| {
            let chainlog = market.chainlog.unwrap_or_default();
            NAMES.map(|name| Call::new(chainlog, &getAddressCall { key: key(name) }))
        };
        let answers = client.calls(&markets.iter().flat_map(all).collect::<Vec<_>>(), at).await?;
        let found = |(market, answers): (&&MarketConfig, &[Option<Bytes>])| {
            let all: Option<Vec<Address>> =
                answers.iter().map(|answer| returned::<getAddressCall>(Some(answer))).collect();
            let [vat, manager, registry, factory, lists, spotter, jug, kinds, dai, end] = all?.try_into().ok()?;
            let found = Self { vat, manager, registry, factory, lists, spotter, jug, kinds, dai, end };
            Some(found).filter(|found| found.vat == market.address)
        };
        Ok(markets.iter().zip(answers.chunks(NAMES.len())).map(found).collect())
    }
}

/// The contracts, and the names of all kinds of collateral.
#[derive(Debug, Clone)]
pub(super) struct MakerTerms {
    pub contracts: Contracts,
    /// `None` if they are not known.
    pub ilks: Option<Arc<[B256]>>,
}

impl MakerTerms {
    /// Like [`Contracts::look_up`].
    pub(super) async fn look_up(
        client: &Client,
        markets: &[&MarketConfig],
        at: B256,
    ) -> Result<Vec<Option<Self>>, Fault> {
        let found = Contracts::look_up(client, markets, at).await?;
        let calls: Vec<_> = found.iter().flatten().map(|found| Call::new(found.kinds, &listCall {})).collect();
        let mut answers = client.calls(&calls, at).await?.into_iter();
        let terms = |found: Option<Contracts>| {
            let contracts = found?;
            let ilks = returned::<listCall>(answers.next().as_ref()).map(Arc::from);
            Some(Self { contracts, ilks: ilks.filter(|ilks: &Arc<[B256]>| ilks.len() <= limits::LISTED_PARTS) })
        };
        Ok(found.into_iter().map(terms).collect())
    }
}

/// The key of a contract in the ChainLog.
fn key(name: &str) -> B256 {
    B256::right_padding_from(name.as_bytes())
}
