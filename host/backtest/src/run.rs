//! Scores a file: one thread reads, other threads score, and the calling thread reports progress.

use std::{
    collections::BTreeMap,
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
    graded::{Called, Grading},
    rows::row,
    source::{RecordChunk, RecordSource},
    tally::Tally,
};
use assay_domain::{Assessment, Digest, features::Features};
use assay_registry::{CreditModel, MeteredModel, ScoreError};

/// Waiting chunks for each thread.
const AHEAD: usize = 4;

/// Scores features. A benchmark implements it with native code.
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

/// The input of a run. The other models are compared with the first one.
pub struct Run<'a, S> {
    pub file: &'a Path,
    pub models: &'a [S],
    /// The same models on engines that count fuel, called for the first chunk of the file; may be empty.
    pub counting: Vec<MeteredModel>,
    /// The number of scoring threads, at least one.
    pub threads: usize,
    /// Ends the run at the next chunk.
    pub stop: &'a AtomicBool,
    /// Receives a CSV line for each record, in the order of the file; see [`crate::header`].
    pub scores: Option<&'a mut dyn io::Write>,
    /// What is taken from each record beside its features.
    pub grading: Grading,
}

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub records: u64,
    /// Bytes read, of `size` bytes of the file.
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

/// A scored chunk.
struct Done {
    index: u64,
    lines: u64,
    through: u64,
    rows: String,
}

/// Scores every record of the file with every model. Memory does not grow with the file.
///
/// # Errors
/// [`RunError`]. A bad line is counted and is no error.
pub fn run<S: Scorer>(run: Run<'_, S>, progress: impl FnMut(Progress)) -> Result<(Tally, Digest), RunError> {
    let Run { file, models, counting, threads, stop, scores, grading } = run;
    let mut source = RecordSource::open(file).map_err(RunError::Read)?;
    let (size, unit) = (source.size, source.unit());
    let threads = threads.max(1);
    let (chunks, waiting) = mpsc::sync_channel::<RecordChunk>(threads * AHEAD);
    let (done, finished) = mpsc::sync_channel::<Done>(threads * AHEAD);
    // Only the workers own the receiver: the reader stops when all of them have ended.
    let waiting = Arc::new(Mutex::new(waiting));
    let work = ScoringWork { models, counting: Mutex::new(counting), stop, rows: scores.is_some(), grading };
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            while let Some(chunk) = source.chunk()? {
                if stop.load(Relaxed) || chunks.send(chunk).is_err() {
                    break;
                }
            }
            source.digest()
        });
        let work = &work;
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (done, waiting) = (done.clone(), Arc::clone(&waiting));
                scope.spawn(move || work.run(&waiting, &done))
            })
            .collect();
        drop((done, waiting));
        let (records, written) = collect(finished, size, stop, scores, progress);
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

/// Reports progress and writes the rows in the order of the file. Returns the number of records, and the error of the
/// first write that failed, which also stops the run.
fn collect(
    finished: Receiver<Done>,
    size: u64,
    stop: &AtomicBool,
    mut scores: Option<&mut dyn io::Write>,
    mut progress: impl FnMut(Progress),
) -> (u64, io::Result<()>) {
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
    (records, written)
}

/// What all scoring threads share.
struct ScoringWork<'a, S> {
    models: &'a [S],
    counting: Mutex<Vec<MeteredModel>>,
    stop: &'a AtomicBool,
    /// Whether the scores of each record are written.
    rows: bool,
    grading: Grading,
}

impl<S: Scorer> ScoringWork<'_, S> {
    /// Scores chunks until there are none or the run stops.
    fn run(&self, waiting: &Mutex<Receiver<RecordChunk>>, done: &SyncSender<Done>) -> Tally {
        let mut tally = Tally::new(self.models.len());
        loop {
            let chunk = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(chunk) = chunk else { return tally };
            if self.stop.load(Relaxed) {
                return tally;
            }
            let rows = self.score(&chunk, &mut tally);
            let finished = Done { index: chunk.index, lines: chunk.count() as u64, through: chunk.through, rows };
            if done.send(finished).is_err() {
                return tally;
            }
        }
    }

    /// Scores the records of a chunk into `tally`. Returns the rows of their scores.
    fn score(&self, chunk: &RecordChunk, tally: &mut Tally) -> String {
        let (mut rows, mut called) = (String::new(), Vec::<Called>::with_capacity(self.models.len()));
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
            called.extend(self.models.iter().map(|model| {
                let started = Instant::now();
                (model.score(&record.features), started.elapsed())
            }));
            tally.see(line, &record, &called, &self.grading);
            if chunk.index == 0 {
                count(tally, &self.counting, &record.features);
            }
            if self.rows {
                row(&mut rows, line, &record, &called);
            }
        }
        rows
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
