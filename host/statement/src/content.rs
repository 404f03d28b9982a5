//! The content of a statement: the `data` of the attestation, ABI-encoded by a schema of EAS.

use alloy::{
    primitives::{Address, keccak256},
    sol,
    sol_types::SolValue,
};
use assay_domain::{B256, Decile, Digest, ModelVersion, Score};

/// The text of the schema, as stored in the schema registry of EAS.
///
/// `claimedRate` is in parts per million; without a claim it is 0 and `claimedPopulation` is empty.
pub const SCHEMA: &str = "uint16 score,uint8 decile,uint64 asOf,string range,string model,string modelVersion,bytes32 \
                          modelDigest,\
                          bytes32 featuresDigest,bytes32 blocksRoot,string coverage,uint32 claimedRate,\
                          uint32 claimedDays,string claimedOutcome,string claimedPopulation,bool sandbox";

sol! {
    struct Encoded {
        uint16 score;
        uint8 decile;
        uint64 asOf;
        string range;
        string model;
        string modelVersion;
        bytes32 modelDigest;
        bytes32 featuresDigest;
        bytes32 blocksRoot;
        string coverage;
        uint32 claimedRate;
        uint32 claimedDays;
        string claimedOutcome;
        string claimedPopulation;
        bool sandbox;
    }
}

/// The UID of the schema, which has no resolver and is not revocable.
pub fn schema_uid() -> B256 {
    keccak256([SCHEMA.as_bytes(), Address::ZERO.as_slice(), &[0]].concat())
}

/// The content of a statement about its recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub score: Score,
    pub decile: Decile,
    /// Time of the features, in Unix seconds.
    pub as_of: u64,
    /// Version of the credit model.
    pub version: ModelVersion,
    /// SHA-256 of the model's bytes.
    pub model: Digest,
    /// SHA-256 of the canonical features.
    pub features: Digest,
    /// [`blocks_root`](crate::blocks_root) of the blocks that were read.
    pub blocks: B256,
    /// The model's claim about such wallets, if one of its populations contains the wallet.
    pub claimed: Option<ClaimedRate>,
    /// Whether a sandbox made it up. Such a content is written, and never read as a statement.
    pub sandbox: bool,
}

/// How often the outcome happens to wallets of the population in the score's range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedRate {
    /// In parts per million.
    pub per_million: u32,
    pub days: u32,
    pub outcome: String,
    pub population: String,
}

impl ClaimedRate {
    /// Converts a share of 0 to 1 to parts per million.
    pub fn per_million(share: f64) -> u32 {
        (share.clamp(0.0, 1.0) * 1e6).round() as u32
    }
}

impl Content {
    /// Only credit models make statements.
    const MODEL: &str = "credit";
    /// Provisional scores make no statements.
    const COVERAGE: &str = "complete";

    pub(crate) fn encode(&self) -> Vec<u8> {
        let claimed = self.claimed.clone();
        let (rate, days, outcome, population) = claimed.map_or_else(Default::default, |claimed| {
            (claimed.per_million, claimed.days, claimed.outcome, claimed.population)
        });
        Encoded {
            // A score has at most four digits.
            score: u16::try_from(self.score.get()).unwrap_or(u16::MAX),
            decile: self.decile.get(),
            asOf: self.as_of,
            range: self.score.range().as_str().to_owned(),
            model: Self::MODEL.to_owned(),
            modelVersion: self.version.to_string(),
            modelDigest: self.model.0.into(),
            featuresDigest: self.features.0.into(),
            blocksRoot: self.blocks,
            coverage: Self::COVERAGE.to_owned(),
            claimedRate: rate,
            claimedDays: days,
            claimedOutcome: outcome,
            claimedPopulation: population,
            sandbox: self.sandbox,
        }
        .abi_encode_params()
    }

    /// # Errors
    /// In words: the part of `data` that is not as the schema and this crate write it.
    pub(crate) fn decode(data: &[u8]) -> Result<Self, String> {
        let found =
            Encoded::abi_decode_params_validate(data).map_err(|error| format!("it is not by the schema: {error}"))?;
        let expect = |name: &str, found: &str, expected: &str| {
            if found == expected { Ok(()) } else { Err(format!("its {name} is {found:?}, expected {expected:?}")) }
        };
        let score = Score::new(u32::from(found.score)).ok_or_else(|| format!("a score of {}", found.score))?;
        expect("range", &found.range, score.range().as_str())?;
        expect("model", &found.model, Self::MODEL)?;
        expect("coverage", &found.coverage, Self::COVERAGE)?;
        if found.sandbox {
            return Err("it is of a sandbox: its score is mock data, which nobody may rely on".to_owned());
        }
        let claimed = (!found.claimedPopulation.is_empty()).then_some(ClaimedRate {
            per_million: found.claimedRate,
            days: found.claimedDays,
            outcome: found.claimedOutcome,
            population: found.claimedPopulation,
        });
        let content = Self {
            score,
            decile: Decile::new(found.decile).ok_or_else(|| format!("a decile of {}", found.decile))?,
            as_of: found.asOf,
            version: found.modelVersion.parse()?,
            model: Digest(found.modelDigest.0),
            features: Digest(found.featuresDigest.0),
            blocks: found.blocksRoot,
            claimed,
            sandbox: false,
        };
        // Another encoding of the same content would be another statement with the same meaning.
        if content.encode() == data { Ok(content) } else { Err("its encoding is not the canonical one".to_owned()) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn content() -> Content {
        Content {
            score: Score::new(812).unwrap(),
            decile: Decile::new(7).unwrap(),
            as_of: 1_789_999_990,
            version: "1.1".parse().unwrap(),
            model: Digest([1; 32]),
            features: Digest([2; 32]),
            blocks: B256::repeat_byte(3),
            claimed: Some(ClaimedRate {
                per_million: ClaimedRate::per_million(0.0243),
                days: 90,
                outcome: "liquidated".into(),
                population: "wallets that owe at least $10".into(),
            }),
            sandbox: false,
        }
    }

    #[test]
    fn a_content_of_a_sandbox_is_no_statement() {
        let mock = Content { sandbox: true, ..content() };
        assert!(Content::decode(&mock.encode()).unwrap_err().contains("of a sandbox"));
    }

    #[test]
    fn a_content_comes_back_and_none_that_was_changed_is_taken_for_it() {
        for content in [content(), Content { claimed: None, ..content() }] {
            let data = content.encode();
            assert_eq!(Content::decode(&data), Ok(content.clone()));
            for at in 0..data.len() {
                let mut changed = data.clone();
                changed[at] ^= 1;
                assert_ne!(Content::decode(&changed).ok(), Some(content.clone()), "byte {at}");
            }
            assert!(Content::decode(&[data, vec![0; 32]].concat()).is_err());
        }
    }
}
