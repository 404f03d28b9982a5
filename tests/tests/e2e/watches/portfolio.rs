//! Groups of watches: lists of wallets, shared settings, digests, and what a whole portfolio shows.

use std::path::Path;

use assay_store::{Batch, Family};
use assay_tests::{
    devnet::actors::address as wallet,
    receiver::{Consent, Receiver},
    service::{Answer, Caller, Service, answer},
    until::until,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Market, changes::store, delivery::allowing, kinds, path, run, seen, told, value};

const METERED: &str = "assay_watches_metered";

/// A group that fires below 1.3.
async fn group(api: &Caller, more: Value) -> Value {
    let mut body = json!({
        "name": "Loans", "every_s": 1, "when": [{ "measure": "health_factor", "below": 1.3, "clear_above": 1.4 }],
    });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    api.post("/api/v2/watches/groups", &body).await.expect(201)
}

fn id(group: &Value) -> &str {
    group["group"]["id"].as_str().expect("an id")
}

async fn patch(api: &Caller, group: &Value, change: Value) -> Answer {
    answer(api.request(Method::PATCH, &format!("/api/v2/watches/groups/{}", id(group))).json(&change)).await
}

async fn add(api: &Caller, group: &Value, csv: &str) -> Answer {
    let path = format!("/api/v2/watches/bulk?group={}", id(group));
    answer(api.request(Method::POST, &path).header("content-type", "text/csv").body(csv.to_owned())).await
}

fn statuses(answer: &Value) -> Vec<&str> {
    let rows = answer["rows"].as_array().expect("rows").iter();
    rows.map(|row| row["status"].as_str().unwrap_or_default()).collect()
}

/// The watch of a row of an answer, as the other calls take it.
fn watch_of(answer: &Value, row: usize) -> Value {
    json!({ "watch": { "id": answer["rows"][row]["watch_id"] } })
}

#[test]
fn a_group_is_no_watch_and_an_admin_sees_both() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let (group, single) = (group(&api, json!({})).await, super::watch(&api, json!({})).await);
        let row = add(&api, &group, &format!("address\n{}\n", wallet("ben"))).await.ok();
        let mut watches = [single["watch"]["id"].clone(), row["rows"][0]["watch_id"].clone()];
        watches.sort_by_key(Value::to_string);
        let list = api.get("/api/v2/watches").await.ok();
        let mut ids: Vec<Value> =
            list["watches"].as_array().expect("a list").iter().map(|one| one["id"].clone()).collect();
        ids.sort_by_key(Value::to_string);
        assert_eq!((ids.as_slice(), &list["total"]), (watches.as_slice(), &json!(2)));
        // An admin sees everything that takes a place, oldest first.
        let places = api.get("/api/v2/admin/watches?key=test").await.ok();
        let kinds: Vec<_> = places["watches"].as_array().expect("a list").iter().map(|one| &one["kind"]).collect();
        assert_eq!(kinds, ["group", "watch", "watch"]);
        let entry = &places["watches"][0];
        assert_eq!((&entry["key"], &entry["watch"]), (&json!("test"), &Value::Null));
        assert_eq!(
            (&entry["group"]["id"], &entry["group"]["watches"], &entry["group"]["until"]),
            (&group["group"]["id"], &json!(1), &group["group"]["until"])
        );
        let second = api.get("/api/v2/admin/watches?limit=1&page=2").await.ok();
        assert_eq!((&second["watches"][0]["watch"]["id"], &second["total"]), (&single["watch"]["id"], &json!(3)));
        let summary = api.get("/api/v2/watches/summary").await.ok();
        assert_eq!(summary["watches"], 2, "{summary}");
        let groups = api.get("/api/v2/watches/groups").await.ok();
        assert_eq!((groups["groups"].as_array().map(Vec::len), &groups["groups"][0]["watches"]), (Some(1), &json!(1)));
        // A group is removed by its id, with its watches.
        assert_eq!(api.delete(&format!("/api/v2/admin/watches/{}", id(&group))).await.status, 204);
        assert_eq!(api.get("/api/v2/admin/watches").await.ok()["total"], 1);
        assert!(api.get("/api/v2/watches/groups").await.ok()["groups"].as_array().is_some_and(Vec::is_empty));
    });
}

