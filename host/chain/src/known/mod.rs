//! The shipped data of known chains: one embedded file each, which names its sources.

use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use crate::config::{NativeConfig, Slugs, TokenConfig};
use assay_domain::{Address, ChainId, settings};
use assay_lending::config::MarketConfig;
use serde::Deserialize;

/// By ascending chain id.
const FILES: [&str; 22] = [
    include_str!("ethereum.toml"),
    include_str!("optimism.toml"),
    include_str!("bnb.toml"),
    include_str!("gnosis.toml"),
    include_str!("polygon.toml"),
    include_str!("monad.toml"),
    include_str!("sonic.toml"),
    include_str!("xlayer.toml"),
    include_str!("fantom.toml"),
    include_str!("zksync.toml"),
    include_str!("metis.toml"),
    include_str!("soneium.toml"),
    include_str!("megaeth.toml"),
    include_str!("mantle.toml"),
    include_str!("base.toml"),
    include_str!("plasma.toml"),
    include_str!("arbitrum.toml"),
    include_str!("celo.toml"),
    include_str!("avalanche.toml"),
    include_str!("ink.toml"),
    include_str!("linea.toml"),
    include_str!("scroll.toml"),
];

/// The naming services and attesters on known chains: defaults of `names.registries` and `identity.sources`.
pub const IDENTITY: &str = include_str!("identity.toml");

/// The contents of one data file: everything about the chain except its endpoints.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    pub id: ChainId,
    pub name: String,
    pub finality: u64,
    #[serde(deserialize_with = "settings::seconds")]
    pub max_head_age: Duration,
    /// See [`ChainConfig`](crate::config::ChainConfig); `false` if absent.
    pub genesis_accounts: Option<bool>,
    pub multicall: Option<Address>,
    pub sequencer: Option<Address>,
    pub native: NativeConfig,
    pub tokens: Vec<TokenConfig>,
    pub pair_factories: Vec<Address>,
    pub markets: Vec<MarketConfig>,
    pub slugs: Slugs,
}

/// The names of tokens and currencies by symbol.
const NAMES: &str = include_str!("names.toml");

#[derive(Deserialize)]
struct KnownNames {
    names: BTreeMap<String, String>,
}

/// All known chains, by ascending id.
///
/// # Errors
/// If a data file is damaged. A test excludes that.
pub fn all() -> Result<Vec<Known>, toml::de::Error> {
    let KnownNames { names } = toml::from_str(NAMES)?;
    let named = |mut known: Known| {
        known.native.name = names.get(&known.native.symbol).cloned();
        for token in &mut known.tokens {
            token.name = names.get(&token.symbol).cloned();
        }
        known
    };
    FILES.iter().map(|text| toml::from_str(text).map(named)).collect()
}

/// The ids and names of the known chains, by ascending id.
pub fn names() -> impl Iterator<Item = (ChainId, String)> {
    all().unwrap_or_default().into_iter().map(|known| (known.id, known.name))
}

