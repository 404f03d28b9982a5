//! Everything that was read about one address at one moment: the input of features and of every report.

use std::collections::BTreeMap;

use crate::{
    Address, Attestation, ChainId, ChainOrigin, Coverage, IdentitySource, Nft, Origins, PoolHistory, Position, Time,
    TokenBalance, Unread,
};

/// The data of one chain about an address.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainSnapshot {
    pub chain_id: ChainId,
    pub chain_name: String,
    /// Coverage of activity, balances and positions. If failed or pending, they are empty and meaningless; partial if a
    /// part that a score uses is in `unread`.
    pub coverage: Coverage,
    pub activity: Activity,
    pub tokens: Vec<TokenBalance>,
    pub nfts: Vec<Nft>,
    pub positions: Vec<Position>,
    /// One entry per configured market, even if the chain could not be read.
    pub pools: Vec<PoolHistory>,
    /// Parts that were not read, or not completely. Lending histories have a separate coverage.
    pub unread: Vec<Unread>,
    pub origin: ChainOrigin,
}

impl ChainSnapshot {
    /// The least complete coverage of any lending pool.
    pub fn events_coverage(&self) -> Coverage {
        Coverage::least(self.pools.iter().map(|pool| pool.coverage))
    }

    /// The coverage that a score shows: that of the lending events, and at most partial if another part that a score
    /// uses ([`Part::is_scored`](crate::Part::is_scored)) was not read completely. A score is provisional unless it is
    /// complete.
    pub fn score_coverage(&self) -> Coverage {
        match self.coverage {
            Coverage::Complete => self.events_coverage(),
            _ => self.events_coverage().min(Coverage::Partial),
        }
    }

    /// Everything that was not read completely, including lending histories.
    pub fn all_unread(&self) -> impl Iterator<Item = Unread> {
        self.unread.iter().cloned().chain(self.pools.iter().filter_map(PoolHistory::unread))
    }

    /// The time of the first transaction. If it is not found, the first lending event dates a wallet that has sent
    /// some.
    pub fn first_seen(&self) -> Option<Time> {
        let events = || self.pools.iter().filter_map(|pool| pool.first_event_at);
        let lent = || events().min().filter(|_| self.activity.transactions > 0);
        self.activity.first_transaction.map(|seen| seen.time).or_else(lent)
    }

    /// Whether the chain shows a transaction, a holding, or a lending history.
    pub fn has_activity(&self) -> bool {
        self.activity.transactions > 0
            || self.activity.first_transaction.is_some()
            || self.tokens.iter().any(|token| !token.amount.is_zero())
            || !self.nfts.is_empty()
            || self.positions.iter().any(|p| p.supplied_usd > 0.0 || p.borrowed_usd > 0.0)
            || self.pools.iter().any(|pool| pool.first_event_at.is_some())
    }
}

/// An address's activity on one chain. `None` if no source provides the value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Activity {
    pub first_transaction: Option<Seen>,
    pub last_transaction: Option<Seen>,
    /// One of them is dated only to its UTC day: its time is the start of that day, its block a later one of that day.
    pub by_day: bool,
    /// Transactions sent.
    pub transactions: u64,
    pub transfers: Option<u64>,
    pub counterparties: Option<u32>,
    pub active_days: Option<u32>,
    pub active_hours: Option<u32>,
    pub median_gap_seconds: Option<u64>,
}

/// A moment on a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Seen {
    pub block: u64,
    pub time: Time,
}

/// Everything that was read about one address.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub address: Address,
    /// When reading finished.
    pub as_of: Time,
    /// One entry per configured chain, by ascending id.
    pub chains: Vec<ChainSnapshot>,
    pub attestations: Vec<Attestation>,
    /// The sources of the attestations.
    pub identity: Vec<IdentitySource>,
}

impl Snapshot {
    /// The least complete coverage of any lending pool.
    pub fn events_coverage(&self) -> Coverage {
        Coverage::least(self.chains.iter().map(ChainSnapshot::events_coverage))
    }

    /// The coverage that a score shows; see [`ChainSnapshot::score_coverage`].
    pub fn score_coverage(&self) -> Coverage {
        Coverage::least(self.chains.iter().map(ChainSnapshot::score_coverage))
    }

    /// Everything that was not read completely, by chain.
    pub fn unread(&self) -> impl Iterator<Item = (ChainId, Unread)> {
        let chains = self.chains.iter().flat_map(|chain| chain.all_unread().map(|unread| (chain.chain_id, unread)));
        chains.chain(self.identity.iter().filter_map(|source| Some((source.chain_id, source.unread()?))))
    }

    /// The least complete coverage of all chain data.
    pub fn coverage(&self) -> Coverage {
        Coverage::least(self.chains.iter().map(|chain| chain.coverage)).min(self.events_coverage())
    }

    /// The coverage of the attestations.
    pub fn identity_coverage(&self) -> Coverage {
        IdentitySource::coverage(&self.identity)
    }

