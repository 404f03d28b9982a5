//! The live split: which version answers a wallet, a key and a header; ramps, and the guards that take a version out.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use assay_tests::{
    devnet::actors::address,
    hostile::{Credit, IN_PRODUCTION, act},
    redis::{self, DURABLE, Redis},
    service::{Answer, Caller, KEY, Service, answer, binary, shelf_copy, try_answer},
    until::until,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{configured, on_devnet, run, shadow::ALWAYS};

const SPLIT: &str = "/api/v2/admin/models/credit/split";
const LENDER: &str = "assay_split_lender";
const WALLETS: [&str; 12] = [
    "saver",
    "borrower",
    "liquidated",
    "whale",
    "farmer",
    "mainnet-only",
    "busy",
    "leveraged",
    "owner",
    "stranger",
    "faucet",
    "delegate",
];

fn lender() -> String {
    format!("[[access.keys]]\nname = \"lender\"\nkey = \"{LENDER}\"\nscopes = [\"read\"]\n")
}

fn path(wallet: &str) -> String {
    format!("/api/v2/score/address/{}", address(wallet))
}

fn reason(answer: &Answer) -> &str {
    answer.headers.get("assay-model-reason").map_or("none", |reason| reason.to_str().expect("text"))
}

/// Adds the models 7.0 and 8.0, which answer 701 and 801.
async fn add_models(api: &Caller) {
    for (version, score) in [("7.0", "(i32.const 701)"), ("8.0", "(i32.const 801)")] {
        let model = Credit::new(version).score(score).build();
        api.post_bytes("/api/v2/admin/models", model).await.expect(201);
    }
}

/// The version that answers each wallet that has a score, which must fit the reason of the answer.
async fn versions(api: &Caller) -> BTreeMap<&'static str, String> {
    let mut found = BTreeMap::new();
    for wallet in WALLETS {
        let answer = api.get(&path(wallet)).await;
        if answer.status != 200 {
            continue;
        }
        let body = answer.json();
        let version = body["model_version"].as_str().expect("a version").to_owned();
        assert_eq!(reason(&answer), if version == "1.1" { "champion" } else { "split" }, "{wallet}: {body}");
        match version.as_str() {
            "7.0" => assert_eq!(body["score"], 701),
            "8.0" => assert_eq!(body["score"], 801),
            _ => {}
        }
        found.insert(wallet, version);
    }
    found
}

fn share(version: &str, percent: f64) -> Value {
    json!({ "version": version, "percent": percent })
}

#[test]
fn a_wallet_stays_with_its_version_while_shares_grow_and_hosts_restart() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), &lender()).await;
        let api = service.keyed();
        add_models(&api).await;
        let mut before = versions(&api).await;
        assert!(before.len() >= 6 && before.values().all(|version| version == "1.1"), "{before:?}");
        let mut moved = 0;
        for shares in [
            vec![share("7.0", 30.0)],
            vec![share("7.0", 30.0), share("8.0", 20.0)],
            vec![share("7.0", 60.0), share("8.0", 20.0)],
            vec![share("8.0", 40.0), share("7.0", 60.0)],
        ] {
            let set = api.put(SPLIT, &json!({ "shares": shares })).await.ok();
            assert_eq!(set["shares"][0]["version"], shares[0]["version"], "{set}");
            let after = versions(&api).await;
            for (wallet, version) in &after {
                assert!(before[wallet] == *version || before[wallet] == "1.1", "{wallet}: {before:?} {after:?}");
            }
            moved += after.iter().filter(|(wallet, version)| before[*wallet] != **version).count();
            assert_eq!(versions(&api).await, after, "the same again");
            before = after;
        }
        // All wallets have moved: the shares are 100 percent.
        assert_eq!(moved, before.len());
        assert_eq!(api.delete("/api/v2/admin/models/credit/7.0").await.expect(409)["code"], "in_split");
        let list = api.get("/api/v2/models").await.ok();
        let split = list["models"].as_array().unwrap().iter().filter(|model| model["role"] == "split").count();
        assert_eq!(split, 2);

        let service = Service::start_in(service.kill(), &configured(shelf.path(), &lender()).await, &[]);
        let api = service.keyed();
        assert_eq!(versions(&api).await, before);
        // Who becomes champion has no share any more, and the other wallets stay.
        api.put("/api/v2/admin/models/credit/champion", &json!({ "version": "7.0", "force": true, "why": "test" }))
            .await
            .ok();
        let set = api.get(SPLIT).await.ok();
        assert_eq!((&set["champion"], set["shares"].as_array().unwrap().len()), (&json!("7.0"), 1), "{set}");
        for (wallet, version) in &before {
            assert_eq!(api.get(&path(wallet)).await.ok()["model_version"], version.as_str(), "{wallet}");
        }
        let none = api.put(SPLIT, &json!({ "why": "the end" })).await.ok();
        assert_eq!(none["shares"], json!([]));
        assert_eq!(api.get(&path("saver")).await.ok()["model_version"], "7.0");
    });
}

