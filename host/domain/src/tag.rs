//! The subject of feedback: the tags of the API contract.

use std::{fmt, str::FromStr};

/// A feedback tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tag {
    /// 300 to 1000.
    CreditScore,
    /// 0 (human) to 100 (bot).
    SybilRisk,
    /// Verified identity attestations.
    IdentityCount,
}

impl Tag {
    pub const ALL: [Self; 3] = [Self::CreditScore, Self::SybilRisk, Self::IdentityCount];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreditScore => "creditScore",
            Self::SybilRisk => "sybilRisk",
            Self::IdentityCount => "identityCount",
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not a tag of the API contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("tag is not one of creditScore, sybilRisk, identityCount")]
pub struct UnknownTag;

impl FromStr for Tag {
    type Err = UnknownTag;

    fn from_str(text: &str) -> Result<Self, UnknownTag> {
        Self::ALL.into_iter().find(|tag| tag.as_str() == text).ok_or(UnknownTag)
    }
}
