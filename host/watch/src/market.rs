//! The name of a lending market in a trigger: `<protocol>/<chain>/<address>`, such as
//! `lenderA_v3/1/0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use assay_domain::{Address, ChainId, PoolHistory, Protocol, parse_address};

/// A lending market on one chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MarketName {
    pub protocol: Protocol,
    pub chain: ChainId,
    pub address: Address,
}

impl MarketName {
    pub fn of(pool: &PoolHistory) -> Self {
        Self { protocol: pool.protocol, chain: pool.chain_id, address: pool.market_address }
    }
}

impl fmt::Display for MarketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.protocol.as_str(), self.chain, self.address)
    }
}

impl FromStr for MarketName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let mut parts = text.split('/');
            let (protocol, chain, address) = (parts.next()?, parts.next()?, parts.next()?);
            let protocol = Protocol::ALL.into_iter().find(|known| known.as_str() == protocol)?;
            let (chain, address) = (chain.parse().ok()?, parse_address(address).ok()?);
            parts.next().is_none().then_some(Self { protocol, chain, address })
        };
        parsed().ok_or_else(|| {
            "a market is <protocol>/<chain>/<address>, as a report names them, such as lenderA_v3/1/0x…".to_owned()
        })
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
        let text = "lenderB_v3/8453/0x0000000000000000000000000000000000000007";
        let name: MarketName = text.parse().unwrap();
        assert_eq!((name.chain, name.to_string().as_str()), (8_453, text));
        let wrong = ["", "lenderB_v3", "lenderB_v3/1", "nobody/1/0x0000000000000000000000000000000000000007"];
        for text in wrong.into_iter().map(str::to_owned).chain([format!("{text}/"), text.replace("8453", "x")]) {
            assert!(text.parse::<MarketName>().is_err(), "{text}");
        }
    }
}
