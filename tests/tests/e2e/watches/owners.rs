//! Watches belong to the key that created them, within its limits, and cost its units.

use std::{process::Stdio, time::Duration};

use assay_tests::{
    devnet::actors::address as wallet,
    receiver::{Consent, Receiver},
    service::{Answer, Caller, Service, answer, binary, try_answer},
};
use futures::future::join_all;
use reqwest::{Method, RequestBuilder, Response, header::ACCEPT};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

use super::{Market, delivery::allowing, path, run, seen, told, value, watch};

const METERED: &str = "assay_watches_metered";

/// A second key, with units for three terms.
fn keys() -> String {
    format!("[[access.keys]]\nname = \"metered\"\nkey = \"{METERED}\"\nscopes = [\"read\"]\nunits = 300\n")
}

#[test]
fn a_watch_is_seen_by_its_key_and_counted_against_it() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), &format!("max_per_key = 2\n{}", keys())));
        let (api, metered) = (service.keyed(), service.with_key(METERED));
        let first = watch(&metered, json!({})).await;
        let left = |answer: &Answer| {
            answer.headers.get("assay-units-left").and_then(|value| value.to_str().ok()?.parse::<u64>().ok())
        };
        let body = json!({ "address": wallet("ada"), "when": [{ "measure": "liquidation" }] });
        let second = metered.post("/api/v2/watches", &body).await;
        assert_eq!((second.status.as_u16(), left(&second)), (201, Some(100)));
        let third = metered.post("/api/v2/watches", &body).await;
        assert_eq!(third.expect(409)["code"], "too_many_watches");
        for path in [path(&first), format!("{}/events", path(&first))] {
            assert_eq!(api.get(&path).await.status, 404, "it belongs to another key");
        }
        assert_eq!(api.delete(&path(&first)).await.status, 404);
        let list = metered.get("/api/v2/watches?limit=1").await.ok();
        assert_eq!((&list["total"], list["watches"].as_array().map(Vec::len)), (&json!(2), Some(1)));
        assert!(!list.to_string().contains("whsec_") && api.get("/api/v2/watches").await.ok()["total"] == 0);
        // A removed watch leaves its place.
        assert_eq!(metered.delete(&path(&first)).await.status, 204);
        assert_eq!(metered.get(&path(&first)).await.status, 404);
        let longer = json!({ "address": wallet("ada"), "when": [{ "measure": "range" }], "until": in_days(31) });
        assert_eq!(metered.post("/api/v2/watches", &longer).await.status, 429, "two terms cost 200 units");
        assert_eq!(metered.post("/api/v2/watches", &body).await.status, 201);
    });
}

fn in_days(days: i64) -> String {
    (chrono::Utc::now() + chrono::TimeDelta::days(days)).to_rfc3339()
}

