//! Challengers in the shadow: they score the wallets that the champion has scored, on a separate engine and outside
//! requests, and change no answer. A request puts the score that it has computed into a queue and never waits: a score
//! is dropped and counted if the queue is full.
//!
//! One thread does the work and uses at most a configured share of one core. A score that is answered from the cache is
//! not computed, so it is not scored in the shadow either.

mod counters;
mod evidence;
mod hours;
mod observation;
mod worker;

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    thread,
};

use sha2::{Digest as _, Sha256};

use super::{Rollout, Scored, observed::Observed};
use crate::config;
use assay_domain::{Address, ModelVersion, features::Features};
use assay_registry::{CreditModel, Registry};

use counters::Counters;
pub use evidence::{ShadowEvidence, ShadowPair, Spread};
use hours::Hours;
use worker::ShadowTask;

/// Scores that wait for the shadow. Their data is shared with the answer.
const QUEUE: usize = 1_024;

pub(super) struct Shadow {
    /// `None` if the shadow is switched off, and during drop.
    queue: Option<mpsc::SyncSender<ShadowTask>>,
    thread: Option<thread::JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    counters: Arc<Counters>,
    hours: Arc<Mutex<Hours>>,
    pub share: f64,
}

impl Shadow {
    /// # Errors
    /// The system starts no thread.
    pub(super) fn start(
        registry: &Arc<Registry>,
        settings: &config::Scoring,
        observed: &Arc<Observed>,
    ) -> io::Result<Self> {
        let (counters, hours) = (Arc::new(Counters::default()), Arc::new(Mutex::new(Hours::new())));
        let stop = Arc::new(AtomicBool::new(false));
        let mut shadow = Self { queue: None, thread: None, stop, counters, hours, share: settings.shadow_share };
        if settings.shadow_share > 0.0 && settings.shadow_budget > 0.0 {
            let (queue, inbox) = mpsc::sync_channel(QUEUE);
            let worker = worker::ShadowWorker {
                registry: Arc::clone(registry),
                hours: Arc::clone(&shadow.hours),
                counters: Arc::clone(&shadow.counters),
                stop: Arc::clone(&shadow.stop),
                observed: Arc::clone(observed),
                budget: settings.shadow_budget,
            };
            shadow.thread = Some(thread::Builder::new().name("shadow".into()).spawn(move || worker.run(&inbox))?);
            shadow.queue = Some(queue);
        }
        Ok(shadow)
    }

    /// Queues the score for the challengers that have it in their sample, if there is room. Never waits.
    pub(super) fn offer(
        &self,
        registry: &Registry,
        champion: &CreditModel,
        scored: &Arc<Scored>,
        features: &Arc<Features>,
    ) {
        let Some(queue) = &self.queue else { return };
        let active = registry.active_guard();
        let challengers: Vec<CreditModel> = active.challengers();
        // The caller may have requested another version than the champion.
        let current: Option<CreditModel> = active.champion().ok();
        let Some(current) = current.filter(|current| current.digest() == champion.digest()) else { return };
        if challengers.is_empty() {
            return;
        }
        let sampled = |model: &CreditModel| sampled(scored.address, model.version(), self.share);
        let (chosen, others): (Vec<_>, Vec<_>) = challengers.into_iter().partition(sampled);
        self.counters.add(&current, &others, false, false);
        if chosen.is_empty() {
            return;
        }
        let job = ShadowTask {
            champion: current.clone(),
            challengers: chosen,
            scored: Arc::clone(scored),
            features: Arc::clone(features),
        };
        match queue.try_send(job) {
            Ok(()) => {}
            Err(mpsc::TrySendError::Full(job) | mpsc::TrySendError::Disconnected(job)) => {
                metrics::counter!("assay_shadow_dropped_total").increment(job.challengers.len() as u64);
                self.counters.add(&current, &job.challengers, true, true);
            }
        }
    }

