//! What a served score was made of, exactly: from this and the model's bytes the same answer comes out again.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use super::ModelPin;
use crate::{
    domain::{Address, AssetClass, ChainId, Coverage, Protocol, Score, Time},
    features::{AttestationFeature, ChainFeatures, Features, Holding, MarketFeatures},
};

/// One served score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServedRecord {
    pub address: Address,
    /// Name of the API key it was first computed for.
    pub asked_by: String,
    /// When it was calculated.
    pub at: Time,
    /// When the reading behind it had ended.
    pub as_of: Time,
    pub coverage: Coverage,
    /// Version of the server.
    pub host: String,
    pub model: ModelPin,
    pub features: FeaturesRecord,
    #[serde(default)]
    pub boost: Option<BoostRecord>,
    pub score: Score,
    pub decile: u8,
    pub factors: Vec<FactorRecord>,
}

/// Off-chain assets on top of a score, and the model that added them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoostRecord {
    pub model: ModelPin,
    pub total_asset_usd: Exact,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactorRecord {
    pub label: String,
    pub rating: String,
    pub description: String,
    pub points: i32,
    pub possible: u32,
}

/// A number that comes back to the bit, also one that JSON has no form for. As text: the reader of JSON numbers that is used here
/// may be off by the last digit.
#[derive(Debug, Clone, Copy)]
pub struct Exact(pub f64);

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The shortest text that reads back as the same number.
        write!(f, "{:?}", self.0)
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| D::Error::custom(format!("{text:?} is no number")))
    }
}

/// Declares the stored form of a record of features: the same fields, with [`Exact`] for `f64`, and the ways there and back.
macro_rules! stored {
    ($(#[$doc:meta])* $stored:ident of $record:ident { $($field:ident: $type:ty),* ; $($money:ident),* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct $stored { $(pub $field: $type,)* $(pub $money: Exact,)* }

        impl From<&$record> for $stored {
            fn from(record: &$record) -> Self {
                Self { $($field: record.$field.clone(),)* $($money: Exact(record.$money),)* }
            }
        }

        impl From<&$stored> for $record {
            fn from(stored: &$stored) -> Self {
                Self { $($field: stored.$field.clone(),)* $($money: stored.$money.0,)* }
            }
        }
    };
}

stored! {
    /// One chain.
    ChainRecord of ChainFeatures {
        chain_id: ChainId, coverage: Coverage, first_transaction: Option<u64>, last_transaction: Option<u64>, transactions: u64,
        transfers: Option<u64>, counterparties: Option<u32>, active_days: Option<u32>, active_hours: Option<u32>,
        median_gap: Option<u64>; assets_usd, supplied_usd, borrowed_usd
    }
}

stored! {
    /// One lending market.
    MarketRecord of MarketFeatures {
        chain_id: ChainId, protocol: Protocol, market: Option<String>, coverage: Coverage, feeds_score: bool, supply: Option<u64>,
        withdraw: Option<u64>, borrow: Option<u64>, repay: Option<u64>, liquidation: Option<u64>, first_event: Option<u64>,
        last_event: Option<u64>, last_liquidation: Option<u64>; supplied_usd, borrowed_usd
    }
}

stored! {
    /// One class of asset.
    HoldingRecord of Holding { class: AssetClass, assets: u32; usd }
}

/// One attestation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttestationRecord {
    pub provider: String,
    pub issued: Option<u64>,
    pub expires: Option<u64>,
    pub score: Option<Exact>,
}

/// Exactly what a model was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeaturesRecord {
    pub as_of: u64,
    pub chains: Vec<ChainRecord>,
    pub markets: Vec<MarketRecord>,
    pub holdings: Vec<HoldingRecord>,
    pub identity: Vec<AttestationRecord>,
}

impl From<&Features> for FeaturesRecord {
    fn from(features: &Features) -> Self {
        let attestation = |AttestationFeature { provider, issued, expires, score }: &AttestationFeature| AttestationRecord {
            provider: provider.clone(),
            issued: *issued,
            expires: *expires,
            score: score.map(Exact),
        };
        Self {
            as_of: features.as_of,
            chains: features.chains.iter().map(Into::into).collect(),
            markets: features.markets.iter().map(Into::into).collect(),
            holdings: features.holdings.iter().map(Into::into).collect(),
            identity: features.identity.iter().map(attestation).collect(),
        }
    }
}

impl From<&FeaturesRecord> for Features {
    fn from(record: &FeaturesRecord) -> Self {
        let attestation = |AttestationRecord { provider, issued, expires, score }: &AttestationRecord| AttestationFeature {
            provider: provider.clone(),
            issued: *issued,
            expires: *expires,
            score: score.map(|score| score.0),
        };
        Self {
            as_of: record.as_of,
            chains: record.chains.iter().map(Into::into).collect(),
            markets: record.markets.iter().map(Into::into).collect(),
            holdings: record.holdings.iter().map(Into::into).collect(),
            identity: record.identity.iter().map(attestation).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_back_to_the_bit() {
        let awkward = [0.1 + 0.2, 1e300 / 3.0, f64::MIN_POSITIVE / 7.0, -0.0, f64::INFINITY, f64::NAN, 123_456_789.123_456_78];
        for number in awkward.into_iter().chain((1..2_000).map(|n| f64::from(n).sqrt() * 1e5)) {
            let text = serde_json::to_string(&Exact(number)).unwrap();
            assert_eq!(serde_json::from_str::<Exact>(&text).unwrap(), Exact(number), "{text}");
        }
    }
}
