//! Models by kind: each type has only the functions of its kind.

use std::{fmt, ops::Deref, sync::Arc};

use super::{abi::raw, answer};
use crate::{Behaviour, ChainValue, MockReport, MockSubject, Model, Scenario, ScoreError, Spent};
use assay_domain::{Address, Assessment, Decile, Factor, ModelKind, RiskAssessment, Score, features::Features};

/// A model of one kind. Clones share the loaded model.
pub trait OfKind: Clone + Deref<Target = Model> {
    const KIND: ModelKind;

    /// `None` for a model of another kind.
    fn of(model: &Arc<Model>) -> Option<Self>;
}

macro_rules! kind {
    ($(#[$doc:meta])* $name:ident, $kind:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(Arc<Model>);

        impl OfKind for $name {
            const KIND: ModelKind = ModelKind::$kind;

            fn of(model: &Arc<Model>) -> Option<Self> {
                (model.kind() == Self::KIND).then(|| Self(Arc::clone(model)))
            }
        }

        impl Deref for $name {
            type Target = Model;

            fn deref(&self) -> &Model {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

kind!(
    /// Scores the features of an address.
    CreditModel,
    Credit
);
kind!(
    /// Raises a score by off-chain assets.
    BoostModel,
    Boost
);
kind!(
    /// Estimates whether an address belongs to a bot.
    SybilModel,
    Sybil
);
kind!(
    /// Generates mock data for the sandbox.
    SandboxModel,
    Sandbox
);

/// A model whose kind is known.
pub(crate) enum AnyKind {
    Credit(CreditModel),
    Boost(BoostModel),
    Sybil(SybilModel),
    Sandbox(SandboxModel),
}

impl From<&Arc<Model>> for AnyKind {
    fn from(model: &Arc<Model>) -> Self {
        let model = Arc::clone(model);
        match model.kind() {
            ModelKind::Credit => Self::Credit(CreditModel(model)),
            ModelKind::Boost => Self::Boost(BoostModel(model)),
            ModelKind::Sybil => Self::Sybil(SybilModel(model)),
            ModelKind::Sandbox => Self::Sandbox(SandboxModel(model)),
        }
    }
}

impl CreditModel {
    /// Scores `features`. The factors have words if the model's interface returns them with the score; otherwise
    /// [`Self::explain`] adds them.
    ///
    /// # Errors
    /// [`ScoreError::Refused`] if the model does not score this subject; otherwise a failure of the model.
    pub fn score(&self, features: &Features) -> Result<Assessment, ScoreError> {
        self.ask(|call, abi| abi.score(call, features), |raw| self.checked(raw))
    }

    /// Adds words to the factors of `scored`, the answer to `features`. Calls the model only if they are missing.
    ///
    /// # Errors
    /// A failure of the model, or words that do not agree with the answer.
    pub fn explain(&self, features: &Features, scored: &Assessment) -> Result<Assessment, ScoreError> {
        if scored.is_explained() {
            return Ok(scored.clone());
        }
        let explain = |raw| answer::explained(raw, &scored.factors);
        let factors = self.ask(|call, abi| abi.explain(call, features), explain)?;
        Ok(Assessment { factors, ..scored.clone() })
    }

    /// Scores `features`, with words for the factors.
    ///
    /// # Errors
    /// Those of [`Self::score`] and [`Self::explain`].
    pub fn explained(&self, features: &Features) -> Result<Assessment, ScoreError> {
        self.explain(features, &self.score(features)?)
    }

    /// The decile of a score, from the table that was read when the model was loaded.
    pub fn decile(&self, score: Score) -> Decile {
        self.deciles.of(score)
    }

    /// Like [`Self::score`], with the cost. Fuel and memory are 0 except on the shadow engine.
    pub fn score_with_cost(&self, features: &Features) -> (Result<Assessment, ScoreError>, Spent) {
        self.score_on(self, features)
    }

    /// Like [`Self::score_with_cost`], without counting the call or its failure.
    pub fn score_uncounted(&self, features: &Features) -> (Result<Assessment, ScoreError>, Spent) {
        self.unrecorded(|call, abi| abi.score(call, features), |raw| self.checked(raw))
    }

    /// Like [`Self::explained`], without counting the calls or their failures: for features that no wallet has.
    ///
    /// # Errors
    /// Those of [`Self::explained`].
    pub fn explained_uncounted(&self, features: &Features) -> Result<Assessment, ScoreError> {
        let scored = self.score_uncounted(features).0?;
        if scored.is_explained() {
            return Ok(scored);
        }
        let explain = |raw| answer::explained(raw, &scored.factors);
        let factors = self.unrecorded(|call, abi| abi.explain(call, features), explain).0?;
        Ok(Assessment { factors, ..scored })
    }

    /// Scores with `copy`, the same model on the shadow engine. The call and its failure count for this model.
    pub fn score_on(&self, copy: &Self, features: &Features) -> (Result<Assessment, ScoreError>, Spent) {
        let (answer, spent) = copy.score_uncounted(features);
        self.record(spent.took, answer.as_ref().err());
        (answer, spent)
    }

    pub(crate) fn checked(&self, raw: Result<raw::Verdict, raw::Refusal>) -> Result<Assessment, ScoreError> {
        answer::assessment(raw, &self.labels, |score| self.decile(score))
    }
}

impl BoostModel {
    /// Raises `score` for off-chain assets of this many dollars. The result is at least `score`.
    ///
    /// # Errors
    /// A failure of the model.
    pub fn boost(&self, score: Score, total_asset_usd: f64) -> Result<Score, ScoreError> {
        self.ask(|call, abi| abi.boost(call, score.get(), total_asset_usd), |raw| answer::boosted(raw, score))
    }
}

impl SybilModel {
    /// The risk that the address belongs to a bot.
    ///
    /// # Errors
    /// A failure of the model.
    pub fn risk(&self, features: &Features) -> Result<RiskAssessment, ScoreError> {
        self.ask(|call, abi| abi.risk(call, features), |raw| answer::risk(raw, &self.labels))
    }

    /// Adds words to the factors of `judged`, the answer to `features`.
    ///
    /// # Errors
    /// A failure of the model, or words that do not agree with the answer.
    pub fn explain(&self, features: &Features, judged: &RiskAssessment) -> Result<RiskAssessment, ScoreError> {
        let explain = |raw| answer::explained(Ok(raw), &judged.factors);
        let factors = self.ask(|call, abi| abi.explain_risk(call, features), explain)?;
        Ok(RiskAssessment { risk: judged.risk, factors })
    }
}

impl SandboxModel {
    /// The mock score of an address.
    ///
    /// # Errors
    /// A failure of the model, as for every function below.
    pub fn score(&self, address: &Address) -> Result<Score, ScoreError> {
        self.ask(|call, abi| abi.mock_score(call, address), answer::score)
    }

    /// The mock score of an address with off-chain assets of this many dollars.
    ///
    /// # Errors
    /// Those of [`Self::score`].
    pub fn boosted(&self, address: &Address, total_asset_usd: f64) -> Result<Score, ScoreError> {
        self.ask(|call, abi| abi.mock_boosted(call, address, total_asset_usd), answer::score)
    }

    /// Mock factors of the score.
    ///
    /// # Errors
    /// Those of [`Self::score`].
    pub fn factors(&self, address: &Address) -> Result<Vec<Factor>, ScoreError> {
        self.ask(|call, abi| abi.mock_factors(call, address), answer::factors)
    }

    /// The mock report on an address.
    ///
    /// # Errors
    /// Those of [`Self::score`].
    pub fn report(&self, address: &Address) -> Result<MockReport, ScoreError> {
        self.ask(|call, abi| abi.mock_report(call, address), answer::report)
    }

    /// The mock value of an address on each chain. A chain that is not listed has no value.
    ///
    /// # Errors
    /// Those of [`Self::score`].
    pub fn portfolio(&self, address: &Address) -> Result<Vec<ChainValue>, ScoreError> {
        self.ask(|call, abi| abi.mock_portfolio(call, address), answer::portfolio)
    }

    /// The subjects that each behave as production does in one condition; none for a model of `wit/v1`.
    ///
    /// # Errors
    /// Those of [`Self::score`].
    pub fn scenarios(&self) -> Result<Vec<Scenario>, ScoreError> {
        self.ask(|call, abi| abi.mock_scenarios(call), answer::scenarios)
    }

    /// The host's behaviour for `subject`, if it is not a plain answer.
    ///
    /// # Errors
    /// Those of [`Self::score`].
    pub fn behaviour(&self, subject: &MockSubject) -> Result<Option<Behaviour>, ScoreError> {
        self.ask(|call, abi| abi.mock_behaviour(call, subject), answer::behaviour)
    }
}
