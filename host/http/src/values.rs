//! Values of the domain in bodies, in the form that the API defines.

mod money;

use std::fmt;

use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use assay_domain::{Address, ChainId, ModelVersion, Range, Time, Unread};

pub use money::Usd;

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

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.format("%Y-%m-%dT%H:%M:%SZ").fmt(f)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A model's version, as text.
#[derive(Debug, Clone)]
pub struct ModelVersionText(pub ModelVersion);

impl Serialize for ModelVersionText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

/// One sentence for each part that was not read, or not completely.
pub fn sentences(unread: impl IntoIterator<Item = (ChainId, Unread)>) -> Vec<String> {
    unread.into_iter().map(|(chain, unread)| unread.on(chain)).collect()
}

/// The named ranges: 920-1000 excellent, 840-919 very_good, 750-839 good, 640-749 fair, 300-639 low.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Range)]
pub enum RangeName {
    Low,
    Fair,
    Good,
    VeryGood,
    Excellent,
}

impl From<Range> for RangeName {
    fn from(range: Range) -> Self {
        match range {
            Range::Low => Self::Low,
            Range::Fair => Self::Fair,
            Range::Good => Self::Good,
            Range::VeryGood => Self::VeryGood,
            Range::Excellent => Self::Excellent,
        }
    }
}

/// `complete`, `partial` (not yet current), `pending` (first reading) or `failed`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Coverage)]
pub enum CoverageName {
    Complete,
    Partial,
    Pending,
    Failed,
}