#[test]
fn groups_that_have_ended_count_until_they_are_removed() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), "max_per_key = 2\n"));
        let api = service.keyed();
        let (one, other) = (group(&api, json!({})).await, group(&api, json!({})).await);
        let path = |group: &Value| format!("/api/v2/watches/groups/{}", id(group));
        for group in [&one, &other] {
            end_soon(&api, group).await;
        }
        for group in [&one, &other] {
            api.until(&path(group), |answer| answer.json()["state"] == "ended").await.ok();
        }
        let new = json!({ "name": "third", "when": [{ "measure": "liquidation" }] });
        let refused = api.post("/api/v2/watches/groups", &new).await.expect(409);
        assert_eq!(refused["code"], "too_many_watches");
        assert_eq!(api.delete(&path(&one)).await.status, 204);
        api.post("/api/v2/watches/groups", &new).await.expect(201);
        api.post("/api/v2/watches/groups", &new).await.expect(409);
    });
}

/// Lets `group` end in a moment, and returns when.
async fn end_soon(api: &Caller, group: &Value) -> chrono::DateTime<chrono::Utc> {
    loop {
        let end = chrono::Utc::now() + chrono::TimeDelta::seconds(2);
        // On a busy machine, the moment may be over before the request is read.
        if patch(api, group, json!({ "until": end.to_rfc3339() })).await.status == 200 {
            return end;
        }
    }
}

/// The number of the watches of `group` that have ended. Then the group has ended, too.
async fn ended(api: &Caller, group: &Value) -> usize {
    // A watch that ended before this answer did so after its group.
    let list = api.get(&format!("/api/v2/watches?group={}", id(group))).await.ok();
    let group = api.get(&format!("/api/v2/watches/groups/{}", id(group))).await.ok();
    let watches = list["watches"].as_array().expect("watches");
    let ended = watches.iter().filter(|watch| watch["state"] == "ended").count();
    assert!(ended == 0 || group["state"] == "ended", "{group} {list}");
    ended
}

#[test]
fn no_watch_of_a_group_ends_while_the_group_can_be_extended() {
    run(async {
        let market = Market::start().await;
        // Each sweep is of one wallet, or of one group.
        let service = Service::start(&market.config(market.chain.url(), "batch = 1\n"));
        let api = service.keyed();
        let csv = ["ada", "ben", "cyd", "dan"].map(|name| wallet(name).to_string()).join("\n");
        let csv = format!("address\n{csv}\n");
        let (one, other) = (group(&api, json!({})).await, group(&api, json!({})).await);
        for group in [&one, &other] {
            assert_eq!(add(&api, group, &csv).await.ok()["created"], 4);
        }
        for group in [&one, &other] {
            end_soon(&api, group).await;
        }
        let look = async || ended(&api, &one).await + ended(&api, &other).await;
        until(look, |ended| *ended == 8).await;
        let later = (chrono::Utc::now() + chrono::TimeDelta::days(1)).to_rfc3339();
        for group in [&one, &other] {
            assert_eq!(patch(&api, group, json!({ "until": later })).await.expect(409)["code"], "watch_ended");
            assert_eq!(api.delete(&format!("/api/v2/watches/groups/{}", id(group))).await.status, 204);
        }
        assert_eq!(api.get("/api/v2/watches").await.ok()["total"], 0);
    });
}

