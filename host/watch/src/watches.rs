//! The watches of a server, as its API creates, lists, changes and removes them.

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc, time::Duration};

use chrono::{TimeDelta, Utc};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::{
    config,
    market::WatchedMarket,
    places::Places,
    records::{
        self, Course, DeliveryRecord, EVENTS, EventRecord, NO_LIMIT, OWN, RequestRecord, Role, StateRecord,
        WatchRecord, requested,
    },
    script::WatchScript,
    secret::{NoRandomness, ServerKey, WebhookSecret},
    series::TriggerState,
    trigger::{Measure, Trigger},
};
use assay_access::{Access, AccessError};
use assay_domain::{B256, ChainId, PaymentId, Time};
use assay_evm::guarded::Guarded;
use assay_http::values::Moment;
use assay_payment::spend;
use assay_rollout::cards::Cards;
use assay_score::{Ask, Scoring, attestation::Attestor};
use assay_store::{Batch, Revision, Store, StoreError};

/// Days that the units of a watch pay for.
pub(crate) const TERM: TimeDelta = TimeDelta::days(30);
/// Entries of a key's list that are read at once.
pub(crate) const PAGE: NonZeroUsize = NonZeroUsize::new(1_000).expect("is not zero");

/// The watches. Cheap to clone.
#[derive(Clone)]
pub struct Watches(pub(crate) Arc<WatchesInner>);

pub(crate) struct WatchesInner {
    pub store: Store,
    /// Decides what the key behind a watch may do.
    pub access: Access,
    pub scoring: Scoring,
    pub cards: Arc<Cards>,
    /// Signs statements; absent if not configured.
    pub attestor: Option<Arc<Attestor>>,
    pub settings: config::Watches,
    pub chains: WatchedChains,
    pub sender: Guarded,
    pub server_key: ServerKey,
    /// A request was stored on this host.
    pub requested: Notify,
    /// An event was stored by this host.
    pub told: Notify,
    /// What the watches of a sandbox follow instead of wallets on chains.
    pub script: Option<Arc<dyn WatchScript>>,
    /// Clients that follow events.
    pub places: Arc<Places>,
}

/// What the configuration says of the chains.
#[derive(Debug, Clone, Default)]
pub struct WatchedChains {
    /// Blocks after which each chain is final.
    pub finality: BTreeMap<ChainId, u64>,
    pub markets: Vec<WatchedMarket>,
}

/// A watch to create.
#[derive(Debug, Clone)]
pub(crate) struct NewWatch {
    pub owner: String,
    pub by: String,
    /// An address or a name.
    pub subject: String,
    pub triggers: Vec<Trigger>,
    pub every: Duration,
    pub fires_at_once: bool,
    pub statement: bool,
    pub url: Option<String>,
    pub until: Time,
    pub role: Role,
    pub label: Option<String>,
}

/// A watch with everything that is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    /// As it is evaluated: with the settings of its group.
    pub record: WatchRecord,
    pub state: StateRecord,
    pub delivery: DeliveryRecord,
    /// The state in the store, if `state` is a later one.
    pub saved: Option<Box<StateRecord>>,
    /// As it is stored.
    pub stored: WatchRecord,
    /// Its group.
    pub group: Option<Arc<WatchRecord>>,
}

impl Watch {
    /// A watch that was just created, in this group.
    pub(crate) fn new(stored: WatchRecord, group: Option<Arc<WatchRecord>>) -> Self {
        let record = match &group {
            Some(group) => stored.clone().of_group(group),
            None => stored.clone(),
        };
        let (state, delivery) = (StateRecord::default(), DeliveryRecord::default());
        Self { record, state, delivery, saved: None, stored, group }
    }

    /// Lets `batch` be refused once the watch or its group has changed.
    pub(crate) fn if_unchanged(&self, mut batch: Batch) -> Result<Batch, StoreError> {
        for record in [Some(&self.stored), self.group.as_deref()].into_iter().flatten() {
            let key = records::watch(record.id);
            batch = batch.if_unchanged(&key, Revision::of(&key, record)?);
        }
        Ok(batch)
    }

    /// The states of its triggers, in their order; empty if it was not evaluated since they were set.
    pub(crate) fn trigger_states(&self) -> &[TriggerState] {
        let Self { record, state, .. } = self;
        let is_of_record = state.generation == record.generation && state.triggers.len() == record.triggers.len();
        if is_of_record { &state.triggers } else { &[] }
    }

    /// The state in the store.
    pub(crate) fn saved(&self) -> &StateRecord {
        self.saved.as_deref().unwrap_or(&self.state)
    }

