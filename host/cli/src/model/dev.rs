//! `assay model dev`: builds, checks and, if a server is named, publishes a model after each change of its files,
//! and shows how the scores of the sample wallets change.

use std::{
    io::BufRead as _,
    path::Path,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use assay_registry::{CheckReport, Limits, SampleScore};
use notify::{RecursiveMode, Watcher as _};
use reqwest::Method;
use serde_json::Value;

use super::{publish, read, unpublish, workshop};
use crate::{Failure, print, remote::Remote};

/// An editor writes several files; the build waits until it is quiet for this long.
const QUIET: Duration = Duration::from_millis(200);

/// Why the model is built again.
#[derive(PartialEq, Eq)]
enum Cause {
    Change,
    /// The author takes the scores as golden.
    Accept,
}

/// Runs until it is interrupted. `once` ends after the first build, with its outcome.
pub fn run(folder: &Path, limits: &Limits, remote: Option<&Remote>, once: bool) -> Result<(), Failure> {
    let (caused, causes) = mpsc::channel();
    let changed = caused.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        if !event.kind.is_access() && event.paths.iter().any(|path| is_source(path)) {
            // The receiver ends with this command.
            let _ = changed.send(Cause::Change);
        }
    })
    .map_err(Failure::cannot)?;
    watcher.watch(folder, RecursiveMode::Recursive).map_err(Failure::cannot)?;
    if !once {
        thread::spawn(|| listen(caused));
    }
    let (mut scores, mut accept) = (Vec::new(), false);
    loop {
        let outcome = round(folder, limits, remote, &mut scores, accept);
        if once {
            return outcome;
        }
        if let Err(failure) = outcome {
            print(format!("not built: {}", failure.message))?;
        }
        print("waiting for a change; `a` and Enter accepts the scores as golden")?;
        accept = next(&causes)?;
    }
}

/// Reads what the author types.
#[expect(clippy::needless_pass_by_value, reason = "the thread owns it")]
fn listen(caused: Sender<Cause>) {
    let lines = std::io::stdin().lock().lines().map_while(Result::ok);
    for _ in lines.filter(|line| line.trim() == "a") {
        // The receiver ends with this command.
        let _ = caused.send(Cause::Accept);
    }
}

/// Waits for a cause, and until it is quiet after it. Returns whether the author takes the scores as golden.
fn next(causes: &Receiver<Cause>) -> Result<bool, Failure> {
    let mut accept = causes.recv().map_err(Failure::cannot)? == Cause::Accept;
    loop {
        match causes.recv_timeout(QUIET) {
            Ok(cause) => accept |= cause == Cause::Accept,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(accept),
        }
    }
}

/// Files that a build writes do not count as changes.
fn is_source(path: &Path) -> bool {
    let built = path.components().any(|part| {
        matches!(part.as_os_str().to_str(), Some("target" | ".git" | "node_modules" | ".venv" | "venv" | "__pycache__"))
    });
    !built && path.extension().is_none_or(|end| !matches!(end.to_str(), Some("wasm" | "lock" | "part")))
}

fn round(
    folder: &Path,
    limits: &Limits,
    remote: Option<&Remote>,
    scores: &mut Vec<SampleScore>,
    accept: bool,
) -> Result<(), Failure> {
    let file = workshop::build(folder, workshop::How { accept, ..workshop::How::default() })?;
    let bytes = read(&file, limits)?;
    let report = assay_registry::check(&bytes, limits).map_err(Failure::cannot)?;
    if !report.ok {
        return Err(Failure::no(report.to_string()));
    }
    let text = changes_of(scores, &report);
    print(text.trim_end())?;
    let published = match remote {
        Some(remote) => retire(remote, &report).and_then(|()| publish(remote, &bytes)),
        None => Ok(()),
    };
    *scores = report.scores;
    published
}

/// Takes an earlier build of a version in development off the shelf of the server.
fn retire(remote: &Remote, report: &CheckReport) -> Result<(), Failure> {
    let Some(info) = report.model.as_ref().filter(|info| info.version.to_string().starts_with("0.")) else {
        return Ok(());
    };
    let (kind, version, digest) = (info.kind.as_str(), info.version.to_string(), report.digest.to_string());
    let listed = remote.ask(Method::GET, "/api/v2/models", None)?;
    let models = listed.get("models").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let has = |model: &Value, field: &str, text: &str| model.get(field).and_then(Value::as_str) == Some(text);
    let earlier = |model: &&Value| {
        let loaded = has(model, "kind", kind) && has(model, "version", &version) && !has(model, "role", "none");
        loaded && !has(model, "digest", &digest)
    };
    match models.iter().find(earlier) {
        Some(_) => unpublish(remote, info.kind, &info.version),
        None => Ok(()),
    }
}

/// The scores that are not those of the build before.
fn changes_of(before: &[SampleScore], now: &CheckReport) -> String {
    let score = |score: Option<u32>| score.map_or("none".to_owned(), |score| score.to_string());
    let line = |one: &SampleScore| {
        let was = before.iter().find(|other| other.wallet == one.wallet).map(|other| other.score);
        match was {
            Some(was) if was == one.score => None,
            Some(was) => Some(format!("  {} -> {}  {}\n", score(was), score(one.score), one.wallet)),
            None => Some(format!("  {}  {}\n", score(one.score), one.wallet)),
        }
    };
    let lines: String = now.scores.iter().filter_map(line).collect();
    if lines.is_empty() { "no score of a sample wallet changes".to_owned() } else { lines }
}