#[test]
fn an_extension_at_the_end_of_a_group_is_of_all_its_watches_or_is_refused() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), "batch = 1\n"));
        let api = service.keyed();
        let (ada, ben, cyd) = (wallet("ada"), wallet("ben"), wallet("cyd"));
        let group = group(&api, json!({ "fires_at_once": true })).await;
        let added = add(&api, &group, &format!("address\n{ada}\n{ben}\n{cyd}\n")).await.ok();
        let end = end_soon(&api, &group).await;
        until(async || chrono::Utc::now(), |now| *now >= end).await;
        let later = (end + chrono::TimeDelta::days(1)).to_rfc3339();
        let extended = patch(&api, &group, json!({ "until": later })).await;
        if extended.status == 200 {
            // Each of them is still evaluated.
            let low = json!([{ "measure": "debt_usd", "below": 1_000_000 }]);
            patch(&api, &group, json!({ "when": low })).await.ok();
            for row in 0..3 {
                assert_eq!(kinds(&told(&api, &watch_of(&added, row), 1).await), ["watch.crossed"]);
            }
        } else {
            assert_eq!(extended.expect(409)["code"], "watch_ended");
            until(async || ended(&api, &group).await, |ended| *ended == 3).await;
        }
    });
}

/// Ends a watch of a server that does not run.
async fn end(folder: &Path, watch: &Value) {
    let store = store(folder).await;
    let key = Family::<Value>::new("watch-state/").key(watch["watch"]["id"].as_str().expect("an id"));
    let mut state = store.get(&key).await.expect("the store answers").expect("a state");
    state["ended_at"] = json!(chrono::Utc::now());
    let batch = Batch::new().put(&key, &state).expect("JSON");
    assert!(store.commit(batch).await.expect("the store answers"));
}

#[test]
fn a_watch_that_ended_before_its_group_is_not_paid_again_and_its_row_says_so() {
    if std::env::var_os("ASSAY_TEST_STORE").is_some() {
        // The records of the embedded store are changed while no server has them.
        return;
    }
    run(async {
        let market = Market::start().await;
        let keys =
            format!("[[access.keys]]\nname = \"metered\"\nkey = \"{METERED}\"\nscopes = [\"read\"]\nunits = 900\n");
        let config = market.config(market.chain.url(), &keys);
        let service = Service::start(&config);
        let metered = service.with_key(METERED);
        let group = group(&metered, json!({})).await;
        let csv = format!("address\n{}\n{}\n", wallet("ada"), wallet("ben"));
        let added = add(&metered, &group, &csv).await.ok();
        let of_ben = watch_of(&added, 1);
        seen(&metered, &of_ben, |watch| watch["evaluated_at"].is_string()).await;
        let folder = service.kill();
        end(folder.path(), &of_ben).await;
        let service = Service::start_in(folder, &config, &[]);
        let metered = service.with_key(METERED);
        let again = add(&metered, &group, &csv).await.ok();
        assert_eq!(statuses(&again), ["exists", "refused"]);
        assert!(again["rows"][1]["why"].as_str().is_some_and(|why| why.contains("has ended")), "{again}");
        let later = (chrono::Utc::now() + chrono::TimeDelta::days(35)).to_rfc3339();
        let extended = patch(&metered, &group, json!({ "until": later })).await;
        assert_eq!((extended.status.as_u16(), &extended.headers["assay-units-cost"]), (200, &"100".parse().unwrap()));
        assert_eq!(metered.get(&path(&of_ben)).await.ok()["state"], "ended");
    });
}

