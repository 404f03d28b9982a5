//! The first and the last transaction of an address, from the node alone: its nonce at the head, and the blocks after
//! which the nonce became one and reached its value, found by a search in old state. A node without old state gives the
//! count alone.

use std::collections::BTreeSet;

use moka::future::Cache;
use serde_json::{Value, json};

use super::records;
use assay_domain::{Activity, Address, B256, ChainId, Seen};
use assay_evm::{
    client::{Answers, Ask, Block, Client, block_from, hex, pinned, quantity},
    fault::Fault,
};
use assay_store::Store;

/// Blocks probed in one round trip of a search, which divides its span by one more.
const PROBES: u64 = 7;
/// Addresses whose last transaction is cached.
const CACHE_ENTRIES: u64 = 50_000;

/// Reads activity on one chain.
pub(crate) struct ActivityReader {
    chain: ChainId,
    client: Client,
    store: Store,
    finality: u64,
    latest: Cache<Address, Latest>,
}

/// What an earlier read found. It holds while the block of the last transaction is on the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Latest {
    nonce: u64,
    first: Option<Block>,
    last: Option<Block>,
}

/// A search for the first block after which a growing number has reached `target`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Search {
    target: u64,
    /// Not reached after this block.
    low: u64,
    /// Reached after this block.
    high: u64,
    /// The number after `low` is known; `false` where `low` only marks the end of missing state.
    low_seen: bool,
}

impl Search {
    fn probes(&self) -> impl Iterator<Item = u64> + use<> {
        let (low, gap) = (self.low, self.high.saturating_sub(self.low));
        let parts = PROBES + 1;
        let mut probes: Vec<u64> = (1..parts)
            .map(|i| low + u64::try_from(u128::from(gap) * u128::from(i) / u128::from(parts)).unwrap_or(gap))
            .collect();
        probes.dedup();
        let high = self.high;
        probes.into_iter().filter(move |probe| *probe > low && *probe < high)
    }

    /// Learns the number after block `at`; `None` where the node has no such old state.
    fn learn(&mut self, at: u64, number: Option<u64>) {
        match number {
            Some(number) if number >= self.target => self.high = self.high.min(at),
            Some(_) if at >= self.low => (self.low, self.low_seen) = (at, true),
            // Nodes drop the oldest state first: the state before `at` is missing too.
            None if at > self.low => (self.low, self.low_seen) = (at, false),
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.high <= self.low + 1
    }

    /// The block, once the search is over; `None` where it may lie in missing state.
    fn found(&self) -> Option<u64> {
        (self.is_over() && self.low_seen).then_some(self.high)
    }
}

/// Asks for the nonce of `wallet` after `head`.
pub(crate) fn ask_nonce(wallet: Address, head: Block) -> Ask {
    ("eth_getTransactionCount", json!([wallet, pinned(head.hash)]))
}

/// The blocks by which `stored` is checked. A block with the same hash has the same past: a later `settled` block
/// confirms the last transaction, and the last one the first.
pub(crate) fn anchors(stored: &Latest, settled: Option<Block>) -> Vec<Block> {
    match stored.last {
        Some(last) if !last.hash.is_zero() => {
            vec![settled.filter(|settled| settled.number >= last.number).unwrap_or(last)]
        }
        last => stored.first.into_iter().chain(last).collect(),
    }
}

impl ActivityReader {
    pub(crate) fn new(chain: ChainId, client: Client, store: Store, finality: u64) -> Self {
        Self { chain, client, store, finality, latest: Cache::builder().max_capacity(CACHE_ENTRIES).build() }
    }

