//! Measures the cost of each language of models: a fresh call of each template, compared with the first-party model,
//! with one instance that is reused, with native code, and with Extism. Also measures a shelf of twenty models.

mod components;
mod peer;
mod shelf;

use std::hint::black_box;

use assay_model::CreditModel as _;
use assay_registry::{
    Class, CreditModel,
    measure::{self, Reused, Setup},
};
use assay_tests::native;

use self::components::Component;
use super::{
    Effort, Failure, calls,
    clock::{Case, Rounds},
    cores,
    subjects::{self, Subject},
    table::{Row, Target, Unit},
};

pub fn measure(effort: Effort) -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let mut components = vec![Component::first_party("credit-1.1")?];
    for language in components::LANGUAGES {
        match Component::template(language, folder.path()) {
            Ok(component) => components.push(component),
            Err(why) => eprintln!("        {language} is left out: {why}"),
        }
    }
    let words = Component::first_party("credit-1.2")?;
    // Loaded once: a large model compiles for ten seconds.
    let models = loaded(&components)?;
    let mut rows = calls::on_a_core(|| {
        let mut rows = alone(&models, effort)?;
        rows.push(without_words(&words, effort)?);
        for (component, one) in components.iter().zip(&models).filter(|(_, one)| one.class() != Class::Small) {
            rows.push(without_scan(component, one, effort)?);
        }
        Ok(rows)
    })?;
    rows.extend(together(&models, effort)?);
    match peer::measure(&components, effort) {
        Ok(row) => rows.push(row),
        Err(why) => eprintln!("        Extism is left out: {why}"),
    }
    rows.extend(shelf::measure(&components)?);
    Ok(rows)
}

/// A component that is loaded.
struct Loaded {
    name: String,
    model: CreditModel,
}

impl Loaded {
    fn class(&self) -> Class {
        self.model.price().class
    }
}

fn loaded(components: &[Component]) -> Result<Vec<Loaded>, Failure> {
    let load = |one: &Component| -> Result<Loaded, Failure> {
        let model = measure::model(&one.bytes, Setup::SERVED).map_err(|error| format!("{}: {error}", one.name))?;
        Ok(Loaded { name: one.name.clone(), model })
    };
    components.iter().map(load).collect()
}

/// On one core.
fn alone(models: &[Loaded], effort: Effort) -> Result<Vec<Row>, Failure> {
    let Subject { features, .. } = subjects::ordinary();
    let native_features = native::features(&features);
    let mut reused = models.iter().map(|one| Reused::new(&one.model)).collect::<Result<Vec<_>, _>>()?;
    for (one, reused) in models.iter().zip(&mut reused) {
        let (fresh, again) = (one.model.score(&features)?.score, reused.score(&features)?.score);
        if fresh != again {
            return Err(format!("{}: a fresh instance says {fresh} and a reused one {again}", one.name).into());
        }
    }
    let features = &features;
    let mut cases: Vec<Case<'_>> = Vec::new();
    for one in models {
        cases.push(Box::new(|| drop(black_box(one.model.score(black_box(features))))));
    }
    for instance in &mut reused {
        cases.push(Box::new(|| drop(black_box(instance.score(black_box(features))))));
    }
    cases.push(Box::new(|| drop(black_box(credit_1_1::score(black_box(&native_features))))));
    cases.push(Box::new(|| drop(black_box(example::Repayments::score(black_box(native_features.clone()))))));
    let rounds = Rounds::of(effort.of(30), &mut cases);
    let count = models.len();
    let mut rows = Vec::new();
    for (case, one) in models.iter().enumerate() {
        let price = one.model.price();
        let row = |what: String, reference: &str, other: usize, target, note| Row {
            what,
            measured: rounds.median(case),
            reference: reference.to_owned(),
            reference_value: rounds.median(other),
            unit: Unit::Microseconds,
            ratio: rounds.ratio(case, other),
            target,
            note,
        };
        let note = format!(
            "{}; {} KiB of memory, {} KiB of code, compiled in {} ms",
            price.class,
            price.memory >> 10,
            price.code >> 10,
            price.compile.as_millis()
        );
        let name = &one.name;
        if case > 0 {
            rows.push(row(format!("a call of {name}"), "of credit-1.1", 0, target(name), note));
        }
        rows.push(row(
            format!("a call of {name}, fresh"),
            "one instance, reused",
            count + case,
            Target::None,
            String::new(),
        ));
        if let Some(other) = ["credit-1.1", "rust"].iter().position(|native| native == name) {
            rows.push(row(
                format!("a call of {name}, confined"),
                "native code",
                2 * count + other,
                Target::None,
                String::new(),
            ));
        }
        rows.extend(rate(name, rounds.median(case)));
    }
    Ok(rows)
}

