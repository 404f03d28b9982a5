//! Fuzz targets: untrusted input, and rules that hold for every input. A target fails by panicking.
//!
//! `make fuzz` runs each target under libFuzzer, which searches for inputs that reach new code of the server. The seeds
//! are in `tests/fuzz`, one folder per target; a test runs every target on its seeds and on some mutations of each.

mod address;
mod component;
mod document;
mod logs;
mod request;
mod table;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A fuzz target.
pub struct Target {
    pub name: &'static str,
    /// # Panics
    /// If the input breaks a rule.
    pub run: fn(&[u8]),
    /// The folder of its seeds, relative to this crate.
    seeds: &'static str,
}

pub const TARGETS: [Target; 6] = [
    Target { name: "address", run: address::run, seeds: "fuzz/address" },
    Target { name: "request", run: request::run, seeds: "fuzz/request" },
    Target { name: "document", run: document::run, seeds: "fuzz/document" },
    Target { name: "logs", run: logs::run, seeds: "fuzz/logs" },
    Target { name: "component", run: component::run, seeds: "../plugins" },
    Target { name: "table", run: table::run, seeds: "../host/backtest/tests/features" },
];

impl Target {
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    pub fn seeds(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(self.seeds)
    }
}

/// Returns the contents of the seeds, ordered by file name.
pub fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let mut files: Vec<_> =
        fs::read_dir(target.seeds()).expect("the seeds").map(|file| file.expect("a seed").path()).collect();
    // The folder of components also contains the folder of model cards.
    files.retain(|file| file.is_file());
    files.sort();
    files.iter().map(|file| fs::read(file).expect("a seed")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a mutation of `seed` that depends only on `number`: some bytes replaced, a part removed or repeated.
    fn changed(seed: &[u8], number: usize) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        let at = |step: usize| (number * 2_654_435_761 + step * 40_503) % seed.len().max(1);
        for step in 0..number % 4 {
            if let Some(byte) = bytes.get_mut(at(step)) {
                *byte = byte.wrapping_add((number % 251) as u8 + 1);
            }
        }
        let piece = at(5)..(at(5) + number % 17).min(bytes.len());
        match number % 3 {
            0 => drop(bytes.drain(piece)),
            1 => bytes.extend_from_within(piece),
            _ => {}
        }
        bytes
    }

    /// Runs a target on every seed and on this many mutations of each.
    fn smoke(name: &str, changes: usize) {
        let target = Target::named(name).expect("a target");
        let seeds = seeds(target);
        assert!(!seeds.is_empty());
        for seed in seeds {
            (target.run)(&seed);
            (0..changes).for_each(|number| (target.run)(&changed(&seed, number)));
        }
    }

    #[test]
    fn addresses_and_names() {
        smoke("address", 500);
    }

    #[test]
    fn requests() {
        smoke("request", 100);
    }

    #[test]
    fn documents_of_agents() {
        smoke("document", 500);
    }

    #[test]
    fn logs_of_nodes() {
        smoke("logs", 200);
    }

    #[test]
    fn components() {
        smoke("component", 8);
    }

    #[test]
    fn tables_of_features() {
        smoke("table", 40);
    }
}