#[test]
fn what_a_request_names_goes_before_a_pin_that_before_a_header_that_before_a_share() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), &lender()).await;
        let (api, lender) = (service.keyed(), service.with_key(LENDER));
        add_models(&api).await;
        let shares = json!([share("7.0", 100.0)]);
        api.put(SPLIT, &json!({ "shares": shares })).await.ok();
        let with = async |caller: &Caller, rest: &str, header: Option<&str>| {
            let mut request = caller.request(Method::GET, &(path("saver") + rest));
            if let Some(version) = header {
                request = request.header("assay-model-version", version);
            }
            answer(request).await
        };
        let said = |answer: &Answer| {
            (answer.json()["model_version"].as_str().unwrap_or_default().to_owned(), reason(answer).to_owned())
        };
        let is = |version: &str, why: &str| (version.to_owned(), why.to_owned());
        assert_eq!(said(&with(&lender, "", None).await), is("7.0", "split"));
        assert_eq!(said(&with(&lender, "?model_version=8.0", Some("1.0")).await), is("8.0", "requested"));
        let refused = with(&lender, "", Some("8.0")).await;
        assert_eq!(refused.expect(403)["code"], "no_choice");
        let malformed = with(&lender, "", Some("latest")).await.expect(422);
        assert_eq!(malformed["detail"][0]["loc"], json!(["query", "assay-model-version"]), "{malformed}");

        api.put(SPLIT, &json!({ "shares": shares, "choosers": ["lender"] })).await.ok();
        assert_eq!(said(&with(&lender, "", Some("8.0")).await), is("8.0", "header"));
        assert_eq!(with(&lender, "", Some("9.9")).await.expect(404)["code"], "unknown_model");
        assert_eq!(with(&api, "", Some("8.0")).await.expect(403)["code"], "no_choice");

        let pin = |until: &str| json!([{ "key": "lender", "version": "1.0", "until": until }]);
        let body = json!({ "shares": shares, "choosers": ["lender"], "pins": pin("2099-01-01T00:00:00Z") });
        let set = api.put(SPLIT, &body).await.ok();
        assert_eq!(set["pins"][0]["until"], "2099-01-01T00:00:00Z", "{set}");
        assert_eq!(said(&with(&lender, "", Some("8.0")).await), is("1.0", "pinned"));
        assert_eq!(said(&with(&lender, "?model_version=8.0", None).await), is("8.0", "requested"));
        assert_eq!(said(&with(&api, "", None).await), is("7.0", "split"));
        // One version answers about several wallets together, and each wallet has its own in a list.
        let list = format!("address={},{}", address("saver"), address("borrower"));
        let mean = api.get(&format!("/api/v2/score/?{list}")).await;
        assert_eq!((reason(&mean), &mean.json()["model_version"]), ("champion", &json!("1.1")));
        let mean = lender.get(&format!("/api/v2/score/?{list}")).await;
        assert_eq!((reason(&mean), &mean.json()["model_version"]), ("pinned", &json!("1.0")));
        let batch = api.get(&format!("/api/v2/score/batch/?{list}")).await;
        assert_eq!((reason(&batch), &batch.json()["scores"][0]["model_version"]), ("split,split", &json!("7.0")));
        let report = api.get(&format!("/api/v2/report/address/{}", address("saver"))).await;
        assert_eq!(reason(&report), "split");
        // Where the header is not read, it is refused, and a cache keeps the answers to each header apart.
        let saver = address("saver");
        for (method, path) in [
            (Method::GET, format!("/api/v2/report/address/{saver}")),
            (Method::POST, format!("/api/v2/score/address/{saver}/attestation")),
            (Method::POST, "/api/v2/score/batch".to_owned()),
        ] {
            let refused = answer(lender.request(method, &path).header("assay-model-version", "8.0")).await.expect(422);
            assert_eq!(refused["detail"][0]["loc"][1], "assay-model-version", "{path}: {refused}");
        }
        let scored = with(&lender, "", Some("8.0")).await;
        assert!(scored.headers["vary"].to_str().unwrap().contains("assay-model-version"), "{:?}", scored.headers);
        // Each reason has a record that says it, and a pin ends with its time.
        for (caller, rest, chosen, by) in
            [(&lender, "", "pinned", "lender"), (&api, "?model_version=1.0", "requested", "dev")]
        {
            let scored = with(caller, rest, None).await;
            assert_eq!(said(&scored), is("1.0", chosen));
            let id = scored.headers["assay-score-id"].to_str().unwrap().to_owned();
            let found = api.until(&format!("/api/v2/admin/scores/{id}"), |found| found.status == 200).await.json();
            let record = [&found["record"]["chosen"], &found["asked_by"], &found["model"]["version"]];
            assert_eq!(record, [chosen, by, "1.0"], "{found}");
        }
        let soon = (chrono::Utc::now() + chrono::Duration::seconds(3)).to_rfc3339();
        api.put(SPLIT, &json!({ "shares": shares, "pins": pin(&soon) })).await.ok();
        let after = until(async || with(&lender, "", None).await, |answer| reason(answer) == "split").await;
        assert_eq!(said(&after), is("7.0", "split"));
        let ended = api.until(SPLIT, |split| split.ok()["pins"] == json!([])).await.ok();
        assert_eq!((&ended["shares"][0]["version"], &ended["stopped"]), (&json!("7.0"), &Value::Null), "{ended}");
    });
}