#[test]
fn a_list_has_an_answer_for_each_row_and_its_repetition_doubles_nothing() {
    run(async {
        let market = Market::start().await;
        let keys =
            format!("[[access.keys]]\nname = \"metered\"\nkey = \"{METERED}\"\nscopes = [\"read\"]\nunits = 300\n");
        let service = Service::start(&market.config(market.chain.url(), &format!("max_per_key = 4\n{keys}")));
        let (api, metered) = (service.keyed(), service.with_key(METERED));
        let group = group(&metered, json!({})).await;
        let (ada, ben, cyd) = (wallet("ada"), wallet("ben"), wallet("cyd"));
        let csv =
            format!("loan,Address,label\n17,{ada},Ada\n18,0x12,Nobody\n19,{ben},\"Ben; 2\"\n20,{ada},Ada again\n");
        let first = add(&metered, &group, &csv).await;
        assert_eq!(first.headers["assay-units-cost"], "200");
        let first = first.ok();
        assert_eq!(statuses(&first), ["created", "invalid", "created", "exists"]);
        assert_eq!(
            (&first["created"], &first["invalid"], &first["rows"][2]["label"]),
            (&json!(2), &json!(1), &json!("Ben; 2"))
        );
        assert_eq!((&first["rows"][1]["address"], &first["rows"][1]["row"]), (&json!("0x12"), &json!(2)));
        assert!(first["rows"][1]["why"].as_str().is_some_and(|why| why.contains("Invalid")), "{first}");
        assert_eq!(first["rows"][3]["watch_id"], first["rows"][0]["watch_id"]);
        let again = add(&metered, &group, &csv).await.ok();
        assert_eq!(statuses(&again), ["exists", "invalid", "exists", "exists"]);
        let list = metered.get(&format!("/api/v2/watches?group={}", id(&group))).await.ok();
        assert_eq!(list["total"], 2);
        // Units for one more, and room for one more.
        let rest = json!({ "wallets": [{ "address": cyd, "label": "Cyd" }, wallet("dan"), 7] });
        let rest = metered.post(&format!("/api/v2/watches/bulk?group={}", id(&group)), &rest).await.ok();
        assert_eq!(statuses(&rest), ["created", "refused", "invalid"]);
        assert!(rest["rows"][1]["why"].as_str().is_some_and(|why| why.contains("units")), "{rest}");
        let watch = metered.get(&path(&watch_of(&rest, 0))).await.ok();
        assert_eq!((&watch["label"], &watch["group_id"]), (&json!("Cyd"), &json!(id(&group))));
        // Another key finds neither the group nor its watches.
        assert_eq!(add(&api, &group, &csv).await.status, 404);
        assert_eq!(patch(&api, &group, json!({ "every_s": 9 })).await.status, 404);
        assert_eq!(api.get(&format!("/api/v2/watches/summary?group={}", id(&group))).await.status, 404);
        assert_eq!(api.get("/api/v2/watches/groups").await.ok()["groups"], json!([]));
        // A group is no watch, and what its watches have from it is changed there.
        assert_eq!(metered.get(&format!("/api/v2/watches/{}", id(&group))).await.status, 404);
        let change = metered.request(Method::PATCH, &path(&watch_of(&rest, 0))).json(&json!({ "every_s": 9 }));
        assert_eq!(answer(change).await.expect(409)["code"], "watch_in_group");
        assert_eq!(metered.delete(&format!("/api/v2/watches/groups/{}", id(&group))).await.status, 204);
        assert_eq!(metered.get("/api/v2/watches").await.ok()["total"], 0);
        assert_eq!(metered.get(&path(&watch_of(&rest, 0))).await.status, 404);
    });
}

#[test]
fn a_list_that_is_no_list_is_422() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&market.config(market.chain.url(), ""));
        let api = service.keyed();
        let group = group(&api, json!({})).await;
        for (csv, part) in [
            ("", "the file is empty"),
            ("wallet\n0x1", "named address"),
            ("address\n\"0x", "never ends"),
            ("address,address\n0x1,0x2", "names the column address twice"),
        ] {
            let answer = add(&api, &group, csv).await;
            assert!(answer.status == 422 && answer.text.contains(part), "{csv}: {}", answer.text);
        }
        assert_eq!(api.post("/api/v2/watches/bulk", &json!({ "wallets": [] })).await.status, 422, "it names no group");
        for empty in [json!({}), json!({ "wallets": null })] {
            let answer = api.post(&format!("/api/v2/watches/bulk?group={}", id(&group)), &empty).await;
            assert!(answer.status == 422 && answer.text.contains("name the wallets"), "{}", answer.text);
        }
        let nameless = json!({ "when": [{ "measure": "liquidation" }] });
        assert_eq!(api.post("/api/v2/watches/groups", &nameless).await.status, 422);
    });
}

