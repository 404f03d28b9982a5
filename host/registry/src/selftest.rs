//! What a model must show before it is published: answers within bounds and time, and the same answer twice.

use std::{fmt::Debug, time::Instant};

use crate::{
    LoadError, ScoreError, answer,
    model::Model,
    samples::{self, Sample},
};
use assay_domain::{Decile, ModelKind, Score};

/// A deadline missed once may be the machine's fault; missed as often as this it is the model's.
const TRIES: u32 = 3;

/// Tries `model` on everything its kind is asked, fills its decile table, and returns everything that was wrong.
pub(crate) fn run(model: &mut Model) -> Vec<LoadError> {
    let mut test = SelfTest { started: Instant::now(), problems: Vec::new() };
    match model.kind() {
        ModelKind::Credit => test.credit(model),
        ModelKind::Boost => test.boost(model),
        ModelKind::Sybil => test.sybil(model),
        ModelKind::Sandbox => test.sandbox(model),
    }
    if test.started.elapsed() > model.runtime.limits.self_test && test.problems.is_empty() {
        let problem = format!("it took longer than {} ms altogether", model.runtime.limits.self_test.as_millis());
        test.fail("all inputs".to_owned(), problem);
    }
    test.problems
}

struct SelfTest {
    started: Instant,
    problems: Vec<LoadError>,
}

impl SelfTest {
    fn credit(&mut self, model: &mut Model) {
        match self.deciles(model) {
            Ok(table) => model.deciles = table,
            Err((input, problem)) => return self.fail(input, problem),
        }
        for Sample { name, features, must_answer } in samples::subjects() {
            let answer = self.twice(name, || model.score(&features));
            if let (true, Some(Err(ScoreError::Refused(why)))) = (must_answer, answer) {
                self.fail(name.to_owned(), format!("it must be judged, and the model says: {why}"));
            }
        }
    }

    /// The decile of all 701 scores.
    fn deciles(&self, model: &Model) -> Result<Vec<Decile>, (String, String)> {
        let mut table: Vec<Decile> = Vec::with_capacity(701);
        for score in Score::MIN.get()..=Score::MAX.get() {
            let at = |problem: String| (format!("decile({score})"), problem);
            if self.started.elapsed() > model.runtime.limits.self_test {
                return Err(at(format!(
                    "the deciles of 701 scores take longer than {} ms",
                    model.runtime.limits.self_test.as_millis()
                )));
            }
            let decile = patiently(|| {
                let (mut call, abi) = model.start()?;
                abi.decile(&mut call, score).map_err(|error| call.failure(&error)).and_then(answer::decile)
            });
            let decile = decile.map_err(|error| at(with_advice(&error)))?;
            if let Some(last) = table.last().filter(|last| **last > decile) {
                return Err(at(format!(
                    "{} is below decile({}), which is {}: a decile never falls as the score rises",
                    decile.get(),
                    score - 1,
                    last.get()
                )));
            }
            table.push(decile);
        }
        Ok(table)
    }

    fn boost(&mut self, model: &Model) {
        for score in [Score::MIN, Score::MAX].into_iter().chain([639, 640, 700, 999].into_iter().filter_map(Score::new))
        {
            for usd in [0.0, 1.0, 50_000.0, 1e6, 1e18] {
                self.twice(&format!("boost({score}, {usd} dollars)"), || model.boost(score, usd));
            }
        }
    }

    fn sybil(&mut self, model: &Model) {
        for Sample { name, features, .. } in samples::subjects() {
            self.twice(name, || model.risk(&features));
        }
    }

    fn sandbox(&mut self, model: &Model) {
        for address in samples::addresses() {
            let at = |function: &str| format!("{function}({address})");
            let Some(Ok(score)) = self.twice(&at("score"), || model.mock_score(&address)) else { continue };
            for usd in [0.0, 50_000.0, 1e9] {
                let boosted = self.twice(&at("boosted-score"), || model.mock_boosted(&address, usd));
                if let Some(Ok(boosted)) = boosted.filter(|boosted| matches!(boosted, Ok(boosted) if *boosted < score))
                {
                    self.fail(at("boosted-score"), format!("{boosted} with {usd} dollars is below the score {score}"));
                }
            }
            self.twice(&at("factors"), || model.mock_factors(&address));
            self.twice(&at("portfolio"), || model.mock_portfolio(&address));
            if let Some(Ok(report)) = self.twice(&at("report"), || model.mock_report(&address))
                && report.score != score
            {
                self.fail(at("report"), format!("its score is {}, and score({address}) is {score}", report.score));
            }
        }
    }

    /// Asks in two fresh instances. `None` where that already is a problem, which is then noted.
    fn twice<T: PartialEq + Debug>(
        &mut self,
        input: &str,
        ask: impl Fn() -> Result<T, ScoreError>,
    ) -> Option<Result<T, ScoreError>> {
        let (first, second) = (patiently(&ask), patiently(&ask));
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

fn patiently<T>(ask: impl Fn() -> Result<T, ScoreError>) -> Result<T, ScoreError> {
    for _ in 1..TRIES {
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
        ScoreError::MemoryLimit { .. } => "Allocate in proportion to the input, and start with a small stack",
        ScoreError::StackOverflow(_) => "Put a bound on the recursion, or make it a loop",
        ScoreError::OutOfRange(_) | ScoreError::TextTooLong { .. } | ScoreError::AnswerTooLarge(_) => {
            "wit/v1 states the bounds of every answer"
        }
        ScoreError::Unreadable(_) => {
            "Return what wit-bindgen makes of wit/v1, and free nothing that is still to be read"
        }
        _ => return error.to_string(),
    };
    format!("{error}. {advice}")
}
