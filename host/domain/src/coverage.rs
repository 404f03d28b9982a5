//! How completely a history had been read when a figure was computed, and whether a score of it is provisional.

/// Ordered from least to most complete, so the coverage of a report is the `min` over its pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Could not be read; its counts are unavailable.
    Failed,
    /// Being read for the first time.
    Pending,
    /// Complete up to an older block.
    Partial,
    /// Complete and current.
    Complete,
}

impl Coverage {
    /// The least complete of `all`; complete if there is nothing to read.
    pub fn least(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().min().unwrap_or(Self::Complete)
    }

    /// Whether a score with this coverage may still change.
    pub fn is_provisional(self) -> bool {
        self != Self::Complete
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Pending => "pending",
            Self::Partial => "partial",
            Self::Complete => "complete",
        }
    }
}
