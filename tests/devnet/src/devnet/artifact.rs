//! Reads compiled contracts from npm packages, and links them against deployed libraries.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use alloy::primitives::{Address, Bytes};
use serde::Deserialize;

use super::Error;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    bytecode: String,
    #[serde(default)]
    link_references: BTreeMap<String, BTreeMap<String, Vec<Place>>>,
}

/// The place of a library's address, in bytes.
#[derive(Deserialize)]
struct Place {
    start: usize,
    length: usize,
}

/// The creation code of `contracts/{path}.sol` in an npm `package`, linked against `libraries`.
///
/// # Errors
/// When the file is missing or not an artifact, or a library it needs is not in `libraries`.
pub fn creation_code(
    modules: &Path,
    package: &str,
    path: &str,
    libraries: &BTreeMap<String, Address>,
) -> Result<Bytes, Error> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let file = modules.join(format!("{package}/artifacts/contracts/{path}.sol/{name}.json"));
    linked(&file, libraries)
}

/// The creation code of the contract `name` in an npm `package` that Truffle built, which needs no library.
///
/// # Errors
/// As [`creation_code`].
pub fn built(modules: &Path, package: &str, name: &str) -> Result<Bytes, Error> {
    linked(&modules.join(format!("{package}/build/contracts/{name}.json")), &BTreeMap::new())
}

fn linked(file: &Path, libraries: &BTreeMap<String, Address>) -> Result<Bytes, Error> {
    let bad = |why: String| Error::Artifact { file: file.to_owned(), why };
    let text = fs::read(file).map_err(|e| bad(e.to_string()))?;
    let artifact: Artifact = serde_json::from_slice(&text).map_err(|e| bad(e.to_string()))?;
    let mut code = artifact.bytecode.trim_start_matches("0x").to_owned();
    for (library, places) in artifact.link_references.values().flatten() {
        let address = libraries
            .get(library)
            .ok_or_else(|| bad(format!("it needs the library {library}, which is not deployed")))?;
        for place in places {
            code.replace_range(place.start * 2..(place.start + place.length) * 2, &hex::encode(address));
        }
    }
    Ok(hex::decode(code).map_err(|e| bad(e.to_string()))?.into())
}
