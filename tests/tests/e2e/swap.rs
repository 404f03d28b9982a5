//! Changing models under load: no request fails, and no answer has the label of another model.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use assay_tests::{
    hostile::Credit,
    service::{Caller, Service, shelf_copy},
    until::until,
};
use serde_json::{Value, json};

use super::{configured, devnet, on_devnet, run};

const SANDBOX: &str = "/api/v2/sandbox/score/address/0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";

/// Score and decile by path and version.
type Expected = BTreeMap<(String, String), (u64, u64)>;

fn answer(body: &Value) -> (String, (u64, u64)) {
    (
        body["model_version"].as_str().unwrap().to_owned(),
        (body["score"].as_u64().unwrap(), body["decile"].as_u64().unwrap()),
    )
}

async fn promote(api: &Caller, version: &str) {
    api.put("/api/v2/admin/models/credit/champion", &json!({ "version": version })).await.ok();
}

fn is_ready(list: &Value, version: &str) -> bool {
    let ready = |model: &Value| model["kind"] == "credit" && model["version"] == version && model["state"] == "ready";
    list["models"].as_array().unwrap().iter().any(ready)
}

/// Takes a file from the shelf and waits until its version is not listed any more.
async fn take(api: &Caller, file: &Path, version: &str) {
    std::fs::remove_file(file).unwrap();
    until(async || api.get("/api/v2/models").await.ok(), |list| !is_ready(list, version)).await;
}

/// Waits until a version is listed as ready.
async fn until_listed(api: &Caller, version: &str) {
    until(async || api.get("/api/v2/models").await.ok(), |list| is_ready(list, version)).await;
}

/// The answer of every version for every path.
async fn learn(api: &Caller, paths: &[String], versions: &[&str]) -> Expected {
    let mut expected = Expected::new();
    for version in versions {
        promote(api, version).await;
        for path in paths {
            let (label, said) = answer(&api.get(path).await.ok());
            assert_eq!(label, *version);
            expected.insert((path.clone(), label), said);
        }
    }
    expected
}

/// 64 connections request `paths` in turn until `stop`; counts the answers, each of which is checked.
async fn hammer(
    api: &Caller,
    paths: &[String],
    expected: &Arc<Expected>,
    answers: &Arc<AtomicU64>,
    stop: &Arc<AtomicBool>,
) {
    let connections = (0..64).map(|n| {
        let (api, paths, expected, stop, answers) =
            (api.clone(), paths.to_vec(), expected.clone(), stop.clone(), answers.clone());
        tokio::spawn(async move {
            for path in paths.iter().cycle().skip(n) {
                if stop.load(Relaxed) {
                    return;
                }
                let (version, said) = answer(&api.get(path).await.ok());
                assert_eq!(expected.get(&(path.clone(), version.clone())), Some(&said), "{path} by {version}");
                answers.fetch_add(1, Relaxed);
            }
        })
    });
    for connection in connections.collect::<Vec<_>>() {
        connection.await.expect("no request failed and no label lied");
    }
}

/// Promotes three versions in turn, 40 times with at least [`BETWEEN`] answers after each, and 1.1 at the end.
async fn change(api: &Caller, answers: &AtomicU64) {
    for step in 0..40 {
        promote(api, ["7.0", "1.0", "1.1"][step % 3]).await;
        let before = answers.load(Relaxed);
        until(async || answers.load(Relaxed), |answers| *answers >= before + BETWEEN).await;
    }
    promote(api, "1.1").await;
}

/// Answers under load between two changes of the champion.
const BETWEEN: u64 = 100;

#[test]
fn forty_swaps_under_load_fail_nobody_and_mislabel_nothing() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let api = service.keyed();
        let wallets = ["saver", "borrower", "liquidated"].map(devnet_path);
        let paths: Vec<String> = wallets.into_iter().chain([SANDBOX.to_owned()]).collect();
        let file = shelf.path().join("newcomer.wasm");
        // Expected answers come from a model that is then removed, so that the swap below loads a new file.
        let newcomer = Credit::new("7.0").score("(i32.const 777)").build();
        std::fs::write(&file, &newcomer).unwrap();
        until_listed(&api, "7.0").await;
        let expected = Arc::new(learn(&api, &paths, &["7.0", "1.0", "1.1"]).await);
        take(&api, &file, "7.0").await;

        // As many changes warm up allocator, pools and caches; memory growth is measured from there.
        let (warm, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let warming = tokio::spawn({
            let (api, paths, expected, warm) = (api.clone(), paths.clone(), expected.clone(), warm.clone());
            let answers = answers.clone();
            async move { hammer(&api, &paths, &expected, &answers, &warm).await }
        });
        std::fs::write(&file, &newcomer).unwrap();
        until_listed(&api, "7.0").await;
        change(&api, &answers).await;
        warm.store(true, Relaxed);
        warming.await.unwrap();
        take(&api, &file, "7.0").await;
        let before = service.resident();

        let stop = Arc::new(AtomicBool::new(false));
        let load = tokio::spawn({
            let (api, paths, expected, stop) = (api.clone(), paths.clone(), expected.clone(), stop.clone());
            let answers = answers.clone();
            async move { hammer(&api, &paths, &expected, &answers, &stop).await }
        });
        std::fs::write(&file, &newcomer).unwrap();
        until_listed(&api, "7.0").await;
        change(&api, &answers).await;
        stop.store(true, Relaxed);
        load.await.unwrap();
        let answers = answers.load(Relaxed);

        take(&api, &file, "7.0").await;
        // The allocator returns freed memory only while it works, so requests continue until it has.
        let resident = async || {
            api.get(SANDBOX).await.ok();
            service.resident()
        };
        let after = until(resident, |now| *now as f64 <= before as f64 * 1.1).await;
        let (before_mib, after_mib) = (before >> 20, after >> 20);
        println!("{answers} answers, 41 swaps, none failed; resident {before_mib} MiB before, {after_mib} MiB after");
    });
}

