//! `assay model dossier`: what a validator asks about a model in service, in one signed archive that is read offline.

use std::{fs, path::PathBuf};

use assay::config::Config;
use assay_domain::{ModelKind, ModelVersion, Secret};
use assay_registry::Notes;
use assay_rollout::ScoreId;
use assay_statement::ValidationPack;
use clap::{Args, ValueEnum};
use reqwest::Method;
use serde_json::{Value, json};

use super::kind;
use crate::{
    Failure, print,
    remote::{Remote, Server},
    replay,
};

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

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let config = arguments.server.file.load()?;
    let key = signer(&config)?;
    let remote = arguments.server.reach(&config)?;
    let Arguments { kind, version, .. } = arguments;
    let model = in_service(&remote, *kind, version)?;
    let digest = model.get("digest").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut pack = ValidationPack::default();
    let said = |part: Result<Vec<u8>, Failure>| part.map_err(|failure| failure.message);
    arguments.described(&mut pack, &model)?;
    let component = replay::component(&config.models.shelf, &config.models.limits(), &digest);
    if let Ok(bytes) = &component {
        pack.training(Notes::of(bytes).training);
    }
    pack.add("component.wasm", said(component));
    let card = remote.bytes(&format!("/api/v2/models/{kind}/{version}/card"));
    pack.add("card.md", said(card));
    let json = |path: &str| remote.ask(Method::GET, path, None).and_then(|found| pretty(&found));
    pack.add("shadow.json", said(json(&format!("/api/v2/models/{kind}/report?window={WINDOW}"))));
    pack.add("outcomes.json", said(json("/api/v2/admin/models/outcomes")));
    pack.add("drift.json", said(json("/api/v2/admin/models/drift")));
    pack.add("split.json", said(json(&format!("/api/v2/admin/models/{kind}/split"))));
    pack.add("audit.json", said(audit(&remote, *kind).and_then(|entries| pretty(&entries))));
    pack.add("replay.jsonl", said(arguments.replayed(&config, version)));
    for file in &arguments.include {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(file).map_err(|error| Failure::cannot(format!("{}: {error}", file.display())))?;
        pack.include(&name, bytes).map_err(|why| Failure::no(format!("--include {}: {why}", file.display())))?;
    }
    let now = chrono::Utc::now().timestamp().unsigned_abs();
    let signed = pack.sign(&format!("{kind} {version}"), digest, key.expose(), now).map_err(Failure::cannot)?;
    super::workshop::write(&arguments.output, &signed.archive)?;
    for (part, why) in &signed.absent {
        print(format!("not in it: {part}: {why}"))?;
    }
    print(format!("{}: {} files, signed by {}", arguments.output.display(), signed.files, signed.signer))
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
    fn described(&self, pack: &mut ValidationPack, model: &Value) -> Result<(), Failure> {
        let tier = self.tier.and_then(|tier| tier.to_possible_value().map(|value| value.get_name().to_owned()));
        if tier.is_none() {
            pack.add("materiality tier", Err("no --tier was given".to_owned()));
        }
        pack.add("model.json", Ok(pretty(&json!({ "model": model, "materiality_tier": tier }))?));
        Ok(())
    }

    /// Recomputes scores with the same component, and states for each whether it is the same.
    fn replayed(&self, config: &Config, version: &ModelVersion) -> Result<Vec<u8>, Failure> {
        let Some(file) = &self.scores else {
            return Err(Failure::no("no --scores were given"));
        };
        let text = fs::read_to_string(file).map_err(|error| Failure::cannot(format!("{}: {error}", file.display())))?;
        let ids = text.split_whitespace().take(SCORES).map(str::parse::<ScoreId>).collect::<Result<Vec<_>, _>>();
        let ids = ids.map_err(Failure::cannot)?;
        if ids.is_empty() {
            return Err(Failure::no(format!("{} has no score id", file.display())));
        }
        replay::lines(&ids, version, config, &self.server)
    }
}
