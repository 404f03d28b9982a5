//! A model's assessment of a subject, after the host has checked it.

use crate::{Decile, Range, Score};

/// One part of an assessment, with a text for the wallet's owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// Short name, for example `Repayment History`.
    pub label: String,
    /// Points added to the base score; negative if points are subtracted.
    pub points: i32,
    /// `None` if only numbers were requested from the model.
    pub words: Option<Words>,
}

/// A model's words about a factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The rating of this part only.
    pub rating: Range,
    /// What the model observed, and what would improve the score.
    pub description: String,
    /// The maximum points that this factor can add.
    pub possible: u32,
}

/// A checked credit assessment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    pub score: Score,
    pub decile: Decile,
    pub factors: Vec<Factor>,
}

impl Assessment {
    /// Whether every factor has its words.
    pub fn is_explained(&self) -> bool {
        self.factors.iter().all(|factor| factor.words.is_some())
    }
}

/// A checked sybil assessment: risk 0 (human) to 100 (bot).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RiskAssessment {
    pub risk: u8,
    pub factors: Vec<Factor>,
}

impl RiskAssessment {
    /// Whether every factor has its words.
    pub fn is_explained(&self) -> bool {
        self.factors.iter().all(|factor| factor.words.is_some())
    }
}

/// A factor as stored. Rating, description and possible points are absent if only numbers were requested from the
/// model.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FactorRecord {
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub points: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub possible: Option<u32>,
}

impl From<&Factor> for FactorRecord {
    fn from(Factor { label, points, words }: &Factor) -> Self {
        let words = words.as_ref();
        Self {
            label: label.clone(),
            rating: words.map(|words| words.rating.as_str().to_owned()),
            description: words.map(|words| words.description.clone()),
            points: *points,
            possible: words.map(|words| words.possible),
        }
    }
}