#[test]
fn a_split_that_breaks_a_rule_is_refused_with_the_rule() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let api = service.keyed();
        add_models(&api).await;
        for (body, status, words) in [
            (json!({ "shares": [share("1.1", 5.0)] }), 409, "champion"),
            (json!({ "shares": [share("9.9", 5.0)] }), 404, "9.9"),
            (json!({ "shares": [share("7.0", 0.001)] }), 422, "0.01 to 100"),
            (json!({ "shares": [share("7.0", 101.0)] }), 422, "0.01 to 100"),
            (json!({ "shares": [share("7.0", 60.0), share("8.0", 41.0)] }), 422, "100 percent"),
            (json!({ "shares": [share("7.0", 1.0), share("7.0", 2.0)] }), 422, "one share"),
            (json!({ "shares": [{ "version": "7.0", "percent": 5, "ramp": [4], "step_seconds": 60 }] }), 422, "ramp"),
            (json!({ "shares": [{ "version": "7.0", "percent": 5, "ramp": [40] }] }), 422, "step_seconds"),
            (json!({ "shares": [{ "version": "7.0", "share": 5 }] }), 422, "unknown field `share`"),
            (json!({ "shares": "7.0" }), 422, "list"),
            (json!({ "shares": [share("7.0", 5.0)], "force": true }), 422, "why"),
            (json!({ "share": [] }), 422, "shares"),
            (json!({ "pins": [{ "key": "a", "version": "7.0", "until": "tomorrow" }] }), 422, "item 0"),
            (json!({ "pins": [{ "key": "dev", "version": "9.9", "until": "2099-01-01T00:00:00Z" }] }), 404, "9.9"),
            (json!({ "pins": [{ "key": "lendr", "version": "7.0", "until": "2099-01-01T00:00:00Z" }] }), 422, "lendr"),
            (json!({ "pins": [{ "key": "dev", "version": "7.0", "until": "2020-01-01T00:00:00Z" }] }), 422, "past"),
            (json!({ "choosers": ["dev", "auditr"] }), 422, "no key has the name auditr"),
        ] {
            let refused = api.put(SPLIT, &body).await;
            assert_eq!(refused.status, status, "{body}: {}", refused.text);
            assert!(refused.text.contains(words), "{body}: {}", refused.text);
        }
        assert_eq!(api.get("/api/v2/admin/models/boost/split").await.expect(404)["code"], "no_split");
        assert_eq!(api.get(SPLIT).await.ok()["shares"], json!([]));
    });
}

