//! A claim: what the configuration says about one contract, and the check of it.

use std::fmt;

use alloy::sol;

use super::{agents, ask, identity, market};
use assay_agents::config::Agents;
use assay_chain::{
    config::{ChainConfig, Identity, Names, RegistryConfig, SourceConfig, TokenConfig, UniversalResolver},
    prices::{Sequencer, decimalsCall, latestRoundDataCall, sequencer_state, stale_after},
};
use assay_domain::{Address, U256};
use assay_evm::{
    call::{self, Call, aggregate3Call, returned},
    client::{Block, Client},
    fault::Fault,
};
use assay_lending::config::MarketConfig;

sol! {
    function getBlockNumber() external view returns (uint256 number);
    function getPair(address token0, address token1) external view returns (address pair);
    function isPool(address pool) external view returns (bool own);
}

/// Decimals of a wrapped native currency.
const NATIVE_DECIMALS: u8 = 18;

#[derive(Debug, Clone, Copy)]
pub(super) enum Claim<'a> {
    Multicall(Address),
    Sequencer(Address),
    /// The feed, and its heartbeat in seconds.
    NativeFeed(Address, u64),
    Wrapped(Address),
    Token(&'a TokenConfig),
    TokenFeed(&'a TokenConfig, Address),
    PairFactory(Address),
    Market(&'a MarketConfig),
    Registry(&'a RegistryConfig),
    UniversalResolver(Address),
    Attester(&'a SourceConfig),
    Index(&'a SourceConfig),
    IdentityRegistry(&'a Agents),
    ReputationRegistry(&'a Agents),
}

/// Every contract of `chain`, in the order of the configuration.
pub(super) fn claims(chain: &ChainConfig) -> Vec<Claim<'_>> {
    let own = [
        chain.multicall.map(Claim::Multicall),
        chain.sequencer.map(Claim::Sequencer),
        chain.native.feed.map(|feed| Claim::NativeFeed(feed, chain.native.heartbeat.as_secs())),
        chain.native.wrapped.map(Claim::Wrapped),
    ];
    let tokens = chain
        .tokens
        .iter()
        .flat_map(|token| [Some(Claim::Token(token)), token.feed.map(|feed| Claim::TokenFeed(token, feed))]);
    let factories = chain.pair_factories.iter().copied().map(Claim::PairFactory);
    own.into_iter().chain(tokens).flatten().chain(factories).chain(chain.markets.iter().map(Claim::Market)).collect()
}

/// The agent registries, when they are on `chain`.
pub(super) fn registries<'a>(chain: &ChainConfig, agents: Option<&'a Agents>) -> Vec<Claim<'a>> {
    let agents = agents.filter(|agents| agents.chain == chain.id);
    agents.map(|agents| vec![Claim::IdentityRegistry(agents), Claim::ReputationRegistry(agents)]).unwrap_or_default()
}

/// Every contract of the name registries and attestation services on `chain`.
pub(super) fn identity_services<'a>(chain: &ChainConfig, names: &'a Names, identity: &'a Identity) -> Vec<Claim<'a>> {
    let registries = names.registries.iter().filter(|registry| registry.chain == chain.id).flat_map(|registry| {
        // At its standard address it may be missing.
        let universal = match registry.universal_resolver {
            UniversalResolver::At(address) => Some(Claim::UniversalResolver(address)),
            UniversalResolver::Standard | UniversalResolver::None => None,
        };
        [Claim::Registry(registry)].into_iter().chain(universal)
    });
    let sources = identity.sources.iter().filter(|source| source.chain == chain.id);
    registries.chain(sources.flat_map(|source| [Claim::Attester(source), Claim::Index(source)])).collect()
}

impl fmt::Display for Claim<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Multicall(_) => f.write_str("multicall")?,
            Self::Sequencer(_) => f.write_str("uptime feed of the sequencer")?,
            Self::NativeFeed(..) => f.write_str("feed of the native currency")?,
            Self::Wrapped(_) => f.write_str("wrapped native currency")?,
            Self::Token(token) => write!(f, "token {}", token.symbol)?,
            Self::TokenFeed(token, _) => write!(f, "feed of token {}", token.symbol)?,
            Self::PairFactory(_) => f.write_str("factory of pools")?,
            Self::Market(market) => {
                write!(f, "market {}", market.protocol.as_str())?;
                market.market.iter().try_for_each(|name| write!(f, " {name}"))?;
            }
            Self::Registry(registry) => write!(f, "registry of {} names", registry.provider)?,
            Self::UniversalResolver(_) => f.write_str("Universal Resolver")?,
            Self::Attester(source) => write!(f, "attestation service of {}", source.provider)?,
            Self::Index(source) => write!(f, "index of {}", source.provider)?,
            Self::IdentityRegistry(_) => f.write_str("identity registry")?,
            Self::ReputationRegistry(_) => f.write_str("reputation registry")?,
        }
        write!(f, " at {}", self.address())
    }
}

impl Claim<'_> {
    pub(super) fn address(&self) -> Address {
        match self {
            Self::Multicall(address)
            | Self::Sequencer(address)
            | Self::Wrapped(address)
            | Self::PairFactory(address)
            | Self::UniversalResolver(address) => *address,
            Self::NativeFeed(address, _) | Self::TokenFeed(_, address) => *address,
            Self::Token(token) => token.address,
            Self::Market(market) => market.address,
            Self::Registry(registry) => registry.registry,
            Self::Attester(source) => source.eas,
            Self::Index(source) => source.index,
            Self::IdentityRegistry(agents) => agents.identity_registry,
            Self::ReputationRegistry(agents) => agents.reputation_registry,
        }
    }

    /// The configuration key to correct.
    pub(super) fn key(&self) -> &'static str {
        match self {
            Self::Multicall(_) => "chains.multicall",
            Self::Sequencer(_) => "chains.sequencer",
            Self::NativeFeed(..) => "chains.native.feed",
            Self::Wrapped(_) => "chains.native.wrapped",
            Self::Token(_) | Self::TokenFeed(..) => "chains.tokens",
            Self::PairFactory(_) => "chains.pair_factories",
            Self::Market(_) => "chains.markets",
            Self::Registry(_) => "names.registries",
            Self::UniversalResolver(_) => "names.registries.universal_resolver",
            Self::Attester(_) | Self::Index(_) => "identity.sources",
            Self::IdentityRegistry(_) => "agents.identity_registry",
            Self::ReputationRegistry(_) => "agents.reputation_registry",
        }
    }

    /// The contradictions between the claim and the state after `head`. The contract has code.
    ///
    /// # Errors
    /// [`Fault`] when the endpoint does not answer.
    pub(super) async fn check(&self, client: &Client, head: Block) -> Result<Vec<String>, Fault> {
        match self {
            Self::Multicall(address) => multicall(client, *address, head).await,
            Self::Sequencer(address) => uptime_feed(client, *address, head).await,
            Self::NativeFeed(feed, heartbeat) => price_feed(client, *feed, *heartbeat, head).await,
            Self::TokenFeed(token, feed) => price_feed(client, *feed, token.heartbeat.as_secs(), head).await,
            Self::Wrapped(address) => token(client, *address, NATIVE_DECIMALS, head).await,
            Self::Token(config) => token(client, config.address, config.decimals, head).await,
            Self::PairFactory(address) => pair_factory(client, *address, head).await,
            Self::Market(config) => market::check(client, config, head).await,
            Self::Registry(config) => identity::registry(client, config, head).await,
            Self::UniversalResolver(address) => identity::universal_resolver(client, *address, head).await,
            Self::Attester(config) => identity::service(client, config, head).await,
            Self::Index(config) => identity::index(client, config, head).await,
            Self::IdentityRegistry(config) => agents::identity(client, config, head).await,
            Self::ReputationRegistry(config) => agents::reputation(client, config, head).await,
        }
    }
}

