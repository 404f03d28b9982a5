//! Single calls for an author to inspect: the answer or why there is none, its cost, the model's prints, and the
//! message of a panic.

use std::{collections::BTreeSet, sync::Arc};

use assay_domain::{
    Address, Assessment, Decile, Factor, ModelInfo, ModelKind, RiskAssessment, Score, features::Features,
};

use super::hints;
use crate::{
    Limits, LoadError, Model, OpenError, ScoreError, Spent, StandaloneError,
    call::{
        ModelCall,
        abi::{self, Abi, raw},
        answer,
        kinds::AnyKind,
        samples::{self, CallSample},
    },
    confine::{engine::Purpose, engines::Engines},
    examine,
};

/// A model on an engine that meters fuel and keeps the memory of a stopped instance.
pub struct Trials {
    model: Arc<Model>,
    /// Records the pages that a call wrote, which takes longer than the call.
    watches_pages: bool,
    prints: bool,
}

/// The input of a call: a wallet for a credit or sybil model, figures for a boost model, an address for a sandbox
/// generator.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    Wallet(Features),
    Boost { score: Score, total_asset_usd: f64 },
    Address(Address),
}

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial<T = Answer> {
    pub answer: Result<T, ScoreError>,
    pub spent: Spent,
    /// The model's prints, if its language has a `print`.
    pub printed: String,
    /// The 4 KiB pages of its memory that a script wrote, for [`Trials::written`]. Empty if the system does not report
    /// them, and after a failed call.
    written: BTreeSet<u32>,
}

/// Scores for which boost models and decile functions are called.
const SCORES: [Score; 2] = [Score::MIN, Score::MAX];

/// The answer of a model of any kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The score; for a sybil model, the risk.
    pub figure: u32,
    /// The decile, for a credit score.
    pub decile: Option<Decile>,
    pub factors: Vec<Factor>,
}

impl Trials {
    /// Loads the model in `bytes`, even if it fails the self-test.
    ///
    /// # Errors
    /// The first problem of the file or of the machine.
    pub fn load(bytes: &[u8], limits: &Limits) -> Result<Self, StandaloneError> {
        let engines = Engines::new(limits, Purpose::TRY).map_err(|error| OpenError::Engine(format!("{error:#}")))?;
        let found = examine::examine(bytes, &engines, None);
        match (found.problems.into_iter().find(|problem| !matches!(problem, LoadError::SelfTest { .. })), found.model) {
            (None, Some(model)) => Ok(Self { model, watches_pages: false, prints: hints::prints(bytes) }),
            (problem, _) => Err(problem.unwrap_or(LoadError::Closed).into()),
        }
    }

    pub fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    /// Whether it is a Rust model that prints, which no call shows.
    pub fn prints_unseen(&self) -> bool {
        self.prints
    }

    /// The 4 KiB pages of its memory that a script writes when called with the samples.
    pub fn written(&self) -> BTreeSet<u32> {
        let watching = Self { model: self.model.clone(), watches_pages: true, prints: self.prints };
        watching.pages()
    }

    fn pages(&self) -> BTreeSet<u32> {
        let questions: Vec<_> = match self.model.kind() {
            ModelKind::Boost => SCORES.map(|score| Question::Boost { score, total_asset_usd: 50_000.0 }).into(),
            ModelKind::Sandbox => vec![Question::Address(Address::ZERO)],
            ModelKind::Credit | ModelKind::Sybil => {
                let generation = self.model.generation;
                let samples = samples::subjects(generation).into_iter().chain(samples::further(generation));
                let wallets = samples.map(|sample| sample.features).chain([samples::crowded()]);
                wallets.map(Question::Wallet).collect()
            }
        };
        let mut pages: BTreeSet<u32> = questions.iter().flat_map(|question| self.ask(question).written).collect();
        if self.model.kind() == ModelKind::Credit {
            let decile = |score: Score| self.call(|call, abi| abi.decile(call, score.get()), answer::decile);
            pages.extend(SCORES.into_iter().flat_map(|score| decile(score).written));
        }
        pages
    }

