//! Compiles the stubs in `contracts/`, and the contracts of the repository that they import, with the compiler from
//! npm, and keeps what it said in `.compiled`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use alloy::primitives::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::devnet::Error;
use crate::node;

/// The creation code of every contract in `contracts/{file}` and in what it imports, by name. Blocks.
///
/// # Errors
/// When the packages are missing, node cannot be run, or the source has errors.
pub fn compile(file: &str) -> Result<BTreeMap<String, Bytes>, Error> {
    let path = node::root().join("contracts").join(file);
    let bad = |why: String| Error::Artifact { file: path.clone(), why };
    let source = std::fs::read_to_string(&path).map_err(|e| bad(e.to_string()))?;
    let kept = kept(&source);
    if let Some(code) = fs::read(&kept).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        return Ok(code);
    }
    let code = compiled(file, &path, &source)?;
    // The next process compiles again where this fails. It never sees a half-written file.
    let mut whole = tempfile::NamedTempFile::new_in(kept.with_file_name("")).map_err(|e| bad(e.to_string()))?;
    whole.write_all(&serde_json::to_vec(&code).unwrap_or_default()).map_err(|e| bad(e.to_string()))?;
    whole.persist(&kept).map_err(|e| bad(e.to_string()))?;
    Ok(code)
}

/// Forgets what was compiled before.
pub fn forget() {
    let _ = fs::remove_dir_all(folder());
}

fn folder() -> PathBuf {
    node::root().join(".compiled")
}

/// The file of what was compiled from this source by the compiler and with the packages of the lock file.
fn kept(source: &str) -> PathBuf {
    let lock = include_bytes!("../../../package-lock.json");
    let mut digest = Sha256::new().chain_update(lock).chain_update(source);
    for imported in imported() {
        digest.update(fs::read(imported).unwrap_or_default());
    }
    let folder = folder();
    // A folder that cannot be made shows when the file is written.
    let _ = fs::create_dir_all(&folder);
    folder.join(hex::encode(digest.finalize()))
}

/// The contracts of the repository.
fn published() -> PathBuf {
    node::root().join("../host/statement/contracts")
}

/// What a stub may import of them, in order.
fn imported() -> Vec<PathBuf> {
    let entries = fs::read_dir(published()).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The package of the compiler: contracts of a package may allow one version only.
fn compiler(source: &str) -> &'static str {
    if source.contains("pragma solidity 0.8.19;") { "solc-0.8.19" } else { "solc" }
}

fn compiled(file: &str, path: &Path, source: &str) -> Result<BTreeMap<String, Bytes>, Error> {
    let bad = |why: String| Error::Artifact { file: path.to_owned(), why };
    let input = json!({
        "language": "Solidity",
        "sources": { file: { "content": source } },
        "settings": { "optimizer": { "enabled": true }, "outputSelection": { "*": { "*": ["evm.bytecode.object"] } } },
    });
    let mut command = Command::new("node");
    let packages = node::packages()?;
    command.arg(packages.join(compiler(source)).join("solc.js")).arg("--standard-json");
    // Imports are relative to the contracts, or from the packages.
    command.arg("--base-path").arg(path.with_file_name("")).arg("--include-path").arg(&packages);
    command.arg("--include-path").arg(published());
    // The compiler does not wait until its pipe is read: output beyond 64 KiB would be lost. A file takes all of it.
    let mut answer = tempfile::tempfile().map_err(|e| bad(e.to_string()))?;
    let stdout = answer.try_clone().map_err(|e| bad(e.to_string()))?;
    let mut running = command.stdin(Stdio::piped()).stdout(stdout).spawn().map_err(|e| bad(format!("node: {e}")))?;
    if let Some(mut stdin) = running.stdin.take() {
        stdin.write_all(input.to_string().as_bytes()).map_err(|e| bad(e.to_string()))?;
    }
    running.wait().map_err(|e| bad(e.to_string()))?;
    answer.rewind().map_err(|e| bad(e.to_string()))?;
    // The compiler may print a message before the result.
    let text = io::read_to_string(answer).map_err(|e| bad(e.to_string()))?;
    let answer = text.find('{').and_then(|start| text.get(start..)).unwrap_or_default();
    let answer: Value = serde_json::from_str(answer).map_err(|e| bad(format!("the compiler's answer: {e}")))?;
    let errors: Vec<_> =
        answer["errors"].as_array().into_iter().flatten().filter(|e| e["severity"] == "error").collect();
    if let Some(error) = errors.first() {
        return Err(bad(error["formattedMessage"].to_string()));
    }
    let files = answer["contracts"].as_object().into_iter().flatten();
    files
        .flat_map(|(_, contracts)| contracts.as_object().into_iter().flatten())
        .map(|(name, contract)| {
            let code = contract["evm"]["bytecode"]["object"].as_str().unwrap_or_default();
            Ok((name.clone(), hex::decode(code).map_err(|e| bad(e.to_string()))?.into()))
        })
        .collect()
}
