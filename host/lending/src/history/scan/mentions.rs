//! The wallets that a log names, for which market, and whether the log is the market's own or a hint.

use alloy::{primitives::map::HashMap, rpc::types::Log};

use super::Scan;
use crate::{
    figures::{
        hints::{AllHints, Naming, number},
        sums::amount_at,
    },
    market::Market,
};
use assay_domain::{Address, B256, U256};

/// A wallet in a log. Ordered by wallet, market and kind, then by log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mention {
    pub wallet: Address,
    /// Index of the market.
    pub market: usize,
    pub is_hint: bool,
    /// Index of the log.
    pub log: usize,
}

/// The role of a contract's logs with one signature in a market.
#[derive(Debug, Clone, Copy)]
struct MentionRole {
    market: usize,
    is_hint: bool,
    naming: Naming,
}

/// By contract, zero for any, and signature.
#[derive(Debug, Default)]
pub(super) struct MentionRoles(HashMap<(Address, B256), Vec<MentionRole>>);

impl MentionRoles {
    pub fn of(markets: &[Market], hints: &AllHints) -> Self {
        let mut roles = Self::default();
        for (index, (market, hints)) in markets.iter().zip(hints.iter()).enumerate() {
            let Some(hints) = hints else { continue };
            for signature in market.protocol.profile().signatures {
                let role = MentionRole { market: index, is_hint: false, naming: Naming::At(signature.wallet_at) };
                roles.add(market.config.address, signature.topic0, role);
            }
            for hint in hints {
                let role = MentionRole { market: index, is_hint: true, naming: hint.naming };
                let any = hint.is_of_any().then_some(Address::ZERO);
                any.into_iter().chain(hint.contract.addresses()).for_each(|one| roles.add(one, hint.topic0, role));
            }
        }
        roles
    }

    fn add(&mut self, contract: Address, topic0: B256, role: MentionRole) {
        self.0.entry((contract, topic0)).or_default().push(role);
    }

    /// Unordered, with duplicates.
    pub fn mentions(&self, markets: &[Market], logs: &[Log]) -> Vec<Mention> {
        let mut found = Vec::with_capacity(logs.len().saturating_mul(2));
        for (index, log) in logs.iter().enumerate() {
            let roles = log
                .topic0()
                .into_iter()
                .flat_map(|topic0| [log.address(), Address::ZERO].map(|contract| self.0.get(&(contract, *topic0))));
            for MentionRole { market, is_hint, naming } in roles.flatten().flatten().copied() {
                let wallets = named(naming, log).into_iter().flatten().filter_map(address);
                let wallets = wallets.filter(|wallet| Scan::is_wallet(markets, *wallet));
                found.extend(wallets.map(|wallet| Mention { wallet, market, is_hint, log: index }));
            }
        }
        found
    }
}

/// The words in `log` that name a wallet, or stand for a position.
fn named(naming: Naming, log: &Log) -> [Option<B256>; 2] {
    let topic = |at: usize| log.topics().get(at).copied();
    match naming {
        Naming::At(at) | Naming::Balance { topic: at, .. } | Naming::Emitter(at) => [topic(at), None],
        Naming::Holder(_) => [topic(1), topic(2)],
        Naming::Number(word) => [amount_at(log, word).and_then(numbered), None],
        Naming::Alias { .. } | Naming::Accounts(_) | Naming::Never { .. } => [None, None],
        Naming::With(peer) => match (topic(1), topic(2)) {
            (Some(from), Some(to)) => [Some(to).filter(|_| from == peer), Some(from).filter(|_| to == peer)],
            _ => [None, None],
        },
    }
}

/// The word that stands for the position with this number; `None` for a number that none has.
fn numbered(id: U256) -> Option<B256> {
    Some(number(u64::try_from(id).ok()?).into_word())
}

/// The address in a topic; `None` if it holds another value.
fn address(word: B256) -> Option<Address> {
    let address = Address::from_word(word);
    (address.into_word() == word).then_some(address)
}