/// Against the first-party model.
fn target(name: &str) -> Target {
    match name {
        "rust" => Target::AtMost(1.1),
        "trees" => Target::AtMost(5.0),
        _ => Target::None,
    }
}

/// The calls a second that a language must make.
fn rate(name: &str, microseconds: f64) -> Option<Row> {
    let least = match name {
        "javascript" => 8_000.0,
        "python" => 1_000.0,
        _ => return None,
    };
    let measured = 1e6 / microseconds;
    Some(Row {
        what: format!("calls of {name} on one thread"),
        measured,
        reference: "what it must make".into(),
        reference_value: least,
        unit: Unit::PerSecond,
        ratio: measured / least,
        target: Target::AtLeast(1.0),
        note: String::new(),
    })
}

/// A score alone, against a score with its words.
fn without_words(component: &Component, effort: Effort) -> Result<Row, Failure> {
    let model = measure::model(&component.bytes, Setup::SERVED)?;
    let features = &subjects::ordinary().features;
    let mut cases: Vec<Case<'_>> = vec![
        Box::new(|| drop(black_box(model.score(black_box(features))))),
        Box::new(|| drop(black_box(model.explained(black_box(features))))),
    ];
    let rounds = Rounds::of(effort.of(30), &mut cases);
    Ok(Row {
        what: format!("a score of {} (wit/v2)", component.name),
        measured: rounds.median(0),
        reference: "with its words".into(),
        reference_value: rounds.median(1),
        unit: Unit::Microseconds,
        ratio: rounds.ratio(0, 1),
        target: Target::AtMost(0.6),
        note: String::new(),
    })
}

/// With the kernel's word on which pages were written, against the same without.
fn without_scan(component: &Component, scanned: &Loaded, effort: Effort) -> Result<Row, Failure> {
    let plain = measure::model(&component.bytes, Setup { scan: false, ..Setup::SERVED })?;
    let features = &subjects::ordinary().features;
    let mut cases: Vec<Case<'_>> = vec![
        Box::new(|| drop(black_box(scanned.model.score(black_box(features))))),
        Box::new(|| drop(black_box(plain.score(black_box(features))))),
    ];
    let rounds = Rounds::of(effort.of(30), &mut cases);
    Ok(Row {
        what: format!("a call of {}, written pages cleared", component.name),
        measured: rounds.median(0),
        reference: "memory returned to the system".into(),
        reference_value: rounds.median(1),
        unit: Unit::Microseconds,
        ratio: rounds.ratio(0, 1),
        target: Target::None,
        note: String::new(),
    })
}

/// On two cores.
fn together(models: &[Loaded], effort: Effort) -> Result<Vec<Row>, Failure> {
    let cores = cores::available();
    let [first, second, ..] = cores.as_slice() else { return Err("this machine has one core".into()) };
    let (one, two) = ([*first], [*first, *second]);
    let Subject { features, .. } = subjects::ordinary();
    let native_features = native::features(&features);
    let native = || drop(black_box(credit_1_1::score(black_box(&native_features))));
    let count = models.len();
    // Of each model, and then of native code: on one core, and on two.
    let rounds = Rounds::measured(effort.of(7), 2 * (count + 1), |case| {
        let cores: &[usize] = if case % 2 == 0 { &one } else { &two };
        match models.get(case / 2) {
            Some(one) => calls::rate(cores, &|| drop(black_box(one.model.score(black_box(&features))))),
            None => calls::rate(cores, &native),
        }
    });
    let best = rounds.ratio(2 * count + 1, 2 * count);
    let row = |(index, one): (usize, &Loaded)| {
        let least = if one.class() == Class::Small { 1.7 } else { 1.5 };
        Row {
            what: format!("calls of {} on two threads", one.name),
            measured: rounds.median(2 * index + 1),
            reference: "one thread".into(),
            reference_value: rounds.median(2 * index),
            unit: Unit::PerSecond,
            ratio: rounds.ratio(2 * index + 1, 2 * index),
            target: Target::AtLeast(least),
            note: if index == 0 {
                format!("native calls went {best:.2} times as fast in the same rounds")
            } else {
                String::new()
            },
        }
    };
    Ok(models.iter().enumerate().map(row).collect())
}
