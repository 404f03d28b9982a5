//! `assay replay`: computes served scores again, from their records and the same bytes of the models.

use std::{
    collections::HashMap,
    fs,
    io::{self, BufRead as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_domain::{Digest, Freshness, ModelKind, ModelRef, ModelVersion};
use assay_registry::{BoostModel, Chosen, CreditModel, Limits, Model, OfKind, REMOVED, standalone};
use assay_store::{OpenError, Store, config::Backend};
use clap::Args;
use reqwest::Method;
use sha2::{Digest as _, Sha256};

use super::{
    Failure, print,
    remote::{Remote, Server},
};
use assay::config::Config;
use assay_rollout::{
    ScoreId, Scored,
    records::{self, ServedRecord},
};
use assay_score::bodies::ScoreBody;

/// Served scores to compute again.
#[derive(Args)]
pub(super) struct Replay {
    /// Score ids, from the header `Assay-Score-Id`; `-` reads ids from standard input, one per line
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Print a line of JSON for each score, with both answers as the API serves them
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: Server,
}

pub(super) fn run(replay: &Replay) -> Result<(), Failure> {
    let config = replay.server.file.load()?;
    let records = Records::open(&config, &replay.server)?;
    let mut shelf = Shelf::of(&config);
    let (mut same, mut all) = (0_usize, 0_usize);
    for id in ids(&replay.ids)? {
        let parsed: ScoreId = id.parse().map_err(Failure::cannot)?;
        let record = records.get(&parsed)?;
        let replayed = shelf.replay(&record).map_err(|why| Failure::cannot(format!("{id}: {why}")))?;
        all += 1;
        same += usize::from(replayed.differences.is_empty());
        print(if replay.json { replayed.json(&id)? } else { replayed.text(&id, &record) })?;
    }
    if all > 1 && !replay.json {
        print(format!("{same} of {all} are the same to the byte"))?;
    }
    if same == all { Ok(()) } else { Err(Failure::no("")) }
}

/// The record of one served score.
pub(super) fn recorded(id: &ScoreId, config: &Config, server: &Server) -> Result<ServedRecord, Failure> {
    Records::open(config, server)?.get(id)
}

/// Recorded scores of one version computed again, a line of JSON for each.
pub(super) fn lines(
    ids: &[ScoreId],
    version: &ModelVersion,
    config: &Config,
    server: &Server,
) -> Result<Vec<u8>, Failure> {
    let records = Records::open(config, server)?;
    let mut shelf = Shelf::of(config);
    let mut lines = String::new();
    for id in ids {
        let record = records.get(id)?;
        if record.model.version != *version {
            return Err(Failure::no(format!("{id} is a score of {}, not of {version}", record.model.version)));
        }
        let replayed = shelf.replay(&record).map_err(|why| Failure::cannot(format!("{id}: {why}")))?;
        lines += &replayed.json(&id.to_string())?;
        lines.push('\n');
    }
    Ok(lines.into_bytes())
}

/// The bytes of a component of the shelf, or of those removed from it, by their digest in hex.
pub(super) fn component(folder: &Path, limits: &Limits, digest: &str) -> Result<Vec<u8>, Failure> {
    let found = files(folder, limits).map_err(Failure::cannot)?.find_map(|path| {
        let bytes = fs::read(path).ok()?;
        (Digest(Sha256::digest(&bytes).into()).to_string() == digest).then_some(bytes)
    });
    found.ok_or_else(|| Failure::no(format!("SHA-256 {digest} is not on the shelf {}", folder.display())))
}

/// The files that can be components, those removed from the shelf last.
fn files(folder: &Path, limits: &Limits) -> Result<impl Iterator<Item = PathBuf>, String> {
    let unreadable = |error: io::Error| format!("the shelf {} cannot be read: {error}", folder.display());
    let removed = fs::read_dir(folder.join(REMOVED)).into_iter().flatten();
    let largest = limits.largest_file() as u64;
    let all = fs::read_dir(folder).map_err(unreadable)?.chain(removed).flatten().map(|entry| entry.path());
    Ok(all.filter(move |path| {
        let is_small = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= largest);
        is_small && path.extension().is_some_and(|extension| extension == "wasm")
    }))
}

fn ids(given: &[String]) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for id in given {
        if id == "-" {
            for line in io::stdin().lock().lines() {
                let line = line.map_err(Failure::cannot)?;
                ids.extend(Some(line.trim().to_owned()).filter(|line| !line.is_empty()));
            }
        } else {
            ids.push(id.clone());
        }
    }
    Ok(ids)
}

/// The source of records: the store, or the server that has the store open.
enum Records {
    Store(Box<Store>, tokio::runtime::Runtime),
    Server(Box<Remote>),
}

