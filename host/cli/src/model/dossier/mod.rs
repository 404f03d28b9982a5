//! `assay model dossier`: what a validator asks about a model in service, in one signed archive that is read offline.

pub(crate) mod archive;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use assay::config::Config;
use assay_domain::{ModelKind, ModelVersion, Secret};
use assay_registry::Notes;
use assay_rollout::ScoreId;
use assay_statement::{FileDigests, Manifest, ManifestSignature};
use clap::{Args, ValueEnum};
use reqwest::Method;
use serde_json::{Value, json};

use super::kind;
use crate::{
    Failure, print,
    remote::{Remote, Server},
    replay,
};

/// The names of the manifest and its signature in the archive.
pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const SIGNATURE: &str = "signature.json";
/// The most scores that are computed again.
const SCORES: usize = 100;
/// Entries of the audit log in one request.
const PAGE: u64 = 100;
/// The window of the shadow report: a year, as long as its hours are kept.
const WINDOW: &str = "365d";

#[derive(Args)]
pub struct Arguments {
    /// credit, boost, sybil or sandbox
    #[arg(value_parser = kind)]
    kind: ModelKind,
    /// The version, such as 1.4
    version: ModelVersion,
    /// The archive to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Score ids of this version, one per line, such as those a lender keeps: the first 100 are computed again
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
    /// File to add as it is, such as the page of a backtest out of time; may be repeated
    #[arg(long, value_name = "FILE")]
    include: Vec<PathBuf>,
    /// The materiality of the model, as your policy for models has it
    #[arg(long)]
    tier: Option<Tier>,
    #[command(flatten)]
    server: Server,
}

/// How much depends on a model.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Tier {
    High,
    Medium,
    Low,
}

/// The files of a pack, and the parts that it lacks with the reason.
#[derive(Default)]
struct Pack {
    files: BTreeMap<String, Vec<u8>>,
    absent: BTreeMap<String, String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = arguments.server.file.load()?;
    let key = signer(&config)?;
    let remote = arguments.server.reach(&config)?;
    let Arguments { kind, version, .. } = arguments;
    let model = in_service(&remote, *kind, version)?;
    let digest = model.get("digest").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut pack = Pack::default();
    pack.model(&model, arguments.tier)?;
    pack.component(&config, &digest);
    let card = remote.bytes(&format!("/api/v2/models/{kind}/{version}/card"));
    pack.add("card.md", card);
    let json = |path: &str| remote.ask(Method::GET, path, None).and_then(|found| pretty(&found));
    pack.add("shadow.json", json(&format!("/api/v2/models/{kind}/report?window={WINDOW}")));
    pack.add("outcomes.json", json("/api/v2/admin/models/outcomes"));
    pack.add("split.json", json(&format!("/api/v2/admin/models/{kind}/split")));
    pack.add("audit.json", audit(&remote, *kind).and_then(|entries| pretty(&entries)));
    pack.add("replay.jsonl", arguments.replayed(&config, version));
    for file in &arguments.include {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(file).map_err(|error| Failure::cannot(format!("{}: {error}", file.display())))?;
        if name.len() >= 100 || pack.files.insert(name.clone(), bytes).is_some() {
            return Err(Failure::no(format!("{name} is too long, or the pack has a file of that name: rename it")));
        }
    }
    pack.write(&format!("{kind} {version}"), digest, key, &arguments.output)
}

/// The account of `attestation.signer`.
fn signer(config: &Config) -> Result<&Secret, Failure> {
    let found = config.attestation.as_ref().map(|attestation| &attestation.signer);
    found.ok_or_else(|| {
        Failure::cannot("a pack is signed with attestation.signer, which the configuration does not have: add it")
    })
}

/// The model as the server lists it.
fn in_service(remote: &Remote, kind: ModelKind, version: &ModelVersion) -> Result<Value, Failure> {
    let list = remote.ask(Method::GET, "/api/v2/models", None)?;
    let is_it = |one: &&Value| {
        one.get("kind").and_then(Value::as_str) == Some(kind.as_str())
            && one.get("version").and_then(Value::as_str) == Some(version.as_str())
    };
    let found = list.get("models").and_then(Value::as_array).and_then(|models| models.iter().find(is_it));
    found.cloned().ok_or_else(|| Failure::no(format!("{kind} {version} is not on the shelf of the server")))
}

/// The audit log of one kind of model, newest first: promotions and refusals, with the reasons given.
fn audit(remote: &Remote, kind: ModelKind) -> Result<Value, Failure> {
    let mut entries = Vec::new();
    for page in 1.. {
        let found = remote.ask(Method::GET, &format!("/api/v2/admin/audit?page={page}&limit={PAGE}"), None)?;
        let some = found.get("entries").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_last = some.is_empty();
        entries
            .extend(some.into_iter().filter(|entry| entry.get("kind").and_then(Value::as_str) == Some(kind.as_str())));
        if is_last {
            break;
        }
    }
    Ok(json!({ "entries": entries }))
}

fn pretty(value: &Value) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec_pretty(value).map_err(Failure::cannot)
}

