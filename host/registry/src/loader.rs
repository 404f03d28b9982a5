//! All loading, on one thread: no two loads interleave, and none runs on a request's path.

use std::{
    collections::VecDeque,
    io,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Weak, mpsc},
    thread,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use crate::{
    LoadError, Model, RoleError,
    book::{Book, Entry, File, Key, Outcome, Rejected},
    examine::{self, Examined},
    model::Supervisor,
    registry::Shared,
    shelf::Stamp,
};
use assay_domain::ModelRef;

/// What the loader is asked to do.
pub(crate) enum Command {
    /// Something happened on the shelf.
    Changed,
    Rescan(oneshot::Sender<()>),
    Add(Vec<u8>, oneshot::Sender<Result<ModelRef, LoadError>>),
    Remove(Key, oneshot::Sender<Result<(), RoleError>>),
    Stop,
}

/// A copy in progress makes an event per block: wait until none came for so long, but not for longer than `PATIENCE`.
const QUIET: Duration = Duration::from_millis(40);
const PATIENCE: Duration = Duration::from_millis(250);
/// How often the shelf is looked at unasked: network and shared folders do not tell of changes made elsewhere.
const POLL: Duration = Duration::from_secs(2);

/// Loads the shelf once before it returns, then goes on in its own thread.
pub(crate) fn start(
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    inbox: mpsc::Receiver<Command>,
) -> io::Result<thread::JoinHandle<()>> {
    // Watched before it is read, so that nothing falls in between.
    let watcher = shared.settings.watch.then(|| shared.shelf.watch(move || drop(commands.send(Command::Changed))));
    if let Some(Err(error)) = &watcher {
        tracing::warn!(%error, "this system does not tell of changes of the shelf: it is looked at every two seconds");
    }
    let poll = watcher.is_some().then_some(POLL);
    let mut loader = Loader { shared, inbox, waiting: VecDeque::new() };
    loader.scan();
    thread::Builder::new().name("model-loader".into()).spawn(move || {
        loader.run(poll);
        drop(watcher);
    })
}

struct Loader {
    shared: Arc<Shared>,
    inbox: mpsc::Receiver<Command>,
    /// Commands that came while the shelf settled.
    waiting: VecDeque<Command>,
}

impl Loader {
    fn run(&mut self, poll: Option<Duration>) {
        loop {
            let next = match (self.waiting.pop_front(), poll) {
                (Some(command), _) => Ok(command),
                (None, None) => self.inbox.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
                (None, Some(poll)) => self.inbox.recv_timeout(poll),
            };
            match next {
                Ok(Command::Stop) | Err(mpsc::RecvTimeoutError::Disconnected) => return,
                Ok(Command::Changed) => {
                    self.settle();
                    self.scan();
                }
                Err(mpsc::RecvTimeoutError::Timeout) => self.scan(),
                // Who asked may have gone: the work is done all the same.
                Ok(Command::Rescan(reply)) => {
                    self.scan();
                    let _ = reply.send(());
                }
                Ok(Command::Add(bytes, reply)) => drop(reply.send(self.add(&bytes))),
                Ok(Command::Remove(key, reply)) => drop(reply.send(self.remove(&key))),
            }
        }
    }

