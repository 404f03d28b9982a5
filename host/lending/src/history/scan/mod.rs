//! Reads some blocks for all wallets at once: the queries that find the logs, and each wallet's entries in them. Each
//! wallet is read by the functions that read the logs of one wallet. All logs of a market are there, so no receipt is
//! requested.
//!
//! The zero address, which every mint and burn names, and the markets themselves are not read as wallets.

mod marks;
mod mentions;
mod queries;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use alloy::{primitives::keccak256, rpc::types::Log};

use crate::{
    figures::{
        hints::{AllHints, Emitter, Hint},
        indexed::Entry,
    },
    history::{
        events::Extract,
        receipts::{LogPlace, place, unexplained},
    },
    market::Market,
    protocols::Evidence,
};
use assay_domain::{Address, B256};
use assay_evm::{
    Fault,
    logs::{LogQuery, in_order},
};
use mentions::{Mention, MentionRoles};

pub use marks::Mark;

/// Changes when the entries derived from the same logs change; an index of an earlier server is then not used.
const VERSION: u8 = 2;

/// Reads all wallets in the markets whose hints are known.
#[derive(Debug)]
pub struct Scan {
    markets: Arc<[Market]>,
    hints: AllHints,
    queries: Vec<LogQuery>,
    marks: HashSet<Mark>,
    roles: MentionRoles,
}

/// A wallet's entries in one market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletEntries {
    pub wallet: Address,
    /// Index of the market in the chain's list.
    pub market: usize,
    /// In chain order; not empty.
    pub entries: Vec<Entry>,
}

impl Scan {
    /// `hints` has one entry per market; a market with `None` is not read.
    pub fn new(markets: Arc<[Market]>, hints: AllHints) -> Self {
        let (queries, marks, roles) =
            (queries::of(&markets, &hints), marks::of(&markets, &hints), MentionRoles::of(&markets, &hints));
        Self { markets, hints, queries, marks, roles }
    }

    /// The same without the hints of these `contracts`.
    #[must_use]
    pub fn without(&self, contracts: &BTreeSet<Address>) -> Self {
        let other = |hint: &Hint| Some(Hint { contract: hint.contract.without(contracts)?, ..hint.clone() });
        let others = |hints: &Vec<Hint>| hints.iter().filter_map(other).collect();
        let hints = self.hints.iter().map(|hints| hints.as_ref().map(others)).collect();
        Self::new(self.markets.clone(), hints)
    }

    /// The same without the hints of logs that any contract may emit.
    #[must_use]
    pub fn of_known_contracts(&self) -> Self {
        let known = |hints: &Vec<Hint>| hints.iter().filter(|hint| !hint.is_of_any()).cloned().collect();
        let hints = self.hints.iter().map(|hints| hints.as_ref().map(known)).collect();
        Self::new(self.markets.clone(), hints)
    }

    /// The queries that together find every log, over any span of blocks: at most four, and more if there are
    /// more contracts than a query may name.
    pub fn queries(&self) -> &[LogQuery] {
        &self.queries
    }

    /// The marks that the header's bloom has, for a block with a log that the queries find.
    pub fn marks(&self) -> &HashSet<Mark> {
        &self.marks
    }

    /// Whether the market at `index` is read.
    pub fn reads(&self, index: usize) -> bool {
        self.hints.get(index).is_some_and(Option::is_some)
    }

    /// Whether `wallet` is read as a wallet.
    pub fn is_wallet(markets: &[Market], wallet: Address) -> bool {
        !wallet.is_zero() && !markets.iter().any(|market| market.config.address == wallet)
    }

    /// A digest of the queries for the market at `index`; `None` if it is not read. Entries that were read with another
    /// digest may be incomplete.
    pub fn asked(&self, index: usize) -> Option<B256> {
        Some(asked(self.markets.get(index)?, self.hints.get(index)?.as_ref()?))
    }

    /// The contracts other than markets whose logs are read.
    pub fn hint_contracts(&self) -> BTreeSet<Address> {
        let contracts = self.hints.iter().flatten().flatten().flat_map(|hint| hint.contract.addresses());
        contracts.filter(|contract| Self::is_wallet(&self.markets, *contract)).collect()
    }

    /// Whether `contracts` belong only to markets whose terms list a contract from its first block on.
    pub fn lists_new(&self, contracts: &BTreeSet<Address>) -> bool {
        let others = self.markets.iter().zip(self.hints.iter());
        let mut others = others.filter(|(market, _)| !market.protocol.profile().lists_new_contracts);
        let names = |hint: &Hint| hint.contract.addresses().any(|contract| contracts.contains(&contract));
        !others.any(|(_, hints)| hints.iter().flatten().any(names))
    }

