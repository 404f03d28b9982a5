//! Signatures of models: Ed25519 over the bytes of a file, in a last section of fixed length. Whether a trusted key
//! signed a file is known before any of it is parsed.

use std::{fmt, str::FromStr};

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};
use sha2::{Digest as _, Sha256};

use crate::LoadError;

/// The start of the section: custom, 112 bytes, and its name with its length. Key and signature follow.
const HEAD: &[u8; 18] = b"\0\x70\x0fassay-signature";
const KEY: usize = 32;
const SIGNATURE: usize = 64;
/// Prefix of the signed data, so no other use of a key makes a valid signature.
const PURPOSE: &[u8] = b"assay model 1\0";

/// A key whose signatures a server may trust, in 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PublicKey([u8; KEY]);

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl FromStr for PublicKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut key = [0; KEY];
        hex::decode_to_slice(text, &mut key)
            .map_err(|_| "a public key has 64 hexadecimal digits, as `assay model key` prints them".to_owned())?;
        Ok(Self(key))
    }
}

impl TryFrom<String> for PublicKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

/// The secret key of an author.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Generates a key, and returns its secret in 64 hexadecimal digits.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn generate() -> Result<(Self, String), String> {
        let mut seed = [0_u8; KEY];
        aws_lc_rs::rand::SecureRandom::fill(&SystemRandom::new(), &mut seed).map_err(|error| error.to_string())?;
        let text = hex::encode(seed);
        Ok((Self::read(&text)?, text))
    }

    /// Reads the key of a secret. No error shows the secret.
    ///
    /// # Errors
    /// If it is not 64 hexadecimal digits.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut seed = [0_u8; KEY];
        let wrong = || "a secret key has 64 hexadecimal digits, as `assay model key` writes them".to_owned();
        hex::decode_to_slice(text.trim(), &mut seed).map_err(|_| wrong())?;
        Ed25519KeyPair::from_seed_unchecked(&seed).map(Self).map_err(|_| wrong())
    }

    pub fn public(&self) -> PublicKey {
        let mut key = [0; KEY];
        key.iter_mut().zip(self.0.public_key().as_ref()).for_each(|(to, from)| *to = *from);
        PublicKey(key)
    }

    /// Appends a signature to `file`, replacing the one that it may have.
    pub fn sign(&self, file: &[u8]) -> Vec<u8> {
        let content = split(file).map_or(file, |signed| signed.content);
        let signature = self.0.sign(&message(content));
        [content, HEAD, &self.public().0, signature.as_ref()].concat()
    }
}

/// A file with a signature that is not checked yet.
struct SignedFile<'a> {
    content: &'a [u8],
    key: PublicKey,
    signature: &'a [u8],
}

/// `None` for a file without a signature.
fn split(file: &[u8]) -> Option<SignedFile<'_>> {
    let (content, section) = file.split_at_checked(file.len().checked_sub(HEAD.len() + KEY + SIGNATURE)?)?;
    let (key, signature) = section.strip_prefix(HEAD)?.split_first_chunk()?;
    Some(SignedFile { content, key: PublicKey(*key), signature })
}

fn message(content: &[u8]) -> Vec<u8> {
    [PURPOSE, &Sha256::digest(content)].concat()
}

impl SignedFile<'_> {
    fn holds(&self) -> bool {
        UnparsedPublicKey::new(&ED25519, self.key.0).verify(&message(self.content), self.signature).is_ok()
    }
}

/// The key that signed `file`; `None` without a valid signature.
pub fn signer(file: &[u8]) -> Option<PublicKey> {
    split(file).filter(SignedFile::holds).map(|signed| signed.key)
}

/// Refuses a file that no key of `trust` signed. Without keys, a file needs no signature, but one that it has must be
/// valid.
pub(crate) fn check(file: &[u8], trust: &[PublicKey]) -> Result<(), LoadError> {
    match split(file) {
        None if trust.is_empty() => Ok(()),
        None => Err(LoadError::Unsigned),
        Some(signed) if !trust.is_empty() && !trust.contains(&signed.key) => Err(LoadError::Untrusted(signed.key)),
        Some(signed) if signed.holds() => Ok(()),
        Some(signed) => Err(LoadError::Forged(signed.key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = b"\0asm\x0d\0\x01\0 and more";

    fn key() -> SigningKey {
        SigningKey::generate().unwrap().0
    }

    #[test]
    fn only_trusted_keys_over_these_bytes_are_taken() {
        let (author, stranger) = (key(), key());
        let trust = [author.public()];
        let signed = author.sign(FILE);
        assert_eq!(check(&signed, &trust), Ok(()));
        assert_eq!(signer(&signed), Some(author.public()));
        assert_eq!(check(FILE, &trust), Err(LoadError::Unsigned));
        assert_eq!(check(&stranger.sign(FILE), &trust), Err(LoadError::Untrusted(stranger.public())));
        // A revoked key is no longer in the list.
        assert_eq!(check(&signed, &[stranger.public()]), Err(LoadError::Untrusted(author.public())));
        for at in 0..signed.len() {
            let mut other = signed.clone();
            other[at] ^= 1;
            assert!(check(&other, &trust).is_err(), "byte {at}");
        }
        let mut longer = signed.clone();
        longer.push(0);
        assert_eq!(check(&longer, &trust), Err(LoadError::Unsigned));
        // The stranger's key is replaced by the author's.
        let mut renamed = stranger.sign(FILE);
        let at = FILE.len() + HEAD.len();
        renamed[at..at + KEY].copy_from_slice(&author.public().0);
        assert_eq!(check(&renamed, &trust), Err(LoadError::Forged(author.public())));
    }

    #[test]
    fn a_server_without_trusted_keys_takes_files_without_signature_and_none_with_a_broken_one() {
        let mut signed = key().sign(FILE);
        assert_eq!((check(FILE, &[]), check(&signed, &[]), check(b"", &[])), (Ok(()), Ok(()), Ok(())));
        signed[3] ^= 1;
        assert!(matches!(check(&signed, &[]), Err(LoadError::Forged(_))));
    }

    #[test]
    fn a_file_is_signed_once() {
        let (one, two) = (key(), key());
        assert_eq!(two.sign(&one.sign(FILE)), two.sign(FILE));
    }

    #[test]
    fn a_signed_file_is_still_webassembly() {
        let component = wat::parse_str("(component)").unwrap();
        wasmparser::validate(&key().sign(&component)).unwrap();
    }

    #[test]
    fn a_secret_comes_back_and_no_error_shows_it() {
        let (key, secret) = SigningKey::generate().unwrap();
        assert_eq!(SigningKey::read(&format!("{secret}\n")).unwrap().public(), key.public());
        let said = SigningKey::read("5ec4e7").err().unwrap();
        assert!(!said.contains("5ec4e7") && said.contains("64"));
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
    }
}