#[test]
fn the_command_shows_replaces_and_ends_the_split() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), &lender()).await;
        add_models(&service.keyed()).await;
        let split = |arguments: &[&str]| {
            let mut command = Command::new(binary());
            command.args(["model", "split", "--server", service.base(), "--key-from", "ASSAY_TEST_KEY"]);
            let done = command.args(arguments).env("ASSAY_TEST_KEY", KEY).current_dir(service.dir()).output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
            (done.status.code(), text(&done.stdout), text(&done.stderr))
        };
        assert_eq!(split(&[]), (Some(0), "credit: champion 1.1".to_owned(), String::new()));
        let wanted = ["--share", "7.0=1,5", "--every", "0.5", "--share", "8.0=2", "--pin", "lender=1.0@2099-01-01"];
        let (code, shown, said) = split(&wanted);
        assert_eq!(code, Some(0), "{said}");
        for line in [
            "7.0 answers 1.0 % of the wallets, then 5.0 %, next at 20",
            "8.0 answers 2.0 % of the wallets",
            "1.0 answers the key lender until 2099-01-01T00:00:00Z",
        ] {
            assert!(shown.contains(line), "{shown}");
        }
        assert_eq!(split(&[]).1, shown);
        let (code, _, said) = split(&["--share", "9.9=1"]);
        assert!(code == Some(1) && said.contains("9.9"), "{said}");
        assert_eq!(split(&["--none", "--why", "the end"]).1, "credit: champion 1.1");
    });
}

/// The steps of the audit log about the split, oldest first: who, what, and the outcome.
async fn steps(api: &Caller) -> Vec<(String, String, String)> {
    let log = api.get("/api/v2/admin/audit?page=1&limit=100").await.ok();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or("open").to_owned();
    let entries = log["entries"].as_array().unwrap().iter().rev();
    let of_split = entries.filter(|entry| ["split", "unsplit"].contains(&entry["action"].as_str().unwrap()));
    of_split.map(|entry| (text(entry, "by"), text(entry, "action"), text(entry, "outcome"))).collect()
}

