//! The public client of x402 from npm.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use alloy::signers::local::PrivateKeySigner;
use serde_json::Value;

use crate::node;

/// What the public npm client of `version` prints of its submission at `url`.
///
/// # Errors
/// What the client said when it failed, or why it cannot run.
pub async fn try_npm_client(version: u8, url: &str, key: &PrivateKeySigner, body: &Value) -> Result<Value, String> {
    let installed = tokio::task::spawn_blocking(node::packages).await.map_err(|e| e.to_string())?;
    installed.map_err(|e| e.to_string())?;
    run("node", &npm_script(), version, url, key, body).await
}

/// The script that submits with the public npm client.
pub fn npm_script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/pay.mjs")
}

/// What a client prints, as JSON.
///
/// # Errors
/// What the client said when it failed, or why it cannot run.
pub async fn run(
    program: impl AsRef<std::ffi::OsStr>,
    script: &Path,
    version: u8,
    url: &str,
    key: &PrivateKeySigner,
    body: &Value,
) -> Result<Value, String> {
    let mut command = tokio::process::Command::new(program);
    command.arg(script).arg(version.to_string()).arg(url).arg(key.to_bytes().to_string()).arg(body.to_string());
    let done = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
    let done = done.map_err(|e| format!("the client cannot be run: {e}"))?;
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    serde_json::from_str(out.trim()).map_err(|_| format!("{}: {out}\n{err}", done.status))
}
