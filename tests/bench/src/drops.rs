//! The time from a file written to the shelf of a running server until the model is ready.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use assay_tests::{
    hostile::Credit,
    service::{Caller, Service, plugins, shelf_copy},
};
use serde_json::Value;
use tokio::runtime;

use super::{
    Effort, Failure,
    clock::median,
    table::{Row, Target, Unit},
};

/// Time between two requests of the list, and so the largest error of a figure.
const LOOK: Duration = Duration::from_millis(2);
const TIMEOUT: Duration = Duration::from_secs(20);

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let shelf = shelf_copy();
        let service = Service::sandbox(shelf.path());
        let api = service.keyed();
        let champion = fs::read(plugins().join("credit-1.1.wasm"))?;
        let (mut dropped, mut uploaded, mut small) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..effort.of(10) {
            let version = format!("2.{round}");
            let bytes =
                relabelled(&champion, &version).ok_or("the version of credit-1.1 is not in its bytes as text")?;
            dropped.push(drop_file(&api, shelf.path(), &version, &bytes).await?);
            let version = format!("3.{round}");
            let bytes =
                relabelled(&champion, &version).ok_or("the version of credit-1.1 is not in its bytes as text")?;
            uploaded.push(upload(&api, bytes).await?);
            let version = format!("4.{round}");
            small.push(drop_file(&api, shelf.path(), &version, &Credit::new(&version).build()).await?);
        }
        let ratio = median(dropped.iter().zip(&uploaded).map(|(dropped, uploaded)| dropped / uploaded).collect());
        let small_ratio = median(small.iter().zip(&uploaded).map(|(small, uploaded)| small / uploaded).collect());
        let row = |what: &str, values: &[f64], ratio, target, note: String| Row {
            what: what.to_owned(),
            measured: median(values.to_vec()),
            reference: "uploaded: checks and compiling alone".to_owned(),
            reference_value: median(uploaded.clone()),
            unit: Unit::Milliseconds,
            ratio,
            target,
            note,
        };
        let note = format!(
            "{} versions of credit-1.1 ({} KiB), slowest {:.0} ms; a file is left alone until 40 ms pass without a \
             change to it",
            dropped.len(),
            champion.len() / 1024,
            dropped.iter().copied().fold(0.0, f64::max)
        );
        Ok(vec![
            row("file dropped to model ready", &dropped, ratio, Target::Within(500.0), note),
            row(
                "file dropped to model ready, model by hand",
                &small,
                small_ratio,
                Target::Within(500.0),
                String::new(),
            ),
        ])
    })
}

/// The component with another version of the same length, so that no offset changes.
fn relabelled(component: &[u8], version: &str) -> Option<Vec<u8>> {
    const OWN: &[u8] = b"1.1";
    let at = component.windows(OWN.len()).position(|window| window == OWN)?;
    let mut bytes = component.to_vec();
    bytes.get_mut(at..at + OWN.len()).filter(|own| own.len() == version.len())?.copy_from_slice(version.as_bytes());
    Some(bytes)
}

/// Milliseconds from the first written byte until the version is ready.
async fn drop_file(api: &Caller, shelf: &Path, version: &str, bytes: &[u8]) -> Result<f64, Failure> {
    let started = Instant::now();
    fs::write(shelf.join(format!("dropped-{version}.wasm")), bytes)?;
    loop {
        let list = api.get("/api/v2/models").await.ok();
        let listed = list["models"].as_array().ok_or("the list of models has no models")?;
        let is_ready =
            |model: &Value| model["kind"] == "credit" && model["version"] == version && model["state"] == "ready";
        if listed.iter().any(is_ready) {
            return Ok(started.elapsed().as_secs_f64() * 1e3);
        }
        if started.elapsed() > TIMEOUT {
            return Err(format!("version {version} is not ready after {TIMEOUT:?}: {list}").into());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Milliseconds of an upload. The response comes when the version is ready.
async fn upload(api: &Caller, bytes: Vec<u8>) -> Result<f64, Failure> {
    let started = Instant::now();
    let answer = api.post_bytes("/api/v2/admin/models", bytes).await;
    if !answer.status.is_success() {
        return Err(format!("an upload was refused with {}: {}", answer.status, answer.text).into());
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}