#[test]
fn a_share_grows_by_its_ramp_until_a_bound_takes_it_out_once() {
    run(async {
        let shelf = shelf_copy();
        let bounds = format!("{ALWAYS}[promotion]\nmin_scores = 3\nmax_latency_ratio = 1000\n");
        let service = on_devnet(shelf.path(), &bounds).await;
        let api = service.keyed();
        add_models(&api).await;
        let ramp = json!([{ "version": "7.0", "percent": 0.01, "ramp": [0.02, 0.03], "step_seconds": 1 }]);
        api.put(SPLIT, &json!({ "shares": ramp, "why": "a look" })).await.ok();
        let grown = api.until(SPLIT, |split| split.ok()["shares"][0]["percent"] == 0.03).await.ok();
        assert_eq!(grown["shares"][0]["ramp"], Value::Null, "{grown}");
        // The shadow sees that it answers 701 for everybody.
        for _ in 0..2 {
            for wallet in ["saver", "liquidated", "borrower", "whale"] {
                api.get(&path(wallet)).await.ok();
            }
        }
        let stopped = api.until(SPLIT, |split| split.ok()["shares"] == json!([])).await.ok();
        let why = stopped["stopped"].as_str().expect("a reason");
        assert!(why.starts_with("7.0 was taken out") && why.contains("the PSI of its scores is"), "{why}");
        let refused = api.put(SPLIT, &json!({ "shares": [share("7.0", 0.01)] })).await.expect(409);
        assert_eq!(refused["code"], "guarded");
        let forced = json!({ "shares": ramp, "force": true, "why": "the board said so" });
        api.put(SPLIT, &forced).await.ok();
        // No bound stops it now: it grows to its end.
        let grown = api.until(SPLIT, |split| split.ok()["shares"][0]["percent"] == 0.03).await.ok();
        assert_eq!((&grown["shares"][0]["forced"], &grown["stopped"]), (&json!(true), &Value::Null), "{grown}");
        // It stays forced: without `force`, the bounds would take it out at once.
        let unforced = json!({ "shares": [share("7.0", 0.03)], "choosers": ["dev"] });
        assert_eq!(api.put(SPLIT, &unforced).await.expect(409)["code"], "guarded");
        assert_eq!(api.get(SPLIT).await.ok(), grown);
        let step = |by: &str, action: &str, outcome: &str| (by.to_owned(), action.to_owned(), outcome.to_owned());
        let expected = [
            step("dev", "split", "done"),
            step("assay", "split", "done"),
            step("assay", "split", "done"),
            step("assay", "unsplit", "done"),
            step("dev", "split", "refused"),
            step("dev", "split", "done"),
            step("assay", "split", "done"),
            step("assay", "split", "done"),
            step("dev", "split", "refused"),
        ];
        assert_eq!(steps(&api).await, expected);
    });
}

#[test]
fn a_version_that_fails_is_replaced_by_the_champion_and_taken_out() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), ALWAYS).await;
        let api = service.keyed();
        let bad = Credit::new("6.1").act_when(IN_PRODUCTION, act::TRAP).build();
        api.post_bytes("/api/v2/admin/models", bad).await.expect(201);
        api.put(SPLIT, &json!({ "shares": [share("6.1", 100.0)] })).await.ok();
        let answered = until(async || api.get(&path("saver")).await, |answer| answer.status == 200).await;
        assert_eq!((reason(&answered), &answered.json()["model_version"]), ("champion", &json!("1.1")));
        let split = api.until(SPLIT, |split| split.ok()["shares"] == json!([])).await.ok();
        let why = split["stopped"].as_str().expect("a reason");
        assert!(why.contains("it is out of service: it failed"), "{why}");
    });
}

/// The files of a version that was uploaded to the shelf.
fn files_of(shelf: &Path, version: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(shelf).unwrap().map(|file| file.unwrap().path());
    let prefix = format!("credit-{version}-");
    files.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with(&prefix)).collect()
}