    /// The blocks of `logs` that may have an event and whose time the endpoint did not return.
    pub fn untimed(&self, logs: &[Log]) -> BTreeSet<u64> {
        let markets: HashSet<Address> = self.markets.iter().map(|market| market.config.address).collect();
        let hints = self.hints.iter().flatten().flatten();
        let sets: Vec<&Emitter> =
            hints.map(|hint| &hint.contract).filter(|one| matches!(one, Emitter::Set(_))).collect();
        let of_event = |log: &&Log| markets.contains(&log.address()) || sets.iter().any(|set| set.has(log.address()));
        let untimed = |log: &&Log| log.block_timestamp.unwrap_or_default() == 0 && of_event(log);
        logs.iter().filter(untimed).filter_map(|log| log.block_number).collect()
    }

    /// The entries of every wallet, by wallet and market. `logs` are all answers to the queries over some whole blocks.
    ///
    /// # Errors
    /// [`Fault`] if the block of an event has no time.
    pub fn entries(&self, mut logs: Vec<Log>) -> Result<Vec<WalletEntries>, Fault> {
        in_order(&mut logs);
        let mut mentions = self.roles.mentions(&self.markets, &logs);
        mentions.sort_unstable();
        mentions.dedup();
        let mut found = Vec::new();
        for mentions in mentions.chunk_by(|one, next| one.wallet == next.wallet) {
            self.of_wallet(mentions, &logs, &mut found)?;
        }
        Ok(found)
    }

    /// The logs of markets with hints in the transaction at `place` in `block`, each with its market's index.
    fn receipt<'l>(
        &self,
        block: Option<u64>,
        place: LogPlace,
        logs: &'l [Log],
    ) -> impl Iterator<Item = (usize, &'l Log)> {
        let (_, from_block) = logs.split_at(logs.partition_point(|log| log.block_number < block));
        let in_block = from_block.iter().take_while(move |log| log.block_number == block);
        in_block.filter(move |log| self::place(log) == place).filter_map(|log| {
            let index = self.markets.iter().position(|market| market.config.address == log.address())?;
            let (.., hints) = self.market(index)?;
            (!hints.is_empty()).then_some((index, log))
        })
    }

    /// Adds the entries of the wallet that `mentions` name to `found`.
    fn of_wallet(&self, mentions: &[Mention], logs: &[Log], found: &mut Vec<WalletEntries>) -> Result<(), Fault> {
        let Some(wallet) = mentions.first().map(|mention| mention.wallet) else { return Ok(()) };
        let mut evidence = BTreeMap::<usize, Evidence<'_>>::new();
        let mut places = BTreeSet::new();
        for mentions in mentions.chunk_by(|one, next| one.market == next.market) {
            let Some((index, market, hints)) = mentions.first().and_then(|mention| self.market(mention.market)) else {
                continue;
            };
            let (own, hinting) = (of(mentions, false, logs), of(mentions, true, logs));
            let pointing = unexplained(market, hints, wallet.into_word(), own.iter().copied(), hinting.iter().copied());
            places.extend(pointing.into_iter().map(|log| (log.block_number, place(log))));
            evidence.insert(index, Evidence { own, hints: hinting, ..Evidence::default() });
        }
        for (block, place) in places {
            for (index, log) in self.receipt(block, place, logs) {
                evidence.entry(index).or_default().receipts.push(log);
            }
        }
        for (index, mut evidence) in evidence {
            let Some((_, market, hints)) = self.market(index) else { continue };
            evidence.receipts.sort_by_key(|log| (log.block_number, log.log_index));
            let mut extract = Extract::default();
            extract.add(index, market, &Evidence { listed: hints, ..evidence }, wallet.into_word());
            let entries = extract.entries()?;
            if !entries.is_empty() {
                found.push(WalletEntries { wallet, market: index, entries });
            }
        }
        Ok(())
    }

    fn market(&self, index: usize) -> Option<(usize, &Market, &[Hint])> {
        Some((index, self.markets.get(index)?, self.hints.get(index)?.as_deref()?))
    }
}

/// The logs that `mentions` of one wallet and market name, in chain order.
fn of<'l>(mentions: &[Mention], is_hint: bool, logs: &'l [Log]) -> Vec<&'l Log> {
    let wanted = mentions.iter().filter(|mention| mention.is_hint == is_hint);
    wanted.filter_map(|mention| logs.get(mention.log)).collect()
}

/// A digest of the queries for `market` that its `hints` make for all wallets.
pub(crate) fn asked(market: &Market, hints: &[Hint]) -> B256 {
    let of_all = hints.iter().filter(|hint| !hint.is_alias());
    // Each contract of a set is a part, so a set that grew differs only in what is new.
    let of_contract = |hint: &Hint, contract| format!("{contract:#x} {:#x} {:?}", hint.topic0, hint.naming);
    let of_hint = |hint: &Hint| {
        let any = hint.is_of_any().then_some(Address::ZERO);
        any.into_iter().chain(hint.contract.addresses()).map(|one| of_contract(hint, one)).collect::<Vec<_>>()
    };
    let mut parts: Vec<String> = of_all.flat_map(of_hint).collect();
    parts.sort_unstable();
    let protocol = &market.config.protocol;
    let profile = market.protocol.profile();
    let signatures = profile.signatures;
    keccak256(format!("{VERSION} {protocol:?} {signatures:?} {:?} {parts:?}", profile.in_receipts))
}

#[cfg(test)]
mod tests;