    /// Calls the model, and calls it again for the words if it provides them separately. The cost is that of the first
    /// call. Input for another kind of model is an error.
    pub fn ask(&self, question: &Question) -> Trial {
        match (AnyKind::from(&self.model), question) {
            (AnyKind::Credit(model), Question::Wallet(wallet)) => {
                let scored = self.call(|call, abi| abi.score(call, wallet), |raw| model.checked(raw)).then(Ok);
                self.worded(scored, |call, abi| abi.explain(call, wallet))
            }
            (AnyKind::Sybil(model), Question::Wallet(wallet)) => {
                let judge = |raw| answer::risk(raw, &model.labels);
                let judged = self.call(|call, abi| abi.risk(call, wallet), judge).then(Ok);
                self.worded(judged, |call, abi| abi.explain_risk(call, wallet).map(Ok))
            }
            (AnyKind::Boost(_), Question::Boost { score, total_asset_usd }) => self
                .call(|call, abi| abi.boost(call, score.get(), *total_asset_usd), |raw| answer::boosted(raw, *score))
                .then(Ok),
            (AnyKind::Sandbox(model), Question::Address(address)) => self
                .call(|call, abi| abi.mock_score(call, address), answer::score)
                .then(|score| Ok((score, model.factors(address)?))),
            _ => self.call(|_, _| abi::mismatch(), Ok::<Answer, _>).then(Ok),
        }
    }

    /// Adds the words of the factors, by a second call if the model provides them separately.
    fn worded(
        &self,
        trial: Trial,
        ask: impl FnOnce(&mut ModelCall<'_>, &dyn Abi) -> wasmtime::Result<Result<Vec<raw::Factor>, raw::Refusal>>,
    ) -> Trial {
        let Ok(answer) = &trial.answer else { return trial };
        if answer.factors.iter().all(|factor| factor.words.is_some()) {
            return trial;
        }
        let words = self.call(ask, |raw| answer::explained(raw, &answer.factors));
        Trial {
            answer: words.answer.map(|factors| Answer { factors, ..answer.clone() }),
            spent: trial.spent,
            printed: trial.printed + &words.printed,
            written: trial.written.into_iter().chain(words.written).collect(),
        }
    }

    fn call<Raw, T>(
        &self,
        ask: impl FnOnce(&mut ModelCall<'_>, &dyn Abi) -> wasmtime::Result<Raw>,
        check: impl FnOnce(Raw) -> Result<T, ScoreError>,
    ) -> Trial<T> {
        let (mut fuel, mut printed, mut written) = (0, None, BTreeSet::new());
        let ask = |call: &mut ModelCall<'_>, abi: &dyn Abi| {
            let raw = ask(call, abi);
            fuel = call.fuel();
            printed = call.printed(raw.as_ref().err());
            if raw.is_ok() && self.watches_pages {
                written = call.written();
            }
            raw
        };
        let (answer, spent) = self.model.unrecorded(ask, check);
        Trial { answer, spent: Spent { fuel, ..spent }, printed: printed.unwrap_or_default(), written }
    }
}

impl<T> Trial<T> {
    fn then<U: Into<Answer>>(self, more: impl FnOnce(T) -> Result<U, ScoreError>) -> Trial {
        let Self { answer, spent, printed, written } = self;
        Trial { answer: answer.and_then(more).map(Into::into), spent, printed, written }
    }
}

impl From<Assessment> for Answer {
    fn from(Assessment { score, decile, factors }: Assessment) -> Self {
        Self { figure: score.get(), decile: Some(decile), factors }
    }
}

impl From<RiskAssessment> for Answer {
    fn from(RiskAssessment { risk, factors }: RiskAssessment) -> Self {
        Self { figure: risk.into(), decile: None, factors }
    }
}

impl From<Score> for Answer {
    fn from(score: Score) -> Self {
        (score, Vec::new()).into()
    }
}

impl From<(Score, Vec<Factor>)> for Answer {
    fn from((score, factors): (Score, Vec<Factor>)) -> Self {
        Self { figure: score.get(), decile: None, factors }
    }
}

/// The sample wallets that a check scores, with their names.
pub fn wallets() -> Vec<(&'static str, Features)> {
    samples::wallets().into_iter().map(|CallSample { name, features, .. }| (name, features)).collect()
}
