//! Deliveries: agreed to, signed, in order, again under the same id after a failure or a crash, and never to a victim.

use assay_tests::{
    receiver::{Consent, Manner, Receiver},
    service::Service,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Market, path, run, seen, told, watch};

/// The server may reach this receiver, which is on no public address.
pub(crate) fn allowing(receivers: &[&Receiver]) -> String {
    let hosts: Vec<String> = receivers.iter().map(|receiver| format!("\"{}\"", receiver.at)).collect();
    format!("[outbound]\nallow = [{}]\n", hosts.join(", "))
}

fn seqs(receiver: &Receiver) -> Vec<u64> {
    receiver.events().iter().filter_map(|event| event.body["data"]["seq"].as_u64()).collect()
}

#[test]
fn a_failed_delivery_comes_again_under_its_id_before_the_next_one() {
    run(async {
        let market = Market::start().await;
        let receiver = Receiver::start(Consent::Allows).await;
        let service = Service::start(&market.config(market.chain.url(), &allowing(&[&receiver])));
        let api = service.keyed();
        receiver.answer([Manner::Status(500)]);
        let watch = watch(&api, json!({ "url": receiver.url })).await;
        let secret = watch["secret"].as_str().expect("a secret").to_owned();
        for _ in 0..2 {
            assert_eq!(api.post(&format!("{}/test", path(&watch)), &json!({})).await.status, 202);
        }
        let arrived = receiver.received(3).await;
        assert_eq!(seqs(&receiver), [1, 1, 2]);
        assert_eq!((&arrived[0].id, &arrived[0].text), (&arrived[1].id, &arrived[1].text));
        assert!(arrived.iter().all(|delivery| delivery.is_signed_by(&secret) && delivery.kind() == "watch.test"));
        let public = &seen(&api, &watch, |watch| watch["delivery"]["delivered_through"] == 2).await["delivery"];
        assert!(public["public_key"].as_str().is_some_and(|key| key.starts_with("whpk_")));
        assert!(arrived.iter().all(|delivery| delivery.signatures.iter().any(|one| one.starts_with("v1a,"))));
        // The polled events are the delivered ones.
        let polled = told(&api, &watch, 2).await;
        assert_eq!((&polled[0], &polled[1]), (&arrived[1].body, &arrived[2].body));
        // Once more on request, and the secret that was rotated still signs.
        let replay = json!({ "from": 1, "to": 2 });
        let change = api.request(Method::PATCH, &path(&watch)).json(&json!({ "rotate_secret": true }));
        let rotated = assay_tests::service::answer(change).await.ok();
        assert_eq!(api.post(&format!("{}/replay", path(&watch)), &replay).await.status, 202);
        let again = receiver.received(5).await;
        assert_eq!(seqs(&receiver), [1, 1, 2, 1, 2]);
        let new = rotated["secret"].as_str().expect("a new secret");
        assert!(again[4].is_signed_by(new) && again[4].is_signed_by(&secret) && new != secret);
    });
}

#[test]
fn an_event_whose_delivery_a_crash_interrupts_comes_again_under_its_id() {
    run(async {
        let market = Market::start().await;
        let receiver = Receiver::start(Consent::Returns).await;
        let config = market.config(market.chain.url(), &allowing(&[&receiver]));
        let mut service = Service::start(&config);
        receiver.answer([Manner::Hang, Manner::Hang]);
        let watch = watch(&service.keyed(), json!({ "url": receiver.url })).await;
        assert_eq!(service.keyed().post(&format!("{}/test", path(&watch)), &json!({})).await.status, 202);
        for arrived in 1..=2 {
            receiver.received(arrived).await;
            // With SIGKILL, while the receiver has the event and the server no answer.
            service = Service::start_in(service.kill(), &config, &[]);
        }
        let arrived = receiver.received(3).await;
        assert!(arrived.iter().all(|delivery| delivery.id == arrived[0].id && delivery.text == arrived[0].text));
        let api = service.keyed();
        seen(&api, &watch, |watch| watch["delivery"]["delivered_through"] == 1).await;
        assert_eq!(told(&api, &watch, 1).await.len(), 1, "no event is written twice");
        assert_eq!(seqs(&receiver), [1, 1, 1]);
    });
}

