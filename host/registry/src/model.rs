//! One loaded version: who it is, its code ready to start, and the questions it answers.

use std::{
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use metrics::{Counter, Histogram};

use crate::{ChainValue, MockReport, ScoreError, abi::Abi, answer, call::Call, engine::Runtime, lane::Door};
use assay_domain::{
    Address, Assessment, Decile, Digest, Factor, ModelInfo, ModelKind, ModelRef, ModelVersion, RiskAssessment, Score,
    Time, features::Features,
};
use assay_trace::TRACE;

/// A model that passed every check. Each question is put to a fresh instance, so that no call can see another.
pub struct Model {
    pub(crate) info: ModelInfo,
    pub(crate) reference: ModelRef,
    pub(crate) loaded_at: Time,
    /// Of every score from 300 to 1000, in order; empty for other kinds than credit.
    pub(crate) deciles: Vec<Decile>,
    pub(crate) runtime: Arc<Runtime>,
    /// One for each lane of the runtime.
    pub(crate) doors: Vec<Door>,
    pub(crate) tally: Tally,
    /// Told of a model that keeps failing. Empty until the model is published: a self-test counts for nothing.
    pub(crate) supervisor: OnceLock<Weak<dyn Supervisor>>,
}

/// What one call cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// From asking to a checked answer.
    pub took: Duration,
    /// Instructions, roughly: the same number on every machine.
    pub fuel: u64,
    /// The most linear memory it had, in bytes.
    pub memory: usize,
}

/// Who takes a failing champion out of service.
pub(crate) trait Supervisor: Send + Sync {
    fn failing(&self, model: &ModelRef, error: &ScoreError);
}

impl Model {
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// What answers of this model are labelled with.
    pub fn reference(&self) -> &ModelRef {
        &self.reference
    }

    pub fn kind(&self) -> ModelKind {
        self.info.kind
    }

    pub fn version(&self) -> &ModelVersion {
        &self.info.version
    }

    pub fn digest(&self) -> Digest {
        self.reference.digest
    }

    /// Calls so far, and how many of them were failures of the model.
    pub fn calls(&self) -> (u64, u64) {
        (self.tally.calls.load(Relaxed), self.tally.failures.load(Relaxed))
    }

    /// Fuel and bytes of memory of the last call, where the engine counts fuel.
    pub(crate) fn last_cost(&self) -> (u64, usize) {
        (self.tally.fuel.load(Relaxed), self.tally.memory.load(Relaxed))
    }

    /// A credit score.
    ///
    /// # Errors
    /// [`ScoreError::Refused`] where the model will not judge, and every way in which a model can fail.
    pub fn score(&self, features: &Features) -> Result<Assessment, ScoreError> {
        self.ask(
            ModelKind::Credit,
            |call, abi| abi.score(call, features),
            |raw| answer::assessment(raw, |score| self.decile(score)),
        )
    }

    /// The decile of a score, from the table that was taken when the model was loaded.
    ///
    /// # Errors
    /// [`ScoreError::WrongKind`] of a model that is none of credit.
    pub fn decile(&self, score: Score) -> Result<Decile, ScoreError> {
        // A score is 300 to 1000 and the table has 701 entries; 300 has the first.
        let index = (score.get() - Score::MIN.get()) as usize;
        self.deciles.get(index).copied().ok_or(ScoreError::WrongKind { is: self.kind(), asked: ModelKind::Credit })
    }

    /// `score` with off-chain assets of so many dollars added: at least `score`.
    ///
    /// # Errors
    /// Every way in which a model can fail.
    pub fn boost(&self, score: Score, total_asset_usd: f64) -> Result<Score, ScoreError> {
        let ask = |call: &mut Call<'_>, abi: &dyn Abi| abi.boost(call, score.get(), total_asset_usd);
        self.ask(ModelKind::Boost, ask, |raw| answer::boosted(raw, score))
    }

