//! The lines of a verification, and its exit code.

use assay_domain::{Address, time_from_unix};
use assay_statement::Statement;
use serde_json::{Value, json};

use crate::{Failure, print};

/// A step of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Statement,
    Signature,
    Signer,
    Term,
    Evidence,
    Model,
    Chains,
    /// The chains could not be read.
    ChainReader,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Self::Statement => "statement",
            Self::Signature => "signature",
            Self::Signer => "signer",
            Self::Term => "term",
            Self::Evidence => "evidence",
            Self::Model => "model",
            Self::Chains | Self::ChainReader => "chains",
        }
    }

    /// The exit code if it fails.
    fn code(self) -> u8 {
        match self {
            Self::Statement => 10,
            Self::Signature => 11,
            Self::Signer => 12,
            Self::Term => 13,
            Self::Evidence => 14,
            Self::Model => 15,
            Self::Chains => 16,
            Self::ChainReader => 17,
        }
    }
}

/// The outcome of each step.
#[derive(Default)]
pub(super) struct Report {
    of: Option<Value>,
    lines: Vec<(Step, Outcome, Words)>,
}

/// Lines of a step that are printed; JSON has all.
const SHOWN: usize = 10;

/// What a step says: a sentence, or what it is about and one line for each part.
struct Words {
    about: String,
    parts: Vec<String>,
}

impl Words {
    fn whole(&self) -> String {
        let parts = self.parts.join("; ");
        let colon = if self.about.is_empty() || self.parts.is_empty() { "" } else { ": " };
        format!("{}{colon}{parts}", self.about)
    }

    /// As text with lines that begin at `column`.
    fn text(&self, column: usize) -> String {
        if self.parts.len() < 2 {
            return self.whole();
        }
        let rest = self.parts.len().saturating_sub(SHOWN);
        let about = (!self.about.is_empty()).then(|| format!("{}:", self.about));
        let rest = (rest > 0).then(|| format!("and {rest} more; --json has all"));
        let lines: Vec<String> = about.into_iter().chain(self.parts.iter().take(SHOWN).cloned()).chain(rest).collect();
        lines.join(&format!("\n{:column$}", ""))
    }
}

impl From<String> for Words {
    fn from(about: String) -> Self {
        Self { about, parts: Vec::new() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Agrees,
    Differs,
    Skipped,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::Skipped => "not checked",
        }
    }
}

impl Report {
    /// The content of the statement.
    pub fn of(&mut self, statement: &Statement, signer: Address) {
        let content = &statement.content;
        let claimed = content.claimed.as_ref().map(|claimed| {
            json!({
                "rate": f64::from(claimed.per_million) / 1e6, "days": claimed.days, "outcome": claimed.outcome,
                "population": claimed.population
            })
        });
        self.of = Some(json!({
            "address": statement.recipient.to_checksum(None), "score": content.score.get(),
            "decile": content.decile.get(), "range": content.score.range().as_str(),
            "model_version": content.version, "model_digest": content.model.to_string(), "claimed": claimed,
            "as_of": time(content.as_of), "issued": time(statement.term.issued),
            "expires": time(statement.term.expires),
            "signer": signer.to_checksum(None), "uid": statement.uid().to_string()
        }));
    }

    pub fn add(&mut self, step: Step, found: Result<String, String>) {
        let (outcome, words) = match found {
            Ok(words) => (Outcome::Agrees, words),
            Err(words) => (Outcome::Differs, words),
        };
        self.lines.push((step, outcome, words.into()));
    }

    /// Adds a step that agrees, unless there are `parts` that differ.
    pub fn judge(&mut self, step: Step, agreed: String, parts: Vec<String>) {
        if parts.is_empty() { self.add(step, Ok(agreed)) } else { self.differs(step, "", parts) }
    }

    /// Adds a step that does not agree in these `parts`.
    pub fn differs(&mut self, step: Step, about: &str, parts: Vec<String>) {
        self.lines.push((step, Outcome::Differs, Words { about: about.to_owned(), parts }));
    }

    pub fn skip(&mut self, step: Step, words: &str) {
        self.lines.push((step, Outcome::Skipped, words.to_owned().into()));
    }

    /// Adds a step whose `parts` are not checked.
    pub fn skip_all(&mut self, step: Step, about: &str, parts: Vec<String>) {
        self.lines.push((step, Outcome::Skipped, Words { about: about.to_owned(), parts }));
    }

    /// Prints the lines, and fails with the code of the first step that does not agree.
    pub fn finish(self, as_json: bool) -> Result<(), Failure> {
        let wrong = self.lines.iter().find(|(_, outcome, _)| *outcome == Outcome::Differs);
        let code = wrong.map_or(0, |(step, ..)| step.code());
        if as_json {
            let steps: Vec<Value> = self
                .lines
                .iter()
                .map(|(step, outcome, words)| {
                    json!({ "step": step.name(), "outcome": outcome.word(), "words": words.whole() })
                })
                .collect();
            print(json!({ "statement": self.of, "steps": steps, "code": code }))?;
        } else {
            if let Some(of) = &self.of {
                let text = |name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                let number = |name: &str| of.get(name).and_then(Value::as_u64).unwrap_or_default();
                print(format!(
                    "{} had a score of {} ({}, decile {})\nby credit {} at {}",
                    text("address"),
                    number("score"),
                    text("range"),
                    number("decile"),
                    text("model_version"),
                    text("as_of")
                ))?;
            }
            for (step, outcome, words) in &self.lines {
                let head = format!("{:<10} {:<12} ", step.name(), outcome.word());
                print(format!("{head}{}", words.text(head.len())))?;
            }
        }
        if code == 0 { Ok(()) } else { Err(Failure { message: String::new(), code }) }
    }
}

/// Unix seconds as text.
pub(super) fn time(seconds: u64) -> String {
    time_from_unix(seconds).format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_with_many_parts_has_a_line_for_each_of_the_first() {
        let words = |about: &str, parts: usize| Words {
            about: about.to_owned(),
            parts: (1..=parts).map(|part| format!("part {part}")).collect(),
        };
        assert_eq!(words("the whole", 0).text(4), "the whole");
        assert_eq!(words("unread", 1).text(4), "unread: part 1");
        assert_eq!(words("", 2).text(4), "part 1\n    part 2");
        let long = words("unread", 43).text(2);
        let lines: Vec<&str> = long.lines().collect();
        assert_eq!((lines[0], lines[1], lines.len()), ("unread:", "  part 1", SHOWN + 2));
        assert_eq!(lines[SHOWN + 1], "  and 33 more; --json has all");
        assert!(words("unread", 43).whole().ends_with("part 42; part 43"));
    }
}
