//! The shipped files name only what exists: files, commands, options, keys and times. The test builds and starts
//! nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use assay_tests::service::binary;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The text after `before` on each line that begins with it.
fn after<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.trim().strip_prefix(before)).map(str::trim)
}

/// Asserts that the command and its options exist.
fn is_known(line: &str) {
    let mut words = line.split_whitespace();
    let command = words.next().expect("a command");
    let help = Command::new(binary()).args([command, "--help"]).output().expect("assay runs");
    let help = String::from_utf8(help.stdout).expect("text");
    assert!(help.contains("Usage:"), "{line}");
    for option in words.filter(|word| word.starts_with("--")) {
        assert!(help.contains(option), "{line}: no {option} in {help}");
    }
}

/// `check-config` with these variables, as the shipped process has them.
fn is_configured(config: Option<&str>, variables: &str) {
    let mut command = Command::new(binary());
    command.arg("check-config").current_dir(std::env::temp_dir()).env("ASSAY_KEY", "0123456789abcdef0123456789abcdef");
    command.envs(variables.split_whitespace().filter_map(|pair| pair.split_once('=')));
    if let Some(file) = config {
        command.arg("--config").arg(root().join(file));
    }
    let done = command.output().expect("assay runs");
    assert!(
        done.status.success(),
        "{variables}: {}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn the_image_copies_and_runs_what_there_is() {
    let image = text(".ops/docker/Dockerfile").replace("\\\n", " ");
    let copied: Vec<&str> = after(&image, "COPY ")
        .filter(|line| !line.contains("--from"))
        .flat_map(|line| line.split_whitespace().rev().skip(1))
        .collect();
    assert!(copied.len() > 6, "{copied:?}");
    for path in copied.iter().filter(|word| !word.starts_with("--")) {
        assert!(root().join(path).exists(), "{path}");
        let taken = text(".ops/docker/Dockerfile.dockerignore")
            .lines()
            .any(|line| line.strip_prefix('!').is_some_and(|kept| path.starts_with(kept)));
        assert!(taken, "{path} is left out by .dockerignore");
    }
    let words = |line: &str| line.replace(['[', ']', '"', ','], " ");
    for command in after(&image, "CMD ")
        .map(words)
        .chain([words(image.split("--retries=3 CMD").nth(1).unwrap().lines().next().unwrap())])
    {
        is_known(command.replace("/usr/bin/assay", "").trim());
    }
    let variables: String = after(&image, "ENV ").collect::<Vec<_>>().join(" ");
    assert!(variables.contains("ASSAY__LISTEN=0.0.0.0:8080") && image.contains("EXPOSE 8080"), "{variables}");
    is_configured(None, &variables);
    assert!(image.lines().any(|line| line == "USER 65532:65532") && image.contains("FROM scratch"));
}

#[test]
fn the_fleet_is_made_of_what_there_is() {
    let fleet = text(".ops/compose.yaml");
    for file in after(&fleet, "file:").chain(after(&fleet, "dockerfile:").map(|file| file.trim_start_matches(".ops/")))
    {
        assert!(root().join(".ops").join(file).exists(), "{file}");
    }
    let proxy = text(".ops/docker/nginx.conf");
    for host in after(&proxy, "server ").filter(|rest| rest.contains(":8080")) {
        let name = host.split(':').next().unwrap();
        assert!(fleet.contains(&format!("\n  {name}:\n    <<: *host")), "{name}");
    }
    is_configured(Some(".ops/docker/assay.toml"), "");
    let at = after(&fleet, "ipv4_address:").next().unwrap();
    assert!(text(".ops/docker/assay.toml").contains(&format!("trusted_proxies = [\"{at}\"]")), "{at}");
    assert_eq!(after(&fleet, "stop_grace_period:").collect::<Vec<_>>(), ["30s"]);
}

#[test]
fn the_unit_runs_what_there_is_and_waits_for_it_to_stop() {
    let unit = text(".ops/assay.service");
    let commands: Vec<_> = after(&unit, "ExecStart=").chain(after(&unit, "ExecStartPre=")).collect();
    assert_eq!(commands.len(), 2);
    commands.iter().for_each(|command| is_known(command.trim_start_matches("/usr/bin/assay").trim()));
    is_configured(None, after(&unit, "Environment=").next().unwrap());
    let waits: u64 = after(&unit, "TimeoutStopSec=").next().unwrap().parse().unwrap();
    let config = assay::config::load(None).unwrap();
    assert!(u128::from(waits) * 1_000 > config.http.drain_timeout.as_millis(), "{waits} s");
}

#[test]
fn every_claim_on_security_names_a_test_that_exists() {
    let mut tests = String::new();
    for folder in ["host", "tests/src", "tests/tests"] {
        collect(&root().join(folder), &mut tests);
    }
    let page = text(".github/SECURITY.md");
    let claims: Vec<_> = page.split("\n- **").skip(1).filter_map(|claim| claim.split("\n\n").next()).collect();
    assert!(claims.len() > 10);
    for claim in claims {
        let (_, tried) = claim.split_once("Tests:").unwrap_or_else(|| panic!("no tests: {claim}"));
        let names: Vec<_> = tried.split('`').skip(1).step_by(2).filter(|name| !name.contains([' ', '/'])).collect();
        assert!(!names.is_empty() || tried.contains("make "), "{claim}");
        for name in names {
            assert!(tests.contains(&format!("fn {name}(")), "{name} of {claim}");
        }
    }
}

fn collect(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}
