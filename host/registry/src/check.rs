//! `assay model check FILE`: everything that is wrong with a component, or what it is and what it costs.

use std::{
    fmt,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Serialize, Serializer};

use crate::{
    Limits, LoadError, Model, ScoreError,
    engine::{Purpose, Runtime},
    examine, samples,
};
use assay_domain::{Digest, ModelInfo, ModelKind, Score};

/// What was found out about a file. `Display` is for people, `Serialize` for machines.
#[derive(Debug, Clone, Serialize)]
pub struct CheckReport {
    /// True where this host would serve it.
    pub ok: bool,
    /// In the order in which the steps found them.
    pub problems: Vec<Problem>,
    /// SHA-256 of the file.
    #[serde(serialize_with = "display")]
    pub digest: Digest,
    /// Of the file.
    pub bytes: usize,
    /// True of a core module, as cargo builds it, which the host makes a component.
    pub core_module: bool,
    /// Of the component.
    pub component_bytes: usize,
    /// Milliseconds.
    pub compile_ms: u64,
    /// Who it says it is, where it got so far.
    #[serde(serialize_with = "described")]
    pub model: Option<ModelInfo>,
    /// What its calls cost, where nothing is wrong.
    pub costs: Vec<Cost>,
}

/// One thing that is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub code: &'static str,
    pub message: String,
}

/// What one call costs, an instance of its own included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    pub input: String,
    /// Instructions, roughly: the same number on every machine.
    pub fuel: u64,
    /// The most linear memory it had, in bytes.
    pub memory: usize,
    /// On one core of this machine.
    pub calls_per_second: u64,
}

/// Examines `bytes` as the shelf would. Takes as long as compiling does, about twice.
///
/// # Errors
/// Where this machine cannot run models at all.
pub fn check(bytes: &[u8], limits: &Limits) -> Result<CheckReport, crate::OpenError> {
    let runtime = |purpose| {
        Runtime::new(limits, purpose).map(Arc::new).map_err(|error| crate::OpenError::Engine(format!("{error:#}")))
    };
    let found = examine::examine(bytes, &runtime(Purpose::SERVE)?, None);
    let costs = match &found.model {
        // Counting slows every call, so it has an engine of its own.
        Some(model) => costs(model, examine::examine(bytes, &runtime(Purpose::COUNT)?, None).model.as_ref()),
        None => Vec::new(),
    };
    Ok(CheckReport {
        ok: found.problems.is_empty(),
        problems: found.problems.iter().map(Problem::from).collect(),
        digest: found.digest,
        bytes: bytes.len(),
        core_module: found.was_core_module,
        component_bytes: found.component_bytes,
        compile_ms: u64::try_from(found.compile.as_millis()).unwrap_or(u64::MAX),
        model: found.info,
        costs,
    })
}

type Ask = Box<dyn Fn(&Model) -> Result<(), ScoreError>>;

/// The questions of a kind, named.
fn questions(kind: ModelKind) -> Vec<(String, Ask)> {
    let about = |ask: fn(&Model, &assay_domain::features::Features) -> Result<(), ScoreError>| {
        samples::subjects().into_iter().map(move |sample| -> (String, Ask) {
            (sample.name.to_owned(), Box::new(move |model: &Model| ask(model, &sample.features)))
        })
    };
    match kind {
        ModelKind::Credit => about(|model, features| done(model.score(features))).collect(),
        ModelKind::Sybil => about(|model, features| done(model.risk(features))).collect(),
        ModelKind::Boost => {
            let boost = |model: &Model| done(model.boost(Score::MIN, 50_000.0));
            vec![("300 with 50,000 dollars".to_owned(), Box::new(boost))]
        }
        ModelKind::Sandbox => {
            let address = samples::addresses().into_iter().next_back().unwrap_or_default();
            let score = move |model: &Model| done(model.mock_score(&address));
            let report = move |model: &Model| done(model.mock_report(&address));
            vec![("score".to_owned(), Box::new(score)), ("report".to_owned(), Box::new(report))]
        }
    }
}

/// Keeps the compiler from leaving out a call whose answer nobody reads.
fn done<T>(answer: Result<T, ScoreError>) -> Result<(), ScoreError> {
    black_box(answer).map(|_| ())
}

fn costs(served: &Model, counted: Option<&Model>) -> Vec<Cost> {
    let cost = |(input, ask): (String, Ask)| {
        let (fuel, memory) = counted.map_or((0, 0), |model| {
            // A refusal costs too; what cannot be judged is no error here.
            let _ = ask(model);
            model.last_cost()
        });
        Cost { input, fuel, memory, calls_per_second: rate(|| drop(black_box(ask(served)))) }
    };
    questions(served.kind()).into_iter().map(cost).collect()
}

/// Calls in a second, measured for a tenth of one after a short run to warm up.
fn rate(call: impl Fn()) -> u64 {
    (0..20).for_each(|_| call());
    let (started, mut calls) = (Instant::now(), 0_u64);
    while started.elapsed() < Duration::from_millis(100) {
        (0..10).for_each(|_| call());
        calls += 10;
    }
    calls * 1_000_000 / u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
}

impl From<&LoadError> for Problem {
    fn from(error: &LoadError) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(info) = &self.model {
            writeln!(f, "{} {}  {}", info.kind, info.version, info.title)?;
            writeln!(f, "  authors  {}", info.authors.join(", "))?;
            writeln!(f, "  reads    {}", info.reads.join(", "))?;
        }
        writeln!(f, "  digest   {}", self.digest)?;
        let made = if self.core_module {
            format!(" (a core module; {} as a component)", self.component_bytes)
        } else {
            String::new()
        };
        writeln!(f, "  size     {} bytes{made}", self.bytes)?;
        if self.component_bytes > 0 {
            writeln!(f, "  compile  {} ms", self.compile_ms)?;
        }
        for Cost { input, fuel, memory, calls_per_second } in &self.costs {
            writeln!(
                f,
                "  cost     {input}: {fuel} fuel, {} KiB, {calls_per_second} calls/s on one core",
                memory / 1024
            )?;
        }
        match self.problems.as_slice() {
            [] => writeln!(f, "good: this host would serve it"),
            problems => {
                writeln!(
                    f,
                    "{} wrong with it:",
                    if problems.len() == 1 {
                        "one thing is".to_owned()
                    } else {
                        format!("{} things are", problems.len())
                    }
                )?;
                problems.iter().try_for_each(|problem| writeln!(f, "  [{}] {}", problem.code, problem.message))
            }
        }
    }
}

fn display<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn described<S: Serializer>(info: &Option<ModelInfo>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Described<'a> {
        kind: ModelKind,
        version: &'a str,
        title: &'a str,
        authors: &'a [String],
        reads: &'a [String],
    }
    let described = info.as_ref().map(|ModelInfo { kind, version, title, authors, reads }| Described {
        kind: *kind,
        version: version.as_str(),
        title,
        authors,
        reads,
    });
    described.serialize(serializer)
}
