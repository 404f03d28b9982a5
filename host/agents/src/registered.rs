//! The agents of an identity registry, from its events, with the metadata of their documents. Pages of them are in the
//! store, so that a restart continues where the last process stopped. Only settled events are saved.

use std::collections::{BTreeMap, BTreeSet};

use alloy::primitives::keccak256;

use super::{
    metadata,
    records::{self, AgentMetadataRecord, AgentPage, AgentProgress, AgentRecord},
};
use crate::registries::{AgentChange, AgentEvent, Documents, Located, Mark, Outside};
use assay_domain::{Address, Agent, AgentMetadata, B256, ChainId};
use assay_store::{Batch, Lease, Store, StoreError};

/// Agents in one page. A change of one agent rewrites its whole page.
const PAGE: u64 = 64;
/// Pages read in one round trip.
const PAGES_AT_ONCE: u64 = 256;

/// Seconds after which a document on a web server is fetched again.
const REFETCH: u64 = 24 * 3_600;
/// Seconds to the next attempt after a failure, doubled each time, up to a week.
const RETRY: u64 = 15 * 60;
const LONGEST_RETRY: u64 = 7 * 24 * 3_600;

/// All agents. Cloned to add events that are not settled yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Registered {
    agents: BTreeMap<u64, AgentRecord>,
    /// Pages that differ from those in the store.
    changed: BTreeSet<u64>,
}

/// The registry of the records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registry {
    pub chain: ChainId,
    pub registry: Address,
}

impl Registered {
    /// The saved agents, and the block of the last event in them.
    pub(super) async fn load(store: &Store, registry: Registry) -> Result<Option<(Self, Mark)>, StoreError> {
        let Some(progress) = store.get(&records::agent_progress(registry.chain, registry.registry)).await? else {
            return Ok(None);
        };
        let mut registered = Self::default();
        let mut page = 0;
        while page < progress.pages {
            let end = progress.pages.min(page + PAGES_AT_ONCE);
            let wanted: Vec<_> =
                (page..end).map(|page| records::agent_page(registry.chain, registry.registry, page)).collect();
            let pages: Vec<Option<AgentPage>> = store.get_many(&wanted).await?;
            registered
                .agents
                .extend(pages.into_iter().flatten().flat_map(|page| page.agents).map(|agent| (agent.id, agent)));
            page = end;
        }
        Ok(Some((registered, Mark { number: progress.synced_to_block, hash: progress.synced_block_hash })))
    }

