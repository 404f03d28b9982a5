//! The signatures of Standard Webhooks: `v1`, HMAC-SHA256 by the secret of a watch, and `v1a`, Ed25519 by the key of
//! the server, which a receiver can check without a secret.
//!
//! The crate `standardwebhooks` signs only `v1`, and brings other versions of HMAC, SHA-2 and base64; both signatures
//! together are the few lines here.

use aws_lc_rs::{
    hmac,
    rand::{self, SystemRandom},
    signature::{Ed25519KeyPair, KeyPair as _},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use assay_domain::Time;

/// Bytes of a secret and of a key.
const LENGTH: usize = 32;
const PREFIX: &str = "whsec_";
/// The beginning of the tokens of payers, which no key of the API has.
pub(crate) const TOKEN: &str = "watch_";

/// No randomness from the system.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no randomness")]
pub struct NoRandomness;

/// The secret of a watch, in the form that receivers take: `whsec_` and base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WebhookSecret(String);

/// The key with which the server signs all deliveries.
pub struct ServerKey(Ed25519KeyPair);

impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(secret)")
    }
}

fn random() -> Result<[u8; LENGTH], NoRandomness> {
    let mut bytes = [0; LENGTH];
    rand::SecureRandom::fill(&SystemRandom::new(), &mut bytes).map_err(|_| NoRandomness)?;
    Ok(bytes)
}

/// A text that a receiver cannot guess.
///
/// # Errors
/// [`NoRandomness`].
pub fn challenge() -> Result<String, NoRandomness> {
    random().map(hex::encode)
}

impl WebhookSecret {
    /// # Errors
    /// [`NoRandomness`].
    pub fn generate() -> Result<Self, NoRandomness> {
        Ok(Self(format!("{PREFIX}{}", STANDARD.encode(random()?))))
    }

    /// The text for the owner of the watch. Never log it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The signature of a message; `None` if the secret is not one.
    fn sign(&self, message: &[u8]) -> Option<String> {
        let key = STANDARD.decode(self.0.strip_prefix(PREFIX)?).ok()?;
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), message);
        Some(format!("v1,{}", STANDARD.encode(tag)))
    }
}

impl ServerKey {
    /// A new key, and its secret in hex.
    ///
    /// # Errors
    /// [`NoRandomness`].
    pub fn generate() -> Result<String, NoRandomness> {
        random().map(hex::encode)
    }

    /// The key of a secret in hex.
    pub fn read(text: &str) -> Option<Self> {
        let mut seed = [0; LENGTH];
        hex::decode_to_slice(text, &mut seed).ok()?;
        Ed25519KeyPair::from_seed_unchecked(&seed).ok().map(Self)
    }

    /// `whpk_` and base64.
    pub fn public(&self) -> String {
        format!("whpk_{}", STANDARD.encode(self.0.public_key()))
    }

    /// The token with which the payer of a watch manages it: always the same for a payment and the secret of its payer.
    /// Never log it.
    pub fn token(&self, payment: &str, secret: &str) -> String {
        let signed = self.0.sign(format!("watch token\n{payment}\n{secret}").as_bytes());
        format!("{TOKEN}{}", hex::encode(Sha256::digest(signed)))
    }

    fn sign(&self, message: &[u8]) -> String {
        format!("v1a,{}", STANDARD.encode(self.0.sign(message)))
    }
}

/// The header `webhook-signature` of a message: by each secret, and by the server.
pub fn signatures<'a>(
    secrets: impl IntoIterator<Item = &'a WebhookSecret>,
    server: &ServerKey,
    (id, at, body): (&str, Time, &[u8]),
) -> String {
    let message = [format!("{id}.{}.", at.timestamp()).as_bytes(), body].concat();
    let by_secrets = secrets.into_iter().filter_map(|secret| secret.sign(&message));
    by_secrets.chain([server.sign(&message)]).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};

    use super::*;
    use assay_domain::time_from_unix;

    const BODY: &[u8] = br#"{"type":"score.crossed","timestamp":"2026-11-26T11:00:00Z","data":{"watch_id":"w1"}}"#;

    /// The vector was computed with the Python package `standardwebhooks`.
    #[test]
    fn a_signature_is_that_of_the_published_implementation() {
        let secret = WebhookSecret("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX".to_owned());
        let server = ServerKey::read(&ServerKey::generate().unwrap()).unwrap();
        let other = WebhookSecret::generate().unwrap();
        let header = signatures([&secret, &other], &server, ("msg_2b1f", time_from_unix(1_790_000_000), BODY));
        let all: Vec<_> = header.split(' ').collect();
        assert_eq!(all[0], "v1,aQoVnqY518dvlZDSLDWBc2tWoea+yMX4UEAi5CtIbS8=");
        assert!(all.len() == 3 && all[1].starts_with("v1,") && all[1] != all[0]);
        let public = STANDARD.decode(server.public().strip_prefix("whpk_").unwrap()).unwrap();
        let signature = STANDARD.decode(all[2].strip_prefix("v1a,").unwrap()).unwrap();
        let message = [b"msg_2b1f.1790000000.", BODY].concat();
        UnparsedPublicKey::new(&ED25519, public).verify(&message, &signature).unwrap();
    }

    #[test]
    fn no_secret_is_printed() {
        let secret = WebhookSecret::generate().unwrap();
        assert_eq!(format!("{secret:?}"), "(secret)");
        assert_ne!(secret, WebhookSecret::generate().unwrap());
    }
}
