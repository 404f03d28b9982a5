//! The reputation registry's state: feedback on one agent, by tag. Revoked feedback does not count.
//!
//! Each feedback is read instead of the registry's own summary, which truncates its mean, mixes decimals and runs out
//! of gas with many clients. Anyone can write feedback, so the work is bounded: the latest clients are read, and the
//! answer says when that is not all.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use alloy::{primitives::I256, sol};

use super::{AgentRegistries, AgentsError, bounded};
use assay_domain::{Address, AgentReputation, B256, TagSummary, U256, display_text};
use assay_evm::call::{Call, returned};

sol! {
    function getClients(uint256 agentId) external view returns (address[] clients);
    function getLastIndex(uint256 agentId, address client) external view returns (uint64 index);
    function readFeedback(uint256 agentId, address client, uint64 index)
        external view returns (int128 value, uint8 decimals, string tag1, string tag2, bool revoked);
}

/// Clients whose feedback is read.
const MAX_CLIENTS: usize = 500;
/// Feedback that is read of all clients, and of one: a client may give any number. That of this service is read whole,
/// within its own limit.
const MAX_FEEDBACK: usize = 1_000;
const MAX_OF_CLIENT: u64 = 20;
const MAX_OF_OURS: u64 = 10_000;
/// Longest tag, in characters; a longer one is cut.
const MAX_TAG: usize = 64;
/// Tags in one answer.
const MAX_TAGS: usize = 100;
/// Decimals that the registry allows, and of the sums.
const DECIMALS: u8 = 18;

#[derive(Default)]
struct Sum {
    count: u64,
    clients: BTreeSet<Address>,
    total: I256,
    range: Option<(I256, I256)>,
}

impl AgentRegistries {
    /// The feedback on an agent after the newest block; empty for an unknown agent.
    ///
    /// # Errors
    /// [`AgentsError`].
    pub async fn reputation(&self, id: u64) -> Result<AgentReputation, AgentsError> {
        bounded(self.summarized(U256::from(id))).await
    }

    async fn summarized(&self, id: U256) -> Result<AgentReputation, AgentsError> {
        let (client, registry) = (&self.inner.client, self.inner.reputation);
        let at = client.head().await?.hash;
        let answer = client.calls(&[Call::new(registry, &getClientsCall { agentId: id })], at).await?;
        let mut clients = returned::<getClientsCall>(answer.first()).ok_or_else(|| self.no_registry())?;
        let all = clients.len();
        clients.reverse();
        // The feedback of this service is read however many clients came later.
        clients.sort_by_key(|client| Some(*client) != self.inner.own);
        clients.truncate(MAX_CLIENTS);
        let (wanted, mut complete) = self.latest(id, &clients, at).await?;
        complete &= all == clients.len();
        let ask = |(client, index): &(Address, u64)| {
            Call::new(registry, &readFeedbackCall { agentId: id, client: *client, index: *index })
        };
        let answers = client.calls(&wanted.iter().map(ask).collect::<Vec<_>>(), at).await?;
        let mut sums = BTreeMap::<String, Sum>::new();
        for ((client, _), answer) in wanted.iter().zip(&answers) {
            // Such as one whose tag is too long for the node: the others still count.
            let Some(feedback) = returned::<readFeedbackCall>(Some(answer)) else {
                complete = false;
                continue;
            };
            if !feedback.revoked {
                complete &= add(&mut sums, *client, &feedback);
            }
        }
        let summaries = sums.into_iter().map(|(tag, sum)| sum.summary(tag)).collect();
        Ok(AgentReputation { summaries, clients: all, clients_read: clients.len(), complete })
    }

    /// The latest feedback of each of `clients`, by index, and whether that is all of it.
    async fn latest(
        &self,
        id: U256,
        clients: &[Address],
        at: B256,
    ) -> Result<(Vec<(Address, u64)>, bool), AgentsError> {
        let ask =
            |client: &Address| Call::new(self.inner.reputation, &getLastIndexCall { agentId: id, client: *client });
        let answers = self.inner.client.calls(&clients.iter().map(ask).collect::<Vec<_>>(), at).await?;
        let (mut wanted, mut others, mut complete) = (Vec::new(), 0_usize, true);
        for (client, answer) in clients.iter().zip(&answers) {
            let last = returned::<getLastIndexCall>(Some(answer)).ok_or_else(|| self.no_registry())?;
            let is_own = Some(*client) == self.inner.own;
            let left = MAX_FEEDBACK.saturating_sub(others) as u64;
            let indices = latest_indices(last, if is_own { MAX_OF_OURS } else { MAX_OF_CLIENT.min(left) });
            complete &= indices.end - indices.start == last;
            if !is_own {
                others += usize::try_from(indices.end - indices.start).unwrap_or(usize::MAX);
            }
            wanted.extend(indices.rev().map(|before| (*client, before + 1)));
        }
        Ok((wanted, complete))
    }

