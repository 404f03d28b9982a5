//! The test that a model passes before it is published: answers within bounds and time, and equal answers to equal
//! input.

mod sandbox;

use std::{fmt::Debug, sync::Arc};

use crate::{
    BoostModel, CreditModel, LoadError, Model, ScoreError, SybilModel,
    call::{
        answer,
        decile_table::Deciles,
        kinds::AnyKind,
        samples::{self, CallSample},
    },
    compile::world::Generation,
    confine::clock::UsedTime,
};
use assay_domain::{Decile, Factor, ModelKind, Score};

/// A busy machine may cause one missed deadline; this many are the model's fault.
const ATTEMPTS: u32 = 3;

/// Calls every function of `model`, fills its table of deciles, and returns the model with every problem.
pub(crate) fn run(mut model: Model) -> (Arc<Model>, Vec<LoadError>) {
    let mut test = SelfTest { used: UsedTime::begin(), problems: Vec::new() };
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
    if test.used.time() > model.runtime.limits.self_test && test.problems.is_empty() {
        let problem =
            format!("it took more than {} ms of processor time altogether", model.runtime.limits.self_test.as_millis());
        test.fail("all inputs".to_owned(), problem);
    }
    (model, once(test.problems))
}

/// Maximum number of inputs that a problem names; the others are counted.
const NAMED: usize = 5;

/// Lists each problem once, with the inputs that show it.
fn once(problems: Vec<(String, String)>) -> Vec<LoadError> {
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    for (input, problem) in problems {
        match found.iter_mut().find(|(_, known)| *known == problem) {
            Some((inputs, _)) => inputs.push(input),
            None => found.push((vec![input], problem)),
        }
    }
    let error = |(mut inputs, problem): (Vec<String>, String)| {
        let others = inputs.len().saturating_sub(NAMED);
        inputs.truncate(NAMED);
        let others = if others == 0 { String::new() } else { format!(" and {others} others") };
        LoadError::SelfTest { input: inputs.join(", ") + &others, problem }
    };
    found.into_iter().map(error).collect()
}

/// The factors of the first answer, which every answer must have.
#[derive(Default)]
struct SameFactors(Option<(&'static str, Vec<String>)>);

impl SameFactors {
    fn check(&mut self, name: &'static str, factors: &[Factor]) -> Result<(), String> {
        let labels: Vec<String> = factors.iter().map(|factor| factor.label.clone()).collect();
        match &self.0 {
            None => self.0 = Some((name, labels)),
            Some((first, known)) if *known != labels => {
                return Err(format!(
                    "its factors are {labels:?}, and those of {first} are {known:?}. Give every wallet the same \
                     factors in the same order; one that does not apply has 0 points"
                ));
            }
            Some(_) => {}
        }
        Ok(())
    }
}

struct SelfTest {
    used: UsedTime,
    /// Inputs and the problems of their answers.
    problems: Vec<(String, String)>,
}

impl SelfTest {
    fn credit(&mut self, model: &CreditModel) {
        let mut same = SameFactors::default();
        self.each(model, |test, CallSample { name, features, must_answer }| {
            match (must_answer, test.twice(name, || model.score(&features))) {
                (true, Some(Err(ScoreError::Refused(why)))) => {
                    test.fail(name.to_owned(), format!("it must be judged, and the model says: {why}"));
                }
                (_, Some(Ok(scored))) => {
                    test.same(&mut same, name, &scored.factors);
                    if !scored.is_explained() {
                        test.twice(&format!("explain: {name}"), || model.explain(&features, &scored));
                    }
                }
                _ => {}
            }
        });
    }

    fn sybil(&mut self, model: &SybilModel) {
        let mut same = SameFactors::default();
        self.each(model, |test, CallSample { name, features, .. }| {
            let Some(Ok(judged)) = test.twice(name, || model.risk(&features)) else { return };
            test.same(&mut same, name, &judged.factors);
            if !judged.is_explained() {
                test.twice(&format!("explain: {name}"), || model.explain(&features, &judged));
            }
        });
    }

    /// Tests all subjects. Those after the first ones are tested only if the model has no problem with these, and in
    /// time.
    fn each(&mut self, model: &Model, mut test: impl FnMut(&mut Self, CallSample)) {
        samples::subjects(model.generation).into_iter().for_each(|sample| test(self, sample));
        if !self.problems.is_empty() {
            return;
        }
        for sample in samples::further(model.generation) {
            if self.used.time() > model.runtime.limits.self_test {
                return;
            }
            test(self, sample);
        }
    }

    fn same(&mut self, known: &mut SameFactors, name: &'static str, factors: &[Factor]) {
        if let Err(problem) = known.check(name, factors) {
            self.fail(name.to_owned(), problem);
        }
    }

    /// The labels of the factors of an ordinary wallet, which every wallet must have.
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
            if self.used.time() > model.runtime.limits.self_test {
                return Err(at(format!(
                    "the deciles of 701 scores take more than {} ms of processor time",
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

    /// Calls two fresh instances. `None` if one fails or the answers differ; the problem is then recorded.
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
        self.problems.push((input, problem));
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
        ScoreError::Trap { kind, .. } if kind.contains("time not implemented on this platform") => {
            "A model has no clock, so `std::time` stops it: use `as_of` of the features"
        }
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