#[test]
fn a_version_that_is_lost_at_a_start_answers_no_pin_in_another_guise_and_its_share_is_stopped() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), &lender()).await;
        add_models(&service.keyed()).await;
        let pins = json!([{ "key": "lender", "version": "7.0", "until": "2099-01-01T00:00:00Z" }]);
        service.keyed().put(SPLIT, &json!({ "shares": [share("8.0", 100.0)], "pins": pins })).await.ok();
        assert_eq!(reason(&service.with_key(LENDER).get(&path("saver")).await), "pinned");

        let dir = service.kill();
        let [gone] = &files_of(shelf.path(), "7.0")[..] else { panic!("one file") };
        let [damaged] = &files_of(shelf.path(), "8.0")[..] else { panic!("one file") };
        let kept = std::fs::read(gone).unwrap();
        std::fs::remove_file(gone).unwrap();
        std::fs::write(damaged, &std::fs::read(damaged).unwrap()[..100]).unwrap();
        let service = Service::start_in(dir, &configured(shelf.path(), &lender()).await, &[]);
        let (api, lender) = (service.keyed(), service.with_key(LENDER));
        for path in [path("saver"), format!("/api/v2/score/?address={}", address("saver"))] {
            let lost = lender.get(&path).await;
            assert_eq!((lost.expect(503)["code"].as_str(), reason(&lost)), (Some("version_unavailable"), "none"));
            assert!(lost.text.contains("7.0 answers this request because it is pinned"), "{}", lost.text);
        }
        let named = lender.get(&(path("saver") + "?model_version=1.1")).await;
        assert_eq!((reason(&named), &named.ok()["model_version"]), ("requested", &json!("1.1")));
        let ready = api.get("/readyz").await.ok();
        let warnings = ready["warnings"].to_string();
        assert!(warnings.contains("no credit model 7.0 is loaded"), "{ready}");

        // The share goes to the champion, once, and that is said.
        let stopped = api.until(SPLIT, |split| split.ok()["shares"] == json!([])).await.ok();
        let why = stopped["stopped"].as_str().expect("a reason");
        assert!(why.starts_with("8.0 was taken out") && why.contains("no credit model 8.0 is loaded"), "{why}");
        assert_eq!(reason(&api.get(&path("saver")).await), "champion");
        let done = |by: &str, action: &str| (by.to_owned(), action.to_owned(), "done".to_owned());
        assert_eq!(steps(&api).await, [done("dev", "split"), done("assay", "unsplit")]);
        assert_eq!(stopped["pins"][0]["version"], "7.0", "{stopped}");

        std::fs::write(gone, kept).unwrap();
        let back = until(async || lender.get(&path("saver")).await, |answer| answer.status == 200).await;
        assert_eq!((reason(&back), &back.ok()["score"]), ("pinned", &json!(701)));
    });
}

#[test]
fn other_bytes_of_a_version_with_a_role_do_not_answer_after_a_restart() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), &lender()).await;
        let api = service.keyed();
        add_models(&api).await;
        let champion = json!({ "version": "8.0", "force": true, "why": "a test" });
        api.put("/api/v2/admin/models/credit/champion", &champion).await.ok();
        let pins = json!([{ "key": "lender", "version": "7.0", "until": "2099-01-01T00:00:00Z" }]);
        api.put(SPLIT, &json!({ "pins": pins })).await.ok();

        // The file of the champion is replaced. That of the pinned version is still there, and read after another.
        let dir = service.kill();
        let other = |version: &str| Credit::new(version).score("(i32.const 555)").build();
        let [replaced] = &files_of(shelf.path(), "8.0")[..] else { panic!("one file") };
        let released = std::fs::read(replaced).unwrap();
        std::fs::write(replaced, other("8.0")).unwrap();
        std::fs::write(shelf.path().join("aaa.wasm"), other("7.0")).unwrap();
        let service = Service::start_in(dir, &configured(shelf.path(), &lender()).await, &[]);
        let (api, lender) = (service.keyed(), service.with_key(LENDER));
        let pinned = until(async || lender.get(&path("saver")).await, |answer| answer.status == 200).await;
        assert_eq!((reason(&pinned), &pinned.ok()["score"]), ("pinned", &json!(701)));
        assert_eq!(api.get(&path("saver")).await.expect(503)["code"], "no_champion");
        api.until("/readyz", |ready| ready.text.contains("credit 8.0 was released with other bytes")).await;
        let refused = api.post_bytes("/api/v2/admin/models", other("8.0")).await.expect(409);
        assert_eq!(refused["code"], "version_taken");

        std::fs::write(replaced, released).unwrap();
        let back = until(async || api.get(&path("saver")).await, |answer| answer.status == 200).await;
        assert_eq!(back.ok()["score"], 801);
    });
}

