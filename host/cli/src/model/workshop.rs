//! `assay model new` and `assay model build`: a folder with the source of a model, and the component from it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use assay_author::{Language, Pack, Script};
use assay_backtest::RecordSource;
use assay_domain::{Digest, ModelKind};
use assay_registry::Notes;

use super::{
    direction,
    expect::{self, Proof},
    toolchain,
};
use crate::{Failure, print};
use assay_rollout::cards;

/// The declaration of a model without code, and the scores that its golden wallets keep.
const DECLARATION: &str = "model.toml";
const WALLETS: &str = "wallets.jsonl";
const GOLDEN: &str = "golden.txt";
/// The wallets of the training, and the card of a model.
const HISTORY: &str = "history.jsonl";
const CARD: &str = "card.toml";
const LANGUAGES: &str = "expected rust, javascript, python, scorecard or trees";

pub fn language(text: &str) -> Result<Language, String> {
    Language::ALL.into_iter().find(|language| language.as_str() == text).ok_or_else(|| LANGUAGES.to_owned())
}

/// Writes the files of a new model. Nothing that exists is overwritten.
pub fn new(
    folder: &Path,
    kind: ModelKind,
    language: Language,
    version: &str,
    kit: Option<PathBuf>,
) -> Result<(), Failure> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if folder.exists() {
        return Err(Failure::no(format!("{} exists: choose another name", folder.display())));
    }
    let kit = if language == Language::Rust { found(kit)? } else { PathBuf::new() };
    let files = assay_author::template(language, kind, &name, version, &kit.to_string_lossy()).map_err(Failure::no)?;
    for (path, text) in files {
        write(&folder.join(path), &text)?;
    }
    print(format!("{} is {kind} {version} in {}: README.md has the next steps", folder.display(), language.as_str()))
}

/// The crate `assay-model`: the one that is named, or that of a checkout around this folder.
fn found(kit: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let here = std::env::current_dir().map_err(Failure::cannot)?;
    let around =
        || here.ancestors().map(|folder| folder.join("models/kit")).find(|kit| kit.join("Cargo.toml").is_file());
    let kit = kit.or_else(around).ok_or_else(|| {
        Failure::no(
            "a model in Rust uses the crate assay-model: give --kit PATH to models/kit in a copy of Assay's source",
        )
    })?;
    kit.canonicalize().map_err(|error| Failure::no(format!("{}: {error}", kit.display())))
}

pub(super) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let cannot = |error| Failure::cannot(format!("{} cannot be written: {error}", path.display()));
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(cannot)?;
    fs::write(path, bytes).map_err(cannot)
}

/// How a model is built.
#[derive(Debug, Clone)]
pub struct How {
    /// Take the scores of a model without code as golden.
    pub accept: bool,
    /// Link the modules of a script into one.
    pub fuse: bool,
    /// Accept a trained model that gives bad outcomes the higher scores.
    pub reversed: bool,
    /// The predictions of a model without code.
    pub proof: Proof,
    /// The wallets of its training; history.jsonl in its folder if absent.
    pub features: Option<PathBuf>,
}

impl Default for How {
    fn default() -> Self {
        Self { accept: false, fuse: true, reversed: false, proof: Proof::default(), features: None }
    }
}

/// Builds the model in `folder` and writes its component next to it.
pub fn build(folder: &Path, How { accept, fuse, reversed, proof, features }: How) -> Result<PathBuf, Failure> {
    let features = features.unwrap_or_else(|| folder.join(HISTORY));
    let folder = folder.canonicalize().map_err(|error| Failure::no(format!("{}: {error}", folder.display())))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut notes = Notes { card: card(&folder)?, training: None };
    let component = if folder.join(DECLARATION).is_file() {
        let packed = pack(&folder.join(DECLARATION))?;
        let unjudged = direction::ranks(&packed, &features, reversed)?;
        golden(&folder, &packed, accept)?;
        let component = component(&packed.core)?;
        let proved = expect::prove(&proof, &folder.join(DECLARATION), &packed, &component, &features)?;
        notes.card = stated(notes.card, &packed, [proved, unjudged])?;
        notes.training = if features.is_file() { Some(digest(&features)?) } else { None };
        component
    } else if proof.expect.is_some() {
        return Err(Failure::no(format!("--expect compares a model without code, and there is no {DECLARATION}")));
    } else if folder.join("Cargo.toml").is_file() {
        component(&cargo(&folder)?)?
    } else if let Some(script) = Script::of(&folder) {
        component(&toolchain::built(script, &folder, fuse)?)?
    } else {
        let sources = format!("{DECLARATION}, Cargo.toml, model.js nor model.py");
        return Err(Failure::no(format!("{} has neither {sources}", folder.display())));
    };
    let component = notes.put(component);
    let file = folder.join(format!("{name}.wasm"));
    write(&file, &component)?;
    print(format!("{name}.wasm: {} bytes", component.len()))?;
    Ok(file)
}

/// The card in the folder of a model, which becomes part of the component.
fn card(folder: &Path) -> Result<Option<Arc<str>>, Failure> {
    let path = folder.join(CARD);
    if !path.is_file() {
        return Ok(None);
    }
    let text = fs::read_to_string(&path).map_err(|error| Failure::cannot(format!("{}: {error}", path.display())))?;
    cards::check(&text).map_err(|why| Failure::no(format!("{}: {why}", path.display())))?;
    Ok(Some(text.into()))
}