    fn no_registry(&self) -> AgentsError {
        AgentsError(format!("no reputation registry at {}", self.inner.reputation))
    }
}

/// The latest indices of a client, at most `most`, each less 1. `last` is what the registry says, which may be
/// anything.
fn latest_indices(last: u64, most: u64) -> Range<u64> {
    last - last.min(most)..last
}

/// Adds a feedback to the sums; `false` if it does not fit.
fn add(sums: &mut BTreeMap<String, Sum>, client: Address, feedback: &readFeedbackReturn) -> bool {
    let tag = display_text(&feedback.tag1, MAX_TAG);
    if sums.len() >= MAX_TAGS && !sums.contains_key(&tag) {
        return false;
    }
    // The registry allows at most 1e38: a thousand of them with 18 more decimals stay far below 2^255.
    let scale = I256::unchecked_from(10_u64.pow(u32::from(DECIMALS.saturating_sub(feedback.decimals))));
    let value = I256::try_from(feedback.value).unwrap_or_default();
    let (value, overflown) = value.overflowing_mul(scale);
    if overflown || feedback.decimals > DECIMALS {
        return false;
    }
    let sum = sums.entry(tag).or_default();
    sum.count += 1;
    sum.clients.insert(client);
    sum.total = sum.total.saturating_add(value);
    let (least, most) = sum.range.unwrap_or((value, value));
    sum.range = Some((least.min(value), most.max(value)));
    true
}

impl Sum {
    fn summary(self, tag: String) -> TagSummary {
        let (least, most) = self.range.unwrap_or_default();
        let (count, clients) = (self.count, self.clients.len() as u64);
        TagSummary {
            tag,
            count,
            clients,
            mean: decimal(self.total) / count as f64,
            least: decimal(least),
            most: decimal(most),
        }
    }
}

/// The number of a value with 18 decimals.
fn decimal(value: I256) -> f64 {
    let unit = I256::unchecked_from(10_u64.pow(u32::from(DECIMALS)));
    let (whole, rest) = (value.wrapping_div(unit), value.wrapping_rem(unit));
    let number = |part: I256| part.to_string().parse::<f64>().unwrap_or(f64::NAN);
    number(whole) + number(rest) / 1e18
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_count_of_a_registry_is_a_range() {
        for (last, most, range) in [
            (0, 20, 0..0),
            (5, 20, 0..5),
            (25, 20, 5..25),
            (u64::MAX, 0, u64::MAX..u64::MAX),
            (u64::MAX, 20, u64::MAX - 20..u64::MAX),
        ] {
            assert_eq!(latest_indices(last, most), range);
        }
    }

    #[test]
    fn decimals_of_each_feedback_count() {
        let mut sums = BTreeMap::new();
        let give = |value: i128, decimals: u8| readFeedbackReturn {
            value,
            decimals,
            tag1: "t".into(),
            tag2: String::new(),
            revoked: false,
        };
        let client = Address::repeat_byte(1);
        assert!(
            add(&mut sums, client, &give(9_977, 2))
                && add(&mut sums, client, &give(-5, 1))
                && add(&mut sums, client, &give(100, 0))
        );
        assert!(!add(&mut sums, client, &give(1, 19)));
        assert!(
            add(&mut sums, Address::ZERO, &give(10_i128.pow(38), 0))
                && add(&mut sums, Address::ZERO, &give(-10_i128.pow(38), 0))
        );
        let summary = sums.remove("t").unwrap().summary("t".into());
        assert_eq!((summary.count, summary.clients), (5, 2));
        assert!((summary.mean - (99.77 - 0.5 + 100.0) / 5.0).abs() < 1e-9, "{summary:?}");
        assert_eq!((summary.least, summary.most), (-1e38, 1e38));
    }
}
