//! Keeps the search index current, in the background. A refresh publishes the saved index at once, then applies the
//! newer events, then fetches the documents that are due. It saves and publishes its progress in steps.
//!
//! Hosts that share a store take turns by a lease: one host at a time refreshes and saves the index. The others load
//! what it saved and add the events that are not settled on the chain.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::Utc;
use tokio::{sync::mpsc, time::sleep};
use uuid::Uuid;

use super::{
    fetch_queue::{Fetched, fetch_all},
    published::Published,
    registered::{Registered, Registry},
};
use crate::registries::{AgentEvent, AgentRegistries, AgentsError, Documents, Mark};
use assay_store::{Lease, Lost, Store, StoreError};

/// Time to the next attempt after a refresh fails.
const AFTER_FAILURE: Duration = Duration::from_secs(20);
/// Duration of the lease: how long a host that died blocks the others. Also the time after which a host without the
/// lease loads again what another host saved.
const LEASE: Duration = Duration::from_secs(8);
/// Time to the next attempt when another host has the lease.
const RETRY: Duration = Duration::from_secs(1);
/// Outcomes after which the progress is saved and published.
const CHUNK: usize = 512;
/// Maximum time between two saves while results arrive.
const LATEST: Duration = Duration::from_secs(10);

/// Writes the index.
pub(super) struct Refresher {
    pub registries: AgentRegistries,
    pub documents: Documents,
    /// Documents fetched at once.
    pub at_once: usize,
    pub store: Store,
    pub published: Arc<Published>,
    pub every: Duration,
}

/// The state from which the next refresh continues.
#[derive(Default)]
struct RefreshState {
    agents: Registered,
    /// The last block whose events are in `agents`.
    synced: Option<Mark>,
    /// The agents of the last refresh with their unsettled events; the next refresh reuses their documents.
    ahead: Registered,
    /// Whether `agents` was loaded from the store and every later change was saved.
    is_loaded: bool,
    /// When `agents` was last loaded from what another host saved.
    followed: Option<Instant>,
}

/// The result of one turn.
enum RefreshTurn {
    Refreshed,
    /// Another host refreshes the index; this one loaded what was saved so far.
    Followed,
    /// Another host still refreshes the index; nothing was loaded.
    Waited,
}

#[derive(Debug, thiserror::Error)]
enum RefreshError {
    #[error(transparent)]
    Registry(#[from] AgentsError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Lost(#[from] Lost),
    #[error("the block before the newest final one is gone")]
    Moving,
    #[error("the chain is at block {head} and has not reached agents.from_block {from_block}; correct it")]
    NotReached { from_block: u64, head: u64 },
}

impl Refresher {
    /// Refreshes in a loop that never ends.
    pub(super) async fn run(&self) {
        let mut state = RefreshState::default();
        let name = format!("agents/{}/{:#x}", self.registries.chain(), self.registries.identity());
        let holder = Uuid::new_v4().to_string();
        loop {
            let started = Instant::now();
            let outcome = self.turn(&name, &holder, &mut state).await;
            let (word, pause) = match outcome {
                Ok(RefreshTurn::Refreshed) => (Some("complete"), self.every),
                Ok(RefreshTurn::Followed) => (Some("followed"), self.every.min(RETRY)),
                Ok(RefreshTurn::Waited) => (None, self.every.min(RETRY)),
                Err(error) => {
                    tracing::warn!(%error, "the index of agents was not refreshed");
                    (Some("failed"), self.every.min(AFTER_FAILURE))
                }
            };
            if let Some(word) = word {
                metrics::histogram!("assay_agents_refresh_seconds", "outcome" => word).record(started.elapsed());
            }
            sleep(pause).await;
        }
    }

    /// Refreshes the index under the lease, or follows the host that has it.
    async fn turn(&self, name: &str, holder: &str, state: &mut RefreshState) -> Result<RefreshTurn, RefreshError> {
        let Some(lease) = self.store.acquire(name, holder, LEASE).await? else {
            if state.followed.is_some_and(|at| at.elapsed() < self.every.min(LEASE)) {
                return Ok(RefreshTurn::Waited);
            }
            self.load(state).await?;
            self.refresh(state, None).await?;
            state.followed = Some(Instant::now());
            return Ok(RefreshTurn::Followed);
        };
        let refresh = async {
            self.load(state).await?;
            self.refresh(state, Some(&lease)).await
        };
        let refreshed = tokio::select! {
            refreshed = refresh => refreshed,
            lost = self.store.hold(&lease, LEASE) => Err(lost.into()),
        };
        // After a failure the memory may have changes that were not saved.
        state.is_loaded = refreshed.is_ok();
        self.store.release(lease).await?;
        refreshed.map(|()| RefreshTurn::Refreshed)
    }

    /// Loads the saved index; the first one loaded is published at once. In a shared store another host may have saved
    /// a newer one, so it is loaded each time.
    async fn load(&self, state: &mut RefreshState) -> Result<(), StoreError> {
        if state.is_loaded && !self.store.is_shared() {
            return Ok(());
        }
        match Registered::load(&self.store, self.registry()).await {
            Ok(Some((agents, synced))) => {
                if state.synced.is_none() && !agents.is_empty() {
                    self.published.set(&agents);
                }
                (state.agents, state.synced) = (agents, Some(synced));
            }
            Ok(None) => (state.agents, state.synced) = (Registered::default(), None),
            Err(error @ StoreError::Damaged { .. }) => {
                tracing::error!(%error, "the index of agents cannot be read and is built anew");
                (state.agents, state.synced) = (Registered::default(), None);
            }
            Err(error) => return Err(error),
        }
        state.is_loaded = true;
        Ok(())
    }

