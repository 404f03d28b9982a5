//! From a file to counts: one thread reads, the others score, and the calling one says how far they are.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::Instant,
};

use crate::{
    source::{Chunk, Source},
    tally::{Called, Tally},
};
use assay_domain::{Assessment, Digest, features::Features};
use assay_registry::{CreditModel, MeteredModel, ScoreError};

/// Chunks that wait for each thread.
const AHEAD: usize = 4;

/// Who scores. A benchmark puts native code in a component's place.
pub trait Scorer: Sync {
    /// # Errors
    /// As [`CreditModel::score`].
    fn score(&self, features: &Features) -> Result<Assessment, ScoreError>;
}

impl Scorer for CreditModel {
    fn score(&self, features: &Features) -> Result<Assessment, ScoreError> {
        Self::score(self, features)
    }
}

/// What to run. The first model is the reference that the others are compared with.
pub struct Run<'a, S> {
    pub file: &'a Path,
    pub models: &'a [S],
    /// The same models on engines that count fuel, asked about the first chunk of the file; may be empty.
    pub counting: Vec<MeteredModel>,
    /// Threads that score. At least one does.
    pub threads: usize,
    /// Ends the run at the next chunk.
    pub stop: &'a AtomicBool,
    /// Gets a line of comma-separated values per record, in the order of the file: line, outcome, and each model's
    /// score or nothing.
    pub scores: Option<&'a mut dyn io::Write>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub records: u64,
    /// Bytes read, and of the whole file.
    pub bytes: u64,
    pub size: u64,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the features cannot be read: {0}")]
    Read(io::Error),
    #[error("the scores cannot be written: {0}")]
    Write(io::Error),
    #[error("interrupted after {0} records")]
    Interrupted(u64),
    #[error("a scoring thread panicked")]
    Panicked,
}

/// A chunk that is done with.
struct Done {
    index: u64,
    lines: u64,
    through: u64,
    rows: String,
}

/// Scores every record of the file with every model. Memory does not grow with the file.
///
/// # Errors
/// [`RunError`]; a bad line is counted and no error.
pub fn run<S: Scorer>(run: Run<'_, S>, mut progress: impl FnMut(Progress)) -> Result<(Tally, Digest), RunError> {
    let Run { file, models, counting, threads, stop, mut scores } = run;
    let mut source = Source::open(file).map_err(RunError::Read)?;
    let (size, unit) = (source.size, source.unit());
    let threads = threads.max(1);
    let (chunks, waiting) = mpsc::sync_channel::<Chunk>(threads * AHEAD);
    let (done, finished) = mpsc::sync_channel::<Done>(threads * AHEAD);
    // The workers alone hold the receiving end: when they have gone, the reader need not wait.
    let (waiting, counting, rows) = (Arc::new(Mutex::new(waiting)), Mutex::new(counting), scores.is_some());
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            while let Some(chunk) = source.chunk()? {
                // Nobody takes it any more where every worker has stopped.
                if stop.load(Relaxed) || chunks.send(chunk).is_err() {
                    break;
                }
            }
            source.digest()
        });
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (done, waiting, counting) = (done.clone(), Arc::clone(&waiting), &counting);
                scope.spawn(move || work(models, counting, &waiting, &done, stop, rows))
            })
            .collect();
        drop((done, waiting));
        let (mut records, mut next, mut early, mut written) = (0, 0_u64, BTreeMap::new(), Ok(()));
        for Done { index, lines, through, rows } in finished {
            records += lines;
            progress(Progress { records, bytes: through, size });
            let Some(to) = scores.as_deref_mut() else { continue };
            early.insert(index, rows);
            while let Some(rows) = early.remove(&next) {
                next += 1;
                if written.is_ok() {
                    written = to.write_all(rows.as_bytes());
                }
            }
            if written.is_err() {
                stop.store(true, Relaxed);
            }
        }
        let mut tally = Tally { unit, ..Tally::new(models.len()) };
        for worker in workers {
            tally.merge(worker.join().map_err(|_| RunError::Panicked)?);
        }
        let digest: io::Result<Digest> = reader.join().map_err(|_| RunError::Panicked)?;
        written.map_err(RunError::Write)?;
        if stop.load(Relaxed) {
            return Err(RunError::Interrupted(records));
        }
        Ok((tally, digest.map_err(RunError::Read)?))
    })
}

fn work<S: Scorer>(
    models: &[S],
    counting: &Mutex<Vec<MeteredModel>>,
    waiting: &Mutex<Receiver<Chunk>>,
    done: &SyncSender<Done>,
    stop: &AtomicBool,
    wanted: bool,
) -> Tally {
    let mut tally = Tally::new(models.len());
    let mut called: Vec<Called> = Vec::with_capacity(models.len());
    loop {
        let chunk = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(chunk) = chunk else { return tally };
        if stop.load(Relaxed) {
            return tally;
        }
        let mut rows = String::new();
        for (line, record) in chunk.records() {
            let record = match record {
                Ok(Some(record)) => record,
                Ok(None) => continue,
                Err(bad) => {
                    tally.bad(bad);
                    continue;
                }
            };
            called.clear();
            called.extend(models.iter().map(|model| {
                let started = Instant::now();
                (model.score(&record.features), started.elapsed())
            }));
            tally.see(line, &record, &called);
            if chunk.index == 0 {
                count(&mut tally, counting, &record.features);
            }
            if wanted {
                row(&mut rows, line, record.outcome, &called);
            }
        }
        if done.send(Done { index: chunk.index, lines: chunk.count() as u64, through: chunk.through, rows }).is_err() {
            return tally;
        }
    }
}

fn count(tally: &mut Tally, counting: &Mutex<Vec<MeteredModel>>, features: &Features) {
    let mut counting = counting.lock().unwrap_or_else(PoisonError::into_inner);
    for (index, model) in counting.iter_mut().enumerate() {
        if let Ok(fuel) = model.cost(features) {
            tally.cost(index, fuel);
        }
    }
}

fn row(rows: &mut String, line: u64, outcome: Option<bool>, called: &[Called]) {
    // Writing to a string does not fail.
    let _ = write!(rows, "{line},{}", outcome.map_or("", |bad| if bad { "1" } else { "0" }));
    for (answer, _) in called {
        let _ = match answer {
            Ok(assessment) => write!(rows, ",{}", assessment.score),
            Err(_) => write!(rows, ","),
        };
    }
    rows.push('\n');
}
