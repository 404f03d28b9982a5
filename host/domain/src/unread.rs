//! The parts that a snapshot lacks: not read, or not completely, and why. Some of them make a score provisional.

use std::fmt;

use crate::{Address, ChainId, Coverage, Protocol};

/// A part of the data of one chain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Everything on the chain.
    Chain,
    /// Activity since the block at which the chain was read.
    Head,
    /// The number of transactions.
    Transactions,
    FirstTransaction,
    LastTransaction,
    /// The native currency and the configured tokens.
    Balances,
    /// Tokens that a source lists.
    ListedTokens,
    /// The price of a token in dollars; `None` for the native currency.
    Price(Option<Address>),
    /// The current position in one lending market.
    Position(Protocol, Address),
    /// The lending history in one market.
    History(Protocol, Address),
    Transfers,
    Nfts,
    /// The attestations of a provider.
    Attestations(String),
}

/// A part that was not read, or not completely.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    pub part: Part,
    /// Why, and what to do, without a full stop.
    pub reason: String,
}

/// The unread parts of an address, each with its chain.
pub type UnreadByChain = Vec<(ChainId, Unread)>;

impl Part {
    /// Whether a credit score may use the part. A score without it is provisional.
    pub fn is_scored(&self) -> bool {
        !matches!(self, Self::Transfers | Self::Nfts | Self::Attestations(_))
    }

    /// Whether the part could show activity of an address that shows none elsewhere.
    pub fn can_show_activity(&self) -> bool {
        match self {
            Self::Chain | Self::Head | Self::Transactions | Self::Balances | Self::ListedTokens => true,
            Self::Position(..) | Self::History(..) => true,
            // The others describe known activity, or are no activity.
            Self::FirstTransaction | Self::LastTransaction | Self::Price(_) => false,
            Self::Transfers | Self::Nfts | Self::Attestations(_) => false,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain => f.write_str("everything"),
            Self::Head => f.write_str("newest block"),
            Self::Transactions => f.write_str("number of transactions"),
            Self::FirstTransaction => f.write_str("first transaction"),
            Self::LastTransaction => f.write_str("last transaction"),
            Self::Balances => f.write_str("balances"),
            Self::ListedTokens => f.write_str("listed tokens"),
            Self::Price(None) => f.write_str("price of the native currency"),
            Self::Price(Some(token)) => write!(f, "price of token {token}"),
            Self::Position(protocol, market) => write!(f, "position in {} {market}", protocol.as_str()),
            Self::History(protocol, market) => write!(f, "lending history in {} {market}", protocol.as_str()),
            Self::Transfers => f.write_str("token transfers"),
            Self::Nfts => f.write_str("NFTs"),
            Self::Attestations(provider) => write!(f, "attestations of {provider}"),
        }
    }
}

/// The reason if nothing else is known.
const NO_ANSWER: &str = "no endpoint answers; try again later";

impl Unread {
    pub fn new(part: Part, reason: impl Into<String>) -> Self {
        Self { part, reason: reason.into() }
    }

    /// A whole chain, because none of its endpoints answers.
    pub fn chain() -> Self {
        Self::new(Part::Chain, NO_ANSWER)
    }

    /// The price of a token that should have one, or of the native currency.
    pub fn price(token: Option<Address>) -> Self {
        Self::new(Part::Price(token), "no source has a fresh price; try again later")
    }

    /// The missing part of a market's history, unless it is complete.
    pub fn history(protocol: Protocol, market: Address, coverage: Coverage, through: Option<u64>) -> Option<Self> {
        let reason = match (coverage, through) {
            (Coverage::Complete, _) => return None,
            (Coverage::Failed, _) => NO_ANSWER.to_owned(),
            (Coverage::Pending, _) => "being read for the first time; ask again shortly".to_owned(),
            (Coverage::Partial, Some(block)) => {
                format!("not known to be complete after block {block}; ask again shortly")
            }
            (Coverage::Partial, None) => "not known to be complete; ask again shortly".to_owned(),
        };
        Some(Self::new(Part::History(protocol, market), reason))
    }

    /// A sentence that names the part, `chain` and the reason.
    pub fn on(&self, chain: ChainId) -> String {
        let Self { part, reason } = self;
        format!("{part} on chain {chain}: {reason}")
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.part, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_words() {
        let unread = Unread::new(Part::FirstTransaction, "the endpoint keeps no old state");
        assert_eq!(unread.to_string(), "first transaction: the endpoint keeps no old state");
        assert_eq!(unread.on(10), "first transaction on chain 10: the endpoint keeps no old state");
        let market = Part::Position(Protocol::LenderAV3, Address::ZERO);
        assert_eq!(market.to_string(), "position in lenderA_v3 0x0000000000000000000000000000000000000000");
        assert!(market.is_scored() && market.can_show_activity());
        assert!(!Part::Nfts.is_scored() && !Part::Price(None).can_show_activity());
    }
}