    fn registry(&self) -> Registry {
        Registry { chain: self.registries.chain(), registry: self.registries.identity() }
    }

    /// Without a lease, nothing is saved: the host that has the lease handles the settled events.
    async fn refresh(&self, state: &mut RefreshState, lease: Option<&Lease>) -> Result<(), RefreshError> {
        let (head, settled) = self.registries.head().await?;
        if let Some(mark) = state.synced
            && self.registries.mark(mark.number).await? != Some(mark)
        {
            tracing::warn!(block = mark.number, "the chain of the agents was replaced; their index is built anew");
            state.agents.clear();
            state.synced = None;
        }
        if state.synced.is_none() && self.registries.start() > head.number {
            return Err(RefreshError::NotReached { from_block: self.registries.start(), head: head.number });
        }
        if lease.is_none() && state.synced.is_none() {
            // The host that has the lease builds the index.
            return Ok(());
        }
        let mut next = state.synced.map_or(self.registries.start(), |mark| mark.number + 1);
        while let (Some(lease), Some(settled)) = (lease, settled.filter(|settled| next <= *settled)) {
            let (events, through) = self.registries.events(next, settled).await?;
            let mark = self.registries.mark(through).await?.ok_or(RefreshError::Moving)?;
            for event in events {
                state.agents.apply(event, &self.documents);
            }
            state.agents.adopt(&state.ahead);
            self.save(state, lease, mark).await?;
            state.synced = Some(mark);
            next = through + 1;
        }
        let tail = self.tail(next, head).await?;
        if state.agents.is_empty() && tail.is_empty() {
            // An address without a registry has no events either.
            self.registries.page(|_| Vec::new()).await?;
        }
        self.publish(state, &tail);
        if let Some(lease) = lease {
            self.fetch_settled(state, &tail, lease).await?;
        }
        self.fetch_ahead(state, &tail).await;
        Ok(())
    }

    /// Events that are not settled. They are part of the published index and are never saved.
    async fn tail(&self, mut next: u64, head: Mark) -> Result<Vec<AgentEvent>, RefreshError> {
        let mut tail = Vec::new();
        while next <= head.number {
            let (events, through) = self.registries.events(next, head.number).await?;
            tail.extend(events);
            next = through + 1;
        }
        Ok(tail)
    }

    /// Fetches the documents of the settled agents and saves the results in steps.
    async fn fetch_settled(
        &self,
        state: &mut RefreshState,
        tail: &[AgentEvent],
        lease: &Lease,
    ) -> Result<(), RefreshError> {
        let now = now();
        let wanted = state.agents.due(now, &self.documents);
        let read = |mut outcomes: mpsc::Receiver<Fetched>| async move {
            let (mut since, mut last) = (0, Instant::now());
            while let Some((id, outside, outcome)) = outcomes.recv().await {
                state.agents.fetched(id, &outside, outcome, now);
                since += 1;
                if since >= CHUNK || last.elapsed() >= LATEST {
                    self.keep(state, tail, lease).await?;
                    (since, last) = (0, Instant::now());
                }
            }
            if since > 0 { self.keep(state, tail, lease).await } else { Ok(()) }
        };
        fetch_all(&self.documents, wanted, self.at_once, read).await
    }

    /// Fetches the documents of agents whose events are not settled.
    async fn fetch_ahead(&self, state: &mut RefreshState, tail: &[AgentEvent]) {
        if tail.is_empty() {
            state.ahead = Registered::default();
            return;
        }
        let now = now();
        let mut ahead = self.ahead(state, tail);
        let (wanted, reading) = (ahead.due(now, &self.documents), &mut ahead);
        let read = |mut outcomes: mpsc::Receiver<Fetched>| async move {
            let mut any = false;
            while let Some((id, outside, outcome)) = outcomes.recv().await {
                reading.fetched(id, &outside, outcome, now);
                any = true;
            }
            if any {
                self.published.set(reading);
            }
        };
        fetch_all(&self.documents, wanted, self.at_once, read).await;
        ahead.keep_only(tail);
        state.ahead = ahead;
    }

    async fn save(&self, state: &mut RefreshState, lease: &Lease, through: Mark) -> Result<(), RefreshError> {
        if state.agents.save(&self.store, self.registry(), through, lease).await? {
            Ok(())
        } else {
            Err(Lost::Lease.into())
        }
    }

    async fn keep(&self, state: &mut RefreshState, tail: &[AgentEvent], lease: &Lease) -> Result<(), RefreshError> {
        if let Some(mark) = state.synced {
            self.save(state, lease, mark).await?;
        }
        self.publish(state, tail);
        Ok(())
    }

    /// The settled agents, with the unsettled events applied.
    fn ahead(&self, state: &RefreshState, tail: &[AgentEvent]) -> Registered {
        let mut ahead = state.agents.clone();
        for event in tail {
            ahead.apply(event.clone(), &self.documents);
        }
        ahead.adopt(&state.ahead);
        ahead
    }

    fn publish(&self, state: &RefreshState, tail: &[AgentEvent]) {
        if tail.is_empty() { self.published.set(&state.agents) } else { self.published.set(&self.ahead(state, tail)) }
    }
}

/// Seconds since the Unix epoch.
fn now() -> u64 {
    u64::try_from(Utc::now().timestamp()).unwrap_or_default()
}
