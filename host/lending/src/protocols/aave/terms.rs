//! Looks up the terms of pools: data provider, oracle, the unit of its prices, and reserves. Governance can replace
//! each of them.

use alloy::{primitives::Bytes, sol};

use super::{
    Version,
    delegation::Credit,
    rules::{Category, ReserveRules},
};
use crate::{config::MarketConfig, figures::balance::Interest};
use assay_domain::{Address, B256, Protocol, U256, display_text};
use assay_evm::{Block, Call, Client, Fault, returned};

sol! {
    #[derive(Debug)]
    struct TokenData { string symbol; address tokenAddress; }
    function ADDRESSES_PROVIDER() external view returns (address provider);
    function getAddressesProvider() external view returns (address provider);
    function getPoolDataProvider() external view returns (address provider);
    function getAddress(bytes32 id) external view returns (address contract_);
    function getPriceOracle() external view returns (address oracle);
    function getAllReservesTokens() external view returns (TokenData[] tokens);
    function BASE_CURRENCY() external view returns (address asset);
    function BASE_CURRENCY_UNIT() external view returns (uint256 unit);
    function WETH() external view returns (address asset);
    function decimals() external view returns (uint8 places);
    function getReserveTokensAddresses(address asset) external view returns (address aToken, address stableDebt,
        address variableDebt);
    function getReserveData(address asset) external view returns (uint256 first);
    /// A function of aTokens of v2.
    function getIncentivesController() external view returns (address controller);
}

/// The terms of a pool: its helper contracts, and its reserves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PoolTerms {
    pub version: Version,
    pub pool: Address,
    pub data_provider: Address,
    pub oracle: Address,
    pub quote: QuoteUnit,
    pub reserves: Vec<Reserve>,
    pub categories: Vec<Category>,
    /// Of one wallet; empty in the terms of all.
    pub credit: Vec<Credit>,
}

/// The unit of an oracle's prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QuoteUnit {
    /// `None` for the dollar.
    pub asset: Option<Address>,
    /// The oracle's number for one unit; never zero.
    pub unit: U256,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reserve {
    pub asset: Address,
    pub symbol: String,
    pub decimals: u8,
    /// The aToken, which represents a supply.
    pub token: Address,
    /// The token of debt at the variable rate.
    pub debt_token: Address,
    /// The token of debt at a fixed rate, if any.
    pub stable_debt_token: Option<Address>,
    /// The rewards controller of a v2 token, if any.
    pub rewards: Option<Address>,
    /// The growth of supplies and of debts at the variable rate.
    pub supply: Interest,
    pub debt: Interest,
    pub rules: ReserveRules,
}

/// The id of the data provider in v2 deployments: a first byte of 1.
const DATA_PROVIDER_V2: B256 = {
    let mut id = [0; 32];
    id[0] = 1;
    B256::new(id)
};

/// The unit of oracles without `BASE_CURRENCY_UNIT`, which all quote in ether.
const ETHER: u64 = 1_000_000_000_000_000_000;

/// Maximum length of a token's symbol.
const MOST_SYMBOL: usize = 32;

/// A pool's data provider and oracle.
type Helpers = (Option<Address>, Option<Address>);
/// A pool's list of assets, and the unit of its oracle.
type Listing = (Option<Vec<TokenData>>, Option<QuoteUnit>);

/// Looks up the terms of `pools` together, in four round trips, plus one for pools of v2. `None` for a pool that does
/// not answer like one of its version.
///
/// # Errors
/// [`Fault`] if the chain did not answer.
pub(super) async fn look_up(
    client: &Client,
    pools: &[&MarketConfig],
    at: Block,
) -> Result<Vec<Option<PoolTerms>>, Fault> {
    let helpers = helpers(client, pools, at.hash).await?;
    let listings = listings(client, &helpers, at.hash).await?;
    let reserves = reserves(client, pools, &helpers, &listings, at).await?;
    let parts = helpers.into_iter().zip(listings).zip(reserves).zip(pools);
    let whole = parts.map(|((((data_provider, oracle), (_, quote)), (reserves, categories)), pool)| {
        let (pool, version) = (pool.address, version(pool));
        Some(PoolTerms {
            version,
            pool,
            data_provider: data_provider?,
            oracle: oracle?,
            quote: quote?,
            reserves: reserves?,
            categories,
            credit: Vec::new(),
        })
    });
    let mut found: Vec<_> = whole.collect();
    add_rewards(client, pools, &mut found, at.hash).await?;
    Ok(found)
}

fn is_v2(pool: &MarketConfig) -> bool {
    version(pool) == Version::V2
}

fn version(pool: &MarketConfig) -> Version {
    if pool.protocol == Protocol::LenderAV2 { Version::V2 } else { Version::V3 }
}

