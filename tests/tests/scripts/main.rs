//! Models in JavaScript and Python answer as the same model in Rust, with their modules linked into one and apart, and
//! say where they stopped.

mod credit;
mod earlier;
mod foreign;
mod kinds;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use assay_author::{Language, Script};
use assay_domain::{ModelKind, features::Features};
use assay_registry::{Limits, Question, ScoreError, Trials, to_component};
use tempfile::TempDir;

/// The templates, with their own tests.
#[path = "../../../host/author/templates/rust/credit.rs"]
mod rust;
#[path = "../../../host/author/templates/rust/boost.rs"]
mod rust_boost;
#[path = "../../../host/author/templates/rust/sandbox.rs"]
mod rust_sandbox;
#[path = "../../../host/author/templates/rust/sybil.rs"]
mod rust_sybil;

/// A busy machine must not change an answer.
fn limits() -> Limits {
    Limits {
        large_lanes: 1,
        deadline: Duration::from_secs(5),
        self_test: Duration::from_secs(300),
        ..Limits::default()
    }
}

/// Writes the template of `language` to a temporary folder and appends `mistakes` to its source.
fn template(language: Language, kind: ModelKind, script: Script, mistakes: &str) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("model");
    for (path, text) in assay_author::template(language, kind, "model", "0.1", "").expect("a template") {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let source = folder.join(script.source());
    let text = fs::read_to_string(&source).expect("the model");
    fs::write(source, format!("{text}\n{mistakes}")).expect("the model");
    (place, folder)
}

fn build(script: Script, folder: &Path) -> Vec<u8> {
    let mut command = script.prepare(folder).expect("a toolchain");
    let done = command.status().expect("the toolchain starts");
    assert!(done.success(), "{}", script.report(folder));
    script.built(folder).expect("a component")
}

fn passes(command: &mut Command) {
    let done = command.output().expect("it starts");
    let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(done.status.success(), "{said:?}");
}

/// The modules of `apart` linked into one, whose calls write these pages as far as that is known.
fn fused(script: Script, apart: &[u8], written: &BTreeSet<u32>) -> Vec<u8> {
    to_component(&script.fused(apart, written).expect("one module")).expect("a component").into_owned()
}

/// The component that is served, as `assay model build` makes it: its calls write few runs of pages.
fn served(script: Script, apart: &[u8]) -> Vec<u8> {
    let written = |component: &[u8]| Trials::load(component, &limits()).expect("a model").written();
    let before = written(&fused(script, apart, &BTreeSet::new()));
    let component = fused(script, apart, &before);
    let after = written(&component);
    println!("{script:?}: pages and runs {:?}, then {:?}", (before.len(), runs(&before)), (after.len(), runs(&after)));
    assert!((1..=CLEARED).contains(&runs(&after)), "{after:?}");
    component
}

/// A market with every record of wit/v2.
const MARKET: &str = r#"{
    "chain_id": 1, "protocol": "lenderA_v3", "coverage": "complete", "feeds_score": true, "supplied_usd": 2500.0,
    "borrowed_usd": 600.0, "events_coverage": "complete", "events": [{ "time": 900, "kind": "repay", "usd": 250.0 }],
    "position": {
        "coverage": "complete", "collateral": [{ "class": "native", "usd": 2500.0 }],
        "debt": [{ "class": "stablecoin", "usd": 600.0 }], "health_factor": 3.3
    }
}"#;

/// Runs of written pages that wasmtime clears without giving pages back to the system.
const CLEARED: usize = 32;

fn runs(pages: &BTreeSet<u32>) -> usize {
    pages.iter().filter(|page| !page.checked_sub(1).is_some_and(|before| pages.contains(&before))).count()
}

/// Wallets whose moment tells a model with mistakes which of them to make.
fn mistaken(trials: &Trials, number: u64) -> (ScoreError, String) {
    let markets = vec![serde_json::from_str(MARKET).expect("a market")];
    let trial = trials.ask(&Question::Wallet(Features { as_of: 1000 + number, markets, ..Features::default() }));
    (trial.answer.expect_err("a mistake"), trial.printed)
}
