//! The manifest of a validation pack: the digests of its files, signed by the account of statements.

use std::collections::BTreeMap;

use alloy::{
    primitives::{Address, Signature},
    signers::{SignerSync as _, local::PrivateKeySigner},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::NotSigned;

/// The files of a pack; its text is what is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`Manifest::FORM`].
    pub form: String,
    /// The model, such as `credit 1.4`.
    pub model: String,
    /// SHA-256 of its component.
    pub digest: String,
    /// When the pack was made, in Unix seconds.
    pub made_at: u64,
    pub files: BTreeMap<String, FileDigests>,
    /// The parts that are not in the pack, and why.
    pub absent: BTreeMap<String, String>,
}

/// The digests of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileDigests {
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
    /// SHA-256 of each 4 KiB, by which a changed byte is found.
    pub blocks: Vec<String>,
}

/// The size of a block.
const BLOCK: usize = 4096;

impl FileDigests {
    pub fn of(bytes: &[u8]) -> Self {
        let blocks = bytes.chunks(BLOCK).map(sha256).collect();
        Self { bytes: bytes.len() as u64, sha256: sha256(bytes), blocks }
    }

    /// What is different about `bytes`, in words; `None` if nothing is.
    pub fn difference(&self, bytes: &[u8]) -> Option<String> {
        let found = Self::of(bytes);
        if found == *self {
            return None;
        }
        let same = self.blocks.iter().zip(&found.blocks).take_while(|(own, found)| own == found).count();
        let (from, to) = (same * BLOCK, ((same + 1) * BLOCK).min(bytes.len()));
        let size = if found.bytes == self.bytes {
            String::new()
        } else {
            format!(", {} of {} bytes", found.bytes, self.bytes)
        };
        Some(format!("changed between bytes {from} and {to}{size}"))
    }
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A signature of the text of a manifest, as `personal_sign` of a wallet makes it (ERC-191).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestSignature {
    pub signer: Address,
    /// r, s and v, in hex.
    pub signature: String,
}

impl Manifest {
    /// The only form that there is.
    pub const FORM: &str = "assay-dossier/1";
}

impl ManifestSignature {
    /// Signs with a private key, 32 bytes in hex.
    ///
    /// # Errors
    /// The key is none, in words that do not have it.
    pub fn of(text: &[u8], key: &str) -> Result<Self, String> {
        let key: PrivateKeySigner = key.parse().map_err(|_| "not a private key: 32 bytes in hex".to_owned())?;
        let signature = key.sign_message_sync(text).map_err(|error| error.to_string())?;
        Ok(Self { signer: key.address(), signature: signature.to_string() })
    }

    /// Checks that the named signer signed `text`.
    ///
    /// # Errors
    /// [`NotSigned`].
    pub fn check(&self, text: &[u8]) -> Result<(), NotSigned> {
        let signature: Signature = self.signature.parse().map_err(|_| NotSigned::Form)?;
        let recovered = signature.recover_address_from_msg(text).map_err(|_| NotSigned::Form)?;
        if recovered == self.signer { Ok(()) } else { Err(NotSigned::Other { named: self.signer, recovered }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_is_found_in_its_block() {
        let mut bytes = vec![7; 10_000];
        let digests = FileDigests::of(&bytes);
        assert_eq!(digests.difference(&bytes), None);
        bytes[5_000] = 8;
        assert_eq!(digests.difference(&bytes).unwrap(), "changed between bytes 4096 and 8192");
        bytes.truncate(9_000);
        bytes[5_000] = 7;
        assert_eq!(digests.difference(&bytes).unwrap(), "changed between bytes 8192 and 9000, 9000 of 10000 bytes");
    }

    #[test]
    fn a_signature_is_of_one_text_and_one_signer() {
        let key = PrivateKeySigner::random();
        let signed = ManifestSignature::of(b"text", &key.to_bytes().to_string()).unwrap();
        assert!(ManifestSignature::of(b"text", "0x12").is_err());
        assert_eq!((signed.signer, signed.check(b"text")), (key.address(), Ok(())));
        assert!(matches!(signed.check(b"texs"), Err(NotSigned::Other { .. })));
        let other = ManifestSignature { signer: Address::ZERO, ..signed.clone() };
        assert!(matches!(other.check(b"text"), Err(NotSigned::Other { .. })));
        assert_eq!(ManifestSignature { signature: "0x12".to_owned(), ..signed }.check(b"text"), Err(NotSigned::Form));
    }
}