/// The card with what was `proved` and what was not as its last section, and with the features and the table of their
/// training.
fn stated(card: Option<Arc<str>>, packed: &Pack, proved: [Option<String>; 2]) -> Result<Option<Arc<str>>, Failure> {
    let mut text = card.as_deref().unwrap_or_default().to_owned();
    let proved = proved.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if !proved.is_empty() {
        text += &format!("\n[[section]]\ntitle = \"Proof\"\ntext = {proved:?}\n");
    }
    text += &packed.card();
    cards::check(&text).map_err(|why| Failure::no(format!("{CARD} with what the build adds: {why}")))?;
    Ok(Some(text.into()))
}

/// The digest of a file of features, as reports have it.
fn digest(features: &Path) -> Result<Digest, Failure> {
    let cannot = |error| Failure::cannot(format!("{} cannot be read: {error}", features.display()));
    let mut source = RecordSource::open(features).map_err(cannot)?;
    while source.chunk().map_err(cannot)?.is_some() {}
    source.digest().map_err(cannot)
}

/// A model without code, packed.
pub fn pack(declaration: &Path) -> Result<Pack, Failure> {
    let packed = assay_author::pack(declaration).map_err(Failure::no)?;
    print(&packed.summary)?;
    Ok(packed)
}

/// Makes a component with its card of a model without code, after the same checks as [`build`].
pub fn packed_component(declaration: &Path, proof: &Proof, reversed: bool) -> Result<Vec<u8>, Failure> {
    let card = card(declaration.parent().unwrap_or(Path::new("")))?;
    let packed = pack(declaration)?;
    let features = declaration.with_file_name(HISTORY);
    let unjudged = direction::ranks(&packed, &features, reversed)?;
    let made = component(&packed.core)?;
    let proved = expect::prove(proof, declaration, &packed, &made, &features)?;
    let training = if proved.is_some() && features.is_file() { Some(digest(&features)?) } else { None };
    Ok(Notes { card: stated(card, &packed, [proved, unjudged])?, training }.put(made))
}

pub fn component(core: &[u8]) -> Result<Vec<u8>, Failure> {
    assay_registry::to_component(core).map(|component| component.into_owned()).map_err(Failure::no)
}

/// The core module that cargo builds.
fn cargo(folder: &Path) -> Result<Vec<u8>, Failure> {
    let target = ["--release", "--target", "wasm32-unknown-unknown", "--target-dir", "target"];
    let built = Command::new("cargo").arg("build").args(target).current_dir(folder).status();
    let built = built.map_err(|error| Failure::cannot(format!("cargo cannot be run: {error}. Install Rust")))?;
    if !built.success() {
        let advice = if has_target(folder) { "" } else { ". Add its target: rustup target add wasm32-unknown-unknown" };
        return Err(Failure::no(format!("cargo could not build it; see its messages above{advice}")));
    }
    let release = folder.join("target/wasm32-unknown-unknown/release");
    let modules = fs::read_dir(&release).map_err(Failure::cannot)?.flatten().map(|entry| entry.path());
    let mut modules: Vec<PathBuf> = modules.filter(|path| path.extension().is_some_and(|end| end == "wasm")).collect();
    modules.sort();
    match modules.as_slice() {
        [module] => fs::read(module).map_err(Failure::cannot),
        [] => Err(Failure::no("cargo built no .wasm: the library needs crate-type = [\"cdylib\"]")),
        _ => {
            Err(Failure::no(format!("{} has several .wasm files: remove those of an earlier name", release.display())))
        }
    }
}

/// Whether the compiler that builds `folder` has the target of models; also if it does not say.
fn has_target(folder: &Path) -> bool {
    let asked = ["--print", "target-libdir", "--target", "wasm32-unknown-unknown"];
    let said = Command::new("rustc").args(asked).current_dir(folder).output();
    said.map_or(true, |said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_dir())
}

/// Compares the scores of the golden wallets with those that are written down.
fn golden(folder: &Path, packed: &Pack, accept: bool) -> Result<(), Failure> {
    let (wallets, golden) = (folder.join(WALLETS), folder.join(GOLDEN));
    if !wallets.is_file() || !(accept || golden.is_file()) {
        return Ok(());
    }
    let scores = scores(&wallets, packed)?;
    let text: String = scores.iter().map(|score| format!("{score}\n")).collect();
    if accept {
        write(&golden, &text)?;
        return print(format!("{GOLDEN}: the scores of {} wallets", scores.len()));
    }
    let known = fs::read_to_string(&golden).map_err(Failure::cannot)?;
    let known: Vec<&str> = known.split_whitespace().collect();
    if known == scores {
        return print(format!("the {} golden wallets keep their scores", scores.len()));
    }
    let differs = known.iter().zip(&scores).position(|(known, score)| known != score);
    let what = match differs.and_then(|at| Some((at, known.get(at)?, scores.get(at)?))) {
        Some((at, known, score)) => format!("wallet {} of {WALLETS} scores {score}, and {GOLDEN} has {known}", at + 1),
        None => format!("{WALLETS} has {} wallets, and {GOLDEN} has {}", scores.len(), known.len()),
    };
    Err(Failure::no(format!("{what}. If this is intended: assay model build --accept")))
}

/// A score for each wallet, or `none` if the model refuses it.
fn scores(wallets: &Path, packed: &Pack) -> Result<Vec<String>, Failure> {
    let mut source = RecordSource::open(wallets).map_err(Failure::cannot)?;
    let mut scores = Vec::new();
    while let Some(chunk) = source.chunk().map_err(Failure::cannot)? {
        for (line, record) in chunk.records() {
            let record = record.map_err(|bad| Failure::no(format!("{WALLETS}:{line}: {}", bad.reason)))?;
            let score = |score: Option<u32>| score.map_or("none".to_owned(), |score| score.to_string());
            scores.extend(record.map(|record| score(packed.score(&record.features))));
        }
    }
    Ok(scores)
}