    /// How likely the subject is a bot.
    ///
    /// # Errors
    /// Every way in which a model can fail.
    pub fn risk(&self, features: &Features) -> Result<RiskAssessment, ScoreError> {
        self.ask(ModelKind::Sybil, |call, abi| abi.risk(call, features), answer::risk)
    }

    /// The sandbox's score of an address.
    ///
    /// # Errors
    /// Every way in which a model can fail; so below.
    pub fn mock_score(&self, address: &Address) -> Result<Score, ScoreError> {
        self.ask(ModelKind::Sandbox, |call, abi| abi.mock_score(call, address), answer::score)
    }

    /// The sandbox's score of an address with off-chain assets of so many dollars.
    ///
    /// # Errors
    /// As [`Model::mock_score`].
    pub fn mock_boosted(&self, address: &Address, total_asset_usd: f64) -> Result<Score, ScoreError> {
        self.ask(ModelKind::Sandbox, |call, abi| abi.mock_boosted(call, address, total_asset_usd), answer::score)
    }

    /// What a real model would say of the sandbox's score.
    ///
    /// # Errors
    /// As [`Model::mock_score`].
    pub fn mock_factors(&self, address: &Address) -> Result<Vec<Factor>, ScoreError> {
        self.ask(ModelKind::Sandbox, |call, abi| abi.mock_factors(call, address), answer::factors)
    }

    /// The sandbox's report on an address.
    ///
    /// # Errors
    /// As [`Model::mock_score`].
    pub fn mock_report(&self, address: &Address) -> Result<MockReport, ScoreError> {
        self.ask(ModelKind::Sandbox, |call, abi| abi.mock_report(call, address), answer::report)
    }

    /// What the sandbox says an address holds, by chain. A chain that is not listed holds nothing.
    ///
    /// # Errors
    /// As [`Model::mock_score`].
    pub fn mock_portfolio(&self, address: &Address) -> Result<Vec<ChainValue>, ScoreError> {
        self.ask(ModelKind::Sandbox, |call, abi| abi.mock_portfolio(call, address), answer::portfolio)
    }

    /// A fresh instance, and how to ask it.
    ///
    /// # Errors
    /// As [`Runtime::start`].
    pub(crate) fn start(&self) -> Result<(Call<'_>, &dyn Abi), ScoreError> {
        self.runtime.start(&self.doors)
    }

