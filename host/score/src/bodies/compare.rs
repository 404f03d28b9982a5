//! The comparison of several model versions for one address.

use serde::Serialize;
use utoipa::ToSchema;

use super::{ReasonsBody, WeighedFactorBody};
use crate::{Compared, Comparison, Gap, NoAnswer};
use assay_domain::{Address, Assessment, Coverage, Factor, Reasons};
use assay_http::values::{Checksummed, CoverageName, Moment, RangeName};

/// The results of several versions for the same reading of an address.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Comparison)]
pub struct ComparisonBody {
    #[schema(value_type = String)]
    address: Checksummed,
    /// When the reading that all results are based on ended.
    #[schema(value_type = String, format = DateTime)]
    snapshot_time: Moment,
    #[schema(value_type = CoverageName)]
    credit_events_coverage: Coverage,
    provisional: bool,
    /// In the order of the request; differences are relative to the first version.
    versions: Vec<ComparedBody>,
    count: usize,
}

/// The result of one version, or why it has none.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ComparedVersion)]
pub(crate) struct ComparedBody {
    version: String,
    /// SHA-256 of the model's bytes; null when the version is not in service.
    digest: Option<String>,
    score: Option<u32>,
    decile: Option<u8>,
    range: Option<RangeName>,
    factors: Option<Vec<WeighedFactorBody>>,
    #[serde(flatten)]
    reasons: ReasonsBody,
    /// Microseconds from the call to the checked answer.
    latency_us: Option<f64>,
    /// Approximate cost of the call in instructions: the same number on every machine.
    fuel: Option<u64>,
    /// The largest linear memory during the call, in bytes.
    memory_bytes: Option<usize>,
    /// Difference to the first version; null for the first version itself, and when either version has no score.
    difference: Option<GapBody>,
    error: Option<FailureBody>,
}

/// The value of this version minus the value of the first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Difference)]
pub(crate) struct GapBody {
    score: i32,
    decile: i32,
    /// Null when both are in the same range.
    range: Option<RangeMoveBody>,
    factors: Vec<FactorGapBody>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RangeMove)]
pub(crate) struct RangeMoveBody {
    from: RangeName,
    to: RangeName,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FactorDifference)]
pub(crate) struct FactorGapBody {
    label: String,
    points: i32,
}

/// A stable code and a message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = VersionError)]
pub(crate) struct FailureBody {
    #[schema(value_type = String)]
    code: &'static str,
    detail: String,
}

impl ComparisonBody {
    /// Adds the reasons of each version, in the order of the versions.
    #[must_use]
    pub(crate) fn reasoned(mut self, reasons: Vec<Option<Reasons>>) -> Self {
        for (version, reasons) in self.versions.iter_mut().zip(reasons) {
            version.reasons = reasons.into();
        }
        self
    }
}

impl From<Comparison> for ComparisonBody {
    fn from(comparison: Comparison) -> Self {
        let Comparison { address, as_of, coverage, versions, standing: _ } = comparison;
        let address: Address = address;
        Self {
            address: Checksummed(address),
            snapshot_time: Moment(as_of),
            credit_events_coverage: coverage,
            provisional: coverage.is_provisional(),
            count: versions.len(),
            versions: versions.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Compared> for ComparedBody {
    fn from(compared: Compared) -> Self {
        let Compared { version, model, answer, took, cost, gap } = compared;
        let (answer, error) = match answer {
            Ok(answer) => (Some(answer), None),
            Err(why) => (None, Some(FailureBody::from(why))),
        };
        Self {
            version: version.to_string(),
            digest: model.map(|model| model.digest.to_string()),
            score: answer.as_ref().map(|answer| answer.score.get()),
            decile: answer.as_ref().map(|answer| answer.decile.get()),
            range: answer.as_ref().map(|answer| answer.score.range().into()),
            factors: answer.map(|Assessment { factors, .. }| factors.into_iter().map(Into::into).collect()),
            reasons: ReasonsBody::default(),
            latency_us: took.map(|took| took.as_nanos() as f64 / 1e3),
            fuel: cost.map(|(fuel, _)| fuel),
            memory_bytes: cost.map(|(_, memory)| memory),
            difference: gap.map(Into::into),
            error,
        }
    }
}

impl From<Gap> for GapBody {
    fn from(Gap { score, decile, range, factors }: Gap) -> Self {
        let range = range.map(|(from, to)| RangeMoveBody { from: from.into(), to: to.into() });
        Self {
            score,
            decile,
            range,
            factors: factors.into_iter().map(|(label, points)| FactorGapBody { label, points }).collect(),
        }
    }
}

impl From<NoAnswer> for FailureBody {
    fn from(why: NoAnswer) -> Self {
        Self { code: why.code(), detail: why.to_string() }
    }
}

impl From<Factor> for WeighedFactorBody {
    fn from(Factor { label, points, words }: Factor) -> Self {
        let mut body = Self { label, rating: None, description: None, points, possible: None };
        if let Some(words) = words {
            body.rating = Some(words.rating.as_str().to_owned());
            body.description = Some(words.description);
            body.possible = Some(words.possible);
        }
        body
    }
}
