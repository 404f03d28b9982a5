//! The self-test of a sandbox: answers within bounds that agree with one another.

use super::SelfTest;
use crate::{MockSubject, SandboxModel, call::samples};

impl SelfTest {
    pub(super) fn sandbox(&mut self, model: &SandboxModel) {
        for address in samples::addresses() {
            let at = |function: &str| format!("{function}({address})");
            let Some(Ok(score)) = self.twice(&at("score"), || model.score(&address)) else { continue };
            for usd in [0.0, 50_000.0, 1e9] {
                let boosted = self.twice(&at("boosted-score"), || model.boosted(&address, usd));
                if let Some(Ok(boosted)) = boosted.filter(|boosted| matches!(boosted, Ok(boosted) if *boosted < score))
                {
                    self.fail(at("boosted-score"), format!("{boosted} with {usd} dollars is below the score {score}"));
                }
            }
            self.twice(&at("factors"), || model.factors(&address));
            self.twice(&at("portfolio"), || model.portfolio(&address));
            self.twice(&at("behaviour-of"), || model.behaviour(&MockSubject::Address(address)));
            if let Some(Ok(report)) = self.twice(&at("report"), || model.report(&address))
                && report.score != score
            {
                self.fail(at("report"), format!("its score is {}, and score({address}) is {score}", report.score));
            }
        }
        self.scenarios(model);
    }

    fn scenarios(&mut self, model: &SandboxModel) {
        let Some(Ok(scenarios)) = self.twice("scenarios", || model.scenarios()) else { return };
        for scenario in scenarios {
            let at = format!("behaviour-of the subject of {:?}", scenario.id);
            if let Some(Ok(None)) = self.twice(&at, || model.behaviour(&scenario.subject)) {
                self.fail(at, "it has none, and it is the subject of a scenario".to_owned());
            }
        }
    }
}
