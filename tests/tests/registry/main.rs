//! The registry on real files.

mod bad;
mod calls;
mod classes;
mod outlook;
mod refusals;
mod shelf;

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use assay_domain::{Assessment, ModelKind, ModelVersion, features::Features};
use assay_registry::{CreditModel, Limits, Registry, Role, ScoreError, Settings, SigningKey, State, check};
use assay_tests::hostile::{self, Credit, EVERY_HUNDREDTH, IN_PRODUCTION, act};
use tempfile::TempDir;

const KIND: ModelKind = ModelKind::Credit;

fn v(text: &str) -> ModelVersion {
    text.parse().unwrap()
}

fn at(as_of: u64) -> Features {
    Features { as_of, ..Features::default() }
}

fn put(shelf: &Path, name: &str, bytes: &[u8]) {
    let part = shelf.join(format!("{name}.part"));
    fs::write(&part, bytes).unwrap();
    fs::rename(&part, shelf.join(format!("{name}.wasm"))).unwrap();
}

/// The limits of a server, but for the time of a whole self-test: unoptimised and on a busy machine it takes long.
fn lenient() -> Limits {
    Limits { self_test: Duration::from_secs(600), ..Limits::default() }
}

fn of_shelf(shelf: &Path) -> Settings {
    Settings { limits: lenient(), ..Settings::new(shelf) }
}

/// Opens a registry on a shelf with these models. It reads the shelf again only where a test asks for it.
fn open(models: &[(&str, Vec<u8>)]) -> (TempDir, Arc<Registry>) {
    let shelf = TempDir::new().unwrap();
    for (name, bytes) in models {
        put(shelf.path(), name, bytes);
    }
    let registry = Registry::open(Settings { watch: false, ..of_shelf(shelf.path()) }).unwrap();
    (shelf, registry)
}

fn champion(registry: &Registry) -> String {
    registry.champion::<CreditModel>().unwrap().version().to_string()
}