async fn helpers(client: &Client, pools: &[&MarketConfig], at: B256) -> Result<Vec<Helpers>, Fault> {
    let calls = pools.iter().map(|pool| match is_v2(pool) {
        true => Call::new(pool.address, &getAddressesProviderCall {}),
        false => Call::new(pool.address, &ADDRESSES_PROVIDERCall {}),
    });
    let providers = client.calls(&calls.collect::<Vec<_>>(), at).await?;
    // Both functions return an address and nothing else.
    let providers = providers.iter().map(|answer| returned::<ADDRESSES_PROVIDERCall>(Some(answer)).unwrap_or_default());

    let two = |(pool, provider): (&&MarketConfig, Address)| {
        let data_provider = match is_v2(pool) {
            true => Call::new(provider, &getAddressCall { id: DATA_PROVIDER_V2 }),
            false => Call::new(provider, &getPoolDataProviderCall {}),
        };
        [data_provider, Call::new(provider, &getPriceOracleCall {})]
    };
    let answers = client.calls(&pools.iter().zip(providers).flat_map(two).collect::<Vec<_>>(), at).await?;
    let pair = |pair: &[Option<Bytes>]| {
        (returned::<getPoolDataProviderCall>(pair.first()), returned::<getPriceOracleCall>(pair.get(1)))
    };
    Ok(answers.chunks(2).map(pair).collect())
}

async fn listings(client: &Client, helpers: &[Helpers], at: B256) -> Result<Vec<Listing>, Fault> {
    let four = |(data_provider, oracle): &Helpers| {
        let oracle = oracle.unwrap_or_default();
        [
            Call::new(data_provider.unwrap_or_default(), &getAllReservesTokensCall {}),
            Call::new(oracle, &BASE_CURRENCYCall {}),
            Call::new(oracle, &BASE_CURRENCY_UNITCall {}),
            Call::new(oracle, &WETHCall {}),
        ]
    };
    let answers = client.calls(&helpers.iter().flat_map(four).collect::<Vec<_>>(), at).await?;
    Ok(answers.chunks(4).map(|four| (returned::<getAllReservesTokensCall>(four.first()), quote(four))).collect())
}

/// The reserves of each pool and its categories of e-mode; no reserves if the list or one of its reserves is missing.
async fn reserves(
    client: &Client,
    pools: &[&MarketConfig],
    helpers: &[Helpers],
    listings: &[Listing],
    at: Block,
) -> Result<Vec<(Option<Vec<Reserve>>, Vec<Category>)>, Fault> {
    let of_reserve = |version, data_provider, asset| {
        let three = [
            Call::new(asset, &decimalsCall {}),
            Call::new(data_provider, &getReserveTokensAddressesCall { asset }),
            Call::new(data_provider, &getReserveDataCall { asset }),
        ];
        three.into_iter().chain(ReserveRules::calls(version, data_provider, asset))
    };
    let mut calls = Vec::new();
    let mut counts = Vec::new();
    for ((pool, (data_provider, _)), (tokens, _)) in pools.iter().zip(helpers).zip(listings) {
        let (version, data_provider) = (version(pool), data_provider.unwrap_or_default());
        let before = calls.len();
        let assets = tokens.iter().flatten().map(|token| token.tokenAddress);
        calls.extend(assets.flat_map(|asset| of_reserve(version, data_provider, asset)));
        let of_reserves = calls.len().saturating_sub(before);
        let of_categories = if tokens.is_some() { Category::calls(version, pool.address) } else { Vec::new() };
        counts.push((of_reserves, of_categories.len()));
        calls.extend(of_categories);
    }
    let answers = client.calls(&calls, at.hash).await?;
    let mut rest = answers.as_slice();
    let mut take = |count: usize| {
        let (own, after) = rest.split_at(count.min(rest.len()));
        rest = after;
        own
    };
    let of_pool = |((tokens, _), (of_reserves, of_categories)): (&Listing, (usize, usize))| {
        let (answers, categories) = (take(of_reserves), Category::read(take(of_categories)));
        let found = tokens.as_ref().and_then(|tokens| {
            let each = of_reserves.checked_div(tokens.len()).unwrap_or_default().max(1);
            let each = tokens.iter().zip(answers.chunks(each));
            each.map(|(token, answers)| reserve(token, answers, at.time)).collect()
        });
        (found, categories)
    };
    Ok(listings.iter().zip(counts).map(of_pool).collect())
}

/// Adds the rewards controllers to the reserves of v2.
async fn add_rewards(
    client: &Client,
    pools: &[&MarketConfig],
    found: &mut [Option<PoolTerms>],
    at: B256,
) -> Result<(), Fault> {
    let terms_of_v2 =
        found.iter_mut().zip(pools).filter(|(_, pool)| is_v2(pool)).filter_map(|(terms, _)| terms.as_mut());
    let mut reserves: Vec<_> = terms_of_v2.flat_map(|terms| &mut terms.reserves).collect();
    let calls: Vec<_> =
        reserves.iter().map(|reserve| Call::new(reserve.token, &getIncentivesControllerCall {})).collect();
    let controllers = client.calls(&calls, at).await?;
    for (reserve, answer) in reserves.iter_mut().zip(&controllers) {
        reserve.rewards =
            returned::<getIncentivesControllerCall>(Some(answer)).filter(|controller| !controller.is_zero());
    }
    Ok(())
}

