//! Batch jobs: every row of a table comes back, paid once, over kills, pauses and lost keys.

use std::{collections::BTreeSet, time::Duration};

use assay_tests::{
    devnet::actors::address,
    redis::{self, DURABLE, Redis},
    service::{Answer, Caller, Service, answer, plugins, sandbox_config},
};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::{Value, json};

use super::{configured, on_devnet, released_on_devnet, run};

const BATCH: &str = "/api/v2/score/batch";
const METERED: &str = "assay_batches_metered";

fn metered(units: u64) -> String {
    format!("[[access.keys]]\nname = \"metered\"\nkey = \"{METERED}\"\nscopes = [\"read\"]\nunits = {units}\n")
}

async fn csv(api: &Caller, query: &str, text: String) -> Answer {
    let request = api.request(Method::POST, &format!("{BATCH}{query}")).header(CONTENT_TYPE, "text/csv");
    answer(request.body(text)).await
}

/// The job when it has ended or is paused.
async fn ended(api: &Caller, job: &Value) -> Value {
    let path = job["status_url"].as_str().expect("a URL");
    let is_over = |answer: &Answer| !["queued", "running"].contains(&answer.ok()["status"].as_str().expect("a status"));
    api.until(path, is_over).await.ok()
}

async fn rows(api: &Caller, job: &Value) -> Vec<Value> {
    let answer = api.get(job["result_url"].as_str().expect("a URL")).await;
    assert!(!answer.text.contains(":-0.0"), "zero has no sign: {}", answer.text);
    let found = answer.ok();
    found["rows"].as_array().expect("rows").clone()
}

async fn used(api: &Caller) -> u64 {
    let usage = api.get("/api/v2/usage").await.ok();
    usage["units"].as_u64().expect("units") - usage["left"].as_u64().expect("the rest")
}

/// A table of wallets that nothing was ever done with, each of them twice.
fn twice(wallets: u32) -> String {
    let wallet = |n: u32| format!("{n},0x00000000000000000000000000000000{:08x}", n + 0x0dec_0000);
    let lines = (0..wallets).chain(0..wallets).map(wallet);
    ["id,wallet".to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_row_comes_back_and_what_was_read_is_paid_once() {
    run(async {
        let service = on_devnet(&plugins(), &metered(1_000)).await;
        let api = service.with_key(METERED);
        let (leveraged, holder) = (address("leveraged").to_string(), address("holder").to_string());
        let table = [
            "customer,score,address",
            &format!("=A1,own,{leveraged}"),
            &format!("b,,{}", leveraged.to_lowercase()),
            &format!("c,,{holder}"),
            "d,,0x00000000000000000000000000000000000a11ce",
            "e,,bob@foo.eth",
            "f,,",
            "g,,no-such-name-anywhere.eth",
        ]
        .join("\n");
        let accepted = csv(&api, "?model_version=1.4", table).await;
        let job = accepted.expect(202);
        assert_eq!((&job["column"], &job["rows"]), (&json!("address"), &json!(7)));
        let done = ended(&api, &job).await;
        assert_eq!((&done["status"], &done["progress"]), (&json!("done"), &json!(1.0)), "{done}");
        let rows = rows(&api, &job).await;
        let states: Vec<_> = rows.iter().map(|row| row["status"].as_str().unwrap()).collect();
        assert_eq!(states[..6], ["found", "found", "not_scored", "inactive", "invalid", "invalid"]);
        assert!(["unresolved", "unread"].contains(&states[6]), "{rows:?}");
        assert_eq!(rows[0]["input"], json!({ "customer": "=A1", "score": "own", "address": leveraged }));
        let single = api.get(&format!("/api/v2/score/address/{leveraged}?model_version=1.4")).await.ok();
        for row in &rows[..2] {
            assert_eq!((&row["score"], &row["decile"], &row["range"]), {
                (&single["score"], &single["decile"], &single["range"])
            });
            assert_eq!(row["resolved_address"], json!(leveraged));
        }
        let report = api.get(&format!("/api/v2/report/address/{leveraged}")).await.ok();
        let positions = report["credit_events"]["positions"].as_array().unwrap();
        let owed: f64 = positions.iter().map(|one| one["borrowed"].as_f64().unwrap()).sum();
        assert!((rows[0]["debt_usd"].as_f64().unwrap() - owed).abs() < 0.02, "{} of {owed}", rows[0]);
        let health = positions.iter().filter_map(|one| one["health_factor"].as_f64()).min_by(f64::total_cmp);
        assert_eq!(rows[0]["lowest_health_factor"].as_f64(), health);
        assert!(rows[2]["reason"].as_str().unwrap().starts_with("The model does not score"), "{}", rows[2]);
        // Three wallets were read by the job, and one score and one report by themselves.
        assert_eq!(done["units"], 3);
        assert_eq!(used(&api).await, 5);

        let text = api.get(&format!("{}?format=csv", job["result_url"].as_str().unwrap())).await;
        assert_eq!(text.headers[CONTENT_TYPE], "text/csv; charset=utf-8");
        let lines: Vec<&str> = text.text.lines().collect();
        assert!(
            lines[0].starts_with("customer,score,address,status,reason,resolved_address,assay_score,"),
            "{lines:?}"
        );
        assert!(lines.len() == 8 && lines[1].starts_with("'=A1,own,"), "{lines:?}");
        let parquet = api.request(Method::GET, &format!("{}?format=parquet", job["result_url"].as_str().unwrap()));
        let bytes = parquet.send().await.unwrap().bytes().await.unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));

        // The job is its key's alone.
        let (status, other) = (job["status_url"].as_str().unwrap(), service.keyed());
        for path in [status.to_owned(), format!("{status}/result")] {
            assert_eq!(other.get(&path).await.expect(404)["detail"], "Batch job not found");
        }
        let all = api.get("/api/v2/score/batch/jobs").await.ok()["jobs"].clone();
        assert_eq!((all.as_array().unwrap().len(), &all[0]["id"]), (1, &job["id"]));
        assert_eq!(other.get("/api/v2/score/batch/jobs").await.ok()["jobs"], json!([]));
        assert_eq!(other.delete(status).await.status, 404);
        assert_eq!(api.delete(status).await.status, 204);
        assert_eq!(api.get(status).await.status, 404);
    });
}

