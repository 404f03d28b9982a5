//! Loads models on one thread: one load at a time, and never in a request.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::{
    Stamp,
    admit::{Admitted, enter},
    background::{Background, RecompileTask, UploadSource, UploadedFile},
    catalogue::{FileKey, LoadOutcome, Rejected, ShelfFile},
    shared::ShelfShared,
};
use crate::{
    Class, LoadError, RoleError,
    examine::{self, Examined},
};
use assay_domain::{Digest, ModelRef};

/// A request to the loader.
pub(crate) enum LoaderCommand {
    /// The shelf changed.
    Changed,
    Rescan(oneshot::Sender<()>),
    Add(Vec<u8>, UploadedFile),
    Remove(FileKey, oneshot::Sender<Result<(), RoleError>>),
    /// A large file was examined in the background.
    Examined(Box<(RecompileTask, Result<Examined, LoadError>)>),
    Stop,
}

/// A file copy sends an event for each block. The loader waits until there was no event for this time, at most
/// `SETTLE`.
const QUIET: Duration = Duration::from_millis(40);
const SETTLE: Duration = Duration::from_millis(250);
/// Maximum size of a file that is not compiled in the background: five times a model as cargo builds it. The time to
/// compile a file grows with its size.
const SMALL: u64 = 256 << 10;
/// Bytes of small files that are compiled before [`Registry::open`](crate::Registry::open) returns: about one second.
const AT_START: u64 = 512 << 10;
/// How often the shelf is read without an event: network folders send no events for changes by other hosts.
const POLL: Duration = Duration::from_secs(2);

/// Loads the shelf once, or only its small files, then starts the loader thread.
pub(crate) fn start(
    shared: Arc<ShelfShared>,
    commands: mpsc::Sender<LoaderCommand>,
    inbox: mpsc::Receiver<LoaderCommand>,
) -> io::Result<thread::JoinHandle<()>> {
    // The watch starts before the first scan, so no change is missed.
    let events = commands.clone();
    let watcher = shared.settings.watch.then(|| shared.shelf.watch(move || drop(events.send(LoaderCommand::Changed))));
    if let Some(Err(error)) = &watcher {
        tracing::warn!(%error, "the shelf cannot be watched: it is read every two seconds");
    }
    let poll = watcher.is_some().then_some(POLL);
    let patient = shared.settings.patient;
    let mut loader = Loader { shared, inbox, waiting: VecDeque::new(), background: None, inline: u64::MAX };
    if patient {
        loader.scan();
    } else {
        loader.begin();
    }
    thread::Builder::new().name("model-loader".into()).spawn(move || {
        let examine = {
            let shared = Arc::clone(&loader.shared);
            move |job: RecompileTask| {
                let found = shared.examine(&job.bytes, &job.digest);
                commands.send(LoaderCommand::Examined(Box::new((job, found)))).is_ok()
            }
        };
        match Background::start(examine) {
            Ok(background) => loader.background = Some(background),
            Err(error) => tracing::warn!(%error, "large models are compiled while others wait to be loaded"),
        }
        if !patient {
            // Files that were compiled or refused before do not wait for the others.
            loader.inline = 0;
            loader.scan();
            loader.inline = SMALL;
        }
        loader.run(poll);
        drop(watcher);
    })
}

struct Loader {
    shared: Arc<ShelfShared>,
    inbox: mpsc::Receiver<LoaderCommand>,
    /// Commands that arrived while the shelf settled.
    waiting: VecDeque<LoaderCommand>,
    /// Examines large files; `None` during the start of the server, and if its thread cannot be started.
    background: Option<Background>,
    /// Maximum size of an unknown file that is compiled on this thread.
    inline: u64,
}

impl Loader {
    fn run(&mut self, poll: Option<Duration>) {
        self.forget_removed();
        loop {
            let next = match (self.waiting.pop_front(), poll) {
                (Some(command), _) => Ok(command),
                (None, None) => self.inbox.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
                (None, Some(poll)) => self.inbox.recv_timeout(poll),
            };
            match next {
                Ok(LoaderCommand::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Ok(LoaderCommand::Changed) => {
                    self.settle();
                    self.scan();
                }
                Err(mpsc::RecvTimeoutError::Timeout) => self.scan(),
                // The caller may have stopped waiting; the work is done anyway.
                Ok(LoaderCommand::Rescan(reply)) => {
                    self.scan();
                    let _ = reply.send(());
                }
                Ok(LoaderCommand::Add(bytes, upload)) => self.add(bytes, upload),
                Ok(LoaderCommand::Examined(examined)) => {
                    let (job, found) = *examined;
                    self.finish(job, found);
                }
                Ok(LoaderCommand::Remove(key, reply)) => drop(reply.send(self.remove(&key))),
            }
        }
    }

    fn settle(&mut self) {
        let until = Instant::now() + SETTLE;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            match self.inbox.recv_timeout(QUIET.min(left)) {
                Ok(LoaderCommand::Changed) => {}
                Ok(command) => self.waiting.push_back(command),
                Err(_) => return,
            }
        }
    }

