//! A server that receives a signal to stop: it announces the stop first, fails no request, and stops at once at a
//! second signal.

use std::{fs, path::Path, process::Command};

use assay_tests::{
    service::{Caller, Service, binary, plugins, sandbox_config, signal},
    until::until,
};
use futures::future::join_all;
use reqwest::{Method, header::CONNECTION};
use serde_json::json;

use crate::run;

const SCORE: &str = "/api/v2/sandbox/score/address/0x0000000000000000000000000000000000000001";

fn service(notice_ms: u64) -> Service {
    Service::start(&format!("{}\n[http]\ndrain_notice_ms = {notice_ms}\n", sandbox_config(&plugins())))
}

/// Repeats requests on its connection until an answer announces that it is the last one.
async fn until_sent_away(caller: Caller) -> u32 {
    let mut answered = 0;
    loop {
        let answer = caller.get(SCORE).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answered += 1;
        if answer.headers.get(CONNECTION).is_some_and(|value| value == "close") {
            return answered;
        }
    }
}

#[test]
fn a_server_that_is_told_to_stop_fails_no_request() {
    run(async {
        let service = service(5_000);
        assert_eq!(service.anonymous().get("/readyz").await.ok()["status"], "ready");
        let clients: Vec<_> = (0..8).map(|_| tokio::spawn(until_sent_away(service.keyed()))).collect();
        service.keyed().get(SCORE).await.ok();
        let (late, pid) = (service.anonymous(), service.pid());
        let ending = tokio::spawn(service.terminate());
        // All at once, for the notice is not long.
        let told = late.until("/readyz", |answer| answer.status != 200);
        let (clients, told) = tokio::join!(join_all(clients), told);
        for client in clients {
            assert!(client.expect("no request failed") > 0);
        }
        let told = told.expect(503);
        assert_eq!(told["reasons"], json!(["the server is stopping"]), "{pid}");
        assert!(ending.await.expect("it ends").success());
    });
}

#[test]
fn a_second_signal_stops_at_once() {
    run(async {
        let service = service(3_600_000);
        signal(service.pid(), "TERM");
        service.anonymous().until("/readyz", |answer| answer.status == 503).await;
        assert_eq!(service.terminate().await.code(), Some(1));
    });
}

fn restore(dir: &Path, backup: &Path) -> (Option<i32>, String) {
    let done = Command::new(binary())
        .args(["store", "restore"])
        .arg(backup)
        .arg("--config")
        .arg(dir.join("assay.toml"))
        .output()
        .unwrap();
    (done.status.code(), String::from_utf8([done.stdout, done.stderr].concat()).unwrap())
}

#[test]
fn a_backup_of_a_running_server_is_what_it_was_at_that_moment() {
    run(async {
        let config = sandbox_config(&plugins());
        let service = Service::start(&config);
        let (api, champion) = (service.keyed(), "/api/v2/admin/models/credit/champion");
        let steps = async |api: &Caller| api.get("/api/v2/admin/audit").await.ok()["total"].as_u64().unwrap();
        // The first champions are logged in the background.
        until(async || steps(&api).await, |steps| *steps > 0).await;
        api.put(champion, &json!({ "version": "1.0" })).await.ok();
        let before = steps(&api).await;
        let made = api.request(Method::POST, "/api/v2/admin/backup").send().await.unwrap();
        assert_eq!(made.status(), 201);
        let made: serde_json::Value = made.json().await.unwrap();
        let backup = Path::new(made["file"].as_str().unwrap()).to_owned();
        assert_eq!(made["bytes"], fs::metadata(&backup).unwrap().len());
        api.put(champion, &json!({ "version": "1.1" })).await.ok();
        assert!(steps(&api).await > before);

        let (code, said) = restore(service.dir(), &backup);
        assert!(code == Some(2) && said.contains("in use by another process"), "{said}");
        let dir = service.terminate_keeping().await;
        let (code, said) = restore(dir.path(), &plugins().join("SHA256SUMS"));
        assert!(code == Some(2) && said.contains("SHA256SUMS is damaged"), "{said}");
        let (code, said) = restore(dir.path(), &backup);
        assert_eq!(code, Some(0), "{said}");
        let aside = said.trim().rsplit_once("is now ").unwrap().1.to_owned();
        assert!(Path::new(&aside).is_file() && backup.is_file(), "{said}");

        let service = Service::start_in(dir, &config, &[]);
        assert_eq!(steps(&service.keyed()).await, before);
        let dir = service.terminate_keeping().await;
        // Restores the earlier store.
        assert_eq!(restore(dir.path(), Path::new(&aside)).0, Some(0));
        let service = Service::start_in(dir, &config, &[]);
        assert!(steps(&service.keyed()).await > before);
    });
}
