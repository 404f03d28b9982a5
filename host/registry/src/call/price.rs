//! The cost of a model on this host: its code and memory, and the time of an ordinary call.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    kinds::AnyKind,
    samples::{self, CallSample},
};
use crate::{Class, Model, ScoreError, compile::compiled::CompiledCode, confine::engine::Runtime};
use assay_domain::Score;

/// The cost of a loaded model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    pub class: Class,
    /// The engines that it is loaded on: this many calls run at the same time at full speed.
    pub lanes: usize,
    /// The peak linear memory of a call so far, in bytes. Each lane keeps about as much.
    pub memory: usize,
    /// Compiled code of all lanes together, in bytes.
    pub code: usize,
    /// Time to compile it, now or in an earlier start.
    pub compile: Duration,
    /// Time of an ordinary call when it was loaded: the median of nine.
    pub call: Duration,
}

/// The compiled code of a model in memory.
pub(crate) struct Footprint {
    lanes: usize,
    code: usize,
    compile: Duration,
}

impl Footprint {
    pub(crate) fn of(code: &CompiledCode, runtime: &Runtime, compile: Duration) -> Self {
        let lanes = runtime.shards().count();
        let copies = if code.is_shared() { 1 } else { lanes };
        Self { lanes, code: code.len().saturating_mul(copies), compile }
    }
}

impl Model {
    pub fn class(&self) -> Class {
        self.runtime.class
    }

    pub fn price(&self) -> Price {
        let Footprint { lanes, code, compile } = self.footprint;
        let (memory, call) = (self.tally.peak(), self.tally.typical());
        Price { class: self.class(), lanes, memory, code, compile, call }
    }
}

/// Publishes the cost of `model` as metrics, or zeros if it was removed.
pub(crate) fn publish(model: &Model, loaded: bool) {
    let Price { class, memory, code, compile, .. } = model.price();
    let labels = [
        ("kind", model.kind().as_str().to_owned()),
        ("version", model.version().to_string()),
        ("class", class.as_str().to_owned()),
    ];
    let value = |value: f64| if loaded { value } else { 0.0 };
    metrics::gauge!("assay_model_memory_bytes", &labels).set(value(memory as f64));
    metrics::gauge!("assay_model_code_bytes", &labels).set(value(code as f64));
    metrics::gauge!("assay_model_compile_seconds", &labels).set(value(compile.as_secs_f64()));
}

pub(crate) type PriceAsk = Box<dyn Fn() -> Result<(), ScoreError>>;

/// The time of an ordinary call: the median of nine.
pub(crate) fn typical(model: &Arc<Model>) -> Duration {
    // The second call is the ordinary one, if there are several.
    let Some((_, ask)) = calls(model).into_iter().take(2).next_back() else { return Duration::ZERO };
    let time = || {
        let started = Instant::now();
        // A refusal takes time too.
        let _ = ask();
        started.elapsed()
    };
    let mut times: Vec<Duration> = (0..9).map(|_| time()).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// The calls of a model that are measured, each with the name of its input.
pub(crate) fn calls(model: &Arc<Model>) -> Vec<(String, PriceAsk)> {
    let ask = |name: &str, ask: PriceAsk| (name.to_owned(), ask);
    match AnyKind::from(model) {
        AnyKind::Credit(model) => samples::subjects(model.generation)
            .into_iter()
            .map(|CallSample { name, features, .. }| {
                let model = model.clone();
                ask(name, Box::new(move || done(model.score(&features))))
            })
            .collect(),
        AnyKind::Sybil(model) => samples::subjects(model.generation)
            .into_iter()
            .map(|CallSample { name, features, .. }| {
                let model = model.clone();
                ask(name, Box::new(move || done(model.risk(&features))))
            })
            .collect(),
        AnyKind::Boost(model) => {
            vec![ask("300 with 50,000 dollars", Box::new(move || done(model.boost(Score::MIN, 50_000.0))))]
        }
        AnyKind::Sandbox(model) => {
            let address = samples::addresses().into_iter().next_back().unwrap_or_default();
            let other = model.clone();
            vec![
                ask("score", Box::new(move || done(model.score(&address)))),
                ask("report", Box::new(move || done(other.report(&address)))),
            ]
        }
    }
}

/// Prevents the compiler from removing a call whose answer is not used.
fn done<T>(answer: Result<T, ScoreError>) -> Result<(), ScoreError> {
    black_box(answer).map(|_| ())
}