    /// Attestations that had not expired when the snapshot was finished.
    pub fn valid_attestations(&self) -> impl Iterator<Item = &Attestation> {
        self.attestations.iter().filter(|attestation| attestation.expires.is_none_or(|at| at > self.as_of))
    }

    /// Each statement once, by its label; of repeated ones, the one with the highest score.
    pub fn distinct_attestations(&self) -> BTreeMap<String, &Attestation> {
        let mut distinct = BTreeMap::<String, &Attestation>::new();
        for attestation in self.valid_attestations() {
            let known = distinct.entry(attestation.label()).or_insert(attestation);
            if attestation.score > known.score {
                *known = attestation;
            }
        }
        distinct
    }

    /// Whether a transaction is dated only to its day. That is enough for a score; a report shows the block.
    pub fn is_by_day(&self) -> bool {
        self.chains.iter().any(|chain| chain.activity.by_day)
    }

    /// Whether nothing is left to read, which decides how long the snapshot may be cached.
    pub fn is_whole(&self) -> bool {
        self.coverage() == Coverage::Complete && self.identity_coverage() == Coverage::Complete
    }

    /// The blocks that were read, and the origin of each part.
    pub fn origins(&self) -> Origins {
        Origins::of(self.chains.iter().map(|chain| &chain.origin))
    }

    pub fn pools(&self) -> impl Iterator<Item = &PoolHistory> {
        self.chains.iter().flat_map(|chain| &chain.pools)
    }

    /// Whether the address has activity on any chain.
    pub fn has_activity(&self) -> bool {
        self.chains.iter().any(ChainSnapshot::has_activity)
    }

    /// Whether a part that was not read could show activity.
    pub fn may_have_activity(&self) -> bool {
        self.unread().any(|(_, unread)| unread.part.can_show_activity())
    }

    /// The chains that could not be read.
    pub fn failed_chains(&self) -> Vec<ChainId> {
        let failed = self.chains.iter().filter(|chain| chain.coverage == Coverage::Failed);
        failed.map(|chain| chain.chain_id).collect()
    }

    /// Whether no chain could be read.
    pub fn all_failed(&self) -> bool {
        !self.chains.is_empty() && self.chains.iter().all(|chain| chain.coverage == Coverage::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Part, time_from_unix};

    fn attestation(provider: &str, kind: Option<&str>, expires: Option<u64>, score: Option<f64>) -> Attestation {
        Attestation {
            provider: provider.into(),
            kind: kind.map(str::to_owned),
            chain_id: 1,
            name: None,
            schema: None,
            uid: None,
            attester: None,
            issued: None,
            expires: expires.map(time_from_unix),
            score,
        }
    }

    fn chain(coverage: Coverage, unread: Vec<Unread>) -> ChainSnapshot {
        ChainSnapshot {
            chain_id: 1,
            chain_name: "One".into(),
            coverage,
            activity: Activity::default(),
            tokens: Vec::new(),
            nfts: Vec::new(),
            positions: Vec::new(),
            pools: Vec::new(),
            unread,
            origin: ChainOrigin::default(),
        }
    }

    fn snapshot(chains: Vec<ChainSnapshot>) -> Snapshot {
        let (attestations, identity) = (Vec::new(), Vec::new());
        Snapshot { address: Address::ZERO, as_of: time_from_unix(100), chains, attestations, identity }
    }

    #[test]
    fn a_score_is_at_most_partial_where_anything_that_it_uses_is_unread() {
        let all = |coverage| snapshot(vec![chain(Coverage::Complete, Vec::new()), chain(coverage, Vec::new())]);
        assert_eq!(all(Coverage::Complete).score_coverage(), Coverage::Complete);
        for coverage in [Coverage::Partial, Coverage::Pending, Coverage::Failed] {
            assert_eq!(all(coverage).events_coverage(), Coverage::Complete);
            assert_eq!(all(coverage).score_coverage(), Coverage::Partial);
        }
    }

    #[test]
    fn only_what_could_show_activity_may() {
        let without = |part| snapshot(vec![chain(Coverage::Partial, vec![Unread::new(part, "no answer")])]);
        assert!(without(Part::Balances).may_have_activity());
        assert!(!without(Part::FirstTransaction).may_have_activity());
        assert!(!without(Part::Nfts).may_have_activity());
    }

    #[test]
    fn a_statement_on_several_chains_is_one() {
        let attestations = vec![
            attestation("passport", None, None, Some(3.0)),
            attestation("passport", None, None, Some(25.0)),
            attestation("passport", None, Some(100), Some(90.0)),
            attestation("coinbase", Some("account"), None, None),
            attestation("coinbase", Some("country"), Some(101), None),
        ];
        let snapshot = Snapshot {
            address: Address::ZERO,
            as_of: time_from_unix(100),
            chains: Vec::new(),
            attestations,
            identity: Vec::new(),
        };
        let distinct = snapshot.distinct_attestations();
        assert_eq!(distinct.keys().collect::<Vec<_>>(), ["coinbase/account", "coinbase/country", "passport"]);
        assert_eq!(distinct["passport"].score, Some(25.0), "what has ended is not the best");
    }
}