/// The contract of a token of the shipped data; `None` for the native currency of its chain.
pub fn token_address(chain: ChainId, symbol: &str) -> Option<Address> {
    static TOKENS: LazyLock<BTreeMap<ChainId, Vec<(String, Address)>>> = LazyLock::new(|| {
        let tokens = |known: Known| known.tokens.into_iter().map(|token| (token.symbol, token.address)).collect();
        all().unwrap_or_default().into_iter().map(|known| (known.id, tokens(known))).collect()
    });
    let of_chain = TOKENS.get(&chain)?;
    of_chain.iter().find(|(known, _)| known == symbol).map(|(_, address)| *address)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::{Identity, RegistryConfig};
    use assay_domain::Protocol;

    #[derive(Deserialize)]
    struct Shipped {
        names: ShippedNames,
        identity: Identity,
    }

    #[derive(Deserialize)]
    struct ShippedNames {
        registries: Vec<RegistryConfig>,
    }

    fn files() -> impl Iterator<Item = (Known, &'static str)> {
        all().unwrap().into_iter().zip(FILES)
    }

    #[test]
    fn the_chains_and_their_currencies() {
        let found: Vec<_> = files().map(|(known, _)| (known.id, known.native.symbol)).collect();
        let expected = [
            (1, "ETH"),
            (10, "ETH"),
            (56, "BNB"),
            (100, "XDAI"),
            (137, "POL"),
            (143, "MON"),
            (146, "S"),
            (196, "OKB"),
            (250, "FTM"),
            (324, "ETH"),
            (1088, "METIS"),
            (1868, "ETH"),
            (4326, "ETH"),
            (5000, "MNT"),
            (8453, "ETH"),
            (9745, "XPL"),
            (42_161, "ETH"),
            (42_220, "CELO"),
            (43_114, "AVAX"),
            (57_073, "ETH"),
            (59_144, "ETH"),
            (534_352, "ETH"),
        ];
        assert_eq!(found, expected.map(|(id, symbol)| (id, symbol.to_owned())));
    }

    #[test]
    fn every_token_and_currency_has_its_name() {
        for (known, _) in files() {
            assert!(known.native.name.is_some(), "{}", known.name);
            for token in known.tokens {
                assert!(token.name.is_some(), "{} on {}", token.symbol, known.name);
            }
        }
    }

    #[test]
    fn every_address_carries_its_checksum() {
        for (known, text) in files() {
            let written: Vec<_> = text.split('"').filter(|word| word.starts_with("0x")).collect();
            assert!(written.len() > 5, "{}: {written:?}", known.name);
            for word in written {
                let address: Address = word.parse().unwrap_or_else(|error| panic!("{}: {word}: {error}", known.name));
                assert_eq!(address.to_checksum(None), word, "{}", known.name);
            }
        }
    }

    #[test]
    fn names_and_attesters_are_on_known_chains_and_at_checked_addresses() {
        let Shipped { names: ShippedNames { registries }, identity: Identity { sources } } =
            toml::from_str(IDENTITY).unwrap();
        assert_eq!((registries.len(), sources.len()), (2, 9));
        let known: BTreeSet<_> = names().map(|(id, _)| id).collect();
        assert!(
            registries
                .iter()
                .map(|registry| registry.chain)
                .chain(sources.iter().map(|source| source.chain))
                .all(|id| known.contains(&id))
        );
        for word in IDENTITY.split('"').filter(|word| word.starts_with("0x") && word.len() == 42) {
            assert_eq!(word.parse::<Address>().unwrap().to_checksum(None), word);
        }
    }

    #[test]
    fn nothing_is_listed_twice_and_every_figure_is_possible() {
        for (known, text) in files() {
            let name = &known.name;
            assert!(
                text.starts_with(&format!("# {name} (chain {})", known.id)) && text.contains("# Sources: "),
                "{name}: no header"
            );
            assert!((1..20_000).contains(&known.finality), "{name}");
            assert!((60..=900).contains(&known.max_head_age.as_secs()), "{name}");
            assert!(known.multicall.is_some(), "{name}");
            assert!(known.native.feed.is_some() || text.contains("# No feed is known"), "{name}");
            assert!(!known.tokens.is_empty() && !known.markets.is_empty(), "{name}");
            let mut seen = BTreeSet::new();
            assert!(known.tokens.iter().all(|token| seen.insert(token.address)), "{name}: a token twice");
            assert!(
                known.markets.iter().all(|market| seen.insert(market.address)),
                "{name}: a market twice, or a token as a market"
            );
            assert!(!known.pair_factories.is_empty() || text.contains("Factories of pools are not listed."), "{name}");
            assert!(known.pair_factories.iter().all(|factory| seen.insert(*factory)), "{name}: a factory twice");
            let mut symbols = BTreeSet::new();
            assert!(known.tokens.iter().all(|token| symbols.insert(&token.symbol)), "{name}: a symbol twice");
            for token in &known.tokens {
                assert!((2..=18).contains(&token.decimals), "{name}: {token:?}");
            }
            for market in &known.markets {
                assert!(market.from_block > 0, "{name}: {market:?}");
            }
        }
    }

    #[test]
    fn rollups_that_chainlink_watches_have_an_uptime_feed_and_every_chain_a_name_at_price_apis() {
        let watched: Vec<_> =
            files().filter(|(known, _)| known.sequencer.is_some()).map(|(known, _)| known.id).collect();
        assert_eq!(watched, [10, 324, 1088, 1868, 5000, 8453, 42_161, 42_220, 534_352]);
        for (known, _) in files() {
            assert!(known.slugs.defillama.is_some() && known.slugs.coingecko.is_some(), "{}", known.name);
            assert!(
                known.native.wrapped.is_some() && (1..=86_400).contains(&known.native.heartbeat.as_secs()),
                "{}",
                known.name
            );
        }
    }

    #[test]
    fn a_currency_that_is_shown_as_a_token_has_its_mirror_and_no_mirror_is_a_token() {
        let mirrored: Vec<_> =
            files().filter(|(known, _)| !known.native.mirrors.is_empty()).map(|(known, _)| known.id).collect();
        assert_eq!(mirrored, [10, 137, 324, 1088, 1868, 4326, 5000, 8453, 42_220, 57_073]);
        for (known, _) in files() {
            let is_mirror = |token: &TokenConfig| known.native.mirrors.contains(&token.address);
            assert!(!known.tokens.iter().any(is_mirror), "{}", known.name);
        }
    }

    #[test]
    fn a_market_has_a_name_where_its_protocol_has_several_there() {
        for (known, _) in files() {
            for protocol in Protocol::ALL {
                let names: Vec<_> =
                    known.markets.iter().filter(|m| m.protocol == protocol).map(|m| &m.market).collect();
                let distinct: BTreeSet<_> = names.iter().flat_map(|name| name.as_deref()).collect();
                assert_eq!(
                    distinct.len(),
                    if names.len() > 1 { names.len() } else { 0 },
                    "{} {}",
                    known.name,
                    protocol.as_str()
                );
            }
        }
    }
}
