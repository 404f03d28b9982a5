//! The test that a model passes before it is published: answers within bounds and time, and equal answers to equal
//! input.

mod sandbox;

use std::{fmt::Debug, sync::Arc, time::Instant};

use crate::{
    BoostModel, CreditModel, LoadError, Model, ScoreError, SybilModel, answer,
    deciles::Deciles,
    kinds::AnyKind,
    samples::{self, Sample},
    world::Generation,
};
use assay_domain::{Decile, ModelKind, Score};

/// One missed deadline may be caused by a busy machine; this many are caused by the model.
const ATTEMPTS: u32 = 3;

/// Calls every function of `model`, fills its table of deciles, and returns the model with every problem.
pub(crate) fn run(mut model: Model) -> (Arc<Model>, Vec<LoadError>) {
    let mut test = SelfTest { started: Instant::now(), problems: Vec::new() };
    if model.kind() == ModelKind::Credit {
        match test.deciles(&model) {
            Ok(deciles) => model.deciles = deciles,
            Err((input, problem)) => test.fail(input, problem),
        }
    }
    if model.generation == Generation::V2 && matches!(model.kind(), ModelKind::Credit | ModelKind::Sybil) {
        match test.labels(&model) {
            Ok(labels) => model.labels = labels,
            Err((input, problem)) => test.fail(input, problem),
        }
    }
    let model = Arc::new(model);
    match AnyKind::from(&model) {
        // The samples need the deciles and the labels.
        AnyKind::Credit(model) if test.problems.is_empty() => test.credit(&model),
        AnyKind::Sybil(model) if test.problems.is_empty() => test.sybil(&model),
        AnyKind::Credit(_) | AnyKind::Sybil(_) => {}
        AnyKind::Boost(model) => test.boost(&model),
        AnyKind::Sandbox(model) => test.sandbox(&model),
    }
    if test.started.elapsed() > model.runtime.limits.self_test && test.problems.is_empty() {
        let problem = format!("it took longer than {} ms altogether", model.runtime.limits.self_test.as_millis());
        test.fail("all inputs".to_owned(), problem);
    }
    (model, once(test.problems))
}

/// Each problem once, with the inputs that show it.
fn once(problems: Vec<LoadError>) -> Vec<LoadError> {
    let mut found: Vec<LoadError> = Vec::new();
    for one in problems {
        let same = |other: &&mut LoadError| matches!((&**other, &one), (LoadError::SelfTest { problem: known, .. }, LoadError::SelfTest { problem, .. }) if known == problem);
        match (found.iter_mut().find(same), &one) {
            (Some(LoadError::SelfTest { input, .. }), LoadError::SelfTest { input: more, .. }) => {
                *input = format!("{input}, {more}");
            }
            _ => found.push(one),
        }
    }
    found
}

struct SelfTest {
    started: Instant,
    problems: Vec<LoadError>,
}

impl SelfTest {
    fn credit(&mut self, model: &CreditModel) {
        for Sample { name, features, must_answer } in samples::subjects(model.generation) {
            let answer = self.twice(name, || model.score(&features));
            match (must_answer, answer) {
                (true, Some(Err(ScoreError::Refused(why)))) => {
                    self.fail(name.to_owned(), format!("it must be judged, and the model says: {why}"));
                }
                (_, Some(Ok(scored))) if !scored.is_explained() => {
                    self.twice(&format!("explain: {name}"), || model.explain(&features, &scored));
                }
                _ => {}
            }
        }
    }

    fn sybil(&mut self, model: &SybilModel) {
        for Sample { name, features, .. } in samples::subjects(model.generation) {
            if let Some(Ok(judged)) = self.twice(name, || model.risk(&features))
                && !judged.is_explained()
            {
                self.twice(&format!("explain: {name}"), || model.explain(&features, &judged));
            }
        }
    }

