//! `assay model check FILE`: lists every problem of a component, or its description and the cost of its calls.

use std::{
    fmt,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::{Serialize, Serializer};

use super::{behaviour, hints};
use crate::{
    Class, CreditModel, Limits, LoadError, Model, OfKind as _, PublicKey,
    call::{
        price::{PriceAsk, calls},
        samples::{self, CallSample},
    },
    confine::{engine::Purpose, engines::Engines},
    examine, signer,
};
use assay_domain::{Digest, ModelInfo, ModelKind};

/// The result of a check. `Display` is for people, `Serialize` for machines.
#[derive(Debug, Clone, Serialize)]
pub struct CheckReport {
    /// Whether this host would serve the file.
    pub ok: bool,
    /// In the order of the steps.
    pub problems: Vec<Problem>,
    /// SHA-256 of the file.
    #[serde(serialize_with = "display")]
    pub digest: Digest,
    /// The key that signed the file; absent without a valid signature.
    pub signed_by: Option<PublicKey>,
    /// The size of the file.
    pub bytes: usize,
    /// Whether it is a core module, as cargo builds it; the host encodes it as a component.
    pub core_module: bool,
    /// The size of the component.
    pub component_bytes: usize,
    /// The class of the model, which limits its resources; absent if it fits no class.
    pub class: Option<Class>,
    /// The number of engines created for it, each with separate memory; absent if there is a problem.
    pub lanes: Option<usize>,
    /// The compiled code of all lanes, in bytes, unless the server shares it between them.
    pub code_bytes: Option<usize>,
    /// Time to compile, in milliseconds.
    pub compile_ms: u64,
    /// The model's own description, if `describe` was reached.
    #[serde(serialize_with = "described")]
    pub model: Option<ModelInfo>,
    /// The cost of its calls, if there is no problem.
    pub costs: Vec<Cost>,
    /// A credit model's answers for sample wallets.
    pub scores: Vec<SampleScore>,
    /// Hints: the component loads, but could be improved.
    pub hints: Vec<String>,
}

/// A credit model's answer for one sample wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SampleScore {
    pub wallet: &'static str,
    /// Absent if the model refuses or fails.
    pub score: Option<u32>,
    /// Why there is no score.
    pub why: Option<String>,
}

/// One problem, and how to solve it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub code: &'static str,
    pub message: String,
}

/// The cost of one call, including the start of its instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    pub input: String,
    /// Approximately the number of instructions; equal on every machine.
    pub fuel: u64,
    /// The peak linear memory of the instance, in bytes.
    pub memory: usize,
    /// Measured on one core of this machine.
    pub calls_per_second: u64,
}

/// Examines `bytes` as the shelf does. Compiles them twice.
///
/// # Errors
/// If this machine cannot run models at all.
pub fn check(bytes: &[u8], limits: &Limits) -> Result<CheckReport, crate::OpenError> {
    let refused = examine::class(bytes, limits).err().filter(|error| matches!(error, LoadError::NeedsLarge { .. }));
    // If this host refuses a model for its class, its author still wants to know the other problems.
    let limits = Limits { large_lanes: limits.large_lanes.max(u32::from(refused.is_some())), ..limits.clone() };
    let engines =
        |purpose| Engines::new(&limits, purpose).map_err(|error| crate::OpenError::Engine(format!("{error:#}")));
    let mut found = examine::examine(bytes, &engines(Purpose::CHECK)?, None);
    let good = found.model.as_ref().filter(|_| found.problems.is_empty());
    let price = good.map(|model| model.price());
    let costs = match good {
        // Metering slows every call, so it uses a second engine.
        Some(model) => costs(model, examine::examine(bytes, &engines(Purpose::COUNT)?, None).model.as_ref()),
        None => Vec::new(),
    };
    let scores = good.and_then(CreditModel::of).map(|model| scores(&model)).unwrap_or_default();
    let behaviour = good.and_then(CreditModel::of).map(|model| behaviour::hints(&model)).unwrap_or_default();
    let hints = hints::of(bytes).into_iter().chain(constant(&scores)).chain(behaviour).collect();
    let problems: Vec<LoadError> = refused.into_iter().chain(std::mem::take(&mut found.problems)).collect();
    Ok(CheckReport {
        ok: problems.is_empty(),
        problems: problems.iter().map(Problem::from).collect(),
        digest: found.digest,
        signed_by: signer(bytes),
        bytes: bytes.len(),
        core_module: found.was_core_module,
        component_bytes: found.component_bytes,
        class: found.class,
        lanes: price.map(|price| price.lanes),
        code_bytes: price.map(|price| price.code),
        compile_ms: u64::try_from(found.compile.as_millis()).unwrap_or(u64::MAX),
        model: found.info,
        costs,
        scores,
        hints,
    })
}

