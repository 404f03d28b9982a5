//! A validation pack: the files that a validator asks for about a model, the parts that it lacks with the reason, and a
//! signed manifest, in one archive.

use std::collections::BTreeMap;

use alloy::primitives::Address;

use crate::{FileDigests, Manifest, ManifestSignature, archive};

/// The parts that a pack can have, for its README.
const PARTS: [(&str, &str); 10] = [
    ("model.json", "the model's description, digest, claims, role and cost; the materiality tier"),
    ("card.md", "its card: purpose, evidence, limits and claims"),
    ("component.wasm", "the bytes that answer; `assay model check` describes them"),
    ("training.txt", "the digest of the data that it was trained on"),
    ("outcomes.json", "claims against outcomes, and the drift of the scores by week"),
    ("drift.json", "the drift of the inputs by week and segment"),
    ("shadow.json", "challengers compared with the champion, and the limits of a promotion"),
    ("split.json", "the live split"),
    ("audit.json", "promotions, refusals and rollbacks with their reasons"),
    ("replay.jsonl", "scores computed again from their recorded inputs"),
];

/// The files of a pack, and the parts that it lacks with the reason.
#[derive(Debug, Default)]
pub struct ValidationPack {
    files: BTreeMap<String, Vec<u8>>,
    absent: BTreeMap<String, String>,
}

/// A pack as an archive.
#[derive(Debug)]
pub struct SignedPack {
    pub archive: Vec<u8>,
    pub signer: Address,
    pub files: usize,
    /// The parts that it lacks, and why.
    pub absent: BTreeMap<String, String>,
}

impl ValidationPack {
    /// The names of the manifest and its signature in the archive.
    pub const MANIFEST: &str = "manifest.json";
    pub const SIGNATURE: &str = "signature.json";
    const README: &str = "README.md";
    /// The largest archive, in bytes.
    pub const LARGEST: usize = 256 << 20;

    /// Adds a part, or why it is absent.
    pub fn add(&mut self, name: &str, part: Result<Vec<u8>, String>) {
        match part {
            Ok(bytes) => drop(self.files.insert(name.to_owned(), bytes)),
            Err(why) => drop(self.absent.insert(name.to_owned(), why)),
        }
    }

    /// Adds the digest of the training data, as the component has it.
    pub fn training(&mut self, digest: Option<impl std::fmt::Display>) {
        let none = "the component has no digest of its training data: `assay model build` writes it".to_owned();
        let text = digest.map(|digest| format!("SHA-256 of the features file that it was trained on: {digest}\n"));
        self.add("training.txt", text.map(String::into_bytes).ok_or(none));
    }

    /// Adds a file that is no part.
    ///
    /// # Errors
    /// The name is that of a part or of another file, or too long for an archive.
    pub fn include(&mut self, name: &str, bytes: Vec<u8>) -> Result<(), String> {
        let own = [Self::README, Self::MANIFEST, Self::SIGNATURE];
        if own.contains(&name) || PARTS.iter().any(|(part, _)| *part == name) || self.files.contains_key(name) {
            return Err(format!("a pack has a file {name:?} of its own, or was given two: rename it"));
        }
        if name.len() >= archive::LONGEST_NAME {
            let most = archive::LONGEST_NAME - 1;
            return Err(format!("the name {name:?} has {} bytes and may have {most}: rename it", name.len()));
        }
        self.add(name, Ok(bytes));
        Ok(())
    }

    /// The text for people, with the list of the parts.
    fn readme(&self, model: &str) -> String {
        let known =
            |name: &str| PARTS.iter().find(|(part, _)| *part == name).map_or("added as it is", |(_, text)| text);
        let files: String = self.files.keys().map(|name| format!("- `{name}`: {}\n", known(name))).collect();
        let absent: String = self.absent.iter().map(|(name, why)| format!("- {name}: {why}\n")).collect();
        format!(
            "# Validation pack of {model}\n\n{files}\n## Not in it\n\n{absent}\n## Verify\n\n`assay verify FILE.tar \
             --signer ADDRESS` compares each file with manifest.json, and its signature with the address that the \
             server publishes at /.well-known/assay-attestation.json. `signature.json` is a personal_sign (ERC-191) of \
             the bytes of manifest.json.\n"
        )
    }

    /// The archive, signed with `key`. `digest` is that of the component; `made_at` in Unix seconds.
    ///
    /// # Errors
    /// What is wrong with the key, in words that do not have it; or the archive would be too large.
    pub fn sign(mut self, model: &str, digest: String, key: &str, made_at: u64) -> Result<SignedPack, String> {
        let readme = self.readme(model);
        self.files.insert(Self::README.to_owned(), readme.into_bytes());
        let manifest = Manifest {
            form: Manifest::FORM.to_owned(),
            model: model.to_owned(),
            digest,
            made_at,
            files: self.files.iter().map(|(name, bytes)| (name.clone(), FileDigests::of(bytes))).collect(),
            absent: self.absent.clone(),
        };
        let pretty = |error: serde_json::Error| error.to_string();
        let text = serde_json::to_vec_pretty(&manifest).map_err(pretty)?;
        let signed = ManifestSignature::of(&text, key).map_err(|why| format!("attestation.signer: {why}"))?;
        self.files.insert(Self::SIGNATURE.to_owned(), serde_json::to_vec_pretty(&signed).map_err(pretty)?);
        self.files.insert(Self::MANIFEST.to_owned(), text);
        let (archive, files) = (archive::write(&self.files, made_at), self.files.len());
        if archive.len() > Self::LARGEST {
            let (size, most) = (archive.len(), Self::LARGEST);
            return Err(format!("the pack would have {size} bytes and may have {most}: include smaller files"));
        }
        Ok(SignedPack { archive, signer: signed.signer, files, absent: self.absent })
    }
}