    fn settle(&mut self) {
        let until = Instant::now() + PATIENCE;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            match self.inbox.recv_timeout(QUIET.min(left)) {
                Ok(Command::Changed) => {}
                Ok(command) => self.waiting.push_back(command),
                Err(_) => return,
            }
        }
    }

    /// Looks again as long as withdrawing a version lets a file in that it had kept out.
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
            let book = self.shared.book();
            files
                .iter()
                .filter(|(name, stamp)| book.files.get(*name).is_none_or(|file| file.stamp != **stamp))
                .collect()
        };
        for (name, stamp) in &changed {
            self.load(name, **stamp);
        }
        let mut book = self.shared.book();
        let known = book.files.len();
        book.files.retain(|name, _| files.contains_key(name));
        if changed.is_empty() && known == book.files.len() {
            return Ok(false);
        }
        Ok(self.shared.publish(&mut book, "shelf"))
    }

    /// Reads one file and notes what became of it. Published by the caller, together with its neighbours.
    fn load(&self, name: &str, stamp: Stamp) {
        let outcome = match self.shared.shelf.read(name, self.shared.settings.limits.file) {
            Err(error) => Err(Box::new(Rejected { digest: None, info: None, error })),
            Ok(bytes) => self.admit(&bytes),
        };
        let mut book = self.shared.book();
        let outcome = match outcome {
            Ok(admitted) => Outcome::Loaded(enter(&mut book, admitted)),
            Err(rejected) => {
                let error = &rejected.error;
                tracing::warn!(file = name, code = error.code(), %error, "file is no model");
                metrics::counter!("assay_model_load_failures_total", "code" => error.code()).increment(1);
                let replaced = match book.files.remove(name).map(|file| file.outcome) {
                    Some(Outcome::Loaded(key)) => Some(key),
                    Some(Outcome::Failed { replaced, .. }) => replaced,
                    None => None,
                };
                Outcome::Failed { rejected, replaced }
            }
        };
        book.files.insert(name.to_owned(), File { stamp, outcome });
    }

    fn add(&self, bytes: &[u8]) -> Result<ModelRef, LoadError> {
        let admitted = self.admit(bytes).map_err(|rejected| {
            metrics::counter!("assay_model_load_failures_total", "code" => rejected.error.code()).increment(1);
            rejected.error
        })?;
        let reference = admitted.reference().clone();
        let name = format!("{}-{}-{:.12}.wasm", reference.kind, reference.version, reference.digest.to_string());
        let key = (reference.kind, reference.version.clone());
        let on_shelf = !self.shared.book().files_of(&key).is_empty();
        if !on_shelf {
            let stamp = self.shared.shelf.write(&name, bytes).map_err(|error| LoadError::Write(error.to_string()))?;
            let mut book = self.shared.book();
            let key = enter(&mut book, admitted);
            book.files.insert(name, File { stamp, outcome: Outcome::Loaded(key) });
            self.shared.publish(&mut book, "shelf");
        }
        Ok(reference)
    }

    fn remove(&self, key: &Key) -> Result<(), RoleError> {
        let (kind, version) = key.clone();
        let files = {
            let mut book = self.shared.book();
            book.entry(kind, &version)?;
            if book.is_champion(key) {
                return Err(RoleError::IsChampion { kind, version });
            }
            book.files_of(key)
        };
        for name in &files {
            let removed = self.shared.shelf.remove(name);
            removed.map_err(|error| RoleError::Delete { kind, version: version.clone(), reason: error.to_string() })?;
        }
        let mut book = self.shared.book();
        // The role may have moved here while the file went. Then it answers from memory, and its status says so.
        book.files.retain(|name, _| !files.contains(name));
        if !book.is_champion(key) {
            let digest = book.models.get(key).map(|entry| entry.model.digest());
            if let Some((compiled, digest)) = self.shared.compiled.as_ref().zip(digest) {
                compiled.forget(&digest);
            }
            book.withdraw(key);
            book.roles.forget(kind, &version);
        }
        self.shared.publish(&mut book, "operator");
        Ok(())
    }

    /// A model that may be entered into the book: a new one, or one that is there with the same bytes.
    fn admit(&self, bytes: &[u8]) -> Result<Admitted, Box<Rejected>> {
        let digest = examine::digest(bytes);
        if let Some(entry) = self.shared.book().models.values().find(|entry| entry.model.digest() == digest) {
            return Ok(Admitted::Known(entry.model.reference().clone()));
        }
        let found = panic::catch_unwind(AssertUnwindSafe(|| {
            examine::examine(bytes, &self.shared.runtime, self.shared.compiled.as_ref())
        }));
        let rejected = |info, error| Err(Box::new(Rejected { digest: Some(digest), info, error }));
        let Ok(Examined { model, problems, info, .. }) = found else {
            return rejected(None, LoadError::Invalid("it makes the compiler fail".to_owned()));
        };
        let model = match (problems.into_iter().next(), model) {
            (None, Some(model)) => model,
            (Some(problem), _) => return rejected(info, problem),
            (None, None) => return rejected(info, LoadError::Invalid("nothing in it can be started".to_owned())),
        };
        let key = (model.kind(), model.version().clone());
        let loaded = self.shared.book().models.get(&key).map(|entry| entry.model.digest());
        if let Some(loaded) = loaded {
            return rejected(info, LoadError::VersionTaken { kind: key.0, version: key.1, loaded });
        }
        let supervisor: Weak<dyn Supervisor> = self.shared.this.clone();
        // Set once: the model was made above.
        let _ = model.supervisor.set(supervisor);
        Ok(Admitted::New(Arc::new(model)))
    }
}

enum Admitted {
    New(Arc<Model>),
    Known(ModelRef),
}

impl Admitted {
    fn reference(&self) -> &ModelRef {
        match self {
            Self::New(model) => model.reference(),
            Self::Known(reference) => reference,
        }
    }
}

fn enter(book: &mut Book, admitted: Admitted) -> Key {
    let key = (admitted.reference().kind, admitted.reference().version.clone());
    if let Admitted::New(model) = admitted {
        tracing::info!(kind = %key.0, version = %key.1, digest = %model.digest(), "model loaded");
        book.models.insert(key.clone(), Entry { model, benched: None, orphaned: None });
    }
    key
}
