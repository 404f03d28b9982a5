//! Owners change, pause, rotate, replay and remove their watches while the server evaluates and delivers them, and is
//! killed in between: nothing that was removed comes back, nothing is lost, and nothing belongs to another watch.
//!
//! `ASSAY_SOAK=1` raises the numbers.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use assay_store::{Batch, Family, Store};
use assay_tests::{
    receiver::{Consent, Manner, Receiver},
    service::{Answer, Caller, Service, answer},
    until::until,
};
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Market, delivery::allowing, kinds, path, run, seen, told, value, watch};

/// The records of a server that does not run.
pub(super) async fn store(folder: &Path) -> Store {
    let config = assay_store::config::Store::embedded(folder.join("assay.redb"));
    Store::open(&config).await.expect("the store opens")
}

/// Lets these events expire.
async fn expire(folder: &Path, watch: &Value, seqs: impl IntoIterator<Item = u64>) {
    let (store, id) = (store(folder).await, watch["watch"]["id"].as_str().expect("an id").to_owned());
    let remove = |batch: Batch, seq: u64| {
        batch.remove(&Family::<Value>::listed("watch-event/").key(format_args!("{id}/{seq:012}")))
    };
    let batch = seqs.into_iter().fold(Batch::new(), remove);
    assert!(store.commit(batch).await.expect("the store answers"));
}

async fn patch(api: &Caller, watch: &Value, change: Value) -> Answer {
    answer(api.request(Method::PATCH, &path(watch)).json(&change)).await
}

async fn replay(api: &Caller, watch: &Value, from: u64, to: u64) -> Answer {
    api.post(&format!("{}/replay", path(watch)), &json!({ "from": from, "to": to })).await
}

async fn test(api: &Caller, watch: &Value) -> Answer {
    api.post(&format!("{}/test", path(watch)), &json!({})).await
}

fn seqs(receiver: &Receiver) -> Vec<u64> {
    receiver.events().iter().filter_map(|event| event.body["data"]["seq"].as_u64()).collect()
}

#[test]
fn a_replay_of_events_that_are_not_kept_says_so_and_sends_no_others() {
    if std::env::var_os("ASSAY_TEST_STORE").is_some() {
        // The records of the embedded store are changed while no server has them.
        return;
    }
    run(async {
        let market = Market::start().await;
        let receiver = Receiver::start(Consent::Allows).await;
        let config = market.config(market.chain.url(), &allowing(&[&receiver]));
        let service = Service::start(&config);
        let api = service.keyed();
        let watch = watch(&api, json!({ "url": receiver.url })).await;
        for count in 1..=3 {
            assert_eq!(test(&api, &watch).await.status, 202);
            receiver.received(count).await;
        }
        seen(&api, &watch, |watch| watch["delivery"]["delivered_through"] == 3).await;
        patch(&api, &watch, json!({ "paused": true })).await.ok();
        assert_eq!(replay(&api, &watch, 1, 2).await.status, 202, "it waits for the end of the pause");
        let folder = service.kill();
        expire(folder.path(), &watch, 1..=2).await;
        let service = Service::start_in(folder, &config, &[]);
        let api = service.keyed();
        for (from, to, words) in [(1, 2, "before number 3 are not kept"), (4, 9, "its last one is 3")] {
            let refused = replay(&api, &watch, from, to).await.expect(409);
            assert_eq!(refused["code"], "no_such_events");
            assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains(words)), "{refused}");
        }
        patch(&api, &watch, json!({ "paused": false })).await.ok();
        test(&api, &watch).await;
        receiver.received(4).await;
        assert_eq!(seqs(&receiver), [1, 2, 3, 4]);
        assert_eq!(replay(&api, &watch, 3, 9).await.status, 202);
        receiver.received(6).await;
        assert_eq!(seqs(&receiver), [1, 2, 3, 4, 3, 4]);
    });
}

#[test]
fn each_secret_that_was_replaced_within_a_day_still_signs() {
    run(async {
        let market = Market::start().await;
        let receiver = Receiver::start(Consent::Allows).await;
        let service = Service::start(&market.config(market.chain.url(), &allowing(&[&receiver])));
        let api = service.keyed();
        let watch = watch(&api, json!({ "url": receiver.url })).await;
        let secret = |answer: &Value| answer["secret"].as_str().expect("a secret").to_owned();
        let mut secrets = vec![secret(&watch)];
        for _ in 0..7 {
            secrets.push(secret(&patch(&api, &watch, json!({ "rotate_secret": true })).await.ok()));
        }
        let refused = patch(&api, &watch, json!({ "rotate_secret": true })).await.expect(409);
        assert_eq!(refused["code"], "too_many_rotations");
        test(&api, &watch).await;
        let event = receiver.received(1).await.remove(0);
        assert!(secrets.iter().all(|secret| event.is_signed_by(secret)), "{:?}", event.signatures);
    });
}

