//! The watches of a server, as its API creates, lists, changes and removes them.

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc, time::Duration};

use chrono::{TimeDelta, Utc};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::{
    config,
    market::MarketName,
    records::{self, DeliveryRecord, EVENTS, EventRecord, OWN, RequestRecord, StateRecord, WatchRecord, requested},
    secret::{NoRandomness, ServerKey, WebhookSecret},
    trigger::{Measure, Trigger},
};
use assay_access::Access;
use assay_domain::{ChainId, Subject, Time};
use assay_evm::guarded::Guarded;
use assay_rollout::cards::Cards;
use assay_score::{Scoring, attestation::Attestor};
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
    /// Clients that follow events.
    places: Arc<Semaphore>,
}

/// What the configuration says of the chains.
#[derive(Debug, Clone, Default)]
pub struct WatchedChains {
    /// Blocks after which each chain is final.
    pub finality: BTreeMap<ChainId, u64>,
    pub markets: Vec<MarketName>,
}

/// A watch to create.
#[derive(Debug, Clone)]
pub(crate) struct NewWatch {
    pub owner: String,
    pub by: String,
    pub subject: Subject,
    pub triggers: Vec<Trigger>,
    pub every: Duration,
    pub fires_at_once: bool,
    pub statement: bool,
    pub url: Option<String>,
    pub until: Time,
}

/// A watch with everything that is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    pub record: WatchRecord,
    pub state: StateRecord,
    pub delivery: DeliveryRecord,
    /// The state in the store, if `state` is a later one.
    pub saved: Option<Box<StateRecord>>,
}

impl Watch {
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

/// Why a watch is not created or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error("This server follows the {0} watches that watches.max allows; its operator can raise it")]
    ServerFull(u64),
    #[error("This key has {0} watches, as many as watches.max_per_key allows; remove one first")]
    KeyFull(u64),
    #[error("Watch not found")]
    Unknown,
    #[error("The watch has ended; create another one")]
    Ended,
    #[error("The watch was changed at the same time; try again")]
    Contended,
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

impl Watches {
    /// `places` is the number of clients that may follow events at once.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn open(
        (store, access): (Store, Access),
        (scoring, cards, attestor): (Scoring, Arc<Cards>, Option<Arc<Attestor>>),
        (settings, chains): (config::Watches, WatchedChains),
        sender: Guarded,
        places: usize,
    ) -> Result<Self, StoreError> {
        let server_key = server_key(&store).await.map_err(|error| match error {
            WatchError::Store(error) => error,
            other => StoreError::Failed { reason: other.to_string() },
        })?;
        let (requested, told) = (Notify::new(), Notify::new());
        let places = Arc::new(Semaphore::new(places));
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

    /// A slot for a client that follows events; `None` if all are taken.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.0.places.clone().try_acquire_owned().ok()
    }

    /// Why `trigger` could never have a value on this server.
    pub(crate) fn cannot(&self, trigger: &Trigger) -> Option<String> {
        let markets = &self.0.chains.markets;
        if let Some(market) = trigger.market {
            let known = markets.contains(&market);
            return (!known).then(|| format!("this server does not read the market {market}"));
        }
        let details = || markets.iter().any(|market| market.protocol.has_details());
        let lacks = match trigger.measure {
            Measure::HealthFactor => !details(),
            Measure::DebtUsd | Measure::Liquidation => markets.is_empty(),
            _ => false,
        };
        lacks.then(|| format!("no market of this server has a {}", trigger.measure.as_str()))
    }

    /// # Errors
    /// [`WatchError`].
    pub(crate) async fn create(&self, new: NewWatch) -> Result<Watch, WatchError> {
        let NewWatch { owner, by, subject, triggers, every, fires_at_once, statement, url, until } = new;
        let record = WatchRecord {
            id: Uuid::new_v4(),
            owner,
            by,
            subject: subject.to_string(),
            triggers,
            generation: 0,
            every,
            fires_at_once,
            url,
            secret: WebhookSecret::generate()?,
            previous: None,
            statement,
            paused: false,
            created_at: Utc::now(),
            until,
        };
        let (max, most) = (self.settings().max, self.settings().max_per_key);
        let batch = Batch::new()
            .take(&records::count(), 1, max)
            .take(&records::own_count(&record.owner), 1, most)
            .put(&records::watch(record.id), &record)?
            .put(&records::own(&record), &record.id)?;
        if !self.0.store.commit(requested(batch, record.id, &RequestRecord::Changed)?).await? {
            let own = self.0.store.get(&records::own_count(&record.owner)).await?.unwrap_or_default();
            return Err(if own >= most { WatchError::KeyFull(most) } else { WatchError::ServerFull(max) });
        }
        self.0.requested.notify_one();
        Ok(Watch { record, state: StateRecord::default(), delivery: DeliveryRecord::default(), saved: None })
    }

    /// The watch of `owner` with this id.
    ///
    /// # Errors
    /// [`WatchError::Unknown`] if it has none.
    pub(crate) async fn find(&self, owner: &str, id: Uuid) -> Result<Watch, WatchError> {
        let record = self.0.store.get(&records::watch(id)).await?;
        let record = record.filter(|record| record.owner == owner).ok_or(WatchError::Unknown)?;
        let state = self.0.store.get(&records::state(id)).await?.unwrap_or_default();
        let delivery = self.0.store.get(&records::delivery(id)).await?.unwrap_or_default();
        Ok(Watch { record, state, delivery, saved: None })
    }

    /// One page of the watches of `owner`, oldest first, and the number of all.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn list(&self, owner: &str, skip: usize, limit: usize) -> Result<(Vec<Watch>, usize), StoreError> {
        let prefix = records::own_prefix(owner);
        let (mut ids, mut after) = (Vec::new(), Some(prefix.clone()));
        while let Some(from) = after {
            let page = self.0.store.page(&OWN, Some(&from), PAGE).await?;
            ids.extend(page.records.into_iter().take_while(|(key, _)| key.starts_with(&prefix)).map(|(_, id)| id));
            after = page.next.filter(|next| next.starts_with(&prefix));
        }
        let total = ids.len();
        let shown: Vec<Uuid> = ids.into_iter().skip(skip).take(limit).collect();
        Ok((self.load(&shown).await?, total))
    }

    /// The watches with these ids that exist.
    pub(crate) async fn load(&self, ids: &[Uuid]) -> Result<Vec<Watch>, StoreError> {
        let store = &self.0.store;
        let watches = store.get_many(&ids.iter().copied().map(records::watch).collect::<Vec<_>>()).await?;
        let states = store.get_many(&ids.iter().copied().map(records::state).collect::<Vec<_>>()).await?;
        let deliveries = store.get_many(&ids.iter().copied().map(records::delivery).collect::<Vec<_>>()).await?;
        let all = watches.into_iter().zip(states).zip(deliveries);
        let whole = all.filter_map(|((record, state), delivery)| {
            let (state, delivery) = (state.unwrap_or_default(), delivery.unwrap_or_default());
            Some(Watch { record: record?, state, delivery, saved: None })
        });
        Ok(whole.collect())
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
