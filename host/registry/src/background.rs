//! Examines large models beside everything else: one at a time, on a thread of the lowest priority, so that neither
//! answers nor small models wait for a minute of compiling.

use std::{
    io,
    sync::{Arc, mpsc},
    thread,
};

use tokio::sync::oneshot;

use crate::{LoadError, examine::Examined, loader::Command, shared::Shared, shelf::Stamp};
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

/// A large file that was examined.
pub(crate) struct Done {
    pub job: Job,
    pub found: Result<Examined, LoadError>,
}

/// The thread; it ends with its last job when this is dropped.
pub(crate) struct Background(mpsc::Sender<Job>);

impl Background {
    /// Sends what it finds to the loader.
    pub fn start(shared: Arc<Shared>, loader: mpsc::Sender<Command>) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let work = move || {
            lower_priority();
            for job in queue {
                let found = shared.examine(&job.bytes, &job.digest);
                if loader.send(Command::Examined(Box::new(Done { job, found }))).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("model-compiler".into()).spawn(work)?;
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