async fn multicall(client: &Client, address: Address, head: Block) -> Result<Vec<String>, Fault> {
    // The number is not compared with the head, because a rollup may return the block number of its parent chain.
    let number = Call::new(address, &getBlockNumberCall {});
    let together = Call::Contract { to: address, data: call::aggregate(address, std::slice::from_ref(&number)) };
    let answers = client.calls(&[number, together], head.hash).await?;
    let alone = returned::<getBlockNumberCall>(answers.first()).filter(|number| *number > U256::ZERO);
    let together = returned::<aggregate3Call>(answers.get(1));
    let equal = alone.zip(together).is_some_and(|(number, results)| {
        let [one] = results.as_slice() else { return false };
        one.success && U256::try_from_be_slice(&one.returnData) == Some(number)
    });
    Ok(if equal {
        vec![]
    } else {
        vec!["does not answer getBlockNumber and aggregate3 like a Multicall3; correct chains.multicall".into()]
    })
}

async fn pair_factory(client: &Client, factory: Address, head: Block) -> Result<Vec<String>, Fault> {
    let [token0, token1] = [1, 2].map(Address::with_last_byte);
    let calls = [Call::new(factory, &getPairCall { token0, token1 }), Call::new(factory, &isPoolCall { pool: token0 })];
    let answers = client.calls(&calls, head.hash).await?;
    let answered =
        returned::<getPairCall>(answers.first()).is_some() || returned::<isPoolCall>(answers.get(1)).is_some();
    Ok(if answered {
        vec![]
    } else {
        vec!["answers neither getPair nor isPool like a factory of pools; correct chains.pair_factories".into()]
    })
}

