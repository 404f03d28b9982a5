//! Several hosts of one Redis: one of them evaluates and delivers, and if it dies another one continues.

use assay_tests::{
    receiver::{Consent, Manner, Receiver},
    redis::{self, DURABLE, Redis},
    service::Service,
};
use reqwest::Method;
use serde_json::json;

use super::{Market, delivery::allowing, kinds, path, run, seen, told, value, watch};

#[test]
fn a_host_that_dies_hands_over_without_a_gap_and_without_a_second_event() {
    run(async {
        let mut market = Market::start().await;
        let (server, receiver) = (Redis::start(&DURABLE), Receiver::start(Consent::Returns).await);
        let config = market.config(market.chain.url(), &allowing(&[&receiver]));
        let config = redis::on(&config, &format!("redis://127.0.0.1:{}", server.port), "watches:");
        let mut hosts = vec![Service::start(&config), Service::start(&config)];
        let created = watch(&hosts[1].keyed(), json!({ "url": receiver.url })).await;
        let start = value(&seen(&hosts[0].keyed(), &created, |watch| value(watch) > 1.4).await);
        // Each crossing and clearing is told while another host may be the one that evaluates.
        for (round, dollars) in [(2_000.0 / start) as u64, 2_000, (2_000.0 / start) as u64].into_iter().enumerate() {
            market.price(dollars).await;
            told(&hosts[1].keyed(), &created, round + 1).await;
            // The one that evaluates is among the killed.
            drop(hosts.remove(0));
            hosts.push(Service::start(&config));
        }
        let events = told(&hosts[0].keyed(), &created, 3).await;
        assert_eq!(kinds(&events), ["watch.crossed", "watch.cleared", "watch.crossed"]);
        let arrived = receiver.received_once(3).await;
        assert_eq!(arrived.into_iter().map(|delivery| delivery.body).collect::<Vec<_>>(), events);
    });
}

/// What expires is gone from Redis, and not from its index of the events.
#[test]
fn events_that_expire_before_their_delivery_keep_back_no_later_one() {
    run(async {
        let market = Market::start().await;
        let (server, receiver) = (Redis::start(&DURABLE), Receiver::start(Consent::Returns).await);
        let config = market.config(market.chain.url(), &allowing(&[&receiver]));
        let config = redis::on(&config, &format!("redis://127.0.0.1:{}", server.port), "watches:");
        let service = Service::start(&config);
        let api = service.keyed();
        receiver.answer([Manner::Status(410)]);
        let created = watch(&api, json!({ "url": receiver.url })).await;
        for _ in 0..4 {
            api.post(&format!("{}/test", path(&created)), &json!({})).await.expect(202);
        }
        let events = told(&api, &created, 4).await;
        seen(&api, &created, |watch| watch["delivery"]["state"] == "gone").await;
        let expire = |seqs: std::ops::RangeInclusive<u64>| {
            for seq in seqs {
                let id = created["watch"]["id"].as_str().expect("an id");
                let key = redis::ask(server.port, &["keys", &format!("*watch-event/{id}/{seq:012}")]);
                assert_eq!(redis::ask(server.port, &["del", key.trim()]).trim(), "1", "{key}");
            }
        };
        expire(1..=2);
        let resumed = api.request(Method::PATCH, &path(&created)).json(&json!({ "paused": false }));
        assay_tests::service::answer(resumed).await.ok();
        // The first one was refused with 410.
        let arrived = receiver.received(3).await;
        assert_eq!(arrived.into_iter().skip(1).map(|delivery| delivery.body).collect::<Vec<_>>(), events[2..]);

        // Before a replay ends, some of its events expire.
        expire(3..=3);
        let replay =
            async |from: u64| api.post(&format!("{}/replay", path(&created)), &json!({ "from": from, "to": 4 })).await;
        let refused = replay(1).await;
        assert_eq!(refused.status, 409);
        assert!(refused.json()["detail"].as_str().is_some_and(|why| why.contains("before number 4 ")), "{refused:?}");
        assert_eq!(replay(4).await.status, 202);
        assert_eq!(receiver.received(4).await[3].body, events[3]);
        let page = api.get(&format!("{}/events", path(&created))).await.ok();
        assert_eq!(
            (page["events"].as_array().map(Vec::len), &page["last"], &page["more"]),
            (Some(1), &json!(4), &json!(false))
        );

        // One that expires between its attempts ends the deliveries, until their owner resumes them.
        receiver.answer([Manner::Slower(20)]);
        let test = async || api.post(&format!("{}/test", path(&created)), &json!({})).await.expect(202);
        test().await;
        assert_eq!(receiver.received(5).await[4].body["data"]["seq"], 5);
        expire(5..=5);
        seen(&api, &created, |watch| watch["delivery"]["state"] == "failing").await;
        test().await;
        let resumed = api.request(Method::PATCH, &path(&created)).json(&json!({ "paused": false }));
        assay_tests::service::answer(resumed).await.ok();
        assert_eq!(receiver.received(6).await[5].body["data"]["seq"], 6);
    });
}