    /// Takes a later state, which is not in the store.
    pub(crate) fn advance(&mut self, state: StateRecord) {
        let before = std::mem::replace(&mut self.state, state);
        self.saved.get_or_insert_with(|| Box::new(before));
    }
}

impl NewWatch {
    /// # Errors
    /// No randomness.
    pub(crate) fn record(self) -> Result<WatchRecord, NoRandomness> {
        let Self { owner, by, subject, triggers, every, fires_at_once, statement, url, until, role, label } = self;
        Ok(WatchRecord {
            id: Uuid::new_v4(),
            owner,
            by,
            subject,
            triggers,
            generation: 0,
            every,
            fires_at_once,
            statement,
            url,
            secret: WebhookSecret::generate()?,
            replaced: Vec::new(),
            paused: false,
            created_at: Utc::now(),
            until,
            paid_until: None,
            bought_until: None,
            role,
            label,
            course: Course::default(),
        })
    }
}

/// Why a watch is not created or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error("This server follows the {0} watches that watches.max allows; its operator can raise it")]
    ServerFull(u64),
    #[error("This key has {0} watches, as many as watches.max_per_key allows; remove one first")]
    KeyFull(u64),
    #[error("Watch not found")]
    Unknown,
    #[error("Group not found")]
    UnknownGroup,
    #[error("The watch has ended; create another one")]
    Ended,
    #[error("The watch has its bounds, pace, receiver and end from its group {0}; change the group")]
    InGroup(Uuid),
    #[error("The watch had {0} test events within a day, as many as it may have; wait, or replay one of them")]
    Tested(u32),
    #[error("The secret was replaced {0} times within a day, and all of them still sign; wait")]
    Rotated(usize),
    #[error("The watch has no `url` to deliver to; set one first")]
    NoReceiver,
    #[error("The watch has no such event yet: its last one is {0}")]
    NotYet(u64),
    #[error("The events before number {before} are not kept any more; replay later ones")]
    NotKept { before: u64 },
    #[error("The watch is paid until {}; pay for another one", Moment(*.0))]
    PaidUntil(Time),
    #[error("The clock of this key shows {0} s, and goes back only once the key has no watches; remove them first")]
    ClockBehind(u64),
    #[error("Only a server in sandbox mode has a clock; start one with assay serve --sandbox")]
    NoClock,
    #[error("The clock is set, and the watches are not evaluated yet; set it again")]
    ClockBusy,
    #[error("The watch was changed at the same time; try again")]
    Contended,
    #[error(
        "This Idempotency-Key was used for another request within the last day; use another key for another request"
    )]
    OtherRequest,
    #[error("The watch or group of this Idempotency-Key was removed; use another key to create one")]
    Removed,
    #[error(transparent)]
    Unpaid(#[from] AccessError),
    #[error(transparent)]
    Random(#[from] NoRandomness),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The key with which the hosts of a store sign, made once.
///
/// # Errors
/// The store's failure, or no randomness.
async fn server_key(store: &Store) -> Result<ServerKey, WatchError> {
    let key = records::server_key();
    if store.get(&key).await?.is_none() {
        let made = ServerKey::generate()?;
        store.commit(Batch::new().if_unchanged(&key, Revision::ABSENT).put(&key, &made)?).await?;
    }
    let text = store.get(&key).await?.unwrap_or_default();
    ServerKey::read(&text).ok_or_else(|| {
        StoreError::Failed { reason: "the record watch-signing-key is not a key of 64 hexadecimal digits".into() }
            .into()
    })
}

/// Adds a new watch to `batch`.
pub(crate) fn added(batch: Batch, record: &WatchRecord) -> Result<Batch, StoreError> {
    let batch = batch.put(&records::watch(record.id), record)?.put(&records::own(record), &record.id)?;
    requested(batch, record.id, &RequestRecord::Changed)
}

impl Watches {
    /// `places` is the number of clients that may follow events at once.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn open(
        (store, access): (Store, Access),
        (scoring, cards, attestor): (Scoring, Arc<Cards>, Option<Arc<Attestor>>),
        (settings, chains, script): (config::Watches, WatchedChains, Option<Arc<dyn WatchScript>>),
        sender: Guarded,
        places: usize,
    ) -> Result<Self, StoreError> {
        let server_key = server_key(&store).await.map_err(|error| match error {
            WatchError::Store(error) => error,
            other => StoreError::Failed { reason: other.to_string() },
        })?;
        let (requested, told) = (Notify::new(), Notify::new());
        let places = Places::new(places);
        Ok(Self(Arc::new(WatchesInner {
            store,
            access,
            scoring,
            cards,
            attestor,
            settings,
            chains,
            sender,
            server_key,
            requested,
            told,
            script,
            places,
        })))
    }

    pub(crate) fn settings(&self) -> &config::Watches {
        &self.0.settings
    }

    /// The public key of the server's signatures.
    pub(crate) fn public_key(&self) -> String {
        self.0.server_key.public()
    }

    /// Why `trigger` could never have a value on this server.
    pub(crate) fn cannot(&self, trigger: &Trigger) -> Option<String> {
        let ask = Ask { version: trigger.model_version.as_ref(), ..Ask::by("", false) };
        if ask.version.is_some()
            && let Err(why) = self.0.scoring.answering(&ask, None)
        {
            return Some(why.to_string());
        }
        let markets = &self.0.chains.markets;
        if let Some(market) = trigger.market {
            let known = markets.iter().any(|one| one.name == market);
            return (!known).then(|| format!("this server does not read the market {market}"));
        }
        let details = || markets.iter().any(|market| market.name.protocol.has_details());
        let lacks = match trigger.measure {
            Measure::HealthFactor => !details(),
            Measure::DebtUsd | Measure::Liquidation => markets.is_empty(),
            _ => false,
        };
        lacks.then(|| format!("no market of this server has a {}", trigger.measure.as_str()))
    }

    /// # Errors
    /// [`WatchError::ServerFull`].
    pub(crate) async fn require_room(&self) -> Result<(), WatchError> {
        let (known, max) = (self.0.store.get(&records::count()).await?, self.settings().max);
        if known.unwrap_or_default() < max { Ok(()) } else { Err(WatchError::ServerFull(max)) }
    }

    /// Creates the watch that a settled payment buys for the request with this digest, in the write that spends the
    /// payment. It may be one more than `watches.max`: it is paid. `None` if the payment has bought something
    /// meanwhile.
    ///
    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn create_paid(
        &self,
        (new, terms): (NewWatch, u32),
        payment: &PaymentId,
        digest: B256,
    ) -> Result<Option<Watch>, WatchError> {
        let mut record = new.record()?;
        record.paid_until = Some(record.created_at + TERM * i32::try_from(terms).unwrap_or(i32::MAX));
        let batch =
            Batch::new().take(&records::count(), 1, NO_LIMIT).take(&records::own_count(&record.owner), 1, NO_LIMIT);
        let batch = added(batch, &record)?;
        let Some(spent) = spend(&self.0.store, batch, payment, digest, record.id).await? else { return Ok(None) };
        if !self.0.store.commit(spent.batch).await? {
            return Ok(None);
        }
        self.0.requested.notify_one();
        Ok(Some(Watch::new(record, None)))
    }

    /// The watch or the group of `owner` with this id.
    ///
    /// # Errors
    /// [`WatchError::Unknown`] if it has none.
    pub(crate) async fn find(&self, owner: &str, id: Uuid) -> Result<Watch, WatchError> {
        let found = self.0.load(&[id]).await?.pop();
        found.filter(|watch| watch.record.owner == owner).ok_or(WatchError::Unknown)
    }

    /// The watch of `owner` with this id.
    ///
    /// # Errors
    /// As [`find`](Self::find); also for the id of a group.
    pub(crate) async fn watch(&self, owner: &str, id: Uuid) -> Result<Watch, WatchError> {
        let found = self.find(owner, id).await?;
        Some(found).filter(|found| !found.record.is_group()).ok_or(WatchError::Unknown)
    }

    /// One page of the watches of `owner`, oldest first, and the number of all.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn list(&self, owner: &str, skip: usize, limit: usize) -> Result<(Vec<Watch>, usize), StoreError> {
        let ids = self.0.ids(&OWN, &records::own_prefix(owner)).await?;
        let total = ids.len();
        let shown: Vec<Uuid> = ids.into_iter().skip(skip).take(limit).collect();
        Ok((self.0.load(&shown).await?, total))
    }

    /// At most `most` events of a watch with a number above `after`, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn events(&self, id: Uuid, after: u64, most: usize) -> Result<Vec<EventRecord>, StoreError> {
        let Some(most) = NonZeroUsize::new(most) else { return Ok(Vec::new()) };
        let page = self.0.store.page(&EVENTS, Some(&records::event_key(id, after)), most).await?;
        let prefix = format!("{id}/");
        Ok(page.records.into_iter().take_while(|(key, _)| key.starts_with(&prefix)).map(|(_, event)| event).collect())
    }
}
