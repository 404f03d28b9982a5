//! The thread of the shadow. It lets scores gather, calls the challengers for all of them, records the results and then
//! rests, so that on average it uses no more than its share of one core. Every other thread of this process has
//! priority over it.

use std::{
    iter,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use super::{counters::Counters, hours::Hours, observation::CallObservation};
use crate::{Scored, observed::Observed};
use assay_domain::{Digest, features::Features};
use assay_registry::{CreditModel, Registry, Spent};

/// One in this many scores is computed again by the champion, to measure its cost.
const CHAMPION_EVERY: u64 = 8;
/// How long scores gather before work on them begins: the thread wakes once for many scores, and not while a request
/// waits for its answer.
const GATHER: Duration = Duration::from_millis(20);
/// How far the shadow may run ahead of its share before it rests: too short to slow requests, long enough to be worth a
/// sleep.
const SLACK: Duration = Duration::from_millis(2);
/// The longest rest before the thread checks whether to stop.
const REST: Duration = Duration::from_millis(100);

/// A score of the champion, for the challengers.
pub(super) struct ShadowTask {
    pub champion: CreditModel,
    pub challengers: Vec<CreditModel>,
    pub scored: Arc<Scored>,
    pub features: Arc<Features>,
}

pub(super) struct ShadowWorker {
    pub registry: Arc<Registry>,
    pub hours: Arc<Mutex<Hours>>,
    pub counters: Arc<Counters>,
    pub stop: Arc<AtomicBool>,
    pub observed: Arc<Observed>,
    pub budget: f64,
}

impl ShadowWorker {
    pub(super) fn run(&self, inbox: &mpsc::Receiver<ShadowTask>) {
        yield_to_requests();
        // The moment up to which the share is used.
        let mut used_until = Instant::now();
        let mut jobs = 0_u64;
        while let Ok(first) = inbox.recv() {
            thread::sleep(GATHER);
            for job in iter::once(first).chain(inbox.try_iter()) {
                while let Some(ahead) = used_until.checked_duration_since(Instant::now()).filter(|ahead| *ahead > SLACK)
                {
                    if self.stop.load(Relaxed) {
                        return;
                    }
                    thread::sleep(ahead.min(REST));
                }
                if self.stop.load(Relaxed) {
                    return;
                }
                let started = Instant::now();
                let spent = self.compute(&job, jobs.is_multiple_of(CHAMPION_EVERY));
                used_until = used_until.max(started) + spent.div_f64(self.budget.clamp(0.001, 1.0));
                jobs += 1;
            }
        }
    }

    /// Returns the time of the calls. Compiling is left out, for it happens once per model.
    fn compute(&self, job: &ShadowTask, measure_champion: bool) -> Duration {
        let (mut took, mut champion_spent) = (Duration::ZERO, None);
        if measure_champion && let Ok(copy) = self.registry.shadow_copy(&job.champion) {
            let (answer, spent) = copy.score_uncounted(&job.features);
            took += spent.took;
            champion_spent = answer.is_ok().then_some(spent);
        }
        for challenger in &job.challengers {
            took += self.call(job, challenger, champion_spent).took;
        }
        took
    }

    fn call(&self, job: &ShadowTask, challenger: &CreditModel, champion_spent: Option<Spent>) -> Spent {
        let one = std::slice::from_ref(challenger);
        // It may have been taken out of service, or lost its role, since the score was queued.
        let in_role = |digest: Digest| {
            let challengers: Vec<CreditModel> = self.registry.active_guard().challengers();
            challengers.iter().any(|model| model.digest() == digest)
        };
        let copy = if in_role(challenger.digest()) {
            self.registry.shadow_copy(challenger)
        } else {
            Err("it is not a challenger any more".to_owned())
        };
        let copy = match copy {
            Ok(copy) => copy,
            Err(why) => {
                tracing::debug!(version = %challenger.version(), why, "not scored in the shadow");
                self.counters.add(&job.champion, one, true, true);
                return Spent::default();
            }
        };
        let (shadow, spent) = challenger.score_on(&copy, &job.features);
        if let Ok(assessment) = &shadow {
            self.observed.see(challenger.reference(), &job.scored, &job.features, assessment.score);
        }
        let (address, served) = (job.scored.address, &job.scored.assessment);
        let record = job.scored.record;
        let observation = CallObservation { address, record, served, shadow: &shadow, spent, champion_spent };
        let mut hours = self.hours.lock().unwrap_or_else(PoisonError::into_inner);
        observation.add_to(hours.pair(&job.champion.reference().into(), &challenger.reference().into()));
        spent
    }
}

/// Gives this thread the lowest priority, so that requests have the core if there are too few. Only Linux has a
/// priority per thread.
fn yield_to_requests() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 19) {
        tracing::debug!(%error, "the shadow keeps the priority of requests");
    }
}