    /// Transactions sent by `wallet` up to `head`, with the times of the first and the last where they can be found.
    /// The read continues from what is [`stored`](Self::stored) where its `anchors` are still on the chain. `answers`
    /// are those to [`ask_nonce`] and for blocks, the anchors among them.
    ///
    /// # Errors
    /// [`Fault`] where the nonce cannot be read, or a search fails.
    pub(crate) async fn read(
        &self,
        wallet: Address,
        stored: Option<Latest>,
        anchors: &[Block],
        head: Block,
        answers: Answers,
    ) -> Result<Activity, Fault> {
        let answers = answers.await?;
        let mut answers = answers.iter().cloned();
        let nonce = quantity(answers.next().unwrap_or(Ok(Value::Null))?)?;
        let mut blocks = Vec::new();
        for answer in answers {
            blocks.extend(block_from(answer?)?);
        }
        // A block from the store has no hash: its number and time are compared.
        let same = |a: &Block, b: &Block| {
            a.number == b.number && if a.hash.is_zero() { a.time == b.time } else { a.hash == b.hash }
        };
        let is_on_chain = |anchor: &Block| blocks.iter().any(|block| same(anchor, block));
        let known = stored.filter(|_| anchors.iter().all(is_on_chain));
        if nonce == 0 {
            return Ok(Activity::default());
        }
        let latest = match known {
            Some(known) if known.nonce == nonce && known.last.is_some() => known,
            known => {
                let Some(found) = self.search(wallet, head, nonce, known).await? else {
                    return Ok(Activity::default());
                };
                self.save(wallet, head, found).await;
                found
            }
        };
        let seen = |block: Block| Seen { block: block.number, time: block.moment() };
        let (first_transaction, last_transaction) = (latest.first.map(seen), latest.last.map(seen));
        Ok(Activity { first_transaction, last_transaction, transactions: nonce, ..Activity::default() })
    }

    /// What earlier reads found.
    pub(crate) async fn stored(&self, wallet: Address) -> Option<Latest> {
        if let Some(latest) = self.latest.get(&wallet).await {
            return Some(latest);
        }
        let first = self.store.get(&records::first_transaction(self.chain, wallet)).await.ok().flatten()?;
        let time = u64::try_from(first.time.timestamp()).unwrap_or(0);
        let first = Block { number: first.block, hash: B256::ZERO, time };
        Some(Latest { nonce: 0, first: Some(first), last: None })
    }

    async fn save(&self, wallet: Address, head: Block, found: Latest) {
        self.latest.insert(wallet, found).await;
        let Some(first) = found.first.filter(|first| first.number.saturating_add(self.finality) <= head.number) else {
            return;
        };
        let seen = Seen { block: first.number, time: first.moment() };
        if let Err(error) = self.store.put(&records::first_transaction(self.chain, wallet), &seen).await {
            tracing::error!(chain = self.chain, %error, "the first transaction of an address cannot be stored");
        }
    }

    /// Searches for the first and the last transaction. `None` for a contract, whose nonce counts no transactions.
    async fn search(
        &self,
        wallet: Address,
        head: Block,
        nonce: u64,
        known: Option<Latest>,
    ) -> Result<Option<Latest>, Fault> {
        let first_known = known.and_then(|k| k.first);
        let mut searches = searches(head, nonce, known);
        if !self.run(&mut searches, wallet, head).await? {
            return Ok(None);
        }
        let last = searches.first().and_then(Search::found);
        let first = if nonce == 1 { last } else { searches.get(1).and_then(Search::found) };
        let numbers: BTreeSet<u64> = [first.filter(|_| first_known.is_none()), last].into_iter().flatten().collect();
        let numbers: Vec<u64> = numbers.into_iter().collect();
        let blocks = if numbers.is_empty() { Vec::new() } else { self.client.blocks(&numbers).await? };
        let block = |number: u64| blocks.iter().flatten().find(|block| block.number == number).copied();
        Ok(Some(Latest { nonce, first: first_known.or(first.and_then(block)), last: last.and_then(block) }))
    }

