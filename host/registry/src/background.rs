//! Examines large models beside everything else: one at a time, on a thread of the lowest priority, so that neither
//! answers nor small models wait for a minute of compiling.

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
            lower_priority();
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

#[cfg(target_os = "linux")]
fn lower_priority() {
    if let Err(error) = rustix::process::setpriority_process(None, 19) {
        tracing::debug!(%error, "large models are examined at the priority of the server");
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}
