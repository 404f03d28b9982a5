//! The name of a lending market: `<chain>/<protocol>/<address>`, such as
//! `1/lenderA_v3/0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2`. A request can also name it as features do, which have no
//! addresses: `1/lenderA_v3`, or `1/lenderB_v3/USDC` if the market has a name.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use assay_domain::{Address, ChainId, PoolHistory, Protocol, features, parse_address};

/// A lending market on one chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MarketName {
    pub protocol: Protocol,
    pub chain: ChainId,
    pub address: Address,
}

/// A market that this server reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedMarket {
    pub name: MarketName,
    /// Its name in the configuration, such as `USDC`.
    pub label: Option<String>,
}

impl WatchedMarket {
    /// The one of `markets` that a request names.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn named(text: &str, markets: &[Self]) -> Result<MarketName, String> {
        if let Ok(name) = text.parse() {
            return Ok(name);
        }
        let features::MarketName { chain_id, protocol, market } = text.parse()?;
        let is = |one: &&Self| {
            let MarketName { chain, protocol: of, .. } = one.name;
            (chain, of.as_str(), &one.label) == (chain_id, protocol.as_str(), &market)
        };
        let found: Vec<MarketName> = markets.iter().filter(is).map(|one| one.name).collect();
        match found.as_slice() {
            [one] => Ok(*one),
            [] => Err(format!(
                "this server does not read the market {text}; {}",
                Self::instead(chain_id, &protocol, markets)
            )),
            [..] => Err(format!("this server reads several markets {text}; write the address of one, as {FORM}")),
        }
    }
}

impl WatchedMarket {
    /// The markets of a protocol on a chain, in words.
    fn instead(chain_id: ChainId, protocol: &str, markets: &[Self]) -> String {
        let names = markets.iter().filter(|one| (one.name.chain, one.name.protocol.as_str()) == (chain_id, protocol));
        let names = names.take(MOST_NAMED).map(|one| match &one.label {
            Some(label) => format!("{chain_id}/{protocol}/{label}"),
            None => one.name.to_string(),
        });
        let names: Vec<String> = names.collect();
        if names.is_empty() { format!("write it as {FORM}") } else { format!("it reads {}", names.join(", ")) }
    }
}

/// Markets that a refusal names.
const MOST_NAMED: usize = 5;
/// What a name looks like.
const FORM: &str = "<chain>/<protocol>/<address>, such as 1/lenderA_v3/0x…";

impl MarketName {
    pub fn of(pool: &PoolHistory) -> Self {
        Self { protocol: pool.protocol, chain: pool.chain_id, address: pool.market_address }
    }
}

/// The same name for a change of a wallet.
impl From<MarketName> for features::MarketName {
    fn from(MarketName { protocol, chain, address }: MarketName) -> Self {
        Self { chain_id: chain, protocol: protocol.as_str().to_owned(), market: Some(address.to_string()) }
    }
}

impl fmt::Display for MarketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.chain, self.protocol.as_str(), self.address)
    }
}

impl FromStr for MarketName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let mut parts = text.split('/');
            let (chain, protocol, address) = (parts.next()?, parts.next()?, parts.next()?);
            let protocol = Protocol::ALL.into_iter().find(|known| known.as_str() == protocol)?;
            let (chain, address) = (chain.parse().ok()?, parse_address(address).ok()?);
            parts.next().is_none().then_some(Self { protocol, chain, address })
        };
        parsed().ok_or_else(|| format!("a market is {FORM}"))
    }
}

impl TryFrom<String> for MarketName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<MarketName> for String {
    fn from(name: MarketName) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_market_is_read_as_it_is_written() {
        let text = "8453/lenderB_v3/0x0000000000000000000000000000000000000007";
        let name: MarketName = text.parse().unwrap();
        assert_eq!((name.chain, name.to_string().as_str()), (8_453, text));
        assert_eq!(features::MarketName::from(name).to_string(), text);
        let wrong = ["", "1", "1/lenderB_v3", "1/nobody/0x0000000000000000000000000000000000000007"];
        for text in wrong.into_iter().map(str::to_owned).chain([format!("{text}/"), text.replace("8453", "x")]) {
            assert!(text.parse::<MarketName>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_market_is_named_by_its_address_or_as_features_name_it() {
        let market = |protocol, byte, label: Option<&str>| WatchedMarket {
            name: MarketName { protocol, chain: 1, address: Address::with_last_byte(byte) },
            label: label.map(str::to_owned),
        };
        let markets = [
            market(Protocol::LenderAV3, 1, None),
            market(Protocol::LenderBV3, 2, Some("USDC")),
            market(Protocol::LenderBV3, 3, Some("WETH")),
            market(Protocol::LenderBV2, 4, None),
            market(Protocol::LenderBV2, 5, None),
        ];
        let named = |text: &str| WatchedMarket::named(text, &markets);
        let (aave, comet) = (Protocol::LenderAV3.as_str(), Protocol::LenderBV3.as_str());
        assert_eq!(named(&format!("1/{aave}")), Ok(markets[0].name));
        assert_eq!(named(&format!("1/{comet}/WETH")), Ok(markets[2].name));
        for one in &markets {
            assert_eq!(named(&one.name.to_string()), Ok(one.name));
        }
        let several = named(&format!("1/{}", Protocol::LenderBV2.as_str())).unwrap_err();
        assert!(several.contains("several"), "{several}");
        let unnamed = named(&format!("1/{comet}")).unwrap_err();
        assert!(unnamed.ends_with(&format!("it reads 1/{comet}/USDC, 1/{comet}/WETH")), "{unnamed}");
        for text in [format!("1/{comet}"), format!("10/{aave}"), "nobody".to_owned()] {
            assert!(named(&text).is_err(), "{text}");
        }
    }
}