#[test]
fn a_request_that_cannot_be_meant_is_422_with_each_field() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let (ada, elsewhere) = (wallet("ada"), format!("1/lenderB_v3/{}", wallet("ben")));
        for (body, part) in [
            (json!({ "address": ada }), "name at least one measure"),
            (json!({ "address": ada, "when": [] }), "name at least one measure"),
            (json!({ "address": ada, "when": [{ "measure": "score" }] }), "entry 0: score needs below or above"),
            (json!({ "address": ada, "when": [{ "measure": "range" }], "every_s": 0 }), "must be 1 to 86400 seconds"),
            (json!({ "address": ada, "when": [{ "measure": "range" }], "until": "soon" }), "must be a time such as"),
            (json!({ "address": ada, "when": [{ "measure": "range" }], "until": in_days(-1) }), "in the future"),
            (json!({ "address": ada, "when": [{ "measure": "range" }], "url": "http://lender.example/" }), "not HTTPS"),
            (json!({ "address": ada, "when": [{ "measure": "range" }], "url": "https://10.0.0.1/" }), "not a public"),
            (json!({ "address": ada, "when": [{ "measure": "range" }], "url": "https://a.example:25/" }), "not a port"),
            (json!({ "address": ada, "when": [{ "measure": "range" }], "url": " " }), "null for none"),
            (
                json!({ "address": ada, "when": [{ "measure": "range" }, { "measure": "range" }] }),
                "entry 1 is there twice",
            ),
            (json!({ "address": ada, "when": [{ "measure": "range" }], "colour": "red" }), "Unknown field"),
            (
                json!({ "address": ada, "when": [{ "measure": "debt_usd", "above": 1, "market": elsewhere }] }),
                "does not read the market",
            ),
        ] {
            let answer = api.post("/api/v2/watches", &body).await;
            assert_eq!(answer.status, 422, "{body}: {}", answer.text);
            assert!(answer.text.contains(part), "{body}: {}", answer.text);
        }
        assert_eq!(api.get("/api/v2/watches/nothing").await.status, 404);
        // Null is absent, except for `url` and `label`.
        let watch = watch(&api, json!({ "url": "https://lender.example/" })).await;
        let patch = async |change: Value| answer(api.request(Method::PATCH, &path(&watch)).json(&change)).await;
        assert_eq!(patch(json!({ "paused": true })).await.ok()["watch"]["state"], "paused");
        let nulls = json!({ "paused": null, "when": null, "every_s": null, "until": null, "rotate_secret": null });
        assert_eq!(patch(nulls).await.ok()["watch"]["state"], "paused");
        assert!(patch(json!({ "url": "" })).await.expect(422).to_string().contains("null for none"));
        assert_eq!(api.get(&path(&watch)).await.ok()["delivery"]["url"], "https://lender.example/");
        assert!(patch(json!({ "url": null })).await.ok()["watch"]["delivery"].is_null());
        let replay = api.post(&format!("{}/replay", path(&watch)), &json!({ "from": 1 })).await.expect(409);
        assert_eq!(replay["code"], "no_receiver");
    });
}

#[test]
fn an_end_that_was_paid_for_is_paid_once() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), &keys()));
        let metered = service.with_key(METERED);
        let watch = watch(&metered, json!({ "until": in_days(89) })).await;
        let end = async |days: i64| {
            let change = json!({ "until": in_days(days) });
            answer(metered.request(Method::PATCH, &path(&watch)).json(&change)).await.status
        };
        // All units are spent.
        assert_eq!([end(1).await, end(60).await, end(1).await, end(89).await].map(|status| status.as_u16()), [200; 4]);
        assert_eq!(end(91).await, 429);
    });
}

/// A request for a watch or a group, with an `Idempotency-Key`.
fn identified(api: &Caller, path: &str, key: &str, body: &Value) -> RequestBuilder {
    api.request(Method::POST, path).header("idempotency-key", key).json(body)
}

async fn used(api: &Caller) -> Value {
    api.get("/api/v2/usage").await.ok()["used"].clone()
}

#[test]
fn one_idempotency_key_is_one_watch() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), &keys()));
        let (api, metered) = (service.keyed(), service.with_key(METERED));
        let body = |measure: &str| json!({ "address": wallet("ada"), "when": [{ "measure": measure }] });
        let send = |api: &Caller, key: &str, body: &Value| answer(identified(api, "/api/v2/watches", key, body));
        let cost = |answer: &Answer| {
            answer.headers.get("assay-units-cost").and_then(|value| value.to_str().ok()?.parse::<u64>().ok())
        };
        let liquidation = body("liquidation");
        let twenty = join_all((0..20).map(|_| send(&metered, "first", &liquidation))).await;
        let first = twenty[0].expect(201);
        assert!(first["secret"].as_str().is_some_and(|secret| secret.starts_with("whsec_")), "{first}");
        for one in &twenty {
            let one = one.expect(201);
            assert_eq!((&one["watch"]["id"], &one["secret"]), (&first["watch"]["id"], &first["secret"]));
        }
        assert_eq!(twenty.iter().map(|one| cost(one).expect("a cost")).sum::<u64>(), 100);
        assert_eq!(used(&metered).await, json!(100));
        assert_eq!(metered.get("/api/v2/watches").await.ok()["total"], 1);
        let other = send(&metered, "first", &body("range")).await;
        assert_eq!(other.expect(422)["code"], "idempotency_key_reused");
        assert_eq!(send(&metered, "", &liquidation).await.expect(400)["code"], "idempotency_key");
        for unfit in ["x".repeat(256), "a\tb".to_owned()] {
            assert_eq!(send(&metered, &unfit, &liquidation).await.expect(400)["code"], "idempotency_key");
        }
        let two = identified(&metered, "/api/v2/watches", "one", &liquidation).header("idempotency-key", "two");
        assert_eq!(answer(two).await.expect(400)["code"], "idempotency_key");
        // Another caller has other keys.
        assert_ne!(send(&api, "first", &liquidation).await.expect(201)["watch"]["id"], first["watch"]["id"]);
        // A removed watch does not come back, and the request costs nothing.
        assert_eq!(metered.delete(&path(&first)).await.status, 204);
        let removed = send(&metered, "first", &liquidation).await;
        assert_eq!(removed.expect(422)["code"], "idempotency_key_reused");
        for key in ["second", "third"] {
            assert_eq!(cost(&send(&metered, key, &liquidation).await), Some(100), "{key}");
        }
        assert_eq!(send(&metered, "fourth", &liquidation).await.expect(429)["code"], "units_used_up");
        let again = send(&metered, "third", &liquidation).await;
        assert_eq!((again.status.as_u16(), cost(&again), used(&metered).await), (201, Some(0), json!(300)));
    });
}

