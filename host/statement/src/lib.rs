//! Signed statements of scores, which a contract can accept and a third party can recompute.
//!
//! A statement is an off-chain attestation of the Ethereum Attestation Service, version 2: an EIP-712 signature over
//! the recipient, the times, and the [`Content`]. The content commits to the model's bytes, the features and the
//! blocks, which are in the evidence of a score. No I/O, and no model: `assay verify` runs the model and reads the
//! chains.

pub mod archive;
mod attest;
mod blocks;
mod content;
mod evidence;
mod features_digest;
mod manifest;
mod pack;
mod signers;

pub use attest::{Domain, NotSigned, Signed, Statement, Term, Unreadable};
pub use blocks::root as blocks_root;
pub use content::{ClaimedRate, Content, SCHEMA, schema_uid};
pub use evidence::{Difference, Evidence, EvidenceModel};
pub use features_digest::{canonical, digest as features_digest};
pub use manifest::{FileDigests, Manifest, ManifestSignature};
pub use pack::{SignedPack, ValidationPack};
pub use signers::{Refused, Schema, Signer, Signers};
