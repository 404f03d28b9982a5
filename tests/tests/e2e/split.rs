//! The live split: which version answers a wallet, a key and a header; ramps, and the guards that take a version out.

mod fleet;
mod guards;

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
        let soon = (chrono::Utc::now() + chrono::Duration::seconds(10)).to_rfc3339();
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

/// Replaces the split if it still has one of these tags.
async fn put_if(api: &Caller, tags: &str, body: &Value) -> Answer {
    answer(api.request(Method::PUT, SPLIT).header("if-match", tags).json(body)).await
}

fn tag(split: &Answer) -> String {
    split.headers["etag"].to_str().expect("text").to_owned()
}

#[test]
fn of_two_changes_of_the_same_split_the_second_is_refused() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let api = service.keyed();
        add_models(&api).await;
        let [seven, eight] = ["7.0", "8.0"].map(|version| json!({ "shares": [share(version, 10.0)] }));
        let read = tag(&api.get(SPLIT).await);
        let set = put_if(&api, &read, &seven).await;
        assert_eq!(set.ok()["shares"][0]["version"], "7.0");
        let refused = put_if(&api, &read, &eight).await.expect(412);
        assert_eq!(refused["code"], "changed_meanwhile", "{refused}");
        let now = api.get(SPLIT).await;
        assert_eq!((now.ok(), tag(&now)), (set.ok(), tag(&set)));
        put_if(&api, &format!("W/{}", tag(&now)), &eight).await.expect(412);
        put_if(&api, &format!("\"other\", {}", tag(&now)), &eight).await.ok();
        let once = put_if(&api, "*", &seven).await;
        api.put(SPLIT, &json!({})).await.ok();
        let again = api.put(SPLIT, &seven).await;
        assert_eq!(again.ok(), once.ok());
        assert_ne!(tag(&again), tag(&once), "other wallets have the version");
        api.put(SPLIT, &eight).await.ok();
        // Another champion answers the rest of the wallets.
        let read = tag(&api.get(SPLIT).await);
        let champion = json!({ "version": "7.0", "force": true, "why": "test" });
        api.put("/api/v2/admin/models/credit/champion", &champion).await.ok();
        put_if(&api, &read, &json!({})).await.expect(412);
        let done = ("dev".to_owned(), "split".to_owned(), "done".to_owned());
        assert_eq!(steps(&api).await, vec![done; 6]);
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
