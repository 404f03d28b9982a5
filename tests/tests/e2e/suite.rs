//! A tester's suite in TypeScript, written against a sandbox alone: twice in a row, side by side, and on the devnet.

use std::{path::Path, process::Stdio};

use alloy::primitives::{Address, address};
use assay_tests::{
    node, packages,
    service::{KEY, Service, plugins, sandbox_config},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{devnet, released_on_devnet, run};

/// The scenario of a wallet without activity.
const NO_ACTIVITY: Address = address!("0x0000000000000000000000000000000000000107");

/// The conditions that hold, and those that do not, with the reason.
#[derive(Debug, Deserialize)]
struct Outcome {
    held: usize,
    failed: Vec<Value>,
}

/// Runs the suite as `name` against `service`, about a wallet with activity; only what exists `anywhere` if it says so.
async fn suite(service: &Service, name: &str, active: impl std::fmt::Display, anywhere: bool) -> Outcome {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/suite.mjs");
    let inactive = if anywhere { Address::repeat_byte(0xee) } else { NO_ACTIVITY };
    let world = json!({
        "url": service.base(), "key": KEY, "run": name, "active": active.to_string(), "inactive": inactive.to_string(),
        "anywhere": anywhere,
    });
    let mut command = tokio::process::Command::new("node");
    command.arg(script).arg(world.to_string());
    let done = command.stdin(Stdio::null()).kill_on_drop(true).output().await.expect("the suite");
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    serde_json::from_str(out.trim()).unwrap_or_else(|_| panic!("{}: {out}\n{err}", done.status))
}

async fn install() {
    let installed = tokio::task::spawn_blocking(|| {
        node::packages().expect("the packages");
        packages::client_packages().expect("the packages");
    });
    installed.await.expect("no panic");
}

#[test]
fn a_testers_suite_passes_twice_in_a_row_and_side_by_side() {
    run(async {
        install().await;
        let dir = tempfile::tempdir().expect("a temporary folder");
        let service = Service::start_in(dir, &sandbox_config(&plugins()), &["--sandbox"]);
        let wallet = "0x0000000000000000000000000000000000000002";
        let one = async |name| suite(&service, name, wallet, false).await;
        let first = one("first").await;
        assert!(first.failed.is_empty() && first.held >= 25, "{first:#?}");
        let (second, third) = tokio::join!(one("second"), one("third"));
        for again in [second, third] {
            assert!(again.failed.is_empty() && again.held == first.held, "{again:#?}");
        }
    });
}

#[test]
fn the_suite_passes_on_chains_where_its_conditions_exist() {
    run(async {
        install().await;
        let real = released_on_devnet().await;
        let wallet = devnet().await.wallet("borrower").address;
        let outcome = suite(&real, "devnet", wallet, true).await;
        assert!(outcome.failed.is_empty() && outcome.held >= 9, "{outcome:#?}");
    });
}
