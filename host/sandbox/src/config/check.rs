//! What is wrong with the scenarios of a file.

use std::collections::BTreeMap;

use assay_agents::is_mock_agent;
use assay_domain::{Score, settings::Problems};

use super::{Entry, ReportState, ScenarioFile};
use crate::{condition::Condition, failure::Failure};

/// Longest wait before an answer, in milliseconds.
const LONGEST: u64 = 60_000;
/// Maximum number of scenarios in a file.
const MOST: usize = 1_000;
/// Maximum number of steps of a watch.
const MOST_STEPS: u64 = 1_000;
/// Maximum lengths of an id or title, and of a description.
const NAME: usize = 80;
const DESCRIPTION: usize = 500;

impl ScenarioFile {
    /// What is wrong with the values.
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        let (mut ids, mut subjects) = (BTreeMap::new(), BTreeMap::new());
        found.number("scenarios", self.scenarios.len(), ..=MOST as u64);
        for (at, entry) in self.scenarios.iter().enumerate() {
            let path = format!("scenarios[{at}]");
            if let Some(other) = ids.insert(&entry.id, at) {
                found.add(format!("{path}.id"), format!("scenarios[{other}] has this id; name each scenario once"));
            }
            let subject = (entry.address, entry.agent);
            if subject != (None, None)
                && let Some(other) = subjects.insert(subject, at)
            {
                let key = if entry.agent.is_some() { "agent" } else { "address" };
                found.add(format!("{path}.{key}"), format!("scenarios[{other}] is about it; join the two"));
            }
            found.section(&path, entry.problems());
        }
        found
    }
}

impl Entry {
    fn problems(&self) -> Problems {
        let mut found = Problems::default();
        self.text_problems(&mut found);
        match (self.address, self.agent) {
            (None, None) => found.add("", "names no subject; give `address` or `agent`"),
            (Some(_), Some(_)) => found.add("agent", "set together with `address`; a scenario is about one of them"),
            (None, Some(agent)) => {
                let what = "no such agent in a sandbox: 1 to 119, without those that 20 divides";
                found.add_if(!is_mock_agent(agent), "agent", what);
                self.only_of("agent", self.set_of_address(), &mut found);
            }
            (Some(_), None) => self.only_of("address", self.payment.map(|_| "payment"), &mut found),
        }
        self.answer_problems(&mut found);
        found
    }

    fn text_problems(&self, found: &mut Problems) {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_id = (1..=NAME).contains(&self.id.len()) && self.id.bytes().all(plain);
        found.add_if(!is_id, "id", "must be 1 to 80 lower-case letters, digits and dashes");
        for (key, text, most) in [("title", &self.title, NAME), ("description", &self.description, DESCRIPTION)] {
            if let Some(text) = text {
                found.number(key, text.chars().count(), 1..=most as u64);
            }
        }
    }

