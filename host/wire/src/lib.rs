//! The bodies of responses, in the form that the API defines. No other type of the server is serialised for a client.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod agents;
mod audit;
mod chain;
mod check;
mod compare;
mod history;
mod identity;
mod key;
mod model;
mod money;
mod outcomes;
mod payment;
mod portfolio;
mod provenance;
mod report;
mod scenario;
mod score;
mod shadow;
mod statement;
mod status;
mod submission;
mod summary;

pub use agents::{AgentBody, AgentReputationBody, AgentsBody, FoundBody};
pub use audit::{AuditBody, AuditEntryBody};
pub use chain::{ChainActivity, ChainReportBody};
pub use check::CheckBody;
pub use compare::ComparisonBody;
pub use history::{HistoryBody, PointBody};
pub use identity::{AttestationBody, IdentityBody, IdentitySourceBody};
pub use key::{KeyBody, KeysBody, MintedKeyBody};
pub use model::{ModelBody, ModelsBody, ReferenceBody, RolesBody};
pub use money::Usd;
pub use outcomes::OutcomesBody;
pub use payment::PaymentRequiredBody;
pub use portfolio::{ChainValueBody, PortfolioBody, TotalBody};
pub use provenance::{AuditedBody, ProvenanceBody, WeighedFactorBody};
pub use report::{
    Activity, Assets, Counts, CreditEvents, Defi, EventName, NftBody, NotApplicable, Pool, PoolEventBody,
    PoolPositionBody, PriceSourceName, ProtocolBody, ReportBody, ReportScore, TokenBody, Totals,
};
pub use scenario::{ScenarioBody, ScenariosBody};
pub use score::{ClaimedRateBody, CoverageName, FactorBody, MeanBody, RangeName, ScoreBody, ScoresBody, SkippedBody};
pub use shadow::ShadowBody;
pub use statement::{BlockBody, EvidenceBody, SignersBody, StatementBody};
pub use status::{ChainStatusBody, StatusBody, StoreBody};
pub use submission::{
    FeedbackTransactionBody, OwnSubmissionBody, OwnSubmissionsBody, SubmissionBody, SubmissionStatus, SubmittedBody,
    SubmittedScores,
};
pub use summary::{AggregatedBody, ChainSummaryBody, EnhancedBody, OffChainData};

use serde::{Serialize, Serializer};

use assay_domain::{Address, ChainId, ModelVersion, Time, Unread};

/// An address with its EIP-55 checksum.
#[derive(Debug, Clone, Copy)]
pub struct Checksummed(pub Address);

impl Serialize for Checksummed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.to_checksum_buffer(None).as_str())
    }
}

/// A time in UTC, to the second: `2026-01-15T10:30:00Z`.
#[derive(Debug, Clone, Copy)]
pub struct Moment(pub Time);

impl Moment {
    pub fn now() -> Self {
        Self(chrono::Utc::now())
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.format("%Y-%m-%dT%H:%M:%SZ"))
    }
}

/// A model's version, as text.
#[derive(Debug, Clone)]
pub struct Version(pub ModelVersion);

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

/// One sentence for each part that was not read, or not completely.
pub fn sentences(unread: impl IntoIterator<Item = (ChainId, Unread)>) -> Vec<String> {
    unread.into_iter().map(|(chain, unread)| unread.on(chain)).collect()
}
