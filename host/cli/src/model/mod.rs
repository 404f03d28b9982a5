//! `assay model`: creates, builds, checks, tries and signs models without a server; publishes them and changes their
//! roles on a server.

mod card;
mod dev;
mod direction;
pub(crate) mod dossier;
mod expect;
mod free_version;
mod inspect;
mod oci;
mod outcomes;
#[cfg(test)]
mod samples;
mod sign;
mod split;
mod toolchain;
mod trial;
mod workshop;

use std::{
    io::{self, BufRead as _, IsTerminal as _, Read as _},
    path::{Path, PathBuf},
};

use assay::sources::Reference;
use assay_author::Language;
use assay_domain::{ModelKind, ModelVersion};
use assay_registry::{Limits, LoadError};
use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use expect::Proof;
use workshop::How;

use super::{
    ConfigFile, Failure, backtest, print,
    remote::{Remote, Server},
};

#[derive(Subcommand)]
pub enum Command {
    /// Print every problem of a component, or its model and the cost of a call
    Check {
        /// The component
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// List the files on the shelf, checked as a server checks them; only a server knows the roles of models
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Print the card of a credit model on the shelf as Markdown: purpose, evidence and limits
    Card {
        /// The version, such as 1.3
        version: ModelVersion,
        /// credit, boost, sybil or sandbox
        #[arg(long, value_parser = kind, default_value = "credit")]
        kind: ModelKind,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Print the outcomes of the wallets that a running server scored: realised and claimed liquidation rates by range,
    /// and the drift of the scores by week, for the credit champion and challengers
    Outcomes {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        server: Server,
    },
    /// Create a model: a folder with its source, tests and a README
    New {
        /// The folder to create; its name becomes the model's
        folder: PathBuf,
        /// credit, boost, sybil or sandbox
        #[arg(long, value_parser = kind, default_value = "credit")]
        kind: ModelKind,
        /// rust, javascript, python, scorecard or trees
        #[arg(long, value_parser = workshop::language, default_value = "scorecard")]
        lang: Language,
        /// The version, such as 0.1; if absent, the one after those on the shelf and of the models beside the folder
        #[arg(long)]
        version: Option<ModelVersion>,
        /// For Rust: the folder models/kit of a copy of Assay's source
        #[arg(long, value_name = "FOLDER")]
        kit: Option<PathBuf>,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Build the model in a folder, and compare its golden wallets
    Build {
        /// The folder of the model
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Accept the current scores of wallets.jsonl as golden
        #[arg(long)]
        accept: bool,
        /// For a model in JavaScript or Python: keep its modules separate, as its toolchain makes them
        #[arg(long)]
        no_fuse: bool,
        /// Accept a trained model whose scores rank the outcomes of --features in reverse
        #[arg(long)]
        reversed: bool,
        /// For a model without code: its training script's predictions for the wallets of --features, a CSV file with a
        /// column `margin`, `probability` or `score`; predictions.csv in the folder if absent
        #[arg(long, value_name = "FILE")]
        expect: Option<PathBuf>,
        /// Its predictions for the rows of `assay features odd`; odd-predictions.csv next to --expect if absent
        #[arg(long, value_name = "FILE")]
        odd: Option<PathBuf>,
        /// Build a trained model without comparing it with predictions; its card says so
        #[arg(long, conflicts_with_all = ["expect", "odd"])]
        unproven: bool,
        /// The training wallets; history.jsonl in the folder if absent. `compare` warns if it is given this file
        #[arg(long, value_name = "FILE")]
        features: Option<PathBuf>,
    },
    /// Call a model once: print its answer, the cost, its output, and the message of a panic or traceback
    ///
    /// A credit or sybil model is called with a wallet: one of --features, the one at --address, or a sample wallet of
    /// `check`. A boost model is called with --score and --assets, a sandbox generator with --address.
    Try(Box<trial::Arguments>),
    /// Compare a component with a model on the shelf, over a file of features
    Compare {
        /// The component
        file: PathBuf,
        /// File of features, from `assay features export`
        #[arg(long, value_name = "FILE")]
        features: PathBuf,
        /// The version to compare with; the highest one on the shelf if absent
        #[arg(long, value_name = "VERSION")]
        with: Option<ModelVersion>,
        #[command(flatten)]
        config: ConfigFile,
    },
    /// Put a component on the shelf of a running server
    Publish {
        /// The component
        file: PathBuf,
        #[command(flatten)]
        server: Server,
    },
    /// Remove a version from the shelf of a running server; the champion cannot be removed
    Unpublish {
        /// credit, boost, sybil or sandbox
        #[arg(value_parser = kind)]
        kind: ModelKind,
        /// The version, such as 1.1
        version: ModelVersion,
        /// Do not ask on a terminal
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        server: Server,
    },
    /// Build and check a model after each change to its files; with --server, also publish it
    ///
    /// A version that begins with 0 is in development: publishing it replaces the same version on the server, which
    /// loses its role as a challenger. Other versions never change.
    Dev {
        /// The folder of the model
        #[arg(default_value = ".")]
        folder: PathBuf,
        /// Exit after the first build
        #[arg(long)]
        once: bool,
        #[command(flatten)]
        server: Server,
    },
    /// Write a new secret key for signing, and print its public key for models.trust
    Key {
        /// The file to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Sign a component
    Sign {
        /// The component
        file: PathBuf,
        /// The secret key from `assay model key`
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// The file to write; the component itself if absent
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Push a component to a registry, in the format of wkg; prints its reference with the digest, for models.sources
    Push {
        /// The component
        file: PathBuf,
        /// oci://HOST/REPOSITORY:TAG; ASSAY_OCI_USER and ASSAY_OCI_PASSWORD are the login
        place: Reference,
    },
    /// Pull a component from a registry, and check the digests of its manifest and bytes
    Pull {
        /// oci://HOST/REPOSITORY:TAG or oci://HOST/REPOSITORY@sha256:DIGEST
        place: Reference,
        /// The file to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Make a component from a model.toml, or from a core module that cargo built for wasm32-unknown-unknown
    Pack {
        /// The declaration, whose name ends in .toml, or the core module
        source: PathBuf,
        /// The component to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Pack a trained model without predictions.csv and odd-predictions.csv next to it; its card says so
        #[arg(long)]
        unproven: bool,
        /// Accept a trained model that gives higher scores to wallets with a bad outcome
        #[arg(long)]
        reversed: bool,
    },
    /// Make a version the champion, which answers requests, on a running server
    Promote {
        /// credit, boost, sybil or sandbox
        #[arg(value_parser = kind)]
        kind: ModelKind,
        /// The version, such as 1.1
        version: ModelVersion,
        /// The reason, for the audit log
        #[arg(long)]
        why: Option<String>,
        /// Skip the limits of [promotion] and the check of the card's claims; needs --why
        #[arg(long, requires = "why")]
        force: bool,
        #[command(flatten)]
        server: Server,
    },
    /// Set the challengers, which the shadow engine runs next to the champion, on a running server
    Challenge {
        /// credit, boost, sybil or sandbox
        #[arg(value_parser = kind)]
        kind: ModelKind,
        /// The challengers; without versions, no model of this kind is a challenger
        versions: Vec<ModelVersion>,
        /// The reason, for the audit log
        #[arg(long)]
        why: Option<String>,
        #[command(flatten)]
        server: Server,
    },
    /// Show or replace the live split: versions that answer some wallets or keys in place of the credit champion
    ///
    /// What is not given is removed; without any part, the command shows the split of a running server.
    Split(split::Arguments),
    /// Write a validation pack of a model in service: card, outcomes, shadow, audit log and recomputed scores, in one
    /// archive signed with attestation.signer
    ///
    /// `assay verify FILE` checks the archive offline. A part that cannot be had is named with the reason.
    Dossier(Box<dossier::Arguments>),
    /// Make the previous champion the champion again, on a running server
    Rollback {
        /// credit, boost, sybil or sandbox
        #[arg(value_parser = kind)]
        kind: ModelKind,
        /// The reason, for the audit log
        #[arg(long)]
        why: Option<String>,
        #[command(flatten)]
        server: Server,
    },
}

pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::New { folder, kind, lang, version, kit, config } => {
            let config = config.load()?;
            let free = || free_version::free(&folder, kind, &config.models.shelf, &config.models.limits());
            let version = version.map_or_else(free, |version| version.to_string());
            workshop::new(&folder, kind, lang, &version, kit)
        }
        Command::Build { folder, accept, no_fuse, reversed, expect, odd, unproven, features } => {
            let proof = Proof { expect, odd, unproven };
            workshop::build(&folder, How { accept, fuse: !no_fuse, reversed, proof, features }).map(drop)
        }
        Command::Try(arguments) => trial::run(&arguments),
        Command::Compare { file, features, with, config } => compare(&file, &features, with, &config),
        Command::Dev { folder, once, server } => dev(&folder, once, &server),
        Command::Key { output } => sign::key(&output),
        Command::Sign { file, key, output } => sign::sign(&read(&file, &Limits::default())?, &file, &key, output),
        Command::Push { file, place } => oci::push(&file, &read(&file, &Limits::default())?, &place),
        Command::Pull { place, output } => oci::pull(&place, &output, &Limits::default()),
        Command::Pack { source, output, unproven, reversed } => pack(&source, &output, unproven, reversed),
        Command::Check { file, json, config } => inspect::check(&file, json, &config),
        Command::List { json, config } => inspect::list(json, &config),
        Command::Card { version, kind, config } => card::card(kind, &version, &config),
        Command::Outcomes { json, server } => outcomes::outcomes(json, &server),
        on_server => remote(on_server),
    }
}

/// The commands that a running server carries out.
fn remote(command: Command) -> Result<(), Failure> {
    match command {
        Command::Publish { file, server } => {
            let config = server.file.load()?;
            let bytes = read(&file, &config.models.limits())?;
            publish(&server.reach(&config)?, &bytes)
        }
        Command::Unpublish { kind, version, yes, server } => {
            let config = server.file.load()?;
            if !yes && !is_confirmed(kind, &version)? {
                return Err(Failure::no("nothing was removed"));
            }
            unpublish(&server.reach(&config)?, kind, &version)
        }
        Command::Promote { kind, version, why, force, server } => {
            let body = json!({ "version": version, "why": why, "force": force });
            change_roles(&server, Method::PUT, kind, "champion", &body)
        }
        Command::Challenge { kind, versions, why, server } => {
            let body = json!({ "versions": versions, "why": why });
            change_roles(&server, Method::PUT, kind, "challengers", &body)
        }
        Command::Split(arguments) => split::run(&arguments),
        Command::Dossier(arguments) => dossier::run(&arguments),
        Command::Rollback { kind, why, server } => {
            change_roles(&server, Method::POST, kind, "rollback", &json!({ "why": why }))
        }
        _ => Ok(()),
    }
}

/// Puts a component on the shelf of a server.
fn publish(remote: &Remote, bytes: &[u8]) -> Result<(), Failure> {
    let model = remote.upload("/api/v2/admin/models", bytes)?;
    let text = |name: &str| model.get(name).and_then(Value::as_str).unwrap_or("?").to_owned();
    print(format!(
        "{} {} is on the shelf of the server, with the digest {}",
        text("kind"),
        text("version"),
        text("digest")
    ))
}

/// Asks on a terminal whether a released version is to be removed. A version that begins with 0 is in development.
fn is_confirmed(kind: ModelKind, version: &ModelVersion) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || version.to_string().starts_with("0.") {
        return Ok(true);
    }
    eprint!("Remove {kind} {version}, which is released, from the shelf of the server? [y/N] ");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(Failure::cannot)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Takes a version off the shelf of a server.
fn unpublish(remote: &Remote, kind: ModelKind, version: &ModelVersion) -> Result<(), Failure> {
    remote.ask(Method::DELETE, &format!("/api/v2/admin/models/{kind}/{version}"), None)?;
    print(format!("{kind} {version} was removed from the shelf of the server"))
}

/// The limits of the configuration, for a model that is not signed yet.
fn unsigned(config: &ConfigFile) -> Result<Limits, Failure> {
    Ok(Limits { trust: Vec::new(), ..config.load()?.models.limits() })
}

fn dev(folder: &Path, once: bool, server: &Server) -> Result<(), Failure> {
    let config = server.file.load()?;
    let remote = if server.is_named() { Some(server.reach(&config)?) } else { None };
    let limits = Limits { trust: Vec::new(), ..config.models.limits() };
    dev::run(folder, &limits, remote.as_ref(), once)
}

/// Backtests the new model against one on the shelf.
fn compare(file: &Path, features: &Path, with: Option<ModelVersion>, config: &ConfigFile) -> Result<(), Failure> {
    let known = match with {
        Some(version) => version,
        None => inspect::on_shelf(config)?
            .into_iter()
            .filter(|info| info.kind == ModelKind::Credit)
            .map(|info| info.version)
            .max()
            .ok_or_else(|| Failure::no("no credit model is on the shelf: name a component instead of a version"))?,
    };
    backtest::compare(&format!("{known},{}", file.display()), features, config)
}

fn kind(text: &str) -> Result<ModelKind, String> {
    text.parse().map_err(|()| "expected credit, boost, sybil or sandbox".to_owned())
}

/// Changes roles on the server, and prints the new roles.
fn change_roles(server: &Server, method: Method, kind: ModelKind, what: &str, body: &Value) -> Result<(), Failure> {
    let remote = server.reach(&server.file.load()?)?;
    let roles = remote.ask(method, &format!("/api/v2/admin/models/{kind}/{what}"), Some(body))?;
    let names = |value: &Value| match value {
        Value::String(one) => one.clone(),
        Value::Array(several) if !several.is_empty() => {
            several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        _ => "none".to_owned(),
    };
    let of = |role: &str| roles.get(role).map_or_else(|| "none".to_owned(), names);
    print(format!("{kind}: champion {}, challengers {}", of("champion"), of("challengers")))
}

/// The contents of a regular file. Devices and files above the size limit are refused before they are read.
fn read(file: &Path, limits: &Limits) -> Result<Vec<u8>, Failure> {
    let cannot = |why: &dyn std::fmt::Display| Failure::cannot(format!("{} cannot be read: {why}", file.display()));
    let found = std::fs::metadata(file).map_err(|error| cannot(&error))?;
    if found.is_dir() {
        return Err(cannot(&"it is a folder; name the .wasm file in it"));
    }
    if !found.is_file() {
        return Err(cannot(&"not a regular file; name a .wasm file"));
    }
    let most = limits.largest_file();
    if found.len() > most as u64 {
        let error = LoadError::TooLarge { size: found.len(), most };
        return Err(Failure::no(format!("{}: {error}", file.display())));
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(|error| cannot(&error))?;
    opened.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
    Ok(bytes)
}

fn pack(source: &Path, output: &Path, unproven: bool, reversed: bool) -> Result<(), Failure> {
    let component = if source.extension().is_some_and(|end| end == "toml") {
        workshop::packed_component(source, &Proof { unproven, ..Proof::default() }, reversed)?
    } else {
        let bytes = read(source, &Limits::default())?;
        if !matches!(bytes.as_slice(), [0, b'a', b's', b'm', _, 0, 0 | 1, 0, ..]) {
            return Err(Failure::no(format!(
                "{} is not WebAssembly: name the core module that cargo built, or the model.toml that names a trained \
                 file",
                source.display()
            )));
        }
        let component = assay_registry::to_valid_component(&bytes);
        component.map_err(|error| Failure::no(format!("{} {error}", source.display())))?.into_owned()
    };
    std::fs::write(output, component)
        .map_err(|error| Failure::cannot(format!("{} cannot be written: {error}", output.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_webassembly_becomes_a_component() {
        let folder = tempfile::tempdir().unwrap();
        let (source, output) = (folder.path().join("model.txt"), folder.path().join("model.wasm"));
        for (bytes, is_packed) in [
            (&b"tree\nversion=v4\n"[..], false),
            (b"{}", false),
            (b"", false),
            (b"\x1f\x8b\x08", false),
            (b"\0asm\x01\0\0", false),
            // Cut off within a section.
            (b"\0asm\x0d\0\x01\0\x01\x40\0", false),
            (b"\0asm\x0d\0\x01\0", true),
        ] {
            std::fs::write(&source, bytes).unwrap();
            let packed = pack(&source, &output, false, false);
            assert_eq!((packed.is_ok(), output.exists()), (is_packed, is_packed), "{bytes:?}: {packed:?}");
        }
    }

    #[test]
    fn files_that_cannot_be_components_are_refused_unread() {
        let limits = Limits { file: 10, ..Limits::default() };
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large.wasm");
        std::fs::write(&large, [0; 21]).unwrap();
        for (path, code, words) in [
            (folder.path(), 2, "it is a folder"),
            (Path::new("/dev/zero"), 2, "not a regular file"),
            (large.as_path(), 1, "21"),
            (Path::new("nowhere.wasm"), 2, "cannot be read"),
        ] {
            let failure = read(path, &limits).unwrap_err();
            assert!(failure.code == code && failure.message.contains(words), "{failure:?}");
        }
    }
}