#[test]
fn a_receiver_that_is_gone_ends_it_until_its_owner_resumes() {
    run(async {
        let market = Market::start().await;
        let receiver = Receiver::start(Consent::Allows).await;
        let service = Service::start(&market.config(market.chain.url(), &allowing(&[&receiver])));
        let api = service.keyed();
        receiver.answer([Manner::Status(410)]);
        let watch = watch(&api, json!({ "url": receiver.url })).await;
        let test = format!("{}/test", path(&watch));
        api.post(&test, &json!({})).await;
        seen(&api, &watch, |watch| watch["delivery"]["state"] == "gone").await;
        let resume = api.request(Method::PATCH, &path(&watch)).json(&json!({ "paused": false }));
        assay_tests::service::answer(resume).await.ok();
        receiver.received(2).await;
        receiver.answer([Manner::Slower(3_000)]);
        api.post(&test, &json!({})).await;
        let slowed = seen(&api, &watch, |watch| watch["delivery"]["state"] == "retrying").await;
        let at = |field: &Value| field.as_str().and_then(|text| chrono::DateTime::parse_from_rfc3339(text).ok());
        let attempt = at(&slowed["delivery"]["latest"].as_array().expect("attempts").last().expect("one")["at"]);
        let wait = at(&slowed["delivery"]["next_attempt_at"]).zip(attempt).map(|(next, at)| (next - at).num_seconds());
        assert!(wait.is_some_and(|wait| wait >= 2_999), "{slowed}");
    });
}

#[test]
fn events_that_were_not_delivered_follow_a_new_url() {
    run(async {
        let market = Market::start().await;
        let (wrong, right) = (Receiver::start(Consent::Allows).await, Receiver::start(Consent::Returns).await);
        let service = Service::start(&market.config(market.chain.url(), &allowing(&[&wrong, &right])));
        let api = service.keyed();
        let patch = async |watch: &Value, change: Value| {
            assay_tests::service::answer(api.request(Method::PATCH, &path(watch)).json(&change)).await.ok()
        };
        // It would not be tried again during this test.
        wrong.answer([Manner::Slower(3_000)]);
        let watch = watch(&api, json!({ "url": wrong.url })).await;
        for _ in 0..3 {
            assert_eq!(api.post(&format!("{}/test", path(&watch)), &json!({})).await.status, 202);
        }
        told(&api, &watch, 3).await;
        wrong.received(1).await;
        let changed = patch(&watch, json!({ "url": right.url })).await;
        assert_eq!(changed["watch"]["delivery"]["delivered_through"], 0);
        right.received(3).await;
        assert_eq!((seqs(&wrong), seqs(&right)), (vec![1], vec![1, 2, 3]));
        // A receiver after none begins with the next event.
        patch(&watch, json!({ "url": null })).await;
        api.post(&format!("{}/test", path(&watch)), &json!({})).await;
        told(&api, &watch, 4).await;
        patch(&watch, json!({ "url": right.url })).await;
        api.post(&format!("{}/test", path(&watch)), &json!({})).await;
        right.received(4).await;
        assert_eq!(seqs(&right), [1, 2, 3, 5]);
    });
}

#[test]
fn nobody_gets_deliveries_that_he_has_not_agreed_to() {
    run(async {
        let market = Market::start().await;
        let (victim, redirecting) = (Receiver::start(Consent::Never).await, Receiver::start(Consent::Allows).await);
        let service = Service::start(&market.config(market.chain.url(), &allowing(&[&victim, &redirecting])));
        let api = service.keyed();
        let unwilling = watch(&api, json!({ "url": victim.url })).await;
        api.post(&format!("{}/test", path(&unwilling)), &json!({})).await;
        let found = seen(&api, &unwilling, |watch| watch["delivery"]["attempts"].as_u64() > Some(0)).await;
        assert_eq!(found["delivery"]["state"], "unconfirmed");
        assert_eq!(told(&api, &unwilling, 1).await.len(), 1, "events can be polled");
        assert!(victim.events().is_empty());
        // A receiver that agrees cannot hand its deliveries on.
        let known = victim.requests().len();
        redirecting.answer([Manner::Redirect(victim.url.clone())]);
        let redirected = watch(&api, json!({ "url": redirecting.url })).await;
        api.post(&format!("{}/test", path(&redirected)), &json!({})).await;
        let found = seen(&api, &redirected, |watch| watch["delivery"]["attempts"].as_u64() > Some(0)).await;
        let latest = found["delivery"]["latest"].as_array().expect("attempts").last().expect("one").clone();
        assert_eq!((&latest["delivered"], &latest["outcome"]), (&json!(false), &json!("status 302")));
        assert!(victim.events().is_empty() && victim.requests().len() <= known + 2, "{:?}", victim.requests());
    });
}
