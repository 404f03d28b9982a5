//! The asset that an amount is denominated in.

use std::{fmt, str::FromStr};

use assay_domain::{Address, B256};
use serde::{Deserialize, Serialize};

const SHARES: &str = "shares:";
const SCALED: &str = "scaled:";
const CREDIT_TO: &str = "credit-to:";
const CREDIT_OF: &str = "credit-of:";
const FIXED: &str = "fixed:";

/// A token, or one side of a market in a contract that has several markets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Asset {
    Token(Address),
    /// The token on this side of the market with this id.
    Market(B256),
    /// Shares of the total supplied or borrowed in that market.
    Shares(B256),
    /// A token, in amounts divided by the market's index of the block; interest does not change them.
    Scaled(Address),
    /// A token owed at a fixed rate, in amounts with the interest until the last change.
    Fixed(Address),
    /// Credit that the wallet gave to another address in a debt token.
    CreditTo {
        token: Address,
        delegate: Address,
    },
    /// Credit that another address gave to the wallet in a debt token.
    CreditOf {
        token: Address,
        owner: Address,
    },
}

impl Asset {
    /// The market within the contract, or the part of a position, that the amount is in.
    pub(crate) fn part(self) -> Option<B256> {
        match self {
            Self::Market(id) | Self::Shares(id) => Some(id),
            Self::Token(_) | Self::Scaled(_) | Self::Fixed(_) | Self::CreditTo { .. } | Self::CreditOf { .. } => None,
        }
    }

    /// Whether it is credit, which is no part of a position.
    pub fn is_credit(&self) -> bool {
        matches!(self, Self::CreditTo { .. } | Self::CreditOf { .. })
    }
}

impl From<Address> for Asset {
    fn from(token: Address) -> Self {
        Self::Token(token)
    }
}

impl fmt::Display for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(token) => write!(f, "{token:#x}"),
            Self::Market(id) => write!(f, "{id:#x}"),
            Self::Shares(id) => write!(f, "{SHARES}{id:#x}"),
            Self::Scaled(token) => write!(f, "{SCALED}{token:#x}"),
            Self::CreditTo { token, delegate } => write!(f, "{CREDIT_TO}{token:#x}:{delegate:#x}"),
            Self::CreditOf { token, owner } => write!(f, "{CREDIT_OF}{token:#x}:{owner:#x}"),
            Self::Fixed(token) => write!(f, "{FIXED}{token:#x}"),
        }
    }
}

impl From<Asset> for String {
    fn from(asset: Asset) -> Self {
        asset.to_string()
    }
}

impl FromStr for Asset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id = |text: &str| text.parse::<B256>();
        let both = |text: &str| {
            let (token, peer) = text.split_once(':').unwrap_or((text, ""));
            Ok::<_, <Address as FromStr>::Err>((token.parse()?, peer.parse()?))
        };
        if let Some(text_of) = text.strip_prefix(CREDIT_TO).or(text.strip_prefix(CREDIT_OF)) {
            let (token, peer) = both(text_of).map_err(|error| format!("no credit: {text:?}: {error}"))?;
            return Ok(match text.starts_with(CREDIT_TO) {
                true => Self::CreditTo { token, delegate: peer },
                false => Self::CreditOf { token, owner: peer },
            });
        }
        let read = if let Some(market) = text.strip_prefix(SHARES) {
            id(market).map(Self::Shares)
        } else if let Some(token) = text.strip_prefix(SCALED) {
            token.parse().map(Self::Scaled)
        } else if let Some(token) = text.strip_prefix(FIXED) {
            token.parse().map(Self::Fixed)
        } else {
            text.parse().map(Self::Token).or_else(|_| id(text).map(Self::Market))
        };
        read.map_err(|error| format!("no token and no market: {text:?}: {error}"))
    }
}

impl TryFrom<String> for Asset {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_is_stored_as_text_and_a_token_as_its_address() {
        let (token, id) = (Address::repeat_byte(0xab), B256::repeat_byte(0xcd));
        let peer = Address::repeat_byte(0xef);
        let credit = [Asset::CreditTo { token, delegate: peer }, Asset::CreditOf { token, owner: peer }];
        let plain =
            [Asset::Token(token), Asset::Market(id), Asset::Shares(id), Asset::Scaled(token), Asset::Fixed(token)];
        for asset in plain.into_iter().chain(credit) {
            let text = serde_json::to_string(&asset).unwrap();
            assert_eq!(serde_json::from_str::<Asset>(&text).unwrap(), asset, "{text}");
        }
        let bare = serde_json::to_string(&token).unwrap();
        assert_eq!(serde_json::to_string(&Asset::Token(token)).unwrap(), bare);
        for bad in [
            "",
            "0x12",
            "shares:",
            "scaled:0x12",
            "credit-to:0x12",
            "shares:0xabababababababababababababababababababab",
        ] {
            assert!(bad.parse::<Asset>().is_err(), "{bad}");
        }
    }
}