async fn uptime_feed(client: &Client, feed: Address, head: Block) -> Result<Vec<String>, Fault> {
    let unused = "so no price of the chain's feeds and oracles is used";
    let Some(round) = ask(client, feed, &latestRoundDataCall {}, head).await? else {
        return Ok(vec!["does not answer latestRoundData like an uptime feed; correct chains.sequencer".into()]);
    };
    Ok(match sequencer_state(&round, head.time) {
        Sequencer::Up => vec![],
        Sequencer::JustUp => {
            vec![format!("says the sequencer came back within the last hour, {unused} until one has passed")]
        }
        Sequencer::Down => vec![format!("says the sequencer is down, {unused}")],
        Sequencer::Unknown => vec![format!("has no answer of an uptime feed, 0 or 1 since some time, {unused}")],
    })
}

async fn price_feed(client: &Client, feed: Address, heartbeat: u64, head: Block) -> Result<Vec<String>, Fault> {
    let calls = [Call::new(feed, &decimalsCall {}), Call::new(feed, &latestRoundDataCall {})];
    let answers = client.calls(&calls, head.hash).await?;
    let decimals = returned::<decimalsCall>(answers.first());
    let round = returned::<latestRoundDataCall>(answers.get(1));
    let Some((_, round)) = decimals.zip(round) else {
        return Ok(vec!["does not answer decimals and latestRoundData like a price feed".into()]);
    };
    if !round.answer.is_positive() {
        return Ok(vec![format!("answers {}, which is no price", round.answer)]);
    }
    let age = head.time.saturating_sub(u64::try_from(round.updatedAt).unwrap_or(u64::MAX));
    Ok(if age > stale_after(heartbeat) {
        vec![format!(
            "has stopped: its answer is {age} s old with a heartbeat of {heartbeat} s, so its price is not used"
        )]
    } else {
        vec![]
    })
}

async fn token(client: &Client, address: Address, decimals: u8, head: Block) -> Result<Vec<String>, Fault> {
    Ok(match ask(client, address, &decimalsCall {}, head).await? {
        Some(found) if found == decimals => vec![],
        Some(found) => vec![format!("has {found} decimals, not {decimals}: amounts would be wrong")],
        None => vec!["does not answer decimals() like a token".into()],
    })
}