    /// The labels of the factors of an ordinary wallet, which are those of every wallet.
    fn labels(&self, model: &Model) -> Result<Vec<String>, (String, String)> {
        let features = samples::detailed();
        let factors = with_attempts(|| {
            let (mut call, abi) = model.start()?;
            let given = if model.kind() == ModelKind::Credit {
                abi.explain(&mut call, &features)
            } else {
                abi.explain_risk(&mut call, &features).map(Ok)
            };
            answer::explanation(given.map_err(|error| call.failure(&error))?)
        });
        let at = |error: ScoreError| ("explain: a wallet with positions and events".to_owned(), with_advice(&error));
        Ok(factors.map_err(at)?.into_iter().map(|factor| factor.label).collect())
    }

    /// The decile of all 701 scores.
    fn deciles(&self, model: &Model) -> Result<Deciles, (String, String)> {
        let (mut table, mut last) = (Deciles::default(), Decile::MIN);
        for of in (Score::MIN.get()..=Score::MAX.get()).filter_map(Score::new) {
            let score = of.get();
            let at = |problem: String| (format!("decile({score})"), problem);
            if self.started.elapsed() > model.runtime.limits.self_test {
                return Err(at(format!(
                    "the deciles of 701 scores take longer than {} ms",
                    model.runtime.limits.self_test.as_millis()
                )));
            }
            let decile = with_attempts(|| {
                let (mut call, abi) = model.start()?;
                abi.decile(&mut call, score).map_err(|error| call.failure(&error)).and_then(answer::decile)
            });
            let decile = decile.map_err(|error| at(with_advice(&error)))?;
            if last > decile {
                return Err(at(format!(
                    "{} is below decile({}), which is {}: a decile never falls as the score rises",
                    decile.get(),
                    score - 1,
                    last.get()
                )));
            }
            table.push(of, decile);
            last = decile;
        }
        Ok(table)
    }

    fn boost(&mut self, model: &BoostModel) {
        for score in [Score::MIN, Score::MAX].into_iter().chain([639, 640, 700, 999].into_iter().filter_map(Score::new))
        {
            for usd in [0.0, 1.0, 50_000.0, 1e6, 1e18] {
                self.twice(&format!("boost({score}, {usd} dollars)"), || model.boost(score, usd));
            }
        }
    }

    /// Calls two fresh instances. `None` where one fails or the answers differ; the problem is then recorded.
    fn twice<T: PartialEq + Debug>(
        &mut self,
        input: &str,
        ask: impl Fn() -> Result<T, ScoreError>,
    ) -> Option<Result<T, ScoreError>> {
        let (first, second) = (with_attempts(&ask), with_attempts(&ask));
        match &first {
            Err(error) if error.is_fault() => self.fail(input.to_owned(), with_advice(error)),
            _ if first != second => {
                self.fail(
                    input.to_owned(),
                    "two fresh instances give different answers: a model must not depend on anything but its input"
                        .to_owned(),
                );
            }
            _ => return Some(first),
        }
        None
    }

    fn fail(&mut self, input: String, problem: String) {
        self.problems.push(LoadError::SelfTest { input, problem });
    }
}

fn with_attempts<T>(ask: impl Fn() -> Result<T, ScoreError>) -> Result<T, ScoreError> {
    for _ in 1..ATTEMPTS {
        match ask() {
            Err(ScoreError::Deadline(_) | ScoreError::Busy { .. }) => {}
            answer => return answer,
        }
    }
    ask()
}

fn with_advice(error: &ScoreError) -> String {
    let advice = match error {
        ScoreError::Trap { .. } => "A panic is a trap: let every input have an answer",
        ScoreError::Deadline(_) => "Bound every loop by the size of its input",
        ScoreError::MemoryLimit { .. } => {
            "Allocate in proportion to the input, and start with a small stack; or declare a maximum of memory, by \
             which the class of the model is chosen"
        }
        ScoreError::TableLimit { .. } => {
            "Declare the table at its full size, by which the class of the model is chosen"
        }
        ScoreError::StackOverflow(_) => "Put a bound on the recursion, or make it a loop",
        ScoreError::OutOfRange(_) | ScoreError::TextTooLong { .. } | ScoreError::AnswerTooLarge(_) => {
            "wit/v1 and wit/v2 state the bounds of every answer"
        }
        ScoreError::Unreadable(_) => {
            "Return what wit-bindgen makes of the contract, and free nothing that is still to be read"
        }
        _ => return error.to_string(),
    };
    format!("{error}. {advice}")
}
