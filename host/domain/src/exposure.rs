//! Risk classes of assets, as lenders distinguish them.

/// The risk class of an asset. It comes from configuration and the lists of known tokens; any other token is
/// [`Other`](Self::Other).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExposureClass {
    /// Follows the dollar.
    Stablecoin,
    /// The coin of a chain, and its wrapped and staked forms.
    Native,
    /// Bitcoin in any wrapped form.
    Bitcoin,
    Other,
}

impl ExposureClass {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stablecoin => "stablecoin",
            Self::Native => "native",
            Self::Bitcoin => "bitcoin",
            Self::Other => "other",
        }
    }

    pub const ALL: [Self; 4] = [Self::Stablecoin, Self::Native, Self::Bitcoin, Self::Other];
}