#[test]
fn whenever_the_server_is_killed_each_test_event_is_told_once() {
    run(async {
        let is_soak = std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1");
        let rounds = if is_soak { 40 } else { 4 };
        let market = Market::start().await;
        let config = market.config(market.chain.url(), "");
        // The test polls for as long as a lease lasts.
        let unlimited = "[access]\ndefault_rate = 0\n[[access.keys]]";
        let config = config.replacen("[[access.keys]]", unlimited, 1);
        let mut service = Service::start(&config);
        let mut watches = Vec::new();
        for _ in 0..16 {
            watches.push(watch(&service.keyed(), json!({ "every_s": 86_400 })).await);
        }
        let probe = watch(&service.keyed(), json!({ "every_s": 86_400 })).await;
        for round in 0..rounds {
            let api = service.keyed();
            // Until the lease of the killed server expires, nothing is evaluated, and a kill would interrupt nothing.
            test(&api, &probe).await.expect(202);
            told(&api, &probe, round + 1).await;
            let answers = join_all(watches.iter().map(|watch| test(&api, watch))).await;
            assert!(answers.iter().all(|answer| answer.status == 202), "{answers:?}");
            // The test kills at many moments; this is the next one.
            tokio::time::sleep(Duration::from_millis(3 * round as u64)).await;
            service = Service::start_in(service.kill(), &config, &[]);
        }
        let api = service.keyed();
        // Once the second of these events is told, all requests before the first one have been handled.
        for more in 1..=2 {
            test(&api, &probe).await.expect(202);
            told(&api, &probe, rounds + more).await;
        }
        for watch in &watches {
            assert_eq!(kinds(&told(&api, watch, rounds).await), vec!["watch.test"; rounds]);
        }
    });
}

/// Chooses by a seed: a linear congruential generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A watch and what its owner did with it.
struct Owned {
    watch: Value,
    secrets: Vec<String>,
    removed: bool,
}

impl Owned {
    async fn new(api: &Caller, receiver: &Receiver) -> Self {
        let watch = watch(api, json!({ "url": receiver.url, "fires_at_once": true })).await;
        let secrets = vec![watch["secret"].as_str().expect("a secret").to_owned()];
        Self { watch, secrets, removed: false }
    }

    /// Does something by chance. Only a removal of the watch itself may be final.
    async fn act(&mut self, api: &Caller, [one, other]: [&Receiver; 2], dice: &mut Dice, may_move: bool) {
        let change = match dice.roll(if may_move { 9 } else { 7 }) {
            0 | 1 => return drop(test(api, &self.watch).await),
            2 => json!({ "paused": true }),
            3 => json!({ "paused": false }),
            4 => json!({ "rotate_secret": true }),
            5 => {
                let from = dice.roll(4) + 1;
                return drop(replay(api, &self.watch, from, from + dice.roll(4)).await);
            }
            6 => {
                let below = 1.2 + dice.roll(5) as f64 / 10.0;
                json!({ "when": [{ "measure": "health_factor", "below": below, "clear_above": below + 0.1 }] })
            }
            7 => json!({ "url": if dice.roll(2) == 0 { &one.url } else { &other.url } }),
            _ => {
                self.removed = api.delete(&path(&self.watch)).await.status == 204;
                return;
            }
        };
        let changed = patch(api, &self.watch, change).await;
        assert!(matches!(changed.status.as_u16(), 200 | 409), "{}", changed.text);
        self.secrets.extend(changed.json()["secret"].as_str().map(str::to_owned));
    }
}

