//! `assay serve --sandbox` in an empty folder.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

const SCORE: &str = "/api/v2/score/address/0x0000000000000000000000000000000000000001";

/// Killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server, with the address and the key that it prints.
fn start(folder: &Path, arguments: &[&str]) -> Option<(Running, String, String)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(["serve", "--sandbox", "--listen", "127.0.0.1:0"]).args(arguments);
    let mut child = command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let stdout = BufReader::new(child.stdout.take()?);
    let running = Running(child);
    let line = stdout.lines().map_while(Result::ok).find(|line| line.starts_with("Sandbox on "))?;
    let (url, key) = line.strip_prefix("Sandbox on ")?.split_once(" with the key ")?;
    Some((running, url.to_owned(), key.to_owned()))
}

#[tokio::test]
async fn it_serves_the_models_of_the_binary_under_the_key_that_it_prints() {
    let folder = tempfile::tempdir().unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut keys = Vec::new();
    for given in [None, None, Some("tester-key")] {
        let arguments: Vec<&str> = given.iter().flat_map(|key| ["--key", key]).collect();
        let (running, url, key) = start(folder.path(), &arguments).unwrap();
        assert!(given.is_none_or(|given| given == key), "{key}");
        let response = client.get(format!("{url}{SCORE}")).bearer_auth(&key).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let score: serde_json::Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
        assert_eq!((&score["range"], &score["model_version"]), (&"excellent".into(), &"1.1".into()), "{score}");
        let refused = client.get(format!("{url}{SCORE}")).bearer_auth("another-key").send().await.unwrap();
        assert_eq!(refused.status(), 401);
        keys.push(key);
        drop(running);
    }
    // Each start makes another key.
    assert_ne!(keys[0], keys[1]);
    assert!(folder.path().join("data/first-party/credit-1.1.wasm").is_file());
}

#[test]
fn a_key_belongs_to_a_sandbox_and_is_not_short() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, words) in [
        (&["--sandbox", "--key", "short"][..], "at least 8 characters"),
        (&["--key", "tester-key"], "--sandbox"),
        (&["--listen", "nowhere"], "invalid socket address"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        let output = command.arg("serve").args(arguments).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(words), "{arguments:?}: {said}");
    }
}
