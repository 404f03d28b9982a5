//! Why an explorer returned no list.

/// Why an explorer returned no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExplorerRefusal {
    #[error("explorer limits the rate of requests")]
    Rate,
    /// The key is wrong, or its daily quota is used up.
    #[error("explorer denies access: {0}; check the key in chains.explorer")]
    Denied(String),
    #[error("explorer does not serve this chain: {0}; check the plan behind the key in chains.explorer")]
    NotThisChain(String),
    /// The page has more rows than the explorer gives in one response, or lies beyond its last page.
    #[error("explorer refuses a page this large")]
    TooLarge,
    #[error("explorer cannot be reached: {0}")]
    Unreachable(String),
    #[error("explorer answered wrongly: {0}")]
    Malformed(String),
    #[error("explorer refused: {0}")]
    Other(String),
}

impl ExplorerRefusal {
    pub(super) fn is_retryable(&self) -> bool {
        matches!(self, Self::Rate | Self::Unreachable(_) | Self::Malformed(_))
    }

    /// The label in metrics.
    pub(super) fn outcome(&self) -> &'static str {
        match self {
            Self::Rate => "rate_limited",
            Self::Denied(_) => "denied",
            Self::NotThisChain(_) => "not_this_chain",
            Self::TooLarge => "too_large",
            Self::Unreachable(_) => "unreachable",
            Self::Malformed(_) => "malformed",
            Self::Other(_) => "refused",
        }
    }
}
