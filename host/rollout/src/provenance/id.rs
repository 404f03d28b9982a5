//! The id of a served score. It names the record of the score and is bound to the key that received it: a score from
//! the cache needs no separate record, and only the keys that received the score can request its provenance.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// Bytes that bind an id to its owner.
const BOND: usize = 8;

/// `{32 hex digits of the record}-{16 of the bond}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreId {
    record: Uuid,
    bond: [u8; BOND],
}

impl ScoreId {
    /// The record that the id names. The caller checks the owner.
    pub fn record(&self) -> Uuid {
        self.record
    }
}

impl fmt::Display for ScoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.record.simple(), hex::encode(self.bond))
    }
}

impl FromStr for ScoreId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{:?} is not a score id", text.chars().take(60).collect::<String>());
        let (record, tag) = text.split_once('-').filter(|(record, _)| record.len() == 32).ok_or_else(wrong)?;
        let mut bond = [0; BOND];
        hex::decode_to_slice(tag, &mut bond).map_err(|_| wrong())?;
        Ok(Self { record: Uuid::try_parse(record).map_err(|_| wrong())?, bond })
    }
}

/// The key of the hash, known only to the hosts of one store.
pub(super) struct IdKey([u8; 32]);

impl IdKey {
    pub(super) fn random() -> Result<Self, String> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
        Ok(Self(bytes))
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    pub(super) fn text(&self) -> String {
        hex::encode(self.0)
    }

    /// The id of `record` for `owner`. Only a quarter of the hash is in the id, so it cannot be extended to a longer
    /// owner's name.
    pub(super) fn bind(&self, record: Uuid, owner: &str) -> ScoreId {
        let hash = Sha256::new().chain_update(self.0).chain_update(record.as_bytes()).chain_update(owner).finalize();
        let mut bond = [0; BOND];
        bond.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        ScoreId { record, bond }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_bound_to_its_owner_and_is_parsed_from_its_text() {
        let (secret, record) = (IdKey([7; 32]), Uuid::from_u128(42));
        let id = secret.bind(record, "alice");
        assert_eq!(id.to_string().parse::<ScoreId>().unwrap(), id);
        assert_eq!(id.to_string().len(), 49);
        for other in [
            secret.bind(record, "bob"),
            secret.bind(Uuid::from_u128(43), "alice"),
            IdKey([8; 32]).bind(record, "alice"),
        ] {
            assert_ne!(other.bond, id.bond);
        }
        let text = id.to_string();
        for wrong in ["", "-", "batch", "address", &text[..48], &format!("{text}0"), &text.replace('-', "")] {
            assert!(wrong.parse::<ScoreId>().is_err(), "{wrong}");
        }
        assert_eq!(IdKey::parse(&secret.text()).unwrap().bind(record, "alice"), id);
    }
}