#[test]
fn a_table_that_cannot_be_meant_is_refused_in_words() {
    run(async {
        let limits = "[http]\nmax_table_bytes = 4_000\n[batch]\nmax_rows = 3\nmax_jobs_per_key = 1\n";
        let service = on_devnet(&plugins(), limits).await;
        let api = service.keyed();
        for (query, text, status, says) in [
            ("", "address\n".to_owned(), 422, "the table is empty"),
            ("", "a.eth\n".repeat(4), 422, "more than 3 rows; send it in parts"),
            ("", "x,y\n1,2\n".to_owned(), 422, "no column has addresses"),
            ("?column=z", "x,y\n1,2\n".to_owned(), 422, "no column is named"),
            ("?model_version=9.9", "a.eth\n".to_owned(), 404, "9.9"),
            ("", "a".repeat(200_000), 413, "4000"),
        ] {
            let refused = csv(&api, query, text).await;
            assert_eq!(refused.status.as_u16(), status, "{}", refused.text);
            assert!(refused.text.contains(says), "{}", refused.text);
        }
        let latin =
            api.request(Method::POST, BATCH).header(CONTENT_TYPE, "text/csv").body(b"a\xe4.eth\nb.eth".to_vec());
        assert!(answer(latin).await.expect(422).to_string().contains("line 1 is not UTF-8"));
        assert!(api.post(BATCH, &json!({ "rows": [1] })).await.expect(422).to_string().contains("item 1 is neither"));

        let job = api.post(BATCH, &json!([address("borrower")])).await.expect(202);
        let full = api.post(BATCH, &json!([address("borrower")])).await.expect(409);
        assert_eq!(full["code"], "too_many_batches", "{full}");
        ended(&api, &job).await;
        let status = job["status_url"].as_str().unwrap();
        let state = format!("{status}/state");
        assert_eq!(api.put(&state, &json!({ "state": "running" })).await.expect(409)["code"], "batch_ended");
        api.put(&state, &json!({ "state": "stop" })).await.expect(422);
        api.get(&format!("{status}/result?format=xml")).await.expect(422);
        assert_eq!(api.delete(status).await.status, 204);
        api.post(BATCH, &json!([address("borrower")])).await.expect(202);
    });
}

/// The share of the rows that were looked at.
async fn progress(api: &Caller, job: &Value, least: f64) -> Value {
    let path = job["status_url"].as_str().expect("a URL");
    api.until(path, |answer| answer.ok()["progress"].as_f64().is_some_and(|share| share >= least)).await.ok()
}

#[test]
fn a_killed_server_goes_on_and_takes_nothing_twice() {
    run(async {
        let config = configured(&plugins(), &metered(10_000)).await;
        let mut service = Service::start(&config);
        let job = csv(&service.with_key(METERED), "", twice(400)).await.expect(202);
        for least in [0.1, 0.2, 0.35] {
            progress(&service.with_key(METERED), &job, least).await;
            service = Service::start_in(service.kill(), &config, &[]);
        }
        let api = service.with_key(METERED);
        let done = ended(&api, &job).await;
        assert_eq!((&done["status"], &done["counts"]["inactive"]), (&json!("done"), &json!(800)), "{done}");
        let rows = rows(&api, &job).await;
        let ids: Vec<u64> = rows.iter().map(|row| row["input"]["id"].as_str().unwrap().parse().unwrap()).collect();
        assert_eq!(ids, (0..400).chain(0..400).collect::<Vec<_>>(), "rows in are rows out, in their order");
        assert_eq!((used(&api).await, &done["units"]), (400, &json!(400)), "each wallet is paid once");
    });
}

