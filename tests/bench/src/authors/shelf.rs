//! A server with twenty models of all classes: its memory, and the time until it answers.

use std::{fs, path::Path, time::Instant};

use assay_tests::{
    hostile::Credit,
    service::{Service, plugins, sandbox_config, shelf_copy},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime;

use super::{
    super::{
        Failure,
        table::{Row, Target, Unit},
    },
    Component,
};

const MODELS: usize = 20;

pub fn measure(components: &[Component]) -> Result<Vec<Row>, Failure> {
    let mixed = shelf(components)?;
    runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let released = Started::on(&plugins(), None).await?;
        let first = Started::on(mixed.path(), None).await?;
        let (names, folder) = (first.classes.clone(), first.service.terminate_keeping().await);
        let again = Started::on(mixed.path(), Some(folder)).await?;
        let row = |what: &str, unit, measured: f64, reference: &str, reference_value: f64| Row {
            what: format!("{what} of a server with {MODELS} models"),
            measured,
            reference: reference.into(),
            reference_value,
            unit,
            ratio: measured / reference_value,
            target: Target::None,
            note: names.clone(),
        };
        let (kb, ms) = (Unit::Kilobytes, Unit::Milliseconds);
        let nine = "with the released models alone";
        let last = |row: Row| Row { note: String::new(), ..row };
        Ok(vec![
            row("resident memory", kb, again.resident, nine, released.resident),
            last(row("time to ready, compiled before,", ms, again.ready, "compiled at this start", first.ready)),
            last(row("time to ready, compiled at this start,", ms, first.ready, nine, released.ready)),
        ])
    })
}

/// A server that is ready and has called each credit model once.
struct Started {
    service: Service,
    ready: f64,
    resident: f64,
    classes: String,
}

impl Started {
    async fn on(shelf: &Path, folder: Option<TempDir>) -> Result<Self, Failure> {
        let config = sandbox_config(shelf).replace("[models]\n", "[models]\nlarge_lanes = 2\n");
        let folder = folder.map_or_else(tempfile::tempdir, Ok)?;
        let started = Instant::now();
        let service = Service::start_in(folder, &config, &[]);
        // Large files are compiled after the start.
        let is_compiled = |list: &Value| {
            list["models"].as_array().is_some_and(|models| models.iter().all(|model| model["state"] != "compiling"))
        };
        let list = service.keyed().until("/api/v2/models", |answer| is_compiled(&answer.json())).await.ok();
        let ready = started.elapsed().as_secs_f64() * 1e3;
        let models = list["models"].as_array().ok_or("the list of models has no models")?;
        if let Some(failed) = models.iter().find(|model| model["state"] != "ready") {
            return Err(format!("a model is not ready: {failed}").into());
        }
        let of = |class: &str| models.iter().filter(|model: &&Value| model["class"] == class).count();
        let code: u64 = models.iter().filter_map(|model| model["cost"]["code_bytes"].as_u64()).sum();
        let classes = format!(
            "{} small, {} medium, {} large; {} MiB of compiled code in all lanes",
            of("small"),
            of("medium"),
            of("large"),
            code >> 20
        );
        Ok(Self { ready, resident: service.resident() as f64 / 1024.0, classes, service })
    }
}

/// The released models, one of each language, and models by hand of all classes.
fn shelf(components: &[Component]) -> Result<TempDir, Failure> {
    let shelf = shelf_copy();
    let is_new = |one: &&Component| !one.name.starts_with("credit-");
    let mut count = fs::read_dir(shelf.path())?.count();
    for one in components.iter().filter(is_new) {
        fs::write(shelf.path().join(format!("{}.wasm", one.name)), &one.bytes)?;
        count += 1;
    }
    for (index, pages) in [2, 40, 200].into_iter().cycle().enumerate().take(MODELS.saturating_sub(count)) {
        let model = Credit::new(&format!("50.{index}")).pages(pages);
        fs::write(shelf.path().join(format!("by-hand-{index}.wasm")), model.build())?;
    }
    Ok(shelf)
}