#[test]
fn nothing_is_resurrected_lost_or_taken_for_another_while_owners_change_their_watches() {
    run(async {
        let is_soak = std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1");
        let (rounds, steps) = if is_soak { (20, 40) } else { (3, 12) };
        let mut market = Market::start().await;
        let (one, other) = (Receiver::start(Consent::Allows).await, Receiver::start(Consent::Returns).await);
        let config = market.config(market.chain.url(), &format!("max_per_key = 1000\n{}", allowing(&[&one, &other])));
        let mut service = Service::start(&config);
        let witness = watch(&service.keyed(), json!({})).await;
        let mut owned = Vec::new();
        for round in 0..rounds {
            let api = service.keyed();
            while owned.iter().filter(|one: &&Owned| !one.removed).count() < 8 {
                owned.push(Owned::new(&api, &one).await);
            }
            one.answer([Manner::Status(500)]);
            let receivers = [&one, &other];
            let live = owned.iter_mut().enumerate().filter(|(_, one)| !one.removed);
            let acts = live.map(async |(at, owned)| {
                let mut dice = Dice(1_000 * round + at as u64);
                for _ in 0..steps {
                    if !owned.removed {
                        owned.act(&api, receivers, &mut dice, at >= 2).await;
                    }
                }
            });
            let prices = async {
                for price in [600, 2_400] {
                    market.price(price).await;
                    seen(&api, &witness, |watch| (value(watch) < 1.3) == (price < 1_000)).await;
                }
            };
            futures::future::join(join_all(acts), prices).await;
            service = Service::start_in(service.kill(), &config, &[]);
        }
        let api = service.keyed();
        let (live, removed): (Vec<_>, Vec<_>) = owned.into_iter().partition(|owned| !owned.removed);
        for Owned { watch, .. } in &live {
            patch(&api, watch, json!({ "paused": false })).await.ok();
        }
        for price in [600, 2_400] {
            market.price(price).await;
            for watch in live.iter().map(|owned| &owned.watch).chain([&witness]) {
                seen(&api, watch, |watch| (value(watch) < 1.0) == (price < 1_000)).await;
            }
        }
        let is_delivered = async || {
            let mut behind = 0;
            for Owned { watch, .. } in &live {
                let now = api.get(&path(watch)).await.ok();
                // A failed attempt waits five seconds.
                behind += usize::from(now["delivery"]["delivered_through"] != now["last_event"]);
            }
            behind
        };
        until(is_delivered, |behind| *behind == 0).await;
        let arrived: Vec<_> = one.events().into_iter().chain(other.events()).collect();
        let mut bodies = BTreeMap::<&str, &Value>::new();
        for event in &arrived {
            let data = &event.body["data"];
            let same = bodies.entry(&event.id).or_insert(data);
            assert_eq!((&same["watch_id"], &same["seq"]), (&data["watch_id"], &data["seq"]), "an id is of one event");
            let owner = live.iter().chain(&removed).find(|owned| owned.watch["watch"]["id"] == data["watch_id"]);
            let owner = owner.unwrap_or_else(|| panic!("a watch that nobody has: {}", event.text));
            assert!(owner.secrets.iter().any(|secret| event.is_signed_by(secret)), "{}", event.text);
        }
        for Owned { watch, .. } in &live {
            let last = api.get(&path(watch)).await.ok()["last_event"].as_u64().expect("a number");
            let (mut events, mut after) = (Vec::new(), 0);
            while after < last {
                let page = api.get(&format!("{}/events?after={after}", path(watch))).await.ok();
                after = page["last"].as_u64().expect("a number");
                events.extend(page["events"].as_array().expect("events").clone());
            }
            let seqs: Vec<u64> = events.iter().filter_map(|event| event["data"]["seq"].as_u64()).collect();
            assert_eq!(seqs, (1..=last).collect::<Vec<_>>(), "each number is of one event, and none is missing");
            for event in &events {
                let data = bodies.get(event["data"]["id"].as_str().expect("an id"));
                assert!(data.is_some(), "it was never delivered: {event}");
                assert!(data.is_none_or(|data| data["measure"] == event["data"]["measure"]), "another event: {event}");
            }
        }
        let kinds: BTreeSet<&str> = arrived.iter().map(|event| event.kind()).collect();
        assert!(["watch.crossed", "watch.cleared", "watch.test"].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
        println!(
            "{} watches, {} of them removed; {} deliveries of {} events; {} kills",
            live.len() + removed.len(),
            removed.len(),
            arrived.len(),
            bodies.len(),
            rounds
        );
        let total = api.get("/api/v2/watches").await.ok()["total"].as_u64();
        assert_eq!(total, Some(live.len() as u64 + 1), "and the witness");
        if std::env::var_os("ASSAY_TEST_STORE").is_some() {
            return;
        }
        let folder = service.kill();
        let store = store(folder.path()).await;
        for Owned { watch, .. } in &removed {
            let id = watch["watch"]["id"].as_str().expect("an id");
            for family in ["watch/", "watch-state/", "watch-delivery/"] {
                let left: Option<Value> = store.get(&Family::new(family).key(id)).await.expect("the store answers");
                assert_eq!(left, None, "{family}{id} came back");
            }
        }
        let count: Option<u64> = store.get(&assay_store::Key::single("watch-count")).await.expect("the store answers");
        assert_eq!(count, total);
    });
}