#[test]
fn a_change_of_a_group_changes_all_of_its_watches_and_their_receiver() {
    run(async {
        let market = Market::start().await;
        let (old, new) = (Receiver::start(Consent::Allows).await, Receiver::start(Consent::Returns).await);
        let service = Service::start(&market.config(market.chain.url(), &allowing(&[&old, &new])));
        let api = service.keyed();
        let group = group(&api, json!({ "url": old.url, "fires_at_once": true })).await;
        let secret = group["secret"].as_str().expect("a secret").to_owned();
        let (ada, ben) = (wallet("ada"), wallet("ben"));
        let added = add(&api, &group, &format!("address\n{ada}\n{ben}\n")).await.ok();
        let (of_ada, of_ben) = (watch_of(&added, 0), watch_of(&added, 1));
        seen(&api, &of_ada, |watch| value(watch) > 1.4).await;
        let bounds = json!([{ "measure": "health_factor", "below": 90 }, { "measure": "debt_usd", "below": 1 }]);
        let changed = patch(&api, &group, json!({ "when": bounds, "url": new.url, "rotate_secret": true })).await.ok();
        let rotated = changed["secret"].as_str().expect("a new secret").to_owned();
        // Ada owes too much for 90, and ben owes nothing.
        let (of_ada_told, of_ben_told) = (told(&api, &of_ada, 1).await, told(&api, &of_ben, 1).await);
        assert_eq!((kinds(&of_ada_told), kinds(&of_ben_told)), (vec!["watch.crossed"], vec!["watch.crossed"]));
        assert_eq!((&of_ada_told[0]["data"]["bound"], &of_ben_told[0]["data"]["bound"]), (&json!(90.0), &json!(1.0)));
        let arrived = new.received(2).await;
        assert!(arrived.iter().all(|event| event.is_signed_by(&secret) && event.is_signed_by(&rotated)));
        assert!(old.events().is_empty(), "{:?}", old.events());
        // A pause is one of all.
        patch(&api, &group, json!({ "paused": true })).await.ok();
        let list = api.get(&format!("/api/v2/watches?group={}", id(&group))).await.ok();
        let states: Vec<_> = list["watches"].as_array().expect("watches").iter().map(|watch| &watch["state"]).collect();
        assert_eq!(states, ["paused", "paused"]);
        patch(&api, &group, json!({ "paused": false })).await.ok();
        // One wallet is taken out; the group goes on.
        assert_eq!(api.delete(&path(&of_ben)).await.status, 204);
        let left = api.get(&format!("/api/v2/watches/groups/{}", id(&group))).await.ok();
        assert_eq!((&left["watches"], &left["state"]), (&json!(1), &json!("active")));
    });
}