    /// Starts an instance, asks it, and checks what it says.
    fn ask<Raw, T>(
        &self,
        kind: ModelKind,
        ask: impl FnOnce(&mut Call<'_>, &dyn Abi) -> wasmtime::Result<Raw>,
        check: impl FnOnce(Raw) -> Result<T, ScoreError>,
    ) -> Result<T, ScoreError> {
        if self.kind() != kind {
            return Err(ScoreError::WrongKind { is: self.kind(), asked: kind });
        }
        let span =
            tracing::info_span!(target: TRACE, "model", assay.kind = kind.as_str(), assay.version = %self.version());
        let (answer, spent) = span.in_scope(|| self.unrecorded(ask, check));
        if self.runtime.purpose.fuel {
            self.tally.fuel.store(spent.fuel, Relaxed);
            self.tally.memory.store(spent.memory, Relaxed);
        }
        self.record(spent.took, answer.as_ref().err());
        answer
    }

    /// The same, without a word to the tally or the supervisor.
    fn unrecorded<Raw, T>(
        &self,
        ask: impl FnOnce(&mut Call<'_>, &dyn Abi) -> wasmtime::Result<Raw>,
        check: impl FnOnce(Raw) -> Result<T, ScoreError>,
    ) -> (Result<T, ScoreError>, Spent) {
        let (started, mut fuel, mut memory) = (Instant::now(), 0, 0);
        let answer = self.start().and_then(|(mut call, abi)| {
            let raw = ask(&mut call, abi);
            if self.runtime.purpose.fuel {
                (fuel, memory) = (call.fuel(), call.peak_memory());
            }
            // The answer is ours already: checking it needs no instance.
            raw.map_err(|error| call.failure(&error))
        });
        let answer = answer.and_then(check);
        (answer, Spent { took: started.elapsed(), fuel, memory })
    }

    /// A credit score, and what it cost; fuel and memory are 0 unless this is a twin. It counts neither as a call nor
    /// as a failure.
    pub fn weigh(&self, features: &Features) -> (Result<Assessment, ScoreError>, Spent) {
        if self.kind() != ModelKind::Credit {
            return (Err(ScoreError::WrongKind { is: self.kind(), asked: ModelKind::Credit }), Spent::default());
        }
        self.unrecorded(
            |call, abi| abi.score(call, features),
            |raw| answer::assessment(raw, |score| self.decile(score)),
        )
    }

    /// As [`Model::score`], and what it cost.
    pub fn timed(&self, features: &Features) -> (Result<Assessment, ScoreError>, Spent) {
        let (answer, spent) = self.weigh(features);
        self.record(spent.took, answer.as_ref().err());
        (answer, spent)
    }

    /// A credit score by the `twin` of this model. It counts as a call of this model, and a failure as its failure.
    pub fn shadowed(&self, twin: &Self, features: &Features) -> (Result<Assessment, ScoreError>, Spent) {
        let (answer, spent) = twin.weigh(features);
        self.record(spent.took, answer.as_ref().err());
        (answer, spent)
    }

    fn record(&self, took: Duration, error: Option<&ScoreError>) {
        let Some(supervisor) = self.supervisor.get() else { return };
        let failures = self.tally.record(took, error);
        let Some(error) = error.filter(|error| error.is_fault()) else { return };
        metrics::counter!("assay_model_failures_total", "kind" => self.kind().as_str(), "version" => self.version().to_string(), "code" => error.code())
            .increment(1);
        tracing::warn!(kind = %self.kind(), version = %self.version(), code = error.code(), %error, "a model failed");
        if failures >= self.runtime.limits.failures
            && let Some(supervisor) = supervisor.upgrade()
        {
            self.tally.forgive();
            supervisor.failing(&self.reference, error);
        }
    }
}

/// How a model has done so far.
pub(crate) struct Tally {
    calls: AtomicU64,
    failures: AtomicU64,
    in_a_row: AtomicU32,
    fuel: AtomicU64,
    memory: AtomicUsize,
    counted: Counter,
    took: Histogram,
}

impl Tally {
    pub fn new(info: &ModelInfo) -> Self {
        let labels = [("kind", info.kind.as_str().to_owned()), ("version", info.version.to_string())];
        Self {
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            in_a_row: AtomicU32::new(0),
            fuel: AtomicU64::new(0),
            memory: AtomicUsize::new(0),
            // Registered once: looking a metric up costs as much as a tenth of a call.
            counted: metrics::counter!("assay_model_calls_total", &labels),
            took: metrics::histogram!("assay_model_call_seconds", &labels),
        }
    }

    /// Returns the failures in a row, this one included.
    fn record(&self, took: Duration, error: Option<&ScoreError>) -> u32 {
        self.calls.fetch_add(1, Relaxed);
        self.counted.increment(1);
        self.took.record(took.as_secs_f64());
        match error {
            Some(error) if error.is_fault() => {
                self.failures.fetch_add(1, Relaxed);
                self.in_a_row.fetch_add(1, Relaxed).saturating_add(1)
            }
            // A full house says nothing about the model.
            Some(ScoreError::Busy { .. }) => 0,
            _ => {
                self.forgive();
                0
            }
        }
    }

    /// Starts counting failures in a row anew.
    pub fn forgive(&self) {
        // Read first: a healthy model's calls must not fight over one cache line more.
        if self.in_a_row.load(Relaxed) != 0 {
            self.in_a_row.store(0, Relaxed);
        }
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({})", self.kind(), self.version(), self.digest())
    }
}
