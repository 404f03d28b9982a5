//! The exit codes of the binary: 0 for success, 1 if the answer is no, 2 if the command could not run.

use std::{
    io,
    path::Path,
    process::{Command, Output},
};

fn assay(arguments: &[&str], folder: &Path) -> io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(arguments).current_dir(folder).output()
}

#[test]
fn a_command_says_by_its_code_how_it_went() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.toml"), "listen = \"nowhere\"\n").unwrap();
    for (arguments, code, words) in [
        (&["openapi"][..], 0, ""),
        (&["--version"], 0, ""),
        (&["config", "defaults"], 0, ""),
        (&["config"], 2, "Usage: assay config <COMMAND>"),
        (&["check-config", "--config", "bad.toml"], 1, "listen"),
        (&["serve", "--config", "bad.toml"], 2, "listen"),
        (&["serve", "--config", "missing.toml"], 2, "missing.toml"),
        (&["nothing"], 2, "unrecognized subcommand 'nothing'"),
        (&[], 2, "Usage: assay <COMMAND>"),
    ] {
        let output = assay(arguments, folder.path()).unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn it_prints_the_defaults_that_it_contains() {
    let folder = tempfile::tempdir().unwrap();
    let printed = String::from_utf8(assay(&["config", "defaults"], folder.path()).unwrap().stdout).unwrap();
    assert_eq!(printed.trim_end(), assay::config::DEFAULTS.trim_end());
    // A file with every default is a configuration like none.
    std::fs::write(folder.path().join("assay.toml"), &printed).unwrap();
    assert_eq!(assay(&["check-config"], folder.path()).unwrap().status.code(), Some(0));
}

#[test]
fn it_prints_the_document_that_the_server_serves() {
    let folder = tempfile::tempdir().unwrap();
    let printed: serde_json::Value =
        serde_json::from_slice(&assay(&["openapi"], folder.path()).unwrap().stdout).unwrap();
    assert_eq!(printed, serde_json::to_value(assay::routes::document()).unwrap());
}
