//! What owners of keys, receivers and strangers try against deliveries, and what it costs: the table of attacks in
//! `watches.md`.

use assay_tests::{
    devnet::actors::address as wallet,
    receiver::{Consent, Manner, Receiver},
    service::{Caller, Service, answer},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Market, delivery::allowing, path, run, seen, told, watch};

const ATTACKER: &str = "assay_watches_attacker";

fn config(market: &Market, receivers: &[&Receiver], more: &str) -> String {
    let keys = format!("[[access.keys]]\nname = \"attacker\"\nkey = \"{ATTACKER}\"\nscopes = [\"read\"]\n");
    market.config(market.chain.url(), &format!("{more}{keys}{}", allowing(receivers)))
}

async fn test(api: &Caller, watch: &Value) -> u16 {
    api.post(&format!("{}/test", path(watch)), &json!({})).await.status.as_u16()
}

async fn resume(api: &Caller, watch: &Value) {
    answer(api.request(Method::PATCH, &path(watch)).json(&json!({ "paused": false }))).await.ok();
}

fn attempts(watch: &Value) -> Vec<Value> {
    watch["delivery"]["latest"].as_array().cloned().unwrap_or_default()
}

#[test]
fn no_request_leaves_for_an_address_that_is_not_public() {
    run(async {
        let market = Market::start().await;
        let inside = Receiver::start(Consent::Allows).await;
        let service = Service::start(&config(&market, &[], ""));
        let attacker = service.with_key(ATTACKER);
        let (_, port) = inside.at.rsplit_once(':').expect("a port");
        for url in [
            "https://127.0.0.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://10.0.0.1/",
            "https://192.168.0.1/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[fd00::1]/",
            "https://0.0.0.0/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://localhost/",
            "https://user:secret@lender.example/",
            "http://lender.example/",
            "ftp://lender.example/",
            "file:///etc/passwd",
            "https://lender.example:6379/",
            format!("https://127.0.0.1:{port}/").as_str(),
        ] {
            let body = json!({ "address": wallet("ada"), "when": [{ "measure": "liquidation" }], "url": url });
            let answer = attacker.post("/api/v2/watches", &body).await;
            if answer.status == 201 {
                // A name: only its address tells. It is looked up for each delivery, and the connection is to what the
                // lookup returned.
                let watch = answer.json();
                let tried = seen(&attacker, &watch, |watch| !attempts(watch).is_empty()).await;
                let outcome = attempts(&tried)[0]["outcome"].clone();
                assert!(outcome.as_str().is_some_and(|words| words.starts_with("not fetched")), "{url}: {outcome}");
            } else {
                assert!(answer.status == 422 && answer.text.contains("not fetched"), "{url}: {}", answer.text);
            }
        }
        assert!(inside.requests().is_empty());
    });
}

#[test]
fn a_victim_is_asked_twenty_times_a_day_at_most_whatever_a_key_does() {
    run(async {
        let market = Market::start().await;
        let (victim, other) = (Receiver::start(Consent::Never).await, Receiver::start(Consent::Allows).await);
        let service = Service::start(&config(&market, &[&victim, &other], ""));
        let attacker = service.with_key(ATTACKER);
        let mut watches = Vec::new();
        for at in 0..6 {
            watches.push(watch(&attacker, json!({ "url": format!("{}/{at}", victim.url) })).await);
        }
        let is_refused = |watch: &Value| {
            attempts(watch)
                .last()
                .is_some_and(|last| last["outcome"].as_str().is_some_and(|it| it.starts_with("not asked")))
        };
        // Resumes each watch until the server asks no more.
        for round in 0.. {
            let watch = &watches[round % watches.len()];
            let before = attacker.get(&path(watch)).await.ok();
            let count = attempts(&before).len();
            resume(&attacker, watch).await;
            if is_refused(&seen(&attacker, watch, |watch| attempts(watch).len() != count || is_refused(watch)).await) {
                break;
            }
        }
        let asked = victim.requests().len();
        assert!((40..=42).contains(&asked), "each question is an OPTIONS and a POST: {asked}");
        // Neither another watch nor another receiver in between makes it more, and the consent of one receiver, which
        // may come while the watch gets another one, is not that of the other.
        for _ in 0..8 {
            let new = watch(&attacker, json!({ "url": other.url })).await;
            answer(attacker.request(Method::PATCH, &path(&new)).json(&json!({ "url": victim.url }))).await.ok();
            seen(&attacker, &new, is_refused).await;
        }
        assert_eq!((victim.requests().len(), victim.events().len()), (asked, 0));
        // Another key has its own questions: a key cannot shut out the receivers of others.
        let honest = watch(&service.keyed(), json!({ "url": victim.url })).await;
        seen(&service.keyed(), &honest, |watch| attempts(watch).len() == 1 && !is_refused(watch)).await;
    });
}

#[test]
fn a_question_counts_although_the_url_changes_while_it_is_asked() {
    run(async {
        let market = Market::start().await;
        let victim = Receiver::start(Consent::Never).await;
        let service = Service::start(&config(&market, &[&victim], ""));
        let attacker = service.with_key(ATTACKER);
        let watch = watch(&attacker, json!({ "url": victim.url })).await;
        for at in 0..150 {
            let change = json!({ "url": format!("{}?{at}", victim.url) });
            answer(attacker.request(Method::PATCH, &path(&watch)).json(&change)).await.ok();
        }
        assay_tests::until::until(async || victim.requests().len(), |asked| *asked > 0).await;
        let mut last = 0;
        while last != victim.requests().len() {
            last = victim.requests().len();
            tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        }
        assert!(last > 0 && last <= 40, "each of 20 questions is an OPTIONS and a POST: {last}");
    });
}