    /// Runs `searches` together, each round trip a batch of probes; the first one also asks for code. `false` for a
    /// contract.
    async fn run(&self, searches: &mut [Search], wallet: Address, head: Block) -> Result<bool, Fault> {
        let mut code = Some(("eth_getCode", json!([wallet, pinned(head.hash)])));
        while code.is_some() || !searches.iter().all(Search::is_over) {
            let probes: BTreeSet<u64> = searches.iter().flat_map(Search::probes).collect();
            let asked_code = code.is_some();
            let nonces = probes.iter().map(|block| ("eth_getTransactionCount", json!([wallet, hex(*block)])));
            let mut answers = self.client.batch(code.take().into_iter().chain(nonces).collect()).await?.into_iter();
            if asked_code && is_contract(&answers.next().unwrap_or(Ok(Value::Null))?) {
                return Ok(false);
            }
            for (probe, answer) in probes.iter().zip(answers) {
                let number = match answer {
                    Ok(value) => Some(quantity(value)?),
                    Err(Fault::NoState) => None,
                    Err(fault) => return Err(fault),
                };
                searches.iter_mut().for_each(|search| search.learn(*probe, number));
            }
        }
        Ok(true)
    }
}

/// The search for the last transaction and, where it is another and not known, for the first.
fn searches(head: Block, nonce: u64, known: Option<Latest>) -> Vec<Search> {
    let from_start = |target| Search { target, low: 0, high: head.number, low_seen: true };
    let first_known = known.and_then(|k| k.first);
    let mut last = from_start(nonce);
    if let Some(block) = known.and_then(|k| k.last) {
        last.low = block.number;
    } else if let Some(block) = first_known.filter(|_| nonce > 1) {
        last.low = block.number.saturating_sub(1);
    }
    let mut searches = vec![last];
    if first_known.is_none() && nonce > 1 {
        searches.push(from_start(1));
    }
    searches
}

/// An account whose code only delegates (EIP-7702) still sends transactions.
fn is_contract(code: &Value) -> bool {
    code.as_str().is_some_and(|code| code.len() > 2 && !code.starts_with("0xef0100"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs a search for an account that sent at `sent`, on a node that has state from block `oldest` on.
    fn run(head: u64, sent: &[u64], target: u64, oldest: u64) -> (Option<u64>, u32) {
        let mut search = Search { target, low: 0, high: head, low_seen: true };
        let mut rounds = 0;
        while !search.is_over() {
            rounds += 1;
            for probe in search.probes().collect::<Vec<_>>() {
                let nonce = sent.iter().filter(|block| **block <= probe).count() as u64;
                search.learn(probe, (probe >= oldest).then_some(nonce));
            }
        }
        (search.found(), rounds)
    }

    proptest! {
        #[test]
        fn the_block_is_found_in_a_third_of_the_round_trips(head in 2u64..100_000_000, at in proptest::collection::vec(0.0f64..1.0, 1..20)) {
            let mut sent: Vec<u64> = at.iter().map(|f| 1 + (f * (head - 1) as f64) as u64).collect();
            sent.sort_unstable();
            let bits = u64::BITS - head.leading_zeros();
            for target in [1, sent.len() as u64] {
                let (found, rounds) = run(head, &sent, target, 0);
                prop_assert_eq!(found, Some(sent[target as usize - 1]));
                prop_assert!(rounds <= bits / 3 + 2, "{} rounds for {} bits", rounds, bits);
            }
        }

        #[test]
        fn what_lies_before_kept_state_is_not_guessed(head in 1_000u64..1_000_000, early in 1u64..400, kept in 500u64..900) {
            prop_assert_eq!(run(head, &[early, head], 1, kept).0, None);
            prop_assert_eq!(run(head, &[early, head], 2, kept).0, Some(head));
        }
    }

    #[test]
    fn delegated_accounts_are_no_contracts() {
        assert!(is_contract(&json!("0x6001")));
        assert!(!is_contract(&json!("0x")));
        assert!(!is_contract(&json!(format!("0xef0100{}", "11".repeat(20)))));
    }
}