    fn hours(&self) -> MutexGuard<'_, Hours> {
        self.hours.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rollout {
    /// Keeps a computed score for its outcome and its wallet for the drift of inputs, and queues it for the
    /// challengers. Never waits.
    pub fn offer(&self, champion: &CreditModel, scored: &Arc<Scored>, features: &Arc<Features>) {
        self.inner.observed.see(&scored.model, scored, features, scored.assessment.score);
        self.inner.recent.see(scored, features);
        self.inner.inputs.see(&self.inner.registry, scored, features);
        self.inner.shadow.offer(&self.inner.registry, champion, scored, features);
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the shadow panicked");
        }
    }
}

/// Whether an address is in the sample of a version: the same on every host. A larger share contains every smaller one.
fn sampled(address: Address, version: &ModelVersion, share: f64) -> bool {
    let hash = Sha256::new().chain_update(address).chain_update(version.as_str()).finalize();
    let position = hash.iter().take(4).fold(0_u32, |position, byte| position << 8 | u32::from(*byte));
    f64::from(position) < share * (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Basis;
    use assay_domain::ModelKind;
    use assay_registry::Settings;
    use std::time::Duration;

    #[test]
    fn a_sample_has_its_share_and_grows_with_it() {
        let version: ModelVersion = "1.1".parse().unwrap();
        let addresses = (0..4_000_u32).map(|n| Address::left_padding_from(&n.to_be_bytes()));
        let count = |share: f64| addresses.clone().filter(|address| sampled(*address, &version, share)).count();
        assert_eq!((count(0.0), count(1.0)), (0, 4_000));
        assert!((900..1_100).contains(&count(0.25)), "{}", count(0.25));
        assert!(addresses.clone().all(|address| !sampled(address, &version, 0.1) || sampled(address, &version, 0.3)));
    }

    /// One job runs, the queue is full, and the rest is dropped at once.
    #[test]
    fn a_shadow_that_is_behind_drops_and_counts_and_never_waits() {
        const OFFERS: u64 = 3 * QUEUE as u64;
        let plugins = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
        let registry = Registry::open(Settings { watch: false, ..Settings::new(plugins) }).unwrap();
        let (champion, challenger) = ("1.1".parse().unwrap(), "1.0".parse().unwrap());
        registry.set_champion(ModelKind::Credit, &champion).unwrap();
        registry.set_challengers(ModelKind::Credit, &[challenger]).unwrap();
        const HOUR: Duration = Duration::from_secs(3_600);
        let settings = config::Scoring {
            cache_ttl: Duration::ZERO,
            incomplete_cache_ttl: Duration::ZERO,
            cache_entries: 0,
            read_budget: Duration::ZERO,
            provenance_ttl: Duration::ZERO,
            outcome_ttl: Duration::ZERO,
            shadow_share: 1.0,
            shadow_budget: 0.001,
            shadow_ttl: HOUR,
        };
        // A thousandth of a core: after one call it rests for longer than this test takes.
        let shadow = Shadow::start(&registry, &settings, &Arc::new(Observed::new(Duration::ZERO))).unwrap();
        let model = registry.champion::<CreditModel>().unwrap();
        let features = Arc::new(Features { as_of: 1_750_000_000, ..assay_registry::measure::typical() });
        let now = chrono::Utc::now();
        let scored = Arc::new(Scored {
            address: Address::repeat_byte(7),
            assessment: model.score(&features).unwrap(),
            model: model.reference().clone(),
            chosen: assay_registry::Chosen::Champion,
            at: now,
            coverage: assay_domain::Coverage::Complete,
            fresh: assay_domain::Freshness { read_at: now, life: Duration::ZERO },
            record: None,
            basis: Basis::Unknown,
            origins: Arc::default(),
        });
        (0..OFFERS).for_each(|_| shadow.offer(&registry, &model, &scored, &features));
        let passed = shadow.counters.take();
        let counts = passed.values().next().unwrap().counts;
        assert_eq!((passed.len(), counts.seen, counts.sampled), (1, counts.dropped, counts.dropped));
        let taken = OFFERS - counts.dropped;
        assert!((QUEUE as u64..QUEUE as u64 + 100).contains(&taken), "{taken} of {OFFERS} were taken");
        // It stops without the calls that wait, which would take an hour.
        drop(shadow);
    }
}
