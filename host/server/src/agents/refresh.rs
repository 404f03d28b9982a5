//! Keeps the search index current, in the background: what was kept is served at once, then the events since are taken
//! in, then the documents that are due are fetched. What was found is published as a whole, and written as it is found.
//!
//! Of the hosts that share a store one at a time does so, by a lease; the others take what it wrote, and add themselves
//! what is not settled on the chain.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::Utc;
use tokio::{sync::mpsc, time::sleep};
use uuid::Uuid;

use super::{
    fetch::fetch_all,
    published::Published,
    registered::{Registered, Registry},
};
use assay_chain::{AgentEvent, AgentRegistries, AgentsError, Documents, Mark};
use assay_store::{Lease, Lost, Store, StoreError};

/// Time to the next try after a refresh that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(20);
/// How long a host that is gone holds up the others, and how long they wait to take what one of them found.
const LEASE: Duration = Duration::from_secs(8);
/// Wait for a lease that another host has.
const RETRY: Duration = Duration::from_secs(1);
/// Outcomes after which what was found so far is written and published.
const CHUNK: usize = 512;
/// And the longest time until then.
const LATEST: Duration = Duration::from_secs(10);

/// The one that writes the index.
pub(super) struct Refresher {
    pub registries: AgentRegistries,
    pub documents: Documents,
    /// Documents fetched at once.
    pub at_once: usize,
    pub store: Store,
    pub published: Arc<Published>,
    pub every: Duration,
}

/// What a refresh goes on from.
#[derive(Default)]
struct State {
    agents: Registered,
    /// The block through which the book is true.
    synced: Option<Mark>,
    /// Agents of events that were not settled the last time, for their documents.
    ahead: Registered,
    /// The book is what the store has, or what was written since.
    is_loaded: bool,
    /// When it was last taken from what another host found.
    followed: Option<Instant>,
}

/// What came of a turn.
enum Turn {
    Refreshed,
    /// Another host refreshes the index; what it has written so far was taken over.
    Followed,
    /// It still does.
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
}

impl Refresher {
    /// Refreshes for ever.
    pub(super) async fn run(self) {
        let mut state = State::default();
        let name = format!("agents/{}/{:#x}", self.registries.chain(), self.registries.identity());
        let holder = Uuid::new_v4().to_string();
        loop {
            let started = Instant::now();
            let outcome = self.turn(&name, &holder, &mut state).await;
            let (word, pause) = match outcome {
                Ok(Turn::Refreshed) => (Some("complete"), self.every),
                Ok(Turn::Followed) => (Some("followed"), self.every.min(RETRY)),
                Ok(Turn::Waited) => (None, self.every.min(RETRY)),
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

    /// A refresh where no other host is at it.
    async fn turn(&self, name: &str, holder: &str, state: &mut State) -> Result<Turn, RefreshError> {
        let Some(lease) = self.store.acquire(name, holder, LEASE).await? else {
            if state.followed.is_some_and(|at| at.elapsed() < self.every.min(LEASE)) {
                return Ok(Turn::Waited);
            }
            self.load(state).await?;
            self.refresh(state, None).await?;
            state.followed = Some(Instant::now());
            return Ok(Turn::Followed);
        };
        let refresh = async {
            self.load(state).await?;
            self.refresh(state, Some(&lease)).await
        };
        let refreshed = tokio::select! {
            refreshed = refresh => refreshed,
            lost = self.store.hold(&lease, LEASE) => Err(lost.into()),
        };
        // What is in memory may be ahead of what could be written.
        state.is_loaded = refreshed.is_ok();
        self.store.release(lease).await?;
        refreshed.map(|()| Turn::Refreshed)
    }

    /// What was kept, which is served at once; also what another host has kept since.
    async fn load(&self, state: &mut State) -> Result<(), StoreError> {
        if state.is_loaded && !self.store.is_shared() {
            return Ok(());
        }
        match Registered::load(&self.store, self.registry()).await {
            Ok(Some((agents, synced))) => {
                if state.synced.is_none() {
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

    /// Without a lease nothing is written, and what is settled is left to whoever has it.
    async fn refresh(&self, state: &mut State, lease: Option<&Lease>) -> Result<(), RefreshError> {
        let (head, settled) = self.registries.head().await?;
        if let Some(mark) = state.synced
            && self.registries.mark(mark.number).await? != Some(mark)
        {
            tracing::warn!(block = mark.number, "the chain of the agents was replaced; their index is built anew");
            state.agents.clear();
            state.synced = None;
        }
        if lease.is_none() && state.synced.is_none() {
            // Whoever has the lease builds it.
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
        self.publish(state, &tail);
        if let Some(lease) = lease {
            self.fetch_settled(state, &tail, lease).await?;
        }
        self.fetch_ahead(state, &tail).await;
        Ok(())
    }

    /// Events that are not settled: part of the index, and never written.
    async fn tail(&self, mut next: u64, head: Mark) -> Result<Vec<AgentEvent>, RefreshError> {
        let mut tail = Vec::new();
        while next <= head.number {
            let (events, through) = self.registries.events(next, head.number).await?;
            tail.extend(events);
            next = through + 1;
        }
        Ok(tail)
    }

    /// Documents of the settled agents; what comes of them is written as it comes.
    async fn fetch_settled(&self, state: &mut State, tail: &[AgentEvent], lease: &Lease) -> Result<(), RefreshError> {
        let now = now();
        let (sender, mut outcomes) = mpsc::channel(CHUNK);
        let fetched = fetch_all(&self.documents, state.agents.due(now, &self.documents), self.at_once, sender);
        let read = async {
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
        tokio::join!(fetched, read).1
    }

    /// Documents of agents whose events are not settled.
    async fn fetch_ahead(&self, state: &mut State, tail: &[AgentEvent]) {
        if tail.is_empty() {
            state.ahead = Registered::default();
            return;
        }
        let now = now();
        let mut ahead = self.ahead(state, tail);
        let (sender, mut outcomes) = mpsc::channel(CHUNK);
        let fetched = fetch_all(&self.documents, ahead.due(now, &self.documents), self.at_once, sender);
        let read = async {
            let mut any = false;
            while let Some((id, outside, outcome)) = outcomes.recv().await {
                ahead.fetched(id, &outside, outcome, now);
                any = true;
            }
            if any {
                self.published.set(&ahead);
            }
        };
        tokio::join!(fetched, read);
        ahead.keep_only(tail);
        state.ahead = ahead;
    }

    async fn save(&self, state: &mut State, lease: &Lease, through: Mark) -> Result<(), RefreshError> {
        if state.agents.save(&self.store, self.registry(), through, lease).await? {
            Ok(())
        } else {
            Err(Lost::Lease.into())
        }
    }

    async fn keep(&self, state: &mut State, tail: &[AgentEvent], lease: &Lease) -> Result<(), RefreshError> {
        if let Some(mark) = state.synced {
            self.save(state, lease, mark).await?;
        }
        self.publish(state, tail);
        Ok(())
    }

    /// The settled agents with what is not settled yet.
    fn ahead(&self, state: &State, tail: &[AgentEvent]) -> Registered {
        let mut ahead = state.agents.clone();
        for event in tail {
            ahead.apply(event.clone(), &self.documents);
        }
        ahead.adopt(&state.ahead);
        ahead
    }

    fn publish(&self, state: &State, tail: &[AgentEvent]) {
        if tail.is_empty() { self.published.set(&state.agents) } else { self.published.set(&self.ahead(state, tail)) }
    }
}

/// Seconds since the Unix epoch.
fn now() -> u64 {
    u64::try_from(Utc::now().timestamp()).unwrap_or_default()
}
