//! The condition under which a request is answered: what a scenario changes in a plain answer, or the error in its
//! place. The same for the scenarios of a generator, of a tester's file, and of the host.

use std::time::Duration;

use assay_domain::{ChainId, Decile, Factor, PaymentRefusal, Range, Score, Words};
use assay_registry::{Behaviour, CreditModel, Phase};
use assay_score::ScoringError;
use serde::Deserialize;

use crate::failure::Failure;

/// Labels of the contract for the factors that count lending events.
const LENDING: [&str; 2] = ["DeFi Activity", "Repayment History"];
const NOT_READ_YET: &str = "Your lending history is being read for the first time; nothing of it counts yet.";

/// The default is a plain answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    /// Wait before the answer.
    pub delay: Duration,
    pub failure: Option<Failure>,
    pub reading: Reading,
    pub score: Option<WantedScore>,
    pub factors: Vec<FactorChange>,
    /// The phase in which submissions fail.
    pub submission: Option<Phase>,
    pub payment: Option<PaymentOutcome>,
    /// The requests of a key that the delay, the failure and the reading are for; `None`: all of them.
    pub requests: Option<u32>,
}

/// What was read of the wallet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reading {
    #[default]
    Complete,
    /// Being read for the first time.
    Pending,
    /// One pool is not current.
    Partial,
    /// One pool could not be read.
    FailedPool,
    /// A price is missing.
    Provisional,
    ChainUnread(ChainId),
    /// Complete, and liquidated on the day before the request.
    LiquidatedYesterday,
    /// There is no activity.
    Inactive,
}

/// The score instead of the drawn one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedScore {
    Points(Score),
    Range(Range),
    Decile(Decile),
}

/// Another figure or text of one factor. A label that no factor has adds a factor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactorChange {
    pub label: String,
    pub points: Option<i32>,
    pub possible: Option<u32>,
    pub rating: Option<Rating>,
    pub description: Option<String>,
}

/// A range, as a file names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rating {
    Low,
    Fair,
    Good,
    VeryGood,
    Excellent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentOutcome {
    /// A payment that meets the terms is settled, without a chain.
    Accepted,
    Refused(PaymentRefusal),
}

impl Condition {
    /// # Errors
    /// The failure of a score, in production's words.
    pub(crate) fn require_score(&self) -> Result<(), ScoringError> {
        match self.failure {
            Some(failure) => Err(failure.error()),
            None if self.reading == Reading::Inactive => Err(ScoringError::NotFound),
            None => Ok(()),
        }
    }

    /// # Errors
    /// The failure of what is read on chains. A report without a score, or of an inactive wallet, is an answer.
    pub(crate) fn require_reading(&self) -> Result<(), ScoringError> {
        match self.failure {
            Some(Failure::NotScored | Failure::Model(_)) | None => Ok(()),
            Some(failure) => Err(failure.error()),
        }
    }

    /// Whether a report differs from that of a subject without a scenario.
    pub(crate) fn changes_report(&self) -> bool {
        self.reading != Reading::Complete
    }

    /// Waits as long as the answer takes.
    pub(crate) async fn passed(&self) {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
    }

    /// What is left of it after its last request.
    #[must_use]
    pub(crate) fn over(self) -> Self {
        let Self { score, factors, submission, payment, .. } = self;
        Self { score, factors, submission, payment, ..Self::default() }
    }

    /// Whether the factors of the generator are needed for the score.
    pub(crate) fn needs_factors(&self) -> bool {
        !self.factors.is_empty() || self.reading == Reading::Pending
    }

    /// The score and the factors. The score moves by the points that the factors lose or win.
    pub(crate) fn assessed(
        &self,
        drawn: Score,
        mut factors: Vec<Factor>,
        credit: &CreditModel,
    ) -> (Score, Vec<Factor>) {
        let before = sum(&factors);
        self.factors.iter().for_each(|change| change.apply(&mut factors));
        let wanted = self.score.map(|wanted| wanted.of(drawn, credit));
        let mut score = wanted.unwrap_or_else(|| moved(drawn, sum(&factors) - before));
        if self.reading == Reading::Pending {
            let before = sum(&factors);
            factors.iter_mut().filter(|factor| LENDING.contains(&factor.label.as_str())).for_each(unread);
            let lost = sum(&factors) - before;
            // A generator may have other factors: then a third of the points is of lending.
            let third = || i64::from((score.get() - Score::MIN.get()) / 3);
            score = moved(score, if lost == 0 { -third() } else { lost });
        }
        (score, factors)
    }
}

