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
    lines: Vec<(Step, Outcome, String)>,
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
        self.lines.push((step, outcome, words));
    }

    pub fn skip(&mut self, step: Step, words: &str) {
        self.lines.push((step, Outcome::Skipped, words.to_owned()));
    }

    /// Prints the lines, and fails with the code of the first step that does not agree.
    pub fn finish(self, as_json: bool) -> Result<(), Failure> {
        let wrong = self.lines.iter().find(|(_, outcome, _)| *outcome == Outcome::Differs);
        let code = wrong.map_or(0, |(step, ..)| step.code());
        if as_json {
            let steps: Vec<Value> = self
                .lines
                .iter()
                .map(|(step, outcome, words)| json!({ "step": step.name(), "outcome": outcome.word(), "words": words }))
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
                print(format!("{:<10} {:<12} {words}", step.name(), outcome.word()))?;
            }
        }
        if code == 0 { Ok(()) } else { Err(Failure { message: String::new(), code }) }
    }
}

/// Unix seconds as text.
pub(super) fn time(seconds: u64) -> String {
    time_from_unix(seconds).format("%Y-%m-%dT%H:%M:%SZ").to_string()
}