#[test]
fn a_fleet_reads_a_job_once_and_a_dead_host_is_followed() {
    run(async {
        let server = Redis::start(&DURABLE);
        let config = configured(&plugins(), &metered(10_000)).await;
        let config = redis::on(&config, &format!("redis://127.0.0.1:{}", server.port), "batches:");
        let mut hosts = vec![Service::start(&config), Service::start(&config)];
        let job = csv(&hosts[1].with_key(METERED), "", twice(300)).await.expect(202);
        for least in [0.1, 0.3] {
            progress(&hosts[1].with_key(METERED), &job, least).await;
            drop(hosts.remove(0));
            hosts.push(Service::start(&config));
        }
        let api = hosts[0].with_key(METERED);
        let done = ended(&api, &job).await;
        assert_eq!((&done["counts"]["inactive"], &done["units"]), (&json!(600), &json!(300)), "{done}");
        assert_eq!((used(&api).await, rows(&api, &job).await.len()), (300, 600));
    });
}

#[test]
fn a_job_pauses_when_asked_and_when_units_are_used_up() {
    run(async {
        let service = on_devnet(&plugins(), &metered(150)).await;
        let (api, admin) = (service.with_key(METERED), service.keyed());
        let job = csv(&api, "", twice(200)).await.expect(202);
        let paused = ended(&api, &job).await;
        assert_eq!((&paused["status"], &paused["reason"]), (&json!("paused"), &json!("units_used_up")), "{paused}");
        assert_eq!((&paused["units"], used(&api).await), (&json!(150), 150), "the last units are used too");
        // What was paid for can be had.
        let so_far = rows(&api, &job).await;
        let unread = so_far.iter().filter(|row| row["status"] == "unread" && row["reason"] == "it was not read yet");
        assert_eq!((so_far.len(), unread.count()), (400, 250));
        // Without units it pauses again, and nothing is read.
        let state = format!("{}/state", job["status_url"].as_str().unwrap());
        assert_eq!(api.put(&state, &json!({ "state": "running" })).await.ok()["status"], "queued");
        assert_eq!(ended(&api, &job).await["counts"], paused["counts"]);

        let own = csv(&admin, "", twice(1_500)).await.expect(202);
        let state = format!("{}/state", own["status_url"].as_str().unwrap());
        let stopped = admin.put(&state, &json!({ "state": "paused" })).await.ok();
        assert_eq!((&stopped["status"], &stopped["reason"]), (&json!("paused"), &json!("owner")));
        admin.put(&state, &json!({ "state": "running" })).await.ok();
        assert_eq!(ended(&admin, &own).await["counts"]["inactive"], 3_000);
    });
}

#[test]
fn a_revoked_key_has_no_row_read_any_more() {
    run(async {
        let service = released_on_devnet().await;
        let minted = service.keyed().post("/api/v2/admin/keys", &json!({ "name": "lender", "units": 5000 })).await;
        let api = service.with_key(minted.expect(201)["secret"].as_str().unwrap());
        let job = csv(&api, "", twice(2_000)).await.expect(202);
        let running = progress(&api, &job, 0.02).await;
        let words = api.get(job["result_url"].as_str().unwrap()).await.expect(409);
        let detail = words["detail"].as_str().unwrap();
        assert!(words["code"] == "batch_unfinished" && detail.contains("of 4000 rows"), "{words} {running}");
        // More units than the job was begun with.
        let key = "/api/v2/admin/keys/lender";
        let changed = service.keyed().request(Method::PATCH, key).json(&json!({ "units": 9000 })).send().await.unwrap();
        assert_eq!(changed.json::<Value>().await.unwrap()["units"], 9000);
        assert_eq!(service.keyed().delete("/api/v2/admin/keys/lender").await.status, 204);
        let log = service.logged("batch job stopped").await;
        assert!(log.contains("the key was revoked"), "{log}");
    });
}

#[test]
fn ten_thousand_rows_of_a_sandbox_have_the_scores_of_single_requests() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::start_in(folder, &sandbox_config(&plugins()), &["--sandbox"]);
        let api = service.keyed();
        let wallets: Vec<String> = (0..10_000_u32).map(|n| format!("0x{:040x}", u64::from(n) + 0x10_0000)).collect();
        let job = api.post(BATCH, &json!(wallets)).await.expect(202);
        let begun = std::time::Instant::now();
        let done = ended(&api, &job).await;
        println!("10,000 rows in {:.1} s", Duration::as_secs_f64(&begun.elapsed()));
        assert_eq!(done["counts"]["found"], 10_000, "{done}");
        let rows = rows(&api, &job).await;
        let distinct: BTreeSet<_> = rows.iter().map(|row| row["resolved_address"].as_str().unwrap()).collect();
        assert_eq!((rows.len(), distinct.len()), (10_000, 10_000));
        for at in [0, 4_999, 9_999] {
            let single = api.get(&format!("/api/v2/score/address/{}", wallets[at])).await.ok();
            assert_eq!((&rows[at]["score"], &rows[at]["decile"]), (&single["score"], &single["decile"]));
        }
    });
}