#[test]
fn one_idempotency_key_is_one_group() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let body = |name: &str| json!({ "name": name, "when": [{ "measure": "liquidation" }] });
        let send = |key: &str, body: &Value| answer(identified(&api, "/api/v2/watches/groups", key, body));
        let loans = body("Loans");
        let ten = join_all((0..10).map(|_| send("first", &loans))).await;
        let first = ten[0].expect(201);
        for one in &ten {
            let one = one.expect(201);
            assert_eq!((&one["group"]["id"], &one["secret"]), (&first["group"]["id"], &first["secret"]));
        }
        assert_eq!(send("first", &body("Others")).await.expect(422)["code"], "idempotency_key_reused");
        assert_eq!(send("", &loans).await.expect(400)["code"], "idempotency_key");
        let watch = json!({ "address": wallet("ada"), "when": [{ "measure": "liquidation" }] });
        let watch = answer(identified(&api, "/api/v2/watches", "first", &watch)).await;
        assert_eq!(watch.expect(422)["code"], "idempotency_key_reused");
        assert_ne!(send("second", &loans).await.expect(201)["group"]["id"], first["group"]["id"]);
    });
}

#[test]
fn whenever_the_server_is_killed_a_repeated_request_is_paid_once() {
    run(async {
        const EACH: usize = 8;
        let market = Market::start().await;
        let config = market.config(market.chain.url(), &keys().replace("units = 300", "units = 100000"));
        let mut service = Service::start(&config);
        let body = json!({ "address": wallet("ada"), "when": [{ "measure": "liquidation" }] });
        let send = |api: &Caller, kill: usize, n: usize| {
            identified(api, "/api/v2/watches", &format!("watch {n} before kill {kill}"), &body)
        };
        for kill in 0..6 {
            let api = service.with_key(METERED);
            let asked: Vec<_> = (0..EACH).map(|n| tokio::spawn(try_answer(send(&api, kill, n)))).collect();
            // The test kills at many moments; this is the next one.
            tokio::time::sleep(Duration::from_millis(3 * kill as u64)).await;
            service = Service::start_in(service.kill(), &config, &[]);
            let api = service.with_key(METERED);
            for (n, asked) in asked.into_iter().enumerate() {
                let before = asked.await.expect("the caller is told").ok().map(|answer| answer.expect(201));
                let again = answer(send(&api, kill, n)).await.expect(201);
                assert!(before.is_none_or(|before| before["watch"]["id"] == again["watch"]["id"]), "{again}");
            }
            let count = EACH * (kill + 1);
            assert_eq!(used(&api).await, json!(100 * count));
            assert_eq!(api.get("/api/v2/watches").await.ok()["total"], json!(count));
        }
    });
}

/// The stream of a watch's events.
async fn follow(api: &Caller, watch: &Value, last: Option<String>) -> Response {
    let request = api.request(Method::GET, &format!("{}/events", path(watch))).header(ACCEPT, "text/event-stream");
    let request = match last {
        Some(last) => request.header("last-event-id", last),
        None => request,
    };
    request.send().await.expect("the stream begins")
}

