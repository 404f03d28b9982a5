//! The file of `assay serve --sandbox --scenarios FILE`: scenarios in TOML.

mod check;

use std::time::Duration;

use assay_domain::{Address, ChainId, Decile, PaymentRefusal, Score, settings};
use assay_registry::{MockSubject, Phase, Scenario};
use serde::Deserialize;

use crate::{
    condition::{Condition, FactorChange, PaymentOutcome, Rating, Reading, WantedScore},
    failure::{Failure, ModelFault},
    scripted::Scripted,
    watch_step::WatchStep,
};

/// Seconds of `Retry-After` if the file names none.
const RETRY: u32 = 30;
/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    #[serde(default)]
    pub scenarios: Vec<Entry>,
}

/// One scenario: a subject, and what differs from a plain answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    id: String,
    address: Option<Address>,
    agent: Option<u64>,
    title: Option<String>,
    description: Option<String>,
    status: Option<u16>,
    code: Option<Code>,
    retry_after: Option<u32>,
    #[serde(default, deserialize_with = "settings::millis")]
    delay_ms: Duration,
    requests: Option<u32>,
    score: Option<u32>,
    range: Option<Rating>,
    decile: Option<u8>,
    #[serde(default)]
    factors: Vec<FactorChange>,
    report: Option<ReportState>,
    chain: Option<ChainId>,
    submission: Option<FailedPhase>,
    payment: Option<Payment>,
    #[serde(default)]
    watch: Vec<Step>,
}

