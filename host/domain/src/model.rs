//! The identity of a model: its kind, its version, and the digest of its bytes.

use std::{fmt, str::FromStr};

use crate::Range;

/// The kinds of components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    Credit,
    Boost,
    Sybil,
    Sandbox,
}

impl ModelKind {
    pub const ALL: [Self; 4] = [Self::Credit, Self::Boost, Self::Sybil, Self::Sandbox];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Credit => "credit",
            Self::Boost => "boost",
            Self::Sybil => "sybil",
            Self::Sandbox => "sandbox",
        }
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ModelKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

/// A dotted version such as `1.1`, ordered number by number: `1.9 < 1.10`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ModelVersion {
    text: String,
}

impl ModelVersion {
    /// Maximum length of a version, in characters.
    pub const MAX_LEN: usize = 32;

    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn numbers(&self) -> impl Iterator<Item = u64> {
        self.text.split('.').map(|part| part.parse().unwrap_or(u64::MAX))
    }
}

impl FromStr for ModelVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let version = Self::try_from(text.to_owned())?;
        // `01.1` and `1.1` would be two names for one version.
        if text.split('.').any(|part| part.len() > 1 && part.starts_with('0')) {
            return Err(format!("version {text:?} has a number that starts with 0; write it without, such as 1.1"));
        }
        Ok(version)
    }
}

/// Reads the versions in stored records, in which a number may start with 0.
impl TryFrom<String> for ModelVersion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = |part: &str| !part.is_empty() && part.len() <= 9 && part.bytes().all(|b| b.is_ascii_digit());
        let parts = text.split('.').count();
        if text.len() <= Self::MAX_LEN && (2..=4).contains(&parts) && text.split('.').all(number) {
            Ok(Self { text })
        } else {
            let shown: String = text.chars().take(Self::MAX_LEN).collect();
            Err(format!("version {shown:?} is not two to four numbers joined by dots, such as 1.1"))
        }
    }
}

impl From<ModelVersion> for String {
    fn from(version: ModelVersion) -> Self {
        version.text
    }
}

impl PartialOrd for ModelVersion {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ModelVersion {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.numbers().cmp(other.numbers()).then_with(|| self.text.cmp(&other.text))
    }
}

impl fmt::Display for ModelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// SHA-256 of a component's bytes, as found on the shelf.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The kind and version that a component declares.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInfo {
    pub kind: ModelKind,
    pub version: ModelVersion,
    pub title: String,
    pub authors: Vec<String>,
    pub reads: Vec<String>,
    /// Its claims about the future; `None` if it makes none.
    pub claims: Option<Claims>,
}

/// A model's statement about the future, which can be measured afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Claims {
    /// The event, such as `liquidated`.
    pub outcome: String,
    pub horizon_days: u32,
    /// The wallets for which the rates hold.
    pub population: String,
    /// At most one for each range, lowest first.
    pub rates: Vec<Rate>,
}

/// The share of wallets in one range to which the outcome happens, with its 95 % interval: 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub range: Range,
    pub low: f64,
    pub estimate: f64,
    pub high: f64,
}

/// The model that produced an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelRef {
    pub kind: ModelKind,
    pub version: ModelVersion,
    pub digest: Digest,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_version_has_one_name() {
        let read = |text: &str| text.parse::<ModelVersion>();
        assert!(read("1.9").unwrap() < read("1.10").unwrap());
        assert_eq!(read("0.0").unwrap().as_str(), "0.0");
        for text in ["01.001", "1.01", "1.00"] {
            assert!(read(text).unwrap_err().contains("starts with 0"), "{text}");
            // Stored records keep versions that were accepted before.
            assert!(ModelVersion::try_from(text.to_owned()).is_ok(), "{text}");
        }
        for text in ["1", "1.", "1.a", "1.1.1.1.1", "1.9999999999"] {
            assert!(read(text).unwrap_err().contains("two to four numbers"), "{text}");
        }
    }
}