    /// Loads the small files, smallest first, and lists the others as not compiled yet.
    fn begin(&self) {
        let files = match self.shared.shelf.files() {
            Ok(files) => files,
            Err(error) => return tracing::error!(%error, "the shelf cannot be read"),
        };
        let mut files: Vec<(String, Stamp)> = files.into_iter().collect();
        files.sort_by_key(|(_, stamp)| stamp.size);
        let mut room = AT_START;
        for (name, stamp) in files {
            match self.admit_at_start(&name, stamp, &mut room) {
                Some(outcome) => self.record(&name, stamp, outcome),
                None => self.postpone(name),
            }
        }
        self.shared.publish(&mut self.shared.catalogue(), "shelf");
    }

    /// `None` for a file that is large, or must be compiled and does not fit into `room`.
    fn admit_at_start(&self, name: &str, stamp: Stamp, room: &mut u64) -> Option<Result<Admitted, Box<Rejected>>> {
        if stamp.size > SMALL {
            return None;
        }
        let bytes = match self.read(name) {
            Ok(bytes) => bytes,
            Err(rejected) => return Some(Err(rejected)),
        };
        if !self.shared.knows(&examine::digest(&bytes)) {
            *room = room.checked_sub(stamp.size)?;
        }
        Some(self.shared.admit(&bytes))
    }