    /// A key that an agent has no use for.
    fn set_of_address(&self) -> Option<&'static str> {
        let set = [
            ("status", self.status.is_some()),
            ("code", self.code.is_some()),
            ("delay_ms", !self.delay_ms.is_zero()),
            ("requests", self.requests.is_some()),
            ("score", self.score.is_some()),
            ("range", self.range.is_some()),
            ("decile", self.decile.is_some()),
            ("factors", !self.factors.is_empty()),
            ("report", self.report.is_some()),
            ("watch", !self.watch.is_empty()),
        ];
        set.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key)
    }

    fn only_of(&self, subject: &str, other: Option<&'static str>, found: &mut Problems) {
        let Some(key) = other else { return };
        let choices = match subject {
            "agent" => "`submission` or `payment`",
            _ => "any key but `payment`",
        };
        found.add(key, format!("of no use for an {subject}; give {choices}"));
    }

    fn answer_problems(&self, found: &mut Problems) {
        if let Some(status) = self.status {
            let is_known = matches!(status, 404 | 429 | 500 | 502 | 503 | 504);
            let what = "no status of a score or report; give 404, 429, 500, 502, 503 or 504";
            found.add_if(!is_known, "status", what);
            if let Some(code) = self.code.filter(|code| is_known && code.status() != status) {
                found.add("code", format!("has the status {}, and `status` is {status}; leave one out", code.status()));
            }
        }
        if let Some(seconds) = self.retry_after {
            found.number("retry_after", seconds, 1..=3_600);
            let is_limit = matches!(self.failure(), Some(Failure::Limited(_)));
            found.add_if(!is_limit, "retry_after", "only 429 `too_many_requests` has one of your choice; leave it out");
        }
        found.millis("delay_ms", self.delay_ms, ..=LONGEST);
        if let Some(requests) = self.requests {
            found.number("requests", requests, 1..=1_000);
            let is_alone = self.failure().is_none() && self.report.is_none() && self.delay_ms.is_zero();
            found.add_if(is_alone, "requests", "nothing ends after them; set `status`, `code`, `report` or `delay_ms`");
        }
        self.score_problems(found);
        let is_unread = self.report == Some(ReportState::ChainUnread);
        found.add_if(is_unread && self.chain.is_none(), "chain", "missing; name the chain that is not read");
        found.add_if(!is_unread && self.chain.is_some(), "chain", "only for report = \"chain-unread\"; leave it out");
        self.watch_problems(found);
        let is_plain = self.condition() == Condition::default() && self.status.is_none() && self.chain.is_none();
        let is_plain = is_plain && self.watch.is_empty();
        found.add_if(is_plain, "", "changes nothing; set what differs from a plain answer");
    }

    fn watch_problems(&self, found: &mut Problems) {
        found.number("watch", self.watch.len(), ..=MOST_STEPS);
        let mut before = None;
        for (at, step) in self.watch.iter().enumerate() {
            let key = |key: &str| format!("watch[{at}].{key}");
            let is_late = before.is_none_or(|before| step.at_s > before);
            found.add_if(at == 0 && step.at_s != 0, key("at_s"), "must be 0 for the first step");
            found.add_if(!is_late, key("at_s"), "must be later than that of the step before");
            found.add_if(at == 0 && step.reorganises, key("reorganises"), "there is no step before it; leave it out");
            before = Some(step.at_s);
            let amounts = [("health_factor", step.health_factor), ("liquidated_usd", step.liquidated_usd)];
            for (name, amount) in amounts.into_iter().chain([("debt_usd", Some(step.debt_usd))]) {
                let is_wrong = amount.is_some_and(|amount| !amount.is_finite() || amount < 0.0);
                found.add_if(is_wrong, key(name), "must be a number of at least 0");
            }
            if let Some(score) = step.score {
                found.number(&key("score"), score, u64::from(Score::MIN.get())..=u64::from(Score::MAX.get()));
            }
        }
    }

    fn score_problems(&self, found: &mut Problems) {
        if let Some(score) = self.score {
            found.number("score", score, u64::from(Score::MIN.get())..=u64::from(Score::MAX.get()));
        }
        if let Some(decile) = self.decile {
            found.number("decile", decile, 1..=10);
        }
        let given =
            [("score", self.score.is_some()), ("range", self.range.is_some()), ("decile", self.decile.is_some())];
        let mut given = given.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key);
        if let Some(first) = given.next() {
            given.for_each(|other| found.add(other, format!("set together with `{first}`, which decides it")));
        }
        if self.status.is_some() || self.code.is_some() {
            let is_for_later = self.requests.is_some();
            let is_set = !self.factors.is_empty() || self.wanted().is_some();
            let what = "an error has no score; leave it out, or set `requests` for an error that ends";
            found.add_if(is_set && !is_for_later, if self.factors.is_empty() { "score" } else { "factors" }, what);
            found.add_if(self.report.is_some(), "report", "an error has no report; set `status` or `report`");
        }
        for (at, factor) in self.factors.iter().enumerate() {
            let length = factor.label.chars().count();
            found.number(&format!("factors[{at}].label"), length, 1..=NAME as u64);
        }
    }
}