impl Records {
    fn open(config: &Config, server: &Server) -> Result<Self, Failure> {
        let remote = || server.reach(config).map(|remote| Self::Server(Box::new(remote)));
        // Opening an embedded store that does not exist would create it.
        let here = config.store.backend == Backend::Redis || config.store.path.exists();
        if server.is_named() || !here {
            return remote();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
        match runtime.block_on(Store::open(&config.store)) {
            Ok(store) => Ok(Self::Store(Box::new(store), runtime)),
            Err(OpenError::Locked { .. }) => remote(),
            Err(error) => Err(Failure::cannot(error)),
        }
    }

    fn get(&self, id: &ScoreId) -> Result<ServedRecord, Failure> {
        match self {
            Self::Store(store, runtime) => {
                let found = runtime.block_on(store.get(&records::served(id.record()))).map_err(Failure::cannot)?;
                found.ok_or_else(|| Failure::cannot(format!("no score {id} is saved in this store")))
            }
            Self::Server(remote) => {
                let mut body = remote.ask(Method::GET, &format!("/api/v2/admin/scores/{id}"), None)?;
                let record = body.get_mut("record").map(serde_json::Value::take).unwrap_or_default();
                serde_json::from_value(record)
                    .map_err(|error| Failure::cannot(format!("the server has no record: {error}")))
            }
        }
    }
}

/// The models of the shelf by the digest of their bytes, loaded at first use.
struct Shelf<'a> {
    limits: Limits,
    folder: &'a Path,
    models: HashMap<Digest, Arc<Model>>,
}

impl<'a> Shelf<'a> {
    fn of(config: &'a Config) -> Self {
        let limits = Limits { instances: 1, ..config.models.limits() };
        Self { limits, folder: &config.models.shelf, models: HashMap::new() }
    }

    fn replay(&mut self, record: &ServedRecord) -> Result<Replayed, String> {
        let credit: CreditModel = self.load(record.model.digest)?;
        let boost = record.boost.as_ref().map(|boost| self.load::<BoostModel>(boost.model.digest)).transpose()?;
        let again = assay_rollout::replay(record, &credit, boost.as_ref()).map_err(|error| error.to_string())?;
        let served = assay_rollout::served(record).map_err(|error| error.to_string())?;
        let body = |assessment| {
            let model = ModelRef {
                kind: ModelKind::Credit,
                version: record.model.version.clone(),
                digest: record.model.digest,
            };
            let fresh = Freshness { read_at: record.as_of, life: std::time::Duration::ZERO };
            let scored = Scored {
                address: record.address,
                assessment,
                model,
                chosen: record.chosen.unwrap_or(Chosen::Champion),
                at: record.at,
                coverage: record.coverage,
                fresh,
                record: None,
                basis: assay_rollout::Basis::Unknown,
                origins: Arc::default(),
            };
            serde_json::to_string(&ScoreBody::scored(&scored, true)).map_err(|error| error.to_string())
        };
        let (served, now) = (body(served)?, body(again.assessment)?);
        let mut differences = again.differences;
        if differences.is_empty() && served != now {
            differences.push("the answer has other bytes".to_owned());
        }
        Ok(Replayed { served, now, differences })
    }

    /// Loads the file whose bytes have the digest. Names of files and versions do not identify a model's bytes.
    fn load<M: OfKind>(&mut self, digest: Digest) -> Result<M, String> {
        let typed = |model: &Arc<Model>| M::of(model).ok_or_else(|| format!("{digest} is not a {} model", M::KIND));
        if let Some(model) = self.models.get(&digest) {
            return typed(model);
        }
        for path in files(self.folder, &self.limits)? {
            let Ok(bytes) = fs::read(&path) else { continue };
            if Digest(Sha256::digest(&bytes).into()) == digest {
                let model = standalone(&bytes, &self.limits).map_err(|error| format!("{}: {error}", path.display()))?;
                return typed(self.models.entry(digest).or_insert(model));
            }
        }
        Err(format!(
            "the bytes of its {} model, SHA-256 {digest}, are not on the shelf {}",
            M::KIND,
            self.folder.display()
        ))
    }
}

/// A score as it was served, and as computed again.
struct Replayed {
    served: String,
    now: String,
    differences: Vec<String>,
}

impl Replayed {
    fn json(&self, id: &str) -> Result<String, Failure> {
        let same = self.differences.is_empty();
        let Self { served, now, differences } = self;
        let line = serde_json::json!({
            "id": id, "same": same, "served": served, "now": now, "differences": differences
        });
        serde_json::to_string(&line).map_err(Failure::cannot)
    }

    fn text(&self, id: &str, record: &ServedRecord) -> String {
        let here = env!("CARGO_PKG_VERSION");
        let host = if record.host == here {
            String::new()
        } else {
            format!(", served by version {} and computed by {here}", record.host)
        };
        let what = format!("{id}: credit {} ({:.12}){host}", record.model.version, record.model.digest.to_string());
        if self.differences.is_empty() {
            return format!("{what}: the same {} bytes\n  {}", self.now.len(), self.now);
        }
        format!("{what}: differs\n  {}", self.differences.join("\n  "))
    }
}