/// The text of a stream until it has `part`.
async fn until(stream: &mut Response, part: &str) -> String {
    let mut text = String::new();
    while !text.contains(part) {
        let chunk = stream.chunk().await.expect("a part").expect("the stream goes on");
        text.push_str(&String::from_utf8_lossy(&chunk));
    }
    text
}

#[test]
fn a_client_that_follows_begins_after_the_last_event_that_it_has() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let watch = watch(&api, json!({})).await;
        let mut stream = follow(&api, &watch, None).await;
        for _ in 0..2 {
            api.post(&format!("{}/test", path(&watch)), &json!({})).await;
        }
        let id = |seq: u64| {
            let id = watch["watch"]["id"].as_str().expect("an id").replace('-', "");
            format!("id: evt_{id}_{seq}\nevent: watch.test\ndata: {{")
        };
        let text = until(&mut stream, &id(2)).await;
        assert!(text.starts_with("retry: ") && text.contains(&id(1)), "{text}");
        let last = id(1).lines().next().and_then(|line| line.strip_prefix("id: ")).map(str::to_owned);
        let text = until(&mut follow(&api, &watch, last).await, &id(2)).await;
        assert!(!text.contains(&id(1)), "{text}");
        let after = api.get(&format!("{}/events?after=1", path(&watch))).await.ok();
        assert_eq!((after["events"].as_array().map(Vec::len), &after["last"]), (Some(1), &json!(2)));
    });
}

#[test]
fn the_command_prints_events_as_they_come_and_ends_when_nobody_reads_them() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let watch = watch(&api, json!({})).await;
        let tested = async || drop(api.post(&format!("{}/test", path(&watch)), &json!({})).await.expect(202));
        let id = watch["watch"]["id"].as_str().expect("an id");
        let mut command = Command::new(binary());
        command.args(["watch", id, "--server", service.base(), "--config"]).arg(service.dir().join("assay.toml"));
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("assay runs");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        for number in 1..=3 {
            tested().await;
            let line = lines.next_line().await.expect("a line").expect("the command goes on");
            let event: Value = serde_json::from_str(&line).expect("an event");
            assert_eq!((&event["type"], &event["data"]["seq"]), (&json!("watch.test"), &json!(number)));
        }
        drop(lines);
        tested().await;
        assert!(child.wait().await.expect("it ends").success());
    });
}

/// Mints a key, and returns its text.
async fn mint(api: &Caller, name: &str) -> String {
    let minted = api.post("/api/v2/admin/keys", &json!({ "name": name })).await.expect(201);
    minted["secret"].as_str().expect("a secret").to_owned()
}

/// The watch as an admin sees it, once it is so.
async fn as_admin(api: &Caller, watch: &Value, is: impl Fn(&Value) -> bool) -> Value {
    let id = watch["watch"]["id"].clone();
    let find = |list: &Value| {
        list["watches"].as_array().and_then(|all| all.iter().find(|one| one["watch"]["id"] == id).cloned())
    };
    let answer = api.until("/api/v2/admin/watches", |answer| find(&answer.json()).is_some_and(|one| is(&one["watch"])));
    find(&answer.await.ok()).expect("the watch")
}