#[test]
fn a_digest_says_what_became_of_all_watches_and_is_delivered() {
    run(async {
        let market = Market::start().await;
        let receiver = Receiver::start(Consent::Allows).await;
        let mut service = Service::start(&market.config(market.chain.url(), &allowing(&[&receiver])));
        let group = group(&service.keyed(), json!({ "url": receiver.url })).await;
        let (ada, ben) = (wallet("ada"), wallet("ben"));
        let csv = format!("address,label\n{ada},Ada\n{ben},\n");
        let added = add(&service.keyed(), &group, &csv).await.ok();
        for row in 0..2 {
            seen(&service.keyed(), &watch_of(&added, row), |watch| watch["evaluated_at"].is_string()).await;
        }
        // After a restart the group and its watches are still there.
        let config = market.config(market.chain.url(), &allowing(&[&receiver]));
        service = Service::start_in(service.kill(), &config, &[]);
        let api = service.keyed();
        let summary = api.get(&format!("/api/v2/watches/summary?group={}", id(&group))).await.ok();
        assert_eq!(api.post(&format!("/api/v2/watches/{}/test", id(&group)), &json!({})).await.status, 202);
        let events = told(&api, &json!({ "watch": { "id": id(&group) } }), 1).await;
        assert_eq!(kinds(&events), ["watch.digest"]);
        let data = &events[0]["data"];
        assert_eq!((&data["subject"], &data["watches"], &data["unread"]), (&json!("Loans"), &json!(2), &json!(0)));
        assert_eq!((&data["nearest"][0]["label"], &data["nearest"][0]["bound"]), (&json!("Ada"), &json!(1.3)));
        assert_eq!((&data["debt"]["wallets_read"], &summary["debt"]["wallets_read"]), (&json!(2), &json!(2)));
        let arrived = receiver.received(1).await;
        assert_eq!(arrived[0].body, events[0]);
        assert!(arrived[0].is_signed_by(group["secret"].as_str().expect("a secret")));
        let shown = api.get(&format!("/api/v2/watches/groups/{}", id(&group))).await.ok();
        assert_eq!(shown["last_event"], 1);
        assert!(shown["next_digest_at"].as_str() > shown["created_at"].as_str(), "{shown}");
    });
}

#[test]
fn the_debt_at_risk_is_what_a_what_if_says_of_each_wallet() {
    run(async {
        let mut market = Market::start().await;
        // The debt follows the dollar, and the collateral does not.
        let (base, feed) = (market.base, market.native_feed);
        let dollar = format!("address = \"{base}\", symbol = \"USD\", decimals = 6, feed = \"{feed}\"");
        let tokens = format!("tokens = [\n  {{ {dollar}, class = \"stablecoin\" }},\n");
        let config = market.config(market.chain.url(), "").replace("tokens = [\n", &tokens);
        let service = Service::start(&config);
        let api = service.keyed();
        let group = group(&api, json!({})).await;
        let (ada, ben) = (wallet("ada"), wallet("ben"));
        let added = add(&api, &group, &format!("address\n{ada}\n{ben}\n")).await.ok();
        let of_ada = watch_of(&added, 0);
        let start = value(&seen(&api, &of_ada, |watch| value(watch) > 1.4).await);
        seen(&api, &watch_of(&added, 1), |watch| watch["evaluated_at"].is_string()).await;
        // A second watch of the same wallet counts its debt once.
        super::watch(&api, json!({})).await;
        let summary = |found: &Value| {
            let falls = found["debt"]["if_prices_fall"].as_array().cloned().unwrap_or_default();
            falls.iter().map(|fall| fall["at_risk_usd"].as_f64().unwrap_or(f64::NAN)).collect::<Vec<_>>()
        };
        let calm = api.get("/api/v2/watches/summary").await.ok();
        let owed = calm["debt"]["owed_usd"].as_f64().expect("a debt");
        assert!(owed > 900.0 && calm["debt"]["at_risk_usd"] == 0.0, "{calm}");
        market.price((2_000.0 * 1.15 / start) as u64).await;
        let near =
            api.until("/api/v2/watches/summary", |found| summary(&found.json()).last() == Some(&owed)).await.ok();
        let body = json!({ "changes": [] });
        let supposed = api.post(&format!("/api/v2/score/address/{ada}/what-if"), &body).await.ok();
        let ladder = supposed["ladder"].as_array().expect("a ladder").iter().take(3);
        let at_risk = ladder.map(|rung| if rung["health_factor"].as_f64() < Some(1.0) { owed } else { 0.0 });
        assert_eq!(summary(&near), at_risk.collect::<Vec<_>>(), "{near} {supposed}");
        assert_eq!(summary(&near), [0.0, owed, owed]);
        assert_eq!((&near["debt"]["wallets_read"], &near["debt"]["wallets_unread"]), (&json!(2), &json!(0)));
    });
}