impl Arguments {
    /// Computes scores again with the same bytes of the model, and says of each whether it is the same.
    fn replayed(&self, config: &Config, version: &ModelVersion) -> Result<Vec<u8>, Failure> {
        let Some(file) = &self.scores else {
            return Err(Failure::no("no --scores were given"));
        };
        let text = fs::read_to_string(file).map_err(|error| Failure::cannot(format!("{}: {error}", file.display())))?;
        let ids = text.split_whitespace().take(SCORES).map(str::parse::<ScoreId>).collect::<Result<Vec<_>, _>>();
        replay::lines(&ids.map_err(Failure::cannot)?, version, config, &self.server)
    }
}

impl Pack {
    /// Adds a part, or why it is absent.
    fn add(&mut self, name: &str, part: Result<Vec<u8>, Failure>) {
        match part {
            Ok(bytes) => drop(self.files.insert(name.to_owned(), bytes)),
            Err(failure) => drop(self.absent.insert(name.to_owned(), failure.message)),
        }
    }

    fn model(&mut self, model: &Value, tier: Option<Tier>) -> Result<(), Failure> {
        let tier = tier.and_then(|tier| tier.to_possible_value().map(|value| value.get_name().to_owned()));
        if tier.is_none() {
            self.absent.insert("materiality tier".to_owned(), "no --tier was given".to_owned());
        }
        self.files.insert("model.json".to_owned(), pretty(&json!({ "model": model, "materiality_tier": tier }))?);
        Ok(())
    }

    /// The bytes of the model from the shelf, and the digest of its training data.
    fn component(&mut self, config: &Config, digest: &str) {
        let found = replay::component(&config.models.shelf, &config.models.limits(), digest);
        let Ok(bytes) = found else {
            self.add("component.wasm", found);
            return;
        };
        match Notes::of(&bytes).training {
            Some(training) => {
                let text = format!("SHA-256 of the features file that it was trained on: {training}\n");
                self.files.insert("training.txt".to_owned(), text.into_bytes());
            }
            None => {
                let why = "the component has no digest of its training data: `assay model build` writes it";
                self.absent.insert("training.txt".to_owned(), why.to_owned());
            }
        }
        self.files.insert("component.wasm".to_owned(), bytes);
    }

    /// The text for people, with the list of the parts.
    fn readme(&self, model: &str) -> String {
        let parts = [
            ("model.json", "the model's description, digest, claims, role and cost; the materiality tier"),
            ("card.md", "its card: purpose, evidence, limits and claims"),
            ("component.wasm", "the bytes that answer; `assay model check` describes them"),
            ("training.txt", "the digest of the data that it was trained on"),
            ("outcomes.json", "claims against outcomes, and the drift of the scores by week"),
            ("shadow.json", "challengers compared with the champion, and the limits of a promotion"),
            ("split.json", "the live split"),
            ("audit.json", "promotions, refusals and rollbacks with their reasons"),
            ("replay.jsonl", "scores computed again from their recorded inputs"),
        ];
        let known =
            |name: &str| parts.iter().find(|(part, _)| *part == name).map_or("added as it is", |(_, text)| text);
        let files: String = self.files.keys().map(|name| format!("- `{name}`: {}\n", known(name))).collect();
        let absent: String = self.absent.iter().map(|(name, why)| format!("- {name}: {why}\n")).collect();
        format!(
            "# Validation pack of {model}\n\n{files}\n## Not in it\n\n{absent}\n## Verify\n\n`assay verify FILE.tar \
             --signer ADDRESS` compares each file with manifest.json, and its signature with the address that the \
             server publishes at /.well-known/assay-attestation.json. `signature.json` is a personal_sign (ERC-191) of \
             the bytes of manifest.json.\n"
        )
    }

    fn write(mut self, model: &str, digest: String, key: &Secret, output: &Path) -> Result<(), Failure> {
        let readme = self.readme(model);
        self.files.insert("README.md".to_owned(), readme.into_bytes());
        let made_at = chrono::Utc::now().timestamp().unsigned_abs();
        let manifest = Manifest {
            form: Manifest::FORM.to_owned(),
            model: model.to_owned(),
            digest,
            made_at,
            files: self.files.iter().map(|(name, bytes)| (name.clone(), FileDigests::of(bytes))).collect(),
            absent: self.absent.clone(),
        };
        let text = serde_json::to_vec_pretty(&manifest).map_err(Failure::cannot)?;
        let signed = ManifestSignature::of(&text, key.expose());
        let signed = signed.map_err(|why| Failure::cannot(format!("attestation.signer: {why}")))?;
        self.files.insert(SIGNATURE.to_owned(), serde_json::to_vec_pretty(&signed).map_err(Failure::cannot)?);
        self.files.insert(MANIFEST.to_owned(), text);
        super::workshop::write(output, archive::write(&self.files, made_at))?;
        for (part, why) in &self.absent {
            print(format!("not in it: {part}: {why}"))?;
        }
        print(format!("{}: {} files, signed by {}", output.display(), self.files.len(), signed.signer))
    }
}