#[test]
fn hosts_of_a_fleet_split_alike() {
    run(async {
        let server = Redis::start(&DURABLE);
        let shelves = [shelf_copy(), shelf_copy()];
        let mut hosts = Vec::new();
        for shelf in &shelves {
            let config = configured(shelf.path(), "").await;
            let config = redis::on(&config, &format!("redis://127.0.0.1:{}", server.port), "split:");
            hosts.push(Service::start(&config));
        }
        let (one, two) = (hosts[0].keyed(), hosts[1].keyed());
        add_models(&one).await;
        let lists =
            |answer: &Answer| ["7.0", "8.0"].iter().all(|version| answer.text.contains(&format!("\"{version}\"")));
        two.until("/api/v2/models", lists).await;
        let shares = json!({ "shares": [share("7.0", 40.0), share("8.0", 30.0)] });
        let set = one.put(SPLIT, &shares).await.ok();
        two.until(SPLIT, |split| split.ok() == set).await;
        assert_eq!(versions(&one).await, versions(&two).await);
        // The other one changes it, and the first one follows.
        let set = two.put(SPLIT, &json!({ "shares": [share("7.0", 50.0)] })).await.ok();
        one.until(SPLIT, |split| split.ok() == set).await;
        assert_eq!(versions(&one).await, versions(&two).await);
        // Each step of a ramp is logged by the host that took it, and by no other.
        let ramp = json!([{ "version": "7.0", "percent": 0.01, "ramp": [0.02, 0.03], "step_seconds": 1 }]);
        two.put(SPLIT, &json!({ "shares": ramp })).await.ok();
        one.until(SPLIT, |split| split.ok()["shares"][0]["percent"] == 0.03).await;
        let done = |by: &str| (by.to_owned(), "split".to_owned(), "done".to_owned());
        assert_eq!(steps(&one).await, ["dev", "dev", "dev", "assay", "assay"].map(done));
    });
}

