//! Hints: logs of other contracts that name a wallet and point to a transaction. A market lists them if its own logs do
//! not name the wallet in every event; the transaction's receipt then shows what happened.

use std::{collections::BTreeSet, sync::Arc};

use alloy::{primitives::map::HashSet, rpc::types::Log, sol, sol_types::SolEvent};
use futures::future::{BoxFuture, Shared};

use crate::figures::record::Side;
use assay_domain::{Address, B256};

sol! {
    event Transfer(address indexed from, address indexed to, uint256 value);
}

/// The transfer of every token, and of Comet markets for their base asset.
pub const TRANSFER: B256 = Transfer::SIGNATURE_HASH;

/// A kind of log whose transaction must be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The contract that emits it: the market, one of its tokens, or its controller.
    pub contract: Emitter,
    pub topic0: B256,
    pub naming: Naming,
    /// Signatures of the market's own logs. If one of them names the wallet in the same transaction, the receipt is not
    /// read, because that log has the same information.
    pub explained_by: &'static [B256],
}

/// The contracts whose logs of one kind mean the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Emitter {
    One(Address),
    /// Each of these, as every vault of a factory. Hints share the set.
    Set(Arc<HashSet<Address>>),
    Any,
}

/// How a log names the wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// In this topic, 1 to 3.
    At(usize),
    /// In topic 1 or 2, if the other one is this address.
    With(B256),
    /// In topic 1 as the sender, or in topic 2 as the receiver, of a token that represents a supply of this asset.
    Holder(Address),
    /// In this topic, by a token that represents a supply or a debt of this asset, when its balance changes.
    Balance { topic: usize, side: Side, asset: Address },
    /// In this topic, by another word that identifies the wallet.
    Alias { topic: usize, word: B256, of: Alias },
    /// In this topic: the log is about the contract that emits it.
    Emitter(usize),
    /// In this topic, by any of the 256 addresses that share the wallet's first 19 bytes.
    Accounts(usize),
    /// By the number of a position, in this word of the data. No query for a wallet finds such a log; the index of all
    /// wallets keeps it under a [`number`].
    Number(usize),
    /// Not at all: the market's logs with this word in the topic are no events.
    Never { topic: usize, word: B256 },
}

/// What a word in a log identifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alias {
    /// An account of the wallet from the beginning.
    Account,
    /// An account that the wallet has since a log that names it.
    Received,
    /// An account that another wallet has now.
    Lost,
    /// A part of a position, whose logs have this word as their first topic. The holder is the account of the wallet
    /// that has it now.
    Part { id: B256, kind: B256, holder: Option<B256> },
}

/// One entry per market: its hints, or `None` if they are unknown and the market cannot be read now.
pub type AllHints = Arc<[Option<Vec<Hint>>]>;

/// The hints of every market for one wallet, once looked up.
pub type Hinted = Shared<BoxFuture<'static, AllHints>>;

/// The words of the 256 addresses that share the first 19 bytes of `wallet`.
pub(crate) fn accounts(wallet: B256) -> impl Iterator<Item = B256> {
    (0..=u8::MAX).map(move |number| {
        let mut account = wallet;
        account.last_mut().into_iter().for_each(|last| *last = number);
        account
    })
}

/// The start of the addresses that stand for positions in the index of all wallets.
const OF_NUMBERS: [u8; 12] = *b"a position #";

/// The address that stands for the position with a number in the index of all wallets.
pub fn number(number: u64) -> Address {
    let mut address = Address::ZERO;
    let (start, end) = address.split_at_mut(OF_NUMBERS.len());
    start.copy_from_slice(&OF_NUMBERS);
    end.copy_from_slice(&number.to_be_bytes());
    address
}

/// Whether an address in the index of all wallets stands for a position.
pub fn is_number(address: Address) -> bool {
    address.starts_with(&OF_NUMBERS)
}

impl Emitter {
    pub(crate) fn has(&self, contract: Address) -> bool {
        match self {
            Self::One(one) => *one == contract,
            Self::Set(set) => set.contains(&contract),
            Self::Any => true,
        }
    }

    /// The contracts by their addresses: none for any contract. Those of a set are in no order.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = Address> {
        let (one, set) = match self {
            Self::One(one) => (Some(*one), None),
            Self::Set(set) => (None, Some(set.iter().copied())),
            Self::Any => (None, None),
        };
        one.into_iter().chain(set.into_iter().flatten())
    }

    /// The same without `contracts`; `None` if none is left.
    pub(crate) fn without(&self, contracts: &BTreeSet<Address>) -> Option<Self> {
        match self {
            Self::Any => Some(Self::Any),
            Self::One(one) => (!contracts.contains(one)).then_some(Self::One(*one)),
            Self::Set(set) if set.iter().any(|one| contracts.contains(one)) => {
                let left: HashSet<Address> = set.iter().filter(|one| !contracts.contains(*one)).copied().collect();
                (!left.is_empty()).then(|| Self::Set(Arc::new(left)))
            }
            Self::Set(set) => Some(Self::Set(set.clone())),
        }
    }
}

impl From<Address> for Emitter {
    fn from(contract: Address) -> Self {
        Self::One(contract)
    }
}

impl Hint {
    /// Whether the hint belongs to one wallet instead of all.
    pub(crate) fn is_alias(&self) -> bool {
        matches!(self.naming, Naming::Alias { .. } | Naming::Accounts(_))
    }

    /// Whether `hints` are those of a wallet with several accounts.
    pub(crate) fn are_of_accounts(hints: &[Self]) -> bool {
        hints.iter().any(|hint| matches!(hint.naming, Naming::Accounts(_)))
    }

    /// Whether its logs may be the only ones that name a part of a position. Those of a part are not.
    pub(crate) fn names_parts(&self) -> bool {
        !matches!(self.naming, Naming::Alias { .. })
    }

    /// The words other than the wallet's own that identify `wallet` in the logs.
    pub(crate) fn aliases(&self, wallet: B256) -> Vec<B256> {
        match self.naming {
            Naming::Alias { word, .. } => vec![word],
            Naming::Accounts(_) => accounts(wallet).filter(|account| *account != wallet).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether any contract may emit the log.
    pub(crate) fn is_of_any(&self) -> bool {
        self.contract == Emitter::Any
    }

    pub(crate) fn is(&self, log: &Log, wallet: B256) -> bool {
        let topics = log.topics();
        // A pool has dozens of hints and a long history many logs, so the most selective comparison comes first.
        if !self.contract.has(log.address()) || topics.first() != Some(&self.topic0) {
            return false;
        }
        match self.naming {
            Naming::At(topic) | Naming::Balance { topic, .. } | Naming::Emitter(topic) => {
                topics.get(topic) == Some(&wallet)
            }
            Naming::Number(_) | Naming::Never { .. } => false,
            Naming::Accounts(topic) => topics.get(topic).is_some_and(|word| word.get(..31) == wallet.get(..31)),
            Naming::Holder(_) => topics.get(1) == Some(&wallet) || topics.get(2) == Some(&wallet),
            Naming::Alias { topic, word, .. } => topics.get(topic) == Some(&word),
            Naming::With(peer) => {
                matches!(topics, [_, from, to, ..] if (*from, *to) == (wallet, peer) || (*from, *to) == (peer, wallet))
            }
        }
    }

    /// Whether a log in `own`, logs of the market that name the wallet in the same transaction, already has everything
    /// that the receipt could add.
    pub(crate) fn is_explained_by(&self, own: &[&Log]) -> bool {
        own.iter().any(|own| own.topic0().is_some_and(|topic| self.explained_by.contains(topic)))
    }
}
