//! A model by version and digest, as in records and the audit log.

use serde::{Deserialize, Serialize};

use crate::{Digest, ModelRef, ModelVersion};

/// A model by version and digest, which make a role always point to the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPin {
    pub version: ModelVersion,
    #[serde(with = "hex_digest")]
    pub digest: Digest,
}

impl From<&ModelRef> for ModelPin {
    fn from(model: &ModelRef) -> Self {
        Self { version: model.version.clone(), digest: model.digest }
    }
}

mod hex_digest {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::Digest;

    pub(super) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(digest)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(&text, &mut bytes)
            .map_err(|error| D::Error::custom(format!("digest {text:?}: {error}")))?;
        Ok(Digest(bytes))
    }
}