/// A factor before the lending history was read.
fn unread(factor: &mut Factor) {
    factor.points = factor.points.min(0);
    if let Some(words) = &mut factor.words {
        words.rating = Range::Low;
        NOT_READ_YET.clone_into(&mut words.description);
    }
}

fn sum(factors: &[Factor]) -> i64 {
    factors.iter().map(|factor| i64::from(factor.points)).sum()
}

/// The score this many points higher, within the scale.
fn moved(score: Score, by: i64) -> Score {
    let to = i64::from(score.get()).saturating_add(by);
    let to = to.clamp(Score::MIN.get().into(), Score::MAX.get().into());
    u32::try_from(to).ok().and_then(Score::new).unwrap_or(score)
}

impl WantedScore {
    /// The score nearest to `drawn` that is wanted; of the nearest decile if the model gives no score this one.
    fn of(self, drawn: Score, credit: &CreditModel) -> Score {
        match self {
            Self::Points(score) => score,
            Self::Range(range) => {
                let highest = range.above().and_then(|above| above.lowest().below()).unwrap_or(Score::MAX);
                drawn.clamp(range.lowest(), highest)
            }
            Self::Decile(wanted) => {
                let all = (Score::MIN.get()..=Score::MAX.get()).filter_map(Score::new);
                let distance = |score: &Score| {
                    let decile = credit.decile(*score).get().abs_diff(wanted.get());
                    (decile, score.get().abs_diff(drawn.get()))
                };
                all.min_by_key(distance).unwrap_or(drawn)
            }
        }
    }
}

impl FactorChange {
    fn apply(&self, factors: &mut Vec<Factor>) {
        let Some(factor) = factors.iter_mut().find(|factor| factor.label == self.label) else {
            let points = self.points.unwrap_or_default();
            let words = Words {
                rating: self.rating.map_or(Range::Low, Range::from),
                description: self.description.clone().unwrap_or_default(),
                possible: self.possible.unwrap_or_else(|| points.max(0).unsigned_abs()),
            };
            factors.push(Factor { label: self.label.clone(), points, words: Some(words) });
            return;
        };
        factor.points = self.points.unwrap_or(factor.points);
        if let Some(words) = &mut factor.words {
            words.rating = self.rating.map_or(words.rating, Range::from);
            words.possible = self.possible.unwrap_or(words.possible);
            if let Some(description) = &self.description {
                description.clone_into(&mut words.description);
            }
        }
    }
}

impl From<Rating> for Range {
    fn from(rating: Rating) -> Self {
        match rating {
            Rating::Low => Self::Low,
            Rating::Fair => Self::Fair,
            Rating::Good => Self::Good,
            Rating::VeryGood => Self::VeryGood,
            Rating::Excellent => Self::Excellent,
        }
    }
}

impl From<Behaviour> for Condition {
    fn from(behaviour: Behaviour) -> Self {
        let plain = Self::default();
        let reading = |reading| Self { reading, ..Self::default() };
        let failure = |failure| Self { failure: Some(failure), ..Self::default() };
        match behaviour {
            Behaviour::Pending(complete_at) => {
                Self { requests: Some(complete_at.saturating_sub(1)), ..reading(Reading::Pending) }
            }
            Behaviour::Partial => reading(Reading::Partial),
            Behaviour::FailedPool => reading(Reading::FailedPool),
            Behaviour::Provisional => reading(Reading::Provisional),
            Behaviour::ChainUnread(chain) => reading(Reading::ChainUnread(chain)),
            Behaviour::LiquidatedYesterday => reading(Reading::LiquidatedYesterday),
            Behaviour::NotFound => reading(Reading::Inactive),
            Behaviour::RateLimited(seconds) => failure(Failure::Limited(seconds)),
            Behaviour::UpstreamFailed => failure(Failure::ChainsDown),
            Behaviour::Unavailable => failure(Failure::Busy),
            Behaviour::Slow(millis) => Self { delay: Duration::from_millis(millis.into()), ..plain },
            Behaviour::SubmissionFails(phase) => Self { submission: Some(phase), ..plain },
            Behaviour::PaymentRefused(why) => Self { payment: Some(PaymentOutcome::Refused(why)), ..plain },
        }
    }
}
