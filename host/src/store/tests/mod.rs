//! The store on real files.

mod backup;
mod crash;
mod limits;
mod opening;
mod writes;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{Backend, Embedded, Key, Store, clock::Clock, keys};
use crate::config;

/// A time that moves only when a test moves it, in milliseconds.
#[derive(Clone, Default)]
struct Hands(Arc<AtomicU64>);

impl Hands {
    fn forward(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

struct Fixture {
    store: Store,
    hands: Hands,
    folder: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::default());
        let path = folder.path().join("assay.redb");
        let store = Store { backend: Backend::Embedded(Embedded::open(path, Clock::manual(hands.0.clone())).await.unwrap()) };
        Self { store, hands, folder }
    }
}

fn at(path: &Path) -> config::Store {
    config::Store { backend: config::Backend::Embedded, path: path.to_owned(), url: None }
}

/// A counter that no other test uses.
fn number(name: &str) -> Key<u64> {
    keys::units(name)
}