#[test]
fn slow_receivers_of_one_key_keep_no_other_key_from_its_events() {
    run(async {
        let market = Market::start().await;
        let mut slow = Vec::new();
        for _ in 0..20 {
            slow.push(Receiver::start(Consent::Allows).await);
        }
        let honest = Receiver::start(Consent::Allows).await;
        let all: Vec<&Receiver> = slow.iter().chain([&honest]).collect();
        let service = Service::start(&config(&market, &all, "delivery_timeout_ms = 30000\n"));
        let (attacker, api) = (service.with_key(ATTACKER), service.keyed());
        for receiver in &slow {
            receiver.answer([Manner::Hang, Manner::Hang]);
            let watch = watch(&attacker, json!({ "url": receiver.url })).await;
            assert_eq!(test(&attacker, &watch).await, 202);
        }
        let held = || slow.iter().filter(|receiver| !receiver.events().is_empty()).count();
        assay_tests::until::until(async || held(), |held| *held >= 4).await;
        let watch = watch(&api, json!({ "url": honest.url })).await;
        assert_eq!(test(&api, &watch).await, 202);
        honest.received(1).await;
        assert_eq!(held(), 4, "the others have not had their turn");
    });
}

#[test]
fn a_slow_answer_to_one_key_delays_no_other_at_the_same_receiver() {
    run(async {
        let market = Market::start().await;
        let receiver = Receiver::start(Consent::Allows).await;
        let service = Service::start(&config(&market, &[&receiver], "delivery_timeout_ms = 30000\n"));
        let (attacker, api) = (service.with_key(ATTACKER), service.keyed());
        receiver.answer([Manner::Hang]);
        let slow = watch(&attacker, json!({ "url": receiver.url })).await;
        assert_eq!(test(&attacker, &slow).await, 202);
        receiver.received(1).await;
        let watch = watch(&api, json!({ "url": receiver.url })).await;
        assert_eq!(test(&api, &watch).await, 202);
        assert_eq!(receiver.received(2).await[1].body["data"]["watch_id"], watch["watch"]["id"]);
        let held = attacker.get(&path(&slow)).await.ok();
        assert_eq!(held["delivery"]["attempts"], 0, "{held}");
    });
}

#[test]
fn redirects_are_counted_once_and_followed_never() {
    run(async {
        let market = Market::start().await;
        let (first, second) = (Receiver::start(Consent::Allows).await, Receiver::start(Consent::Allows).await);
        let service = Service::start(&config(&market, &[&first, &second], ""));
        let attacker = service.with_key(ATTACKER);
        first.answer([Manner::Redirect(first.url.clone()), Manner::Redirect(second.url.clone())]);
        let watch = watch(&attacker, json!({ "url": first.url })).await;
        test(&attacker, &watch).await;
        seen(&attacker, &watch, |watch| watch["delivery"]["attempts"] == 1).await;
        resume(&attacker, &watch).await;
        seen(&attacker, &watch, |watch| attempts(watch).len() == 3).await;
        assert_eq!((first.events().len(), second.requests().len()), (2, 0));
    });
}

#[test]
fn no_secret_is_in_an_answer_a_list_an_event_or_the_log() {
    run(async {
        let market = Market::start().await;
        let receiver = Receiver::start(Consent::Allows).await;
        let service = Service::start(&config(&market, &[&receiver], ""));
        let (owner, attacker) = (service.keyed(), service.with_key(ATTACKER));
        let watch = watch(&owner, json!({ "url": receiver.url })).await;
        let secret = watch["secret"].as_str().expect("a secret").trim_start_matches("whsec_").to_owned();
        test(&owner, &watch).await;
        told(&owner, &watch, 1).await;
        receiver.received(1).await;
        let one = path(&watch);
        for at in
            [one.as_str(), format!("{one}/events").as_str(), "/api/v2/watches", "/api/v2/watches/summary", "/metrics"]
        {
            let answer = owner.get(at).await;
            assert!(answer.status == 200 && !answer.text.contains(&secret), "{at}: {}", answer.text);
        }
        let unchanged = answer(owner.request(Method::PATCH, &one).json(&json!({ "every_s": 2 }))).await;
        assert!(!unchanged.text.contains("whsec_"), "{}", unchanged.text);
        let delivered = receiver.events();
        assert!(!delivered[0].text.contains(&secret) && !service.log().contains(&secret));
        // A stranger learns nothing, and changes nothing.
        for (method, at) in [
            (Method::GET, one.clone()),
            (Method::GET, format!("{one}/events")),
            (Method::DELETE, one.clone()),
            (Method::PATCH, one.clone()),
            (Method::POST, format!("{one}/test")),
            (Method::POST, format!("{one}/replay")),
        ] {
            let body = if at.ends_with("replay") { json!({ "from": 1 }) } else { json!({}) };
            let refused = answer(attacker.request(method.clone(), &at).json(&body)).await;
            assert_eq!(refused.status, 404, "{method} {at}: {}", refused.text);
        }
    });
}

#[test]
fn free_events_of_a_watch_are_bounded() {
    run(async {
        let market = Market::start().await;
        let service = Service::start(&config(&market, &[], ""));
        let attacker = service.with_key(ATTACKER);
        let watch = watch(&attacker, json!({})).await;
        for _ in 0..100 {
            assert_eq!(test(&attacker, &watch).await, 202);
        }
        let refused = attacker.post(&format!("{}/test", path(&watch)), &json!({})).await;
        assert_eq!(refused.expect(409)["code"], "too_many_tests");
    });
}