/// Answers about each wallet, by the epoch of the split in which they began and ended.
type Seen = BTreeMap<(usize, &'static str), BTreeSet<String>>;

/// Asks both hosts about all wallets in turn until `stop`. Even epochs are those in which both hosts have the same
/// split; answers of other moments are not kept. A host that is being started again gives no answer.
async fn hammer(hosts: Arc<RwLock<Vec<Caller>>>, epoch: Arc<AtomicUsize>, log: Arc<Mutex<Log>>, n: usize) {
    for turn in n.. {
        let began = epoch.load(SeqCst);
        if began == usize::MAX {
            return;
        }
        let api = hosts.read().unwrap()[turn % 2].clone();
        let wallet = SCORED[turn / 2 % SCORED.len()];
        let asked = try_answer(api.request(Method::GET, &(path(wallet) + "?include_factors=true"))).await;
        let Ok(answer) = asked else { continue };
        let version = answer.ok()["model_version"].as_str().expect("a version").to_owned();
        let id = answer.headers["assay-score-id"].to_str().expect("text").to_owned();
        let mut log = log.lock().unwrap();
        log.served.insert(id, answer.text);
        if began.is_multiple_of(2) && epoch.load(SeqCst) == began {
            log.seen.entry((began, wallet)).or_default().insert(version);
            *log.count.entry(began).or_default() += 1;
        }
    }
}

#[derive(Default)]
struct Log {
    seen: Seen,
    /// Answers of each epoch.
    count: BTreeMap<usize, usize>,
    /// Bodies by the id of the score.
    served: BTreeMap<String, String>,
}

/// Wallets with a score.
const SCORED: [&str; 6] = ["saver", "borrower", "liquidated", "whale", "farmer", "mainnet-only"];

#[test]
fn under_load_each_wallet_has_the_version_of_the_rule_over_changes_and_kills() {
    run(async {
        let server = Redis::start(&DURABLE);
        let shelves = [shelf_copy(), shelf_copy()];
        let mut configs = Vec::new();
        for shelf in &shelves {
            let config = configured(shelf.path(), ALWAYS).await;
            configs.push(redis::on(&config, &format!("redis://127.0.0.1:{}", server.port), "split:"));
        }
        let mut services: Vec<Service> = configs.iter().map(|config| Service::start(config)).collect();
        add_models(&services[0].keyed()).await;
        let lists =
            |answer: &Answer| ["7.0", "8.0"].iter().all(|version| answer.text.contains(&format!("\"{version}\"")));
        services[1].keyed().until("/api/v2/models", lists).await;
        let hosts = Arc::new(RwLock::new(services.iter().map(Service::keyed).collect::<Vec<_>>()));
        let (epoch, log) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Log::default())));
        let load: Vec<_> =
            (0..8).map(|n| tokio::spawn(hammer(hosts.clone(), epoch.clone(), log.clone(), n * 5))).collect();
        let settled = async |at: usize| {
            let asked = async || {
                let log = log.lock().unwrap();
                let is_seen = |wallet| log.seen.contains_key(&(at, wallet));
                log.count.get(&at).is_some_and(|count| *count >= 60) && SCORED.into_iter().all(is_seen)
            };
            until(asked, |asked| *asked).await;
        };
        let steps = [(10, 0), (10, 10), (25, 10), (40, 10), (40, 30), (55, 30), (70, 30)];
        for (step, (seven, eight)) in steps.into_iter().enumerate() {
            settled(2 * step).await;
            epoch.store(2 * step + 1, SeqCst);
            // One host after the other is killed, and either makes the change.
            if step % 3 == 1 {
                let service = services.remove(0);
                let started = Service::start_in(service.kill(), &configs[0], &[]);
                services.insert(0, started);
                *hosts.write().unwrap() = services.iter().map(Service::keyed).collect();
            }
            let shares = [("7.0", seven), ("8.0", eight)].into_iter().filter(|(_, percent)| *percent > 0);
            let shares: Vec<_> = shares.map(|(version, percent)| share(version, f64::from(percent))).collect();
            let forced = json!({ "shares": shares, "force": true, "why": "a test of the load" });
            let set = services[step % 2].keyed().put(SPLIT, &forced).await.ok();
            for service in &services {
                service.keyed().until(SPLIT, |split| split.ok() == set).await;
            }
            epoch.store(2 * step + 2, SeqCst);
        }
        settled(2 * steps.len()).await;
        epoch.store(usize::MAX, SeqCst);
        for task in load {
            task.await.expect("every answer is one");
        }

        let log = std::mem::take(&mut *log.lock().unwrap());
        let mut last = BTreeMap::new();
        for ((epoch, wallet), versions) in &log.seen {
            assert_eq!(versions.len(), 1, "{wallet} in epoch {epoch}: {versions:?}");
            let version = versions.first().unwrap();
            let before = last.insert(*wallet, version.clone()).unwrap_or("1.1".to_owned());
            assert!(before == *version || before == "1.1", "{wallet} flips from {before} to {version}");
        }
        assert!(last.values().all(|version| version != "1.1"), "the shares are 100 percent: {last:?}");
        let ids: String = log.served.keys().map(|id| format!("{id}\n")).collect();
        let config = services[1].dir().join("assay.toml");
        let replayed = tokio::task::block_in_place(|| {
            let mut command = Command::new(binary());
            command.args(["replay", "-", "--json", "--server", services[1].base(), "--config"]).arg(config);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            let writing = std::thread::spawn(move || stdin.write_all(ids.as_bytes()));
            let output = child.wait_with_output().unwrap();
            writing.join().unwrap().unwrap();
            String::from_utf8(output.stdout).unwrap()
        });
        let mut same = 0;
        for line in replayed.lines() {
            let told: Value = serde_json::from_str(line).unwrap();
            assert_eq!(told["now"].as_str(), Some(log.served[told["id"].as_str().unwrap()].as_str()), "{told}");
            same += 1;
        }
        let answers: usize = log.count.values().sum();
        println!(
            "{answers} answers in settled epochs, one version each; {same} of {} replayed alike",
            log.served.len()
        );
        assert!(same > 0);
    });
}
