//! A thread that examines large files, one at a time, so small ones do not wait for a minute of compiling. The compiler
//! of large models has the lowest priority; the self-test does not, because its time is limited.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use tokio::sync::oneshot;

use super::Stamp;
use crate::LoadError;
use assay_domain::{Digest, ModelRef};

/// A large file to compile.
pub(crate) struct RecompileTask {
    pub digest: Digest,
    pub bytes: Vec<u8>,
    pub source: UploadSource,
}

pub(crate) enum UploadSource {
    Shelf { name: String, stamp: Stamp },
    Upload(UploadedFile),
}

/// An upload whose caller waits.
pub(crate) struct UploadedFile {
    pub reply: oneshot::Sender<Result<ModelRef, LoadError>>,
    pub turn: TaskTurn,
}

/// Whether a queued upload is checked or abandoned. A caller can give up only before the check begins.
#[derive(Clone, Default)]
pub(crate) struct TaskTurn(Arc<AtomicBool>);

impl TaskTurn {
    /// Returns true for whichever of worker and caller is first.
    pub(crate) fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

/// The thread. It ends after its current job when this is dropped.
pub(crate) struct Background(Arc<TaskQueue>);

#[derive(Default)]
struct TaskQueue {
    waiting: Mutex<WaitingUpload>,
    more: Condvar,
}

#[derive(Default)]
struct WaitingUpload {
    jobs: VecDeque<RecompileTask>,
    closed: bool,
}

impl Background {
    /// Calls `work` for each job until it returns false.
    pub(crate) fn start(work: impl Fn(RecompileTask) -> bool + Send + 'static) -> io::Result<Self> {
        let queue = Arc::new(TaskQueue::default());
        let jobs = Arc::clone(&queue);
        let run = move || while jobs.next().is_some_and(&work) {};
        thread::Builder::new().name("model-compiler".into()).spawn(run)?;
        Ok(Self(queue))
    }

    /// Queues a job. Uploads go before files of the shelf, for which no caller waits.
    pub(crate) fn add(&self, job: RecompileTask) {
        let mut waiting = self.0.lock();
        let place = match job.source {
            UploadSource::Shelf { .. } => None,
            UploadSource::Upload(_) => {
                waiting.jobs.iter().position(|job| matches!(job.source, UploadSource::Shelf { .. }))
            }
        };
        let place = place.unwrap_or(waiting.jobs.len());
        waiting.jobs.insert(place, job);
        self.0.more.notify_one();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.more.notify_one();
    }
}

impl TaskQueue {
    fn lock(&self) -> MutexGuard<'_, WaitingUpload> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job whose caller still waits; `None` when the queue is closed.
    fn next(&self) -> Option<RecompileTask> {
        let mut waiting = self.lock();
        loop {
            if waiting.closed {
                return None;
            }
            match waiting.jobs.pop_front() {
                Some(RecompileTask { source: UploadSource::Upload(upload), .. }) if !upload.turn.take() => {}
                Some(job) => return Some(job),
                None => waiting = self.more.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn uploads_go_before_files_of_the_shelf_and_abandoned_ones_are_skipped() {
        let (done, order) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let background = Background::start(move |job| {
            gate.recv().unwrap();
            done.send(job.bytes).is_ok()
        })
        .unwrap();
        let shelf = || UploadSource::Shelf { name: String::new(), stamp: Stamp::UNREAD };
        let turns: Vec<TaskTurn> = (0..3).map(|_| TaskTurn::default()).collect();
        let upload =
            |turn: &TaskTurn| UploadSource::Upload(UploadedFile { reply: oneshot::channel().0, turn: turn.clone() });
        let add =
            |name: u8, source| background.add(RecompileTask { digest: Digest([0; 32]), bytes: vec![name], source });
        add(1, shelf());
        add(2, shelf());
        turns.iter().zip([3, 4, 5]).for_each(|(turn, name)| add(name, upload(turn)));
        assert!(turns[1].take(), "its caller gave up");
        for _ in 0..4 {
            go.send(()).unwrap();
        }
        let order: Vec<u8> = (0..4).flat_map(|_| order.recv().unwrap()).collect();
        // The first file may have begun before the uploads arrived.
        assert!(order == [1, 3, 5, 2] || order == [3, 5, 1, 2], "{order:?}");
        assert!(!turns[0].take(), "it was begun");
    }
}
