//! A thread that examines large models, one at a time, so that small ones do not wait for a minute of compiling. The
//! compiler has the lowest priority; the self-test does not, because its time is limited.

use std::{io, sync::mpsc, thread};

use tokio::sync::oneshot;

use crate::{LoadError, shelf::Stamp};
use assay_domain::{Digest, ModelRef};

/// A large file.
pub(crate) struct Job {
    pub digest: Digest,
    pub bytes: Vec<u8>,
    pub source: Source,
}

pub(crate) enum Source {
    Shelf { name: String, stamp: Stamp },
    Upload(oneshot::Sender<Result<ModelRef, LoadError>>),
}

/// The thread; it ends with its last job when this is dropped.
pub(crate) struct Background(mpsc::Sender<Job>);

impl Background {
    /// Does `work` on each job, until it says that nobody needs it.
    pub fn start(work: impl Fn(Job) -> bool + Send + 'static) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let run = move || {
            let _ = queue.into_iter().all(work);
        };
        thread::Builder::new().name("model-compiler".into()).spawn(run)?;
        Ok(Self(jobs))
    }

    /// Gives the job back where the thread is gone.
    pub fn add(&self, job: Job) -> Result<(), Job> {
        self.0.send(job).map_err(|mpsc::SendError(job)| job)
    }
}
