//! Challengers in the shadow: they score what the champion has scored, off the request's path, on an engine apart, and
//! change no answer. A request only puts what it has computed anyway into a queue, and never waits: what does not fit
//! is dropped and counted.
//!
//! One thread of its own does the work and takes no more than a configured share of one core. A score that is answered
//! from the cache is not computed, so it is not scored in the shadow either: it would add nothing.

mod evidence;
mod gate;
mod keep;
mod seen;
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

use super::Scored;
use crate::config;
use assay_domain::{Address, ModelVersion, features::Features};
use assay_registry::{CreditModel, Registry};

pub use evidence::{Spread, Standing};
use gate::Gate;
use keep::Books;
use worker::Job;

/// Scores that wait for the shadow. What is in them is shared with the answer.
const QUEUE: usize = 1_024;

pub(super) struct Shadow {
    /// `None` where there is to be no shadow, and while dropping.
    queue: Option<mpsc::SyncSender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    gate: Arc<Gate>,
    books: Arc<Mutex<Books>>,
    pub share: f64,
}

impl Shadow {
    /// # Errors
    /// Where the system gives no thread.
    pub fn start(registry: &Arc<Registry>, settings: &config::Scoring) -> io::Result<Self> {
        let (gate, books, stop) =
            (Arc::new(Gate::default()), Arc::new(Mutex::new(Books::new())), Arc::new(AtomicBool::new(false)));
        let mut shadow = Self { queue: None, thread: None, stop, gate, books, share: settings.shadow_share };
        if settings.shadow_share > 0.0 && settings.shadow_budget > 0.0 {
            let (queue, inbox) = mpsc::sync_channel(QUEUE);
            let worker = worker::Worker {
                registry: Arc::clone(registry),
                books: Arc::clone(&shadow.books),
                gate: Arc::clone(&shadow.gate),
                stop: Arc::clone(&shadow.stop),
                budget: settings.shadow_budget,
            };
            shadow.thread = Some(thread::Builder::new().name("shadow".into()).spawn(move || worker.run(&inbox))?);
            shadow.queue = Some(queue);
        }
        Ok(shadow)
    }

    /// Lets the challengers score what the champion has scored, if they are in the sample and there is room. Never
    /// waits.
    pub fn offer(&self, registry: &Registry, champion: &CreditModel, scored: &Arc<Scored>, features: &Arc<Features>) {
        let Some(queue) = &self.queue else { return };
        let active = registry.active_guard();
        let challengers: Vec<CreditModel> = active.challengers();
        // Another version may have been asked for by name: it is nobody's champion.
        let office: Option<CreditModel> = active.champion().ok();
        let Some(office) = office.filter(|office| office.digest() == champion.digest()) else { return };
        if challengers.is_empty() {
            return;
        }
        let sampled = |model: &CreditModel| sampled(scored.address, model.version(), self.share);
        let (chosen, left): (Vec<_>, Vec<_>) = challengers.into_iter().partition(sampled);
        self.gate.seen(&office, &left, false, false);
        if chosen.is_empty() {
            return;
        }
        let job = Job {
            champion: office.clone(),
            challengers: chosen,
            scored: Arc::clone(scored),
            features: Arc::clone(features),
        };
        match queue.try_send(job) {
            Ok(()) => {}
            Err(mpsc::TrySendError::Full(job) | mpsc::TrySendError::Disconnected(job)) => {
                metrics::counter!("assay_shadow_dropped_total").increment(job.challengers.len() as u64);
                self.gate.seen(&office, &job.challengers, true, true);
            }
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the shadow had panicked");
        }
    }
}

/// Whether an address is in the sample of a version: the same on every host, and the more addresses the larger the
/// share.
fn sampled(address: Address, version: &ModelVersion, share: f64) -> bool {
    let hash = Sha256::new().chain_update(address).chain_update(version.as_str()).finalize();
    let place = hash.iter().take(4).fold(0_u32, |place, byte| place << 8 | u32::from(*byte));
    f64::from(place) < share * (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::ModelKind;
    use assay_registry::Settings;

    #[test]
    fn a_sample_has_its_share_and_grows_with_it() {
        let version: ModelVersion = "1.1".parse().unwrap();
        let addresses = (0..4_000_u32).map(|n| Address::left_padding_from(&n.to_be_bytes()));
        let count = |share: f64| addresses.clone().filter(|address| sampled(*address, &version, share)).count();
        assert_eq!((count(0.0), count(1.0)), (0, 4_000));
        assert!((900..1_100).contains(&count(0.25)), "{}", count(0.25));
        assert!(addresses.clone().all(|address| !sampled(address, &version, 0.1) || sampled(address, &version, 0.3)));
    }
    /// The first is asked, the second at work or resting, and as many as the queue has room for wait: the rest is
    /// dropped at once.
    #[test]
    fn a_shadow_that_is_behind_drops_and_counts_and_never_waits() {
        const OFFERS: u64 = 3 * QUEUE as u64;
        let plugins = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
        let registry = Registry::open(Settings { watch: false, ..Settings::new(plugins) }).unwrap();
        let (champion, challenger) = ("1.1".parse().unwrap(), "1.0".parse().unwrap());
        registry.set_champion(ModelKind::Credit, &champion).unwrap();
        registry.set_challengers(ModelKind::Credit, &[challenger]).unwrap();
        let settings = config::load(None).unwrap().scoring;
        // A thousandth of a core: after one call it rests for longer than this test takes.
        let shadow = Shadow::start(&registry, &config::Scoring { shadow_budget: 0.001, ..settings }).unwrap();
        let model = registry.champion::<CreditModel>().unwrap();
        let features = Arc::new(Features { as_of: 1_750_000_000, ..assay_registry::measure::typical() });
        let now = chrono::Utc::now();
        let scored = Arc::new(Scored {
            address: Address::repeat_byte(7),
            assessment: model.score(&features).unwrap(),
            model: model.reference().clone(),
            at: now,
            coverage: assay_domain::Coverage::Complete,
            fresh: assay_domain::Freshness { read_at: now, life: std::time::Duration::ZERO },
            record: None,
        });
        let started = std::time::Instant::now();
        (0..OFFERS).for_each(|_| shadow.offer(&registry, &model, &scored, &features));
        let took = started.elapsed();
        assert!(took < std::time::Duration::from_secs(2), "{took:?} for {OFFERS} offers");
        let passed = shadow.gate.take();
        let counts = passed.values().next().unwrap().counts;
        assert_eq!((passed.len(), counts.seen, counts.sampled), (1, counts.dropped, counts.dropped));
        let taken = OFFERS - counts.dropped;
        assert!((QUEUE as u64..QUEUE as u64 + 100).contains(&taken), "{taken} of {OFFERS} were taken");
        let stopping = std::time::Instant::now();
        drop(shadow);
        assert!(stopping.elapsed() < std::time::Duration::from_secs(2), "it stops without working off the queue");
    }
}