    /// Lists a file that the loader thread will read later.
    fn postpone(&self, name: String) {
        let rejected = Box::new(Rejected { digest: None, info: None, error: LoadError::Compiling });
        let mut catalogue = self.shared.catalogue();
        let outcome = LoadOutcome::Failed { rejected, replaced: None };
        catalogue.files.insert(name, ShelfFile { stamp: Stamp::UNREAD, outcome });
        catalogue.starting = true;
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Box<Rejected>> {
        let bytes = self.shared.shelf.read(name, self.shared.settings.limits.largest_file());
        bytes.map_err(|error| Box::new(Rejected { digest: None, info: None, error }))
    }

    /// Repeats the scan while a withdrawn version makes another file loadable.
    fn scan(&self) {
        for _ in 0..3 {
            match self.scan_once() {
                Ok(false) => return,
                Ok(true) => {}
                Err(error) => return tracing::error!(%error, "the shelf cannot be read: models stay as they are"),
            }
        }
    }

    fn scan_once(&self) -> io::Result<bool> {
        let files = self.shared.shelf.files()?;
        let changed: Vec<(&String, &Stamp)> = {
            let catalogue = self.shared.catalogue();
            files
                .iter()
                .filter(|(name, stamp)| catalogue.files.get(*name).is_none_or(|file| file.stamp != **stamp))
                .collect()
        };
        for (name, stamp) in &changed {
            self.load(name, **stamp);
        }
        let mut catalogue = self.shared.catalogue();
        let known = catalogue.files.len();
        catalogue.files.retain(|name, _| files.contains_key(name));
        if changed.is_empty() && known == catalogue.files.len() {
            return Ok(false);
        }
        Ok(self.shared.publish(&mut catalogue, "shelf"))
    }

    /// Reads one file and records the outcome. The caller publishes all files of a scan at once.
    fn load(&self, name: &str, stamp: Stamp) {
        let outcome = match self.read(name) {
            Err(rejected) => Err(rejected),
            Ok(bytes) => match self.defer(bytes, UploadSource::Shelf { name: name.to_owned(), stamp }) {
                Ok(digest) => Err(Box::new(Rejected { digest: Some(digest), info: None, error: LoadError::Compiling })),
                Err(RecompileTask { bytes, .. }) => self.shared.admit(&bytes),
            },
        };
        self.record(name, stamp, outcome);
    }

    fn record(&self, name: &str, stamp: Stamp, outcome: Result<Admitted, Box<Rejected>>) {
        let mut catalogue = self.shared.catalogue();
        let outcome = match outcome {
            Ok(admitted) => LoadOutcome::Loaded(enter(&mut catalogue, admitted)),
            Err(rejected) => {
                count(name, &rejected.error);
                let replaced = match catalogue.files.remove(name).map(|file| file.outcome) {
                    Some(LoadOutcome::Loaded(key)) => Some(key),
                    Some(LoadOutcome::Failed { replaced, .. }) => replaced,
                    None => None,
                };
                LoadOutcome::Failed { rejected, replaced }
            }
        };
        catalogue.files.insert(name.to_owned(), ShelfFile { stamp, outcome });
    }

    /// Examines a large file in the background. Returns any other file.
    fn defer(&self, bytes: Vec<u8>, source: UploadSource) -> Result<Digest, RecompileTask> {
        let digest = examine::digest(&bytes);
        let job = RecompileTask { digest, bytes, source };
        match &self.background {
            Some(background) if self.shared.loaded(&digest).is_none() && self.is_long(&job) => {
                background.add(job);
                Ok(digest)
            }
            _ => Err(job),
        }
    }

    /// Whether a file takes long to compile.
    fn is_long(&self, job: &RecompileTask) -> bool {
        !self.shared.knows(&job.digest)
            && (job.bytes.len() as u64 > self.inline
                || examine::class(&job.bytes, &self.shared.settings.limits) == Ok(Class::Large))
    }

    /// Loads a file that was examined in the background.
    fn finish(&self, RecompileTask { digest, bytes, source }: RecompileTask, found: Result<Examined, LoadError>) {
        match source {
            UploadSource::Upload(upload) => {
                drop(upload.reply.send(self.put(&bytes, self.shared.accept(digest, found))));
            }
            UploadSource::Shelf { name, stamp } => {
                // A file that replaced this one in the meantime is examined separately.
                if self.shared.catalogue().files.get(&name).is_none_or(|file| file.stamp != stamp) {
                    return;
                }
                self.record(&name, stamp, self.shared.accept(digest, found));
                let freed = self.shared.publish(&mut self.shared.catalogue(), "shelf");
                if freed {
                    self.scan();
                }
            }
        }
    }

    fn add(&self, bytes: Vec<u8>, upload: UploadedFile) {
        if let Err(RecompileTask { bytes, source: UploadSource::Upload(upload), .. }) =
            self.defer(bytes, UploadSource::Upload(upload))
            && upload.turn.take()
        {
            drop(upload.reply.send(self.put(&bytes, self.shared.admit(&bytes))));
        }
    }

    /// Puts an upload on the shelf.
    fn put(&self, bytes: &[u8], admitted: Result<Admitted, Box<Rejected>>) -> Result<ModelRef, LoadError> {
        let admitted = admitted.map_err(|rejected| {
            metrics::counter!("assay_model_load_failures_total", "code" => rejected.error.code()).increment(1);
            rejected.error
        })?;
        let reference = admitted.reference().clone();
        let name = format!("{}-{}-{:.12}.wasm", reference.kind, reference.version, reference.digest.to_string());
        let key = (reference.kind, reference.version.clone());
        let on_shelf = !self.shared.catalogue().files_of(&key).is_empty();
        if !on_shelf {
            let stamp = self.shared.shelf.write(&name, bytes).map_err(|error| LoadError::Write(error.to_string()))?;
            let mut catalogue = self.shared.catalogue();
            let key = enter(&mut catalogue, admitted);
            catalogue.files.insert(name, ShelfFile { stamp, outcome: LoadOutcome::Loaded(key) });
            self.shared.publish(&mut catalogue, "shelf");
        }
        Ok(reference)
    }

    fn remove(&self, key: &FileKey) -> Result<(), RoleError> {
        let (kind, version) = key.clone();
        let (files, digest) = {
            let mut catalogue = self.shared.catalogue();
            catalogue.may_remove(key)?;
            (catalogue.files_of(key), catalogue.models.get(key).map(|entry| entry.model.digest()))
        };
        for name in &files {
            let removed = self.shared.shelf.remove(name, digest, self.shared.settings.keep_removed);
            removed.map_err(|error| RoleError::Delete { kind, version: version.clone(), reason: error.to_string() })?;
        }
        let mut catalogue = self.shared.catalogue();
        // It may have become the champion in the meantime. Then it stays in memory, and its status shows that.
        catalogue.files.retain(|name, _| !files.contains(name));
        if !catalogue.is_champion(key) {
            let digest = catalogue.models.get(key).map(|entry| entry.model.digest());
            if let Some((compiled, digest)) = self.shared.compiled.as_ref().zip(digest) {
                compiled.forget(&digest);
            }
            catalogue.withdraw(key);
            catalogue.released.remove(key);
            catalogue.roles.forget(kind, &version);
        }
        self.shared.publish(&mut catalogue, "operator");
        drop(catalogue);
        self.forget_removed();
        Ok(())
    }

    fn forget_removed(&self) {
        if let Err(error) = self.shared.shelf.forget_removed(self.shared.settings.keep_removed) {
            tracing::warn!(%error, "the files of removed versions cannot be deleted");
        }
    }
}

/// Logs and counts a file that does not load.
fn count(file: &str, error: &LoadError) {
    if *error == LoadError::Compiling {
        return tracing::info!(file, "a large file is compiled in the background");
    }
    tracing::warn!(file, code = error.code(), %error, "file is no model");
    metrics::counter!("assay_model_load_failures_total", "code" => error.code()).increment(1);
}
