//! One call after the other, as an author looks at them: the answer or why there is none, what it costs, what it
//! printed, and what a panic said.

use assay_domain::{Assessment, ModelInfo, features::Features};

use crate::{
    CreditModel, Limits, LoadError, Model, OfKind as _, OpenError, ScoreError, Spent, StandaloneError,
    abi::Abi,
    call::Call,
    engine::Purpose,
    engines::Engines,
    examine,
    samples::{self, Sample},
};

/// A credit model on an engine that counts, and keeps what a stopped instance leaves behind.
pub struct Trials(CreditModel);

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub answer: Result<Assessment, ScoreError>,
    pub spent: Spent,
    /// What the model printed, where its language has a `print`.
    pub printed: String,
}

impl Trials {
    /// Loads the credit model in `bytes`, also one that fails the self-test.
    ///
    /// # Errors
    /// The first problem of the file or of the machine.
    pub fn load(bytes: &[u8], limits: &Limits) -> Result<Self, StandaloneError> {
        let engines = Engines::new(limits, Purpose::TRY).map_err(|error| OpenError::Engine(format!("{error:#}")))?;
        let found = examine::examine(bytes, &engines, None);
        match (found.problems.into_iter().find(|problem| !matches!(problem, LoadError::SelfTest { .. })), found.model) {
            (None, Some(model)) => CreditModel::of(&model).map(Self).ok_or(StandaloneError::Kind(model.kind())),
            (problem, _) => Err(problem.unwrap_or(LoadError::Closed).into()),
        }
    }

    pub fn info(&self) -> &ModelInfo {
        let model: &Model = &self.0;
        model.info()
    }

    /// Asks for a score, and for its words where the model gives them apart. The cost is that of the score.
    pub fn ask(&self, features: &Features) -> Trial {
        let (mut fuel, mut printed) = (0, None);
        let ask = |call: &mut Call<'_>, abi: &dyn Abi| {
            let raw = abi.score(call, features);
            fuel = call.fuel();
            printed = call.printed(raw.as_ref().err());
            raw
        };
        let (answer, spent) = self.0.unrecorded(ask, |raw| self.0.checked(raw));
        let answer = answer.and_then(|answer| self.0.explain(features, &answer));
        Trial { answer, spent: Spent { fuel, ..spent }, printed: printed.unwrap_or_default() }
    }
}

/// The sample wallets that a check scores, with their names.
pub fn wallets() -> Vec<(&'static str, Features)> {
    samples::wallets().into_iter().map(|Sample { name, features, .. }| (name, features)).collect()
}
