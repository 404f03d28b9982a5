//! Opening the shelf at the start of a server, and computing features from a snapshot.

use std::{fs, hint::black_box, time::Instant};

use assay_domain::features::features;
use assay_registry::{
    Registry, Settings,
    measure::{self, Setup},
};
use assay_tests::service::{plugins, shelf_copy};

use super::{
    Effort, Failure,
    clock::{Case, Rounds},
    subjects,
    table::{Row, Target, Unit},
};

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let mut rows = opening(effort)?;
    rows.push(deriving(effort)?);
    Ok(rows)
}

fn opening(effort: Effort) -> Result<Vec<Row>, Failure> {
    let (shelf, kept) = (shelf_copy(), tempfile::tempdir()?);
    let champion = fs::read(plugins().join("credit-1.1.wasm"))?;
    let plain = Settings { watch: false, ..Settings::new(shelf.path()) };
    let keeping = Settings { compiled: Some(kept.path().join("compiled")), ..plain.clone() };
    // Fills the cache of compiled models.
    let models = Registry::open(keeping.clone())?.list().len();
    let mut failure = None;
    let mut timed = |work: &dyn Fn() -> Result<(), Failure>| {
        let started = Instant::now();
        if let Err(error) = work() {
            failure = Some(error);
        }
        started.elapsed().as_secs_f64() * 1e3
    };
    let rounds = Rounds::measured(effort.of(7), 3, |case| match case {
        0 => timed(&|| Ok(Registry::open(plain.clone()).map(drop)?)),
        1 => timed(&|| Ok(Registry::open(keeping.clone()).map(drop)?)),
        _ => timed(&|| Ok(measure::model(&champion, Setup::SERVED).map(drop)?)),
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    let row = |what: String, case| Row {
        what,
        measured: rounds.median(case),
        reference: "loading credit-1.1 alone".to_owned(),
        reference_value: rounds.median(2),
        unit: Unit::Milliseconds,
        ratio: rounds.ratio(case, 2),
        target: Target::None,
        note: String::new(),
    };
    Ok(vec![
        row(format!("opening a shelf of {models} models"), 0),
        row(format!("opening a shelf of {models} models, compiled before"), 1),
    ])
}

fn deriving(effort: Effort) -> Result<Row, Failure> {
    let (snapshot, subject) = (subjects::snapshot(), subjects::everywhere());
    let model = measure::model(&fs::read(plugins().join("credit-1.1.wasm"))?, Setup::SERVED)?;
    let mut cases: Vec<Case<'_>> = vec![
        Box::new(|| drop(black_box(features(black_box(&snapshot))))),
        Box::new(|| drop(black_box(model.score(black_box(&subject.features))))),
    ];
    let rounds = Rounds::of(effort.of(21), &mut cases);
    Ok(Row {
        what: format!("features from a snapshot, {}", subject.name),
        measured: rounds.median(0),
        reference: "scoring them".to_owned(),
        reference_value: rounds.median(1),
        unit: Unit::Microseconds,
        ratio: rounds.ratio(0, 1),
        target: Target::None,
        note: String::new(),
    })
}