/// From this time of the clock on, a watch of the address reads these values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    at_s: u64,
    /// Without it, the wallet has no debt that is at risk.
    health_factor: Option<f64>,
    #[serde(default)]
    debt_usd: f64,
    score: Option<u32>,
    #[serde(default)]
    unread: bool,
    #[serde(default)]
    reorganises: bool,
    liquidated_usd: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Code {
    NotScored,
    TooManyRequests,
    UnitsUsedUp,
    Trap,
    Deadline,
    MemoryLimit,
    StackOverflow,
    OutOfRange,
    UnreadableAnswer,
    Busy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ReportState {
    Pending,
    Partial,
    FailedPool,
    Provisional,
    ChainUnread,
    LiquidatedYesterday,
    Inactive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FailedPhase {
    Scoring,
    Uploading,
    Submitting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Payment {
    Accepted,
    Network,
    Recipient,
    Value,
    NotYetValid,
    Expired,
    Signature,
    InsufficientFunds,
    NonceUsed,
    TransactionReverted,
    SettlementFailed,
}

impl Code {
    fn status(self) -> u16 {
        match self {
            Self::NotScored => 404,
            Self::TooManyRequests | Self::UnitsUsedUp => 429,
            Self::Trap
            | Self::Deadline
            | Self::MemoryLimit
            | Self::StackOverflow
            | Self::OutOfRange
            | Self::UnreadableAnswer => 500,
            Self::Busy => 503,
        }
    }

    /// The code of a status that is named alone. 404, 502 and 504 have none.
    fn of_status(status: u16) -> Option<Self> {
        match status {
            429 => Some(Self::TooManyRequests),
            500 => Some(Self::Trap),
            503 => Some(Self::Busy),
            _ => None,
        }
    }

    fn failure(self, retry_after: u32) -> Failure {
        match self {
            Self::NotScored => Failure::NotScored,
            Self::TooManyRequests => Failure::Limited(retry_after),
            Self::UnitsUsedUp => Failure::UnitsUsedUp,
            Self::Trap => Failure::Model(ModelFault::Trap),
            Self::Deadline => Failure::Model(ModelFault::Deadline),
            Self::MemoryLimit => Failure::Model(ModelFault::MemoryLimit),
            Self::StackOverflow => Failure::Model(ModelFault::StackOverflow),
            Self::OutOfRange => Failure::Model(ModelFault::OutOfRange),
            Self::UnreadableAnswer => Failure::Model(ModelFault::UnreadableAnswer),
            Self::Busy => Failure::Busy,
        }
    }
}

impl ScenarioFile {
    /// The scenarios of a file without problems.
    pub fn scripted(self) -> Vec<Scripted> {
        self.scenarios.into_iter().filter_map(Entry::scripted).collect()
    }
}

impl Entry {
    fn wanted(&self) -> Option<WantedScore> {
        let score = self.score.and_then(Score::new).map(WantedScore::Points);
        let range = self.range.map(|range| WantedScore::Range(range.into()));
        score.or(range).or_else(|| self.decile.and_then(Decile::new).map(WantedScore::Decile))
    }

    fn failure(&self) -> Option<Failure> {
        let code = self.code.or_else(|| self.status.and_then(Code::of_status));
        let codeless = || match self.status {
            Some(502) => Some(Failure::ChainsDown),
            Some(504) => Some(Failure::TooSlow),
            _ => None,
        };
        code.map(|code| code.failure(self.retry_after.unwrap_or(RETRY))).or_else(codeless)
    }

    /// 404 without a code is a wallet without activity, of which there is a report.
    fn reading(&self) -> Reading {
        match self.report {
            None if self.status == Some(404) && self.code.is_none() => Reading::Inactive,
            None => Reading::Complete,
            Some(ReportState::Pending) => Reading::Pending,
            Some(ReportState::Partial) => Reading::Partial,
            Some(ReportState::FailedPool) => Reading::FailedPool,
            Some(ReportState::Provisional) => Reading::Provisional,
            Some(ReportState::ChainUnread) => self.chain.map_or(Reading::Complete, Reading::ChainUnread),
            Some(ReportState::LiquidatedYesterday) => Reading::LiquidatedYesterday,
            Some(ReportState::Inactive) => Reading::Inactive,
        }
    }

    fn condition(&self) -> Condition {
        Condition {
            delay: self.delay_ms,
            failure: self.failure(),
            reading: self.reading(),
            score: self.wanted(),
            factors: self.factors.clone(),
            submission: self.submission.map(Phase::from),
            payment: self.payment.map(PaymentOutcome::from),
            requests: self.requests,
        }
    }

    fn scripted(self) -> Option<Scripted> {
        let condition = self.condition();
        let subject = match (self.address, self.agent) {
            (Some(address), _) => MockSubject::Address(address),
            (None, agent) => MockSubject::Agent(agent?),
        };
        let title = self.title.unwrap_or_else(|| self.id.clone());
        let description = self.description.unwrap_or_else(|| "A scenario of the file of --scenarios.".to_owned());
        let watch = self.watch.into_iter().map(Step::step).collect();
        Some(Scripted { scenario: Scenario { id: self.id, title, subject, description }, condition, watch })
    }
}

impl Step {
    fn step(self) -> WatchStep {
        let Self { at_s, health_factor, debt_usd, score, unread, reorganises, liquidated_usd } = self;
        let score = score.and_then(Score::new).unwrap_or(Score::MIN);
        let at = Duration::from_secs(at_s);
        WatchStep { at, health_factor, debt_usd, score, unread, reorganises, liquidated_usd }
    }
}

impl From<FailedPhase> for Phase {
    fn from(phase: FailedPhase) -> Self {
        match phase {
            FailedPhase::Scoring => Self::Scoring,
            FailedPhase::Uploading => Self::Uploading,
            FailedPhase::Submitting => Self::Submitting,
        }
    }
}

impl From<Payment> for PaymentOutcome {
    fn from(payment: Payment) -> Self {
        Self::Refused(match payment {
            Payment::Accepted => return Self::Accepted,
            Payment::Network => PaymentRefusal::Network,
            Payment::Recipient => PaymentRefusal::Recipient,
            Payment::Value => PaymentRefusal::Value,
            Payment::NotYetValid => PaymentRefusal::NotYetValid,
            Payment::Expired => PaymentRefusal::Expired,
            Payment::Signature => PaymentRefusal::Signature,
            Payment::InsufficientFunds => PaymentRefusal::InsufficientFunds,
            Payment::NonceUsed => PaymentRefusal::NonceUsed,
            Payment::TransactionReverted => PaymentRefusal::TransactionReverted,
            Payment::SettlementFailed => PaymentRefusal::SettlementFailed,
        })
    }
}
