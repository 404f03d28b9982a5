//! A very long history, in a stub of a pool: every event is counted, and a continued read needs few queries.

use std::time::Duration;

use alloy::primitives::Address;
use assay_domain::Coverage;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::{Small, busy};
use assay_tests::proxy::{Call, Proxy};

use super::super::wallets::counted;
use super::super::{PATIENCE, RUNTIME};
use super::pool;

#[test]
fn twenty_thousand_events_are_counted_and_not_read_again() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, 2_500.0);
        let market = busy::deploy(&mut chain).await.unwrap();
        let wallet = Address::repeat_byte(0xb5);
        busy::live(&mut chain, market, wallet, 5_000).await.unwrap();
        // Settles a part of the chain.
        for _ in 0..20 {
            chain.mine().await.unwrap();
        }
        let setup = Setup { native_feed, markets: vec![("lenderA_v3", "Busy", market)], ..Setup::default() };
        let proxy = Proxy::start(chain.url()).await;
        let patient = |config: &mut assay::config::Config| {
            (config.scoring.cache_ttl, config.reading.rpc.timeout) = (Duration::ZERO, PATIENCE);
        };
        let reader = super::reader(&setup, &chain).through(&[&proxy]).with(patient).started().await;
        let asked = |calls: &[Call]| calls.iter().filter_map(Call::span).collect::<Vec<_>>();

        let truth = busy::lived(&chain, market, wallet).await.unwrap();
        assert_eq!(truth.total(), 20_000);
        // 60,000 logs are more than one answer may hold: the span is halved twice.
        for most in [18, 3] {
            let read = reader.read(wallet).await;
            let history = pool(&read.chains[0], market);
            assert_eq!((history.coverage, counted(history)), (Coverage::Complete, truth));
            let calls = proxy.take();
            let spans = asked(&calls);
            assert!(spans.len() <= most, "{} queries, not {most}: {spans:?}", spans.len());
        }
    });
}