#[test]
fn the_watches_of_a_revoked_key_end_and_are_delivered_no_more() {
    run(async {
        let mut market = Market::start().await;
        let receiver = Receiver::start(Consent::Allows).await;
        let config = market.config(market.chain.url(), &format!("max = 2\n{}", allowing(&[&receiver])));
        let service = Service::start(&config);
        let api = service.keyed();
        let lender = service.with_key(&mint(&api, "lender").await);
        let often = watch(&lender, json!({ "url": receiver.url })).await;
        // One that nothing evaluates: it must not keep its place either.
        let paused = watch(&lender, json!({ "every_s": 86_400 })).await;
        let pause = lender.request(Method::PATCH, &path(&paused)).json(&json!({ "paused": true }));
        answer(pause).await.ok();
        let start = value(&seen(&lender, &often, |watch| value(watch) > 1.4).await);
        lender.post(&format!("{}/test", path(&often)), &json!({})).await;
        receiver.received(1).await;
        let mut stream = follow(&lender, &often, None).await;
        assert_eq!(api.delete("/api/v2/admin/keys/lender").await.status, 204);
        market.price((2_000.0 / start) as u64).await;
        for watch in [&often, &paused] {
            let ended = as_admin(&api, watch, |watch| watch["state"] == "ended").await;
            assert_eq!((&ended["key"], &ended["watch"]["reason"]), (&json!("lender"), &json!("key_revoked")));
        }
        // Its stream ends, and nothing more arrives: not the crossing, and not the end.
        while stream.chunk().await.expect("the stream ends").is_some() {}
        assert_eq!(receiver.events().len(), 1, "{:?}", receiver.events());
        // A later key of the same name is another one, and the places are free again.
        let later = service.with_key(&mint(&api, "lender").await);
        assert_eq!(later.get(&path(&often)).await.status, 404);
        let own = watch(&later, json!({ "url": receiver.url })).await;
        watch(&later, json!({})).await;
        later.post(&format!("{}/test", path(&own)), &json!({})).await;
        assert_eq!(receiver.received(2).await[1].body["data"]["watch_id"], own["watch"]["id"]);
        // An admin sees the watches of one key, and removes any.
        assert_eq!(api.get("/api/v2/admin/watches?key=lender&limit=1").await.ok()["total"], 4);
        assert_eq!(later.get("/api/v2/admin/watches").await.status, 403);
        let removed = format!("/api/v2/admin/watches/{}", own["watch"]["id"].as_str().expect("an id"));
        assert_eq!(
            (later.delete(&removed).await.status, api.delete(&removed).await.status.as_u16()),
            (403.try_into().expect("a status"), 204)
        );
        assert_eq!(later.get(&path(&own)).await.status, 404);
    });
}

#[test]
fn a_watch_whose_key_is_out_of_the_configuration_waits_for_it() {
    run(async {
        let mut market = Market::start().await;
        let receiver = Receiver::start(Consent::Allows).await;
        let key = |scope: &str| {
            format!("[[access.keys]]\nname = \"desk\"\nkey = \"assay_watches_desk\"\nscopes = [\"{scope}\"]\n")
        };
        let config = |key: String| market.config(market.chain.url(), &format!("{key}{}", allowing(&[&receiver])));
        let configs = [config(key("read")), config(key("submit")), config(String::new())];
        let mut service = Service::start(&configs[0]);
        let desk = service.with_key("assay_watches_desk");
        let watch = watch(&desk, json!({ "url": receiver.url })).await;
        let group = json!({ "name": "Loans", "when": [{ "measure": "liquidation" }] });
        desk.post("/api/v2/watches/groups", &group).await.expect(201);
        let start = value(&seen(&desk, &watch, |watch| value(watch) > 1.4).await);
        for (config, reason) in [(&configs[1], "key_without_scope"), (&configs[2], "key_not_configured")] {
            service = Service::start_in(service.kill(), config, &[]);
            let api = service.keyed();
            let found = as_admin(&api, &watch, |watch| watch["state"] == "suspended").await;
            assert_eq!((&found["watch"]["reason"], &found["watch"]["next_check_at"]), (&json!(reason), &Value::Null));
            let all = api.get("/api/v2/admin/watches").await.ok();
            let group = all["watches"].as_array().expect("a list").iter().find(|one| one["kind"] == "group");
            assert_eq!(group.expect("the group")["group"]["state"], "suspended");
            service.logged("watch suspended").await;
        }
        market.price((2_000.0 / start) as u64).await;
        // It goes on from where it was.
        service = Service::start_in(service.kill(), &configs[0], &[]);
        let desk = service.with_key("assay_watches_desk");
        let events = told(&desk, &watch, 1).await;
        assert_eq!(
            (events[0]["type"].as_str(), events[0]["data"]["before"]["value"].as_f64()),
            (Some("watch.crossed"), Some(start))
        );
        assert_eq!(receiver.received(1).await.len(), 1);
        assert_eq!(desk.get(&path(&watch)).await.ok()["state"], "active");
    });
}