/// A large model: by hand, and in the soak one in Python.
fn large(version: &str) -> Vec<u8> {
    if std::env::var_os("ASSAY_SOAK").is_none() {
        return Credit::new(version).pages(100).table(6_000).score("(i32.const 765)").build();
    }
    let folder = tempfile::tempdir().unwrap();
    assay_tests::authors::built("python", folder.path(), version).expect("the template in Python")
}

#[test]
fn small_and_large_champions_follow_one_another_under_load_and_fail_nobody() {
    run(async {
        let shelf = shelf_copy();
        std::fs::write(shelf.path().join("large.wasm"), large("9.1")).unwrap();
        let config = configured(shelf.path(), "").await.replace("[models]\n", "[models]\nlarge_lanes = 1\n");
        let service = Service::start(&config);
        let api = service.keyed();
        let paths: Vec<String> = ["saver", "borrower", "liquidated"].map(devnet_path).into();
        let mut expected = learn(&api, &paths, &["1.1", "9.1"]).await;
        // The second large model says what the first one says; it is compiled under load.
        let same = paths.iter().map(|path| {
            let said = expected[&(path.clone(), "9.1".to_owned())];
            ((path.clone(), "9.2".to_owned()), said)
        });
        expected.extend(same.collect::<Vec<_>>());
        let (expected, stop) = (Arc::new(expected), Arc::new(AtomicBool::new(false)));
        let answers = Arc::new(AtomicU64::new(0));
        let load = tokio::spawn({
            let (api, paths, expected, stop) = (api.clone(), paths.clone(), expected.clone(), stop.clone());
            let answers = answers.clone();
            async move { hammer(&api, &paths, &expected, &answers, &stop).await }
        });
        std::fs::write(shelf.path().join("newcomer.wasm"), large("9.2")).unwrap();
        for step in 0..10 {
            promote(&api, ["1.1", "9.1"][step % 2]).await;
        }
        until_listed(&api, "9.2").await;
        for step in 0..10 {
            promote(&api, ["1.1", "9.2", "9.1"][step % 3]).await;
            for path in &paths {
                api.get(path).await.ok();
            }
        }
        until(async || answers.load(Relaxed), |answers| *answers > 100).await;
        stop.store(true, Relaxed);
        load.await.unwrap();
        let answers = answers.load(Relaxed);
        let list = api.get("/api/v2/models").await.ok();
        let models = list["models"].as_array().unwrap();
        let of = |version: &str| {
            models.iter().find(|model| model["kind"] == "credit" && model["version"] == version).unwrap()
        };
        assert_eq!(
            ["1.1", "9.1", "9.2"].map(|version| of(version)["class"].as_str()),
            [Some("small"), Some("large"), Some("large")]
        );
        println!("{answers} answers, 20 swaps, none failed; a large model costs {}", of("9.1")["cost"]);
        for version in ["1.1", "9.1", "9.2"] {
            assert!(of(version)["calls"].as_u64() > Some(0) && of(version)["failures"] == 0, "{}", of(version));
        }
    });
}

fn devnet_path(name: &str) -> String {
    format!("/api/v2/score/address/{}", assay_tests::devnet::actors::address(name))
}

#[test]
fn a_champion_outlives_a_restart_and_the_old_number_is_never_served() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let api = service.keyed();
        let path = devnet_path("borrower");
        let newer = answer(&api.get(&path).await.ok());
        promote(&api, "1.0").await;
        let older = answer(&api.get(&path).await.ok());
        assert_eq!((newer.0.as_str(), older.0.as_str()), ("1.1", "1.0"));
        let config = devnet().await.config_toml(
            "127.0.0.1:0",
            shelf.path(),
            std::path::Path::new("{dir}/assay.redb"),
            assay_tests::service::KEY,
        );
        let restarted = assay_tests::service::Service::start_in(service.kill(), &config, &[]);
        assert_eq!(answer(&restarted.keyed().get(&path).await.ok()).0, "1.0");
    });
}
