//! The canonical JSON of features by RFC 8785, and its digest. Equal features have the same text, however their JSON
//! was written. The sign of a zero is not part of the text.

use assay_domain::{Digest, features::Features};
use sha2::{Digest as _, Sha256};

/// The canonical JSON of `features`.
///
/// # Errors
/// The serializer's error; features of this crate cause none.
pub fn canonical(features: &Features) -> Result<Vec<u8>, serde_json::Error> {
    serde_json_canonicalizer::to_vec(features)
}

/// The SHA-256 of the canonical text.
///
/// # Errors
/// Those of [`canonical`].
pub fn digest(features: &Features) -> Result<Digest, serde_json::Error> {
    Ok(Digest(Sha256::digest(canonical(features)?).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_one_text_however_it_is_written() {
        let written = [
            r#"{"as_of":1,"chains":[],"markets":[],"holdings":[{"class":"token","usd":1e2,"assets":1}],"identity":[]}"#,
            r#"{"identity":[], "holdings":[{"usd":100.0,"assets":1,"class":"token"}],
                "markets":[],"chains":[],"as_of":1}"#,
        ];
        let texts = written.map(|text| canonical(&serde_json::from_str(text).unwrap()).unwrap());
        assert_eq!(
            String::from_utf8(texts[0].clone()).unwrap(),
            r#"{"as_of":1,"chains":[],"holdings":[{"assets":1,"class":"token","usd":100}],"identity":[],"markets":[]}"#
        );
        assert_eq!(texts[0], texts[1]);
    }

    #[test]
    fn a_member_that_is_there_twice_is_refused() {
        let twice = r#"{"as_of":1,"as_of":2,"chains":[],"markets":[],"holdings":[],"identity":[]}"#;
        assert!(serde_json::from_str::<Features>(twice).is_err());
    }
}
