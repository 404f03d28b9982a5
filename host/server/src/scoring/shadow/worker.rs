//! The thread of the shadow: it lets scores gather, asks the challengers about all of them, enters what they say, and
//! then rests, so that over any while it has had no more than its share of one core. It yields to every other thread of
//! this process.

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

use super::{
    Books,
    gate::{Gate, pin},
    seen::Sight,
};
use crate::scoring::Scored;
use assay_domain::{Digest, features::Features};
use assay_registry::{CreditModel, Registry, Spent};

/// The champion's own cost is measured for one score in so many: its answer is known already.
const CHAMPION_EVERY: u64 = 8;
/// How long scores gather before they are looked at: one wake-up for many, and none while a request waits for its
/// answer.
const GATHER: Duration = Duration::from_millis(20);
/// How far the shadow may run ahead of its share before it rests: short enough to be unseen, long enough to be worth a
/// sleep.
const SLACK: Duration = Duration::from_millis(2);
/// The longest rest, after which it is looked whether to stop.
const REST: Duration = Duration::from_millis(100);

/// A score that the champion has given.
pub(super) struct Job {
    pub champion: CreditModel,
    pub challengers: Vec<CreditModel>,
    pub scored: Arc<Scored>,
    pub features: Arc<Features>,
}

pub(super) struct Worker {
    pub registry: Arc<Registry>,
    pub books: Arc<Mutex<Books>>,
    pub gate: Arc<Gate>,
    pub stop: Arc<AtomicBool>,
    pub budget: f64,
}

impl Worker {
    pub fn run(&self, inbox: &mpsc::Receiver<Job>) {
        yield_to_requests();
        // When the share is used up to.
        let mut paid = Instant::now();
        let mut jobs = 0_u64;
        while let Ok(first) = inbox.recv() {
            thread::sleep(GATHER);
            for job in iter::once(first).chain(inbox.try_iter()) {
                while let Some(ahead) = paid.checked_duration_since(Instant::now()).filter(|ahead| *ahead > SLACK) {
                    if self.stop.load(Relaxed) {
                        return;
                    }
                    thread::sleep(ahead.min(REST));
                }
                if self.stop.load(Relaxed) {
                    return;
                }
                let started = Instant::now();
                let spent = self.work(&job, jobs.is_multiple_of(CHAMPION_EVERY));
                paid = paid.max(started) + spent.div_f64(self.budget.clamp(0.001, 1.0));
                jobs += 1;
            }
        }
    }

    /// The time it took, compiling left out: that is paid once, as loading is.
    fn work(&self, job: &Job, measure_champion: bool) -> Duration {
        let (mut took, mut champion_spent) = (Duration::ZERO, None);
        if measure_champion && let Ok(copy) = self.registry.shadow_copy(&job.champion) {
            let (answer, spent) = copy.score_uncounted(&job.features);
            took += spent.took;
            champion_spent = answer.is_ok().then_some(spent);
        }
        for challenger in &job.challengers {
            took += self.ask(job, challenger, champion_spent).took;
        }
        took
    }

    fn ask(&self, job: &Job, challenger: &CreditModel, champion_spent: Option<Spent>) -> Spent {
        let one = std::slice::from_ref(challenger);
        // It may have been benched, or lost its role, since.
        let in_role = |digest: Digest| {
            let challengers: Vec<CreditModel> = self.registry.active_guard().challengers();
            challengers.iter().any(|model| model.digest() == digest)
        };
        let copy = if in_role(challenger.digest()) {
            self.registry.shadow_copy(challenger)
        } else {
            Err("it challenges nobody now".to_owned())
        };
        let copy = match copy {
            Ok(copy) => copy,
            Err(why) => {
                tracing::debug!(version = %challenger.version(), why, "not scored in the shadow");
                self.gate.seen(&job.champion, one, true, true);
                return Spent::default();
            }
        };
        let (said, spent) = challenger.score_on(&copy, &job.features);
        let sight = Sight { served: &job.scored.assessment, said: &said, spent, champion_spent };
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        sight.enter(books.pair(&pin(&job.champion), &pin(challenger)));
        spent
    }
}

/// Gives this thread the lowest priority: where a core is short, requests have it. Elsewhere than on Linux a priority
/// is the whole process's.
fn yield_to_requests() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 19) {
        tracing::debug!(%error, "the shadow keeps the priority of requests");
    }
}