/// Scores the sample wallets. Also used for a champion to which a new model is compared.
fn scores(model: &CreditModel) -> Vec<SampleScore> {
    let score = |CallSample { name, features, .. }| match model.score(&features) {
        Ok(answer) => SampleScore { wallet: name, score: Some(answer.score.get()), why: None },
        Err(error) => SampleScore { wallet: name, score: None, why: Some(error.to_string()) },
    };
    samples::wallets().into_iter().map(score).collect()
}

/// Returns a hint if all sample wallets get the same score.
fn constant(scores: &[SampleScore]) -> Option<String> {
    let first = scores.iter().find_map(|sample| sample.score)?;
    let all = scores.iter().filter_map(|sample| sample.score).all(|score| score == first);
    all.then(|| {
        format!("every sample wallet that it scores has {first}: does it read its features, in the units of the WIT?")
    })
}

fn costs(served: &Arc<Model>, counted: Option<&Arc<Model>>) -> Vec<Cost> {
    let mut counted_calls = counted.map(calls).unwrap_or_default().into_iter();
    let cost = |(input, ask): (String, PriceAsk)| {
        let (fuel, memory) = counted.zip(counted_calls.next()).map_or((0, 0), |(model, (_, ask))| {
            // A refusal has a cost too.
            let _ = ask();
            model.tally.last_cost()
        });
        Cost { input, fuel, memory, calls_per_second: rate(|| drop(black_box(ask()))) }
    };
    calls(served).into_iter().map(cost).collect()
}

/// Calls per second, measured for a tenth of a second after a short warm-up.
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

impl fmt::Display for SampleScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wallet, score, why } = self;
        match score {
            Some(score) => write!(f, "{score}  {wallet}"),
            None => write!(f, "none  {wallet}: {}", why.as_deref().unwrap_or_default()),
        }
    }
}

impl CheckReport {
    fn lanes(&self) -> String {
        let Some((lanes, code)) = self.lanes.zip(self.code_bytes) else { return String::new() };
        format!(" ({lanes} lane{}, {} KiB of code)", if lanes == 1 { "" } else { "s" }, code / 1024)
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
        match self.signed_by {
            Some(key) => writeln!(f, "  signed   by {key}")?,
            None => writeln!(f, "  signed   by nobody")?,
        }
        let as_component = || format!(" (a core module; {} as a component)", self.component_bytes);
        let made = if self.core_module { as_component() } else { String::new() };
        writeln!(f, "  size     {} bytes{made}", self.bytes)?;
        if self.component_bytes > 0 {
            writeln!(f, "  compile  {} ms", self.compile_ms)?;
        }
        self.class.map_or(Ok(()), |class| writeln!(f, "  class    {class}{}", self.lanes()))?;
        for Cost { input, fuel, memory, calls_per_second } in &self.costs {
            writeln!(
                f,
                "  cost     {input}: {fuel} fuel, {} KiB, {calls_per_second} calls/s on one core",
                memory / 1024
            )?;
        }
        self.scores.iter().try_for_each(|score| writeln!(f, "  score    {score}"))?;
        self.hints.iter().try_for_each(|hint| writeln!(f, "  hint     {hint}"))?;
        match self.problems.as_slice() {
            [] => writeln!(f, "good: this host would serve it"),
            problems => {
                let many = format!("{} things are", problems.len());
                writeln!(f, "{} wrong with it:", if problems.len() == 1 { "one thing is" } else { &many })?;
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
    let described = info.as_ref().map(|ModelInfo { kind, version, title, authors, reads, .. }| Described {
        kind: *kind,
        version: version.as_str(),
        title,
        authors,
        reads,
    });
    described.serialize(serializer)
}