    /// Saves the changed pages together with the block of the last event in them; `false` when the lease is lost.
    pub(super) async fn save(
        &mut self,
        store: &Store,
        registry: Registry,
        synced: Mark,
        lease: &Lease,
    ) -> Result<bool, StoreError> {
        let pages = self.agents.keys().next_back().map_or(0, |last| last / PAGE + 1);
        let progress = AgentProgress { synced_to_block: synced.number, synced_block_hash: synced.hash, pages };
        let mut batch = Batch::new()
            .if_leased(lease)
            .put(&records::agent_progress(registry.chain, registry.registry), &progress)?;
        for &page in &self.changed {
            let agents = self.agents.range(page * PAGE..(page + 1) * PAGE).map(|(_, agent)| agent.clone()).collect();
            batch = batch.put(&records::agent_page(registry.chain, registry.registry, page), &AgentPage { agents })?;
        }
        if !store.commit(batch).await? {
            return Ok(false);
        }
        self.changed.clear();
        Ok(true)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Removes every agent. Each saved page is overwritten with the next save.
    pub(super) fn clear(&mut self) {
        let pages: Vec<u64> = self.agents.keys().map(|id| id / PAGE).collect();
        self.agents.clear();
        self.changed.extend(pages);
    }

    pub(super) fn apply(&mut self, event: AgentEvent, documents: &Documents) {
        let id = event.id;
        self.changed.insert(id / PAGE);
        if event.change == AgentChange::Burned {
            self.agents.remove(&id);
            return;
        }
        let agent = self.agents.entry(id).or_insert_with(|| AgentRecord {
            id,
            owner: Address::ZERO,
            uri: keccak256([]),
            at: None,
            metadata: None,
            skipped: Some("no_uri".to_owned()),
            due: None,
            failures: 0,
        });
        match event.change {
            AgentChange::Owner(owner) => agent.owner = owner,
            AgentChange::Uri(uri) => {
                let digest = keccak256(&uri);
                // The same URI again: the metadata is still valid.
                if agent.uri != digest {
                    relocate(agent, &uri, digest, documents);
                }
            }
            AgentChange::Burned => {}
        }
    }

    /// Copies the documents of `other` that were not fetched here yet.
    pub(super) fn adopt(&mut self, other: &Self) {
        for (id, known) in &other.agents {
            let Some(agent) = self.agents.get_mut(id).filter(|agent| agent.uri == known.uri && agent.due == Some(0))
            else {
                continue;
            };
            *agent = AgentRecord { owner: agent.owner, ..known.clone() };
            self.changed.insert(id / PAGE);
        }
    }

    /// Removes all agents except those of `events`.
    pub(super) fn keep_only(&mut self, events: &[AgentEvent]) {
        let ids: BTreeSet<u64> = events.iter().map(|event| event.id).collect();
        self.agents.retain(|id, _| ids.contains(id));
    }

    /// Agents with a document to fetch at `now`, in seconds since the Unix epoch.
    pub(super) fn due(&self, now: u64, documents: &Documents) -> Vec<(u64, Outside)> {
        let due = self.agents.values().filter(|agent| agent.due.is_some_and(|due| due <= now));
        due.filter_map(|agent| match documents.locate(agent.at.as_deref()?) {
            Located::Outside(outside) => Some((agent.id, outside)),
            _ => None,
        })
        .collect()
    }

    /// Applies the result of a fetch at `now`. After a failure the earlier metadata stays.
    pub(super) fn fetched(&mut self, id: u64, outside: &Outside, outcome: Result<Vec<u8>, &'static str>, now: u64) {
        let Some(agent) = self.agents.get_mut(&id) else { return };
        self.changed.insert(id / PAGE);
        match outcome.and_then(|document| metadata::read(&document).ok_or("not_metadata")) {
            Ok(metadata) => {
                (agent.metadata, agent.skipped, agent.failures) = (Some(record(metadata)), None, 0);
                agent.due = (!outside.by_content).then_some(now + REFETCH);
            }
            Err(why) => {
                agent.skipped = Some(why.to_owned());
                agent.due = Some(now + LONGEST_RETRY.min(RETRY << agent.failures.min(20)));
                agent.failures = agent.failures.saturating_add(1);
            }
        }
    }

    /// The agents that callers see. The API has no agent 0.
    pub(super) fn agents(&self) -> Vec<Agent> {
        let seen = self.agents.range(1..).map(|(_, agent)| agent).filter(|agent| agent.owner != Address::ZERO);
        seen.map(|agent| Agent { id: agent.id, owner: agent.owner, metadata: agent.metadata.clone().map(metadata_of) })
            .collect()
    }

    /// The digest of each agent's URI, by ascending id.
    pub(super) fn uris(&self) -> Vec<(u64, B256)> {
        self.agents.range(1..).map(|(id, agent)| (*id, agent.uri)).collect()
    }

    /// Agents without metadata, by reason.
    pub(super) fn skipped(&self) -> BTreeMap<&str, u64> {
        let mut count = BTreeMap::new();
        for why in self.agents.values().filter_map(|agent| agent.skipped.as_deref()) {
            *count.entry(why).or_default() += 1;
        }
        count
    }
}

/// Changes the URI of an agent's document.
fn relocate(agent: &mut AgentRecord, uri: &str, digest: B256, documents: &Documents) {
    let (at, metadata, skipped, due) = match documents.locate(uri) {
        Located::Here(document) => match metadata::read(&document) {
            Some(metadata) => (None, Some(record(metadata)), None, None),
            None => (None, None, Some("not_metadata"), None),
        },
        Located::Outside(_) => (Some(uri.to_owned()), None, Some("not_read_yet"), Some(0)),
        // A gateway may be configured after a restart.
        Located::Nowhere("no_gateway") => (Some(uri.to_owned()), None, Some("no_gateway"), Some(0)),
        Located::Nowhere(why) => (None, None, Some(why), None),
    };
    let skipped = skipped.map(str::to_owned);
    *agent = AgentRecord { id: agent.id, owner: agent.owner, uri: digest, at, metadata, skipped, due, failures: 0 };
}

fn record(from: AgentMetadata) -> AgentMetadataRecord {
    AgentMetadataRecord { name: from.name, description: from.description, image: from.image }
}

fn metadata_of(from: AgentMetadataRecord) -> AgentMetadata {
    AgentMetadata { name: from.name, description: from.description, image: from.image }
}
