//! `assay key` as a process: a key is created, listed, used and revoked.

use std::{path::Path, process::Command};

use assay_tests::service::{Service, binary, plugins, sandbox_config};

/// Exit code, standard output and standard error.
fn key(config: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let done =
        Command::new(binary()).arg("key").args(arguments).arg("--config").arg(config).output().expect("assay runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn the_file_of_a_running_server_is_left_to_it() {
    let service = Service::start(&sandbox_config(&plugins()));
    let (code, _, err) = key(&service.dir().join("assay.toml"), &["list"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("in use by another process; stop that one"), "{err}");
}

#[tokio::test]
async fn a_key_is_minted_listed_used_and_revoked() {
    let toml = sandbox_config(&plugins());
    let dir = Service::start(&toml).terminate_keeping().await;
    let config = dir.path().join("assay.toml");
    let (code, out, err) = key(
        &config,
        &[
            "mint", "--store", "--name", "lender", "--scope", "read", "--scope", "submit", "--units", "50", "--rate",
            "120",
        ],
    );
    assert_eq!(code, Some(0), "{err}");
    let minted = out.trim().to_owned();
    assert!(minted.starts_with("assay_") && minted.len() == 70, "{out}");
    assert!(err.contains("lender may read, submit, for 50 units, 120 requests a minute"), "{err}");
    let (code, _, err) = key(&config, &["mint", "--store", "--name", "lender"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("another key is named lender"), "{err}");

    let (code, out, _) = key(&config, &["list"]);
    assert_eq!(code, Some(0));
    let rows: Vec<Vec<&str>> =
        out.lines().map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()).collect();
    assert_eq!(rows[0], ["NAME", "SCOPES", "UNITS USED", "OF", "PER MINUTE", "FROM"]);
    assert_eq!(rows[1], ["test", "read, submit, admin", "-", "unmetered", "no bound", "the configuration"]);
    assert_eq!(rows[2][..5], ["lender", "read, submit", "0", "50", "120"]);
    assert!(rows.len() == 3 && rows[2][5].starts_with("the store, 20") && !out.contains(&minted[6..]), "{out}");

    let service = Service::start_in(dir, &toml, &[]);
    let usage = service.with_key(&minted).get("/api/v2/usage").await.ok();
    assert_eq!((&usage["name"], &usage["limit"], &usage["rate"]), (&"lender".into(), &50.into(), &120.into()));
    let dir = service.terminate_keeping().await;
    let config = dir.path().join("assay.toml");
    let (code, out, _) = key(&config, &["revoke", "lender"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("lender is revoked"), "{out}");
    for (name, words) in [
        ("lender", "no key in the store is named \"lender\""),
        ("test", "stands in the configuration; remove it there"),
    ] {
        let (code, _, err) = key(&config, &["revoke", name]);
        assert_eq!(code, Some(1));
        assert!(err.contains(words), "{err}");
    }
    let service = Service::start_in(dir, &toml, &[]);
    service.with_key(&minted).get("/api/v2/usage").await.expect(401);
}

#[test]
fn a_block_for_the_file_is_one_that_it_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("assay.toml");
    std::fs::write(&config, "").expect("an empty configuration");
    let (code, out, _) =
        key(&config, &["mint", "--name", "first", "--scope", "read", "--scope", "read", "--rate", "0"]);
    assert_eq!(code, Some(0));
    let block = out.split_once("[[access.keys]]").expect("a block").1;
    assert!(block.contains("scopes = [\"read\"]\nrate = 0"), "{out}");
    std::fs::write(&config, format!("[[access.keys]]{block}")).expect("the configuration");
    let checked = Command::new(binary()).args(["check-config", "--config"]).arg(&config).output().expect("assay runs");
    let said = String::from_utf8(checked.stdout).expect("text");
    assert!(checked.status.success() && said.contains("first (read; unmetered; without a rate)"), "{said}");
}
