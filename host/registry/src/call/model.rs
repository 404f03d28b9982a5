//! One loaded version: its description, its code, and one confined call of it. [`super::kinds`] has the functions.

use std::{
    fmt,
    sync::{Arc, OnceLock, Weak},
    time::{Duration, Instant},
};

use super::{
    ModelCall, abi::Abi, decile_table::Deciles, linked::Linked, notes::Notes, price::Footprint, tally::CallTally,
};
use crate::{ScoreError, compile::world::Generation, confine::engine::Runtime};
use assay_domain::{Digest, ModelInfo, ModelKind, ModelRef, ModelVersion, Time};
use assay_trace::TRACE;

/// A model that passed every check. Each call has a fresh instance, so no call sees another.
pub struct Model {
    pub(crate) info: ModelInfo,
    pub(crate) reference: ModelRef,
    pub(crate) loaded_at: Time,
    pub(crate) generation: Generation,
    /// Used by credit models only.
    pub(crate) deciles: Deciles,
    /// The labels of the factors, if the interface returns points without words.
    pub(crate) labels: Vec<String>,
    pub(crate) notes: Notes,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) linked: Linked,
    pub(crate) footprint: Footprint,
    pub(crate) tally: CallTally,
    /// Set when the model is published, so calls of the self-test do not count.
    pub(crate) supervisor: OnceLock<Weak<dyn Supervisor>>,
}

/// The cost of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// From the start of the call to the checked answer.
    pub took: Duration,
    /// Approximately the number of instructions; equal on every machine.
    pub fuel: u64,
    /// The peak linear memory of the instance, in bytes.
    pub memory: usize,
}

/// Takes a failing model out of service.
pub(crate) trait Supervisor: Send + Sync {
    fn failing(&self, model: &ModelRef, error: &ScoreError);
}

impl Model {
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// The kind, version and digest that label this model's answers.
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

    /// The author's notes next to the code.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The number of calls so far, and how many of them the model failed.
    pub fn calls(&self) -> (u64, u64) {
        self.tally.calls()
    }

    /// Starts a fresh instance.
    ///
    /// # Errors
    /// Those of [`Linked::start`].
    pub(crate) fn start(&self) -> Result<(ModelCall<'_>, &dyn Abi), ScoreError> {
        self.linked.start(&self.runtime)
    }

    /// Starts an instance, calls it, checks the answer, and records the call.
    pub(crate) fn ask<Raw, T>(
        &self,
        ask: impl FnOnce(&mut ModelCall<'_>, &dyn Abi) -> wasmtime::Result<Raw>,
        check: impl FnOnce(Raw) -> Result<T, ScoreError>,
    ) -> Result<T, ScoreError> {
        let span = tracing::info_span!(target: TRACE, "model", assay.kind = self.kind().as_str(),
            assay.version = %self.version());
        let (answer, spent) = span.in_scope(|| self.unrecorded(ask, check));
        if self.runtime.purpose.fuel {
            self.tally.set_cost(spent.fuel, spent.memory);
        }
        self.record(spent.took, answer.as_ref().err());
        answer
    }

    /// Like [`Self::ask`], without recording the call.
    pub(crate) fn unrecorded<Raw, T>(
        &self,
        ask: impl FnOnce(&mut ModelCall<'_>, &dyn Abi) -> wasmtime::Result<Raw>,
        check: impl FnOnce(Raw) -> Result<T, ScoreError>,
    ) -> (Result<T, ScoreError>, Spent) {
        let (started, mut fuel, mut memory) = (Instant::now(), 0, 0);
        let answer = self.start().and_then(|(mut call, abi)| {
            let raw = ask(&mut call, abi);
            (fuel, memory) = (call.fuel(), call.peak_memory());
            self.tally.note_peak(memory);
            // The instance ends here; checking the answer does not need it.
            raw.map_err(|error| call.failure(&error))
        });
        let answer = answer.and_then(check);
        (answer, Spent { took: started.elapsed(), fuel, memory })
    }

    /// Counts a call, and reports the model to the supervisor after too many failures in a row.
    pub(crate) fn record(&self, took: Duration, error: Option<&ScoreError>) {
        let Some(supervisor) = self.supervisor.get() else { return };
        let failures = self.tally.record(took, error);
        let Some(error) = error.filter(|error| error.is_fault()) else { return };
        metrics::counter!("assay_model_failures_total", "kind" => self.kind().as_str(),
            "version" => self.version().to_string(), "code" => error.code())
        .increment(1);
        tracing::warn!(kind = %self.kind(), version = %self.version(), code = error.code(), %error, "a model failed");
        if failures >= self.runtime.limits.failures
            && let Some(supervisor) = supervisor.upgrade()
        {
            self.tally.reset();
            supervisor.failing(&self.reference, error);
        }
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.kind(), self.version(), self.digest())
    }
}