/// `now` is the time of the state that answered.
fn reserve(token: &TokenData, answers: &[Option<Bytes>], now: u64) -> Option<Reserve> {
    let decimals = returned::<decimalsCall>(answers.first())?;
    let tokens = returned::<getReserveTokensAddressesCall>(answers.get(1))?;
    let Grown { supply, debt, touched, rates } = answers.get(2)?.as_deref().and_then(|data| Grown::of(data))?;
    let interest = |index, rate| Some(Interest::of(index, touched)?.paying(rate, now));
    let (supply, debt) = (interest(supply, rates.0)?, interest(debt, rates.1)?);
    Some(Reserve {
        asset: token.tokenAddress,
        symbol: display_text(&token.symbol, MOST_SYMBOL),
        decimals,
        token: tokens.aToken,
        debt_token: tokens.variableDebt,
        stable_debt_token: Some(tokens.stableDebt).filter(|token| !token.is_zero()),
        rewards: None,
        supply,
        debt,
        rules: ReserveRules::read(answers.get(3..).unwrap_or_default()),
    })
}

/// The growth of a reserve: its indexes, the time of their last update, and the yearly rates since then.
#[derive(Debug, PartialEq, Eq)]
struct Grown {
    supply: U256,
    debt: U256,
    touched: U256,
    rates: (U256, U256),
}

impl Grown {
    /// Reads the last words of a reserve's data, which are the same in both versions.
    fn of(data: &[u8]) -> Option<Self> {
        let words: Vec<U256> = data.rchunks_exact(32).take(7).filter_map(U256::try_from_be_slice).collect();
        let [touched, debt, supply, _, _, borrow_rate, supply_rate] = words.try_into().ok()?;
        Some(Self { supply, debt, touched, rates: (supply_rate, borrow_rate) })
    }
}

/// The unit of an oracle's prices: dollars if it names no asset, ether if it is too old to name one.
fn quote(answers: &[Option<Bytes>]) -> Option<QuoteUnit> {
    let (base, unit) =
        (returned::<BASE_CURRENCYCall>(answers.get(1)), returned::<BASE_CURRENCY_UNITCall>(answers.get(2)));
    match (base, unit) {
        (Some(base), Some(unit)) if !unit.is_zero() => {
            Some(QuoteUnit { asset: Some(base).filter(|base| !base.is_zero()), unit })
        }
        (None, None) => {
            let weth = returned::<WETHCall>(answers.get(3)).filter(|weth| !weth.is_zero())?;
            Some(QuoteUnit { asset: Some(weth), unit: U256::from(ETHER) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolCall;

    use super::*;

    fn read(base: Option<Address>, unit: Option<u64>, weth: Option<Address>) -> Option<QuoteUnit> {
        let address =
            |address: Option<Address>| address.map(|address| Bytes::from(WETHCall::abi_encode_returns(&address)));
        let unit = unit.map(|unit| Bytes::from(BASE_CURRENCY_UNITCall::abi_encode_returns(&U256::from(unit))));
        quote(&[None, address(base), unit, address(weth)])
    }

    #[test]
    fn a_reserve_is_known_by_the_end_of_its_data() {
        let ray = U256::from(10).pow(U256::from(27));
        let mut words = vec![U256::MAX; 5];
        let rates = (U256::from(3), U256::from(5));
        words.extend([rates.0, rates.1, U256::ZERO, U256::ZERO]);
        let (supply, debt, touched) = (ray + U256::ONE, ray * U256::from(2), U256::from(77));
        words.extend([supply, debt, touched]);
        let data: Vec<u8> = words.iter().flat_map(U256::to_be_bytes::<32>).collect();
        assert_eq!(Grown::of(&data), Some(Grown { supply, debt, touched, rates }));
        assert_eq!(Grown::of(&data[..192]), None);
    }

    #[test]
    fn an_oracle_quotes_in_dollars_in_an_asset_or_in_ether() {
        let asset = Address::repeat_byte(5);
        let quote = |asset, unit| Some(QuoteUnit { asset, unit: U256::from(unit) });
        assert_eq!(read(Some(Address::ZERO), Some(100), None), quote(None, 100));
        assert_eq!(read(Some(asset), Some(100), None), quote(Some(asset), 100));
        assert_eq!(read(None, None, Some(asset)), quote(Some(asset), ETHER));
        for nothing in [read(None, None, None), read(None, Some(100), None), read(Some(asset), Some(0), None)] {
            assert_eq!(nothing, None);
        }
    }
}
