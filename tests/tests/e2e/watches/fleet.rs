//! Several hosts of one Redis: one of them evaluates and delivers, and if it dies another one continues.

use assay_tests::{
    receiver::{Consent, Receiver},
    redis::{self, DURABLE, Redis},
    service::Service,
};
use serde_json::json;

use super::{Market, delivery::allowing, kinds, run, seen, told, value, watch};

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
