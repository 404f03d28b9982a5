//! What a wallet's history is with an index.

use assay::config::{Config, IndexMode};
use assay_domain::Address;
use assay_domain::Secret;
use assay_tests::devnet::{BASE, ETHEREUM};
use assay_tests::proxy::Proxy;

use super::super::{Reader, with};
use super::{indexed, log_queries, narrow};

#[test]
fn every_wallet_is_what_it_is_without_an_index() {
    with(async |devnet| {
        let plain = Reader::of(devnet).started().await;
        let proxies = [Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.base.url()).await];
        proxies.iter().for_each(|proxy| proxy.rule(narrow(100)));
        let urls = proxies.each_ref().map(|proxy| Secret::new(&proxy.url));
        let through = |config: &mut Config| {
            config.chains.iter_mut().zip(urls).for_each(|(chain, url)| chain.rpc = vec![url]);
        };
        let reader = Reader::of(devnet).with(through).with(indexed).started().await;
        reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
        reader.in_step(BASE, &devnet.base.rpc).await;
        let pools = devnet.chains().map(|chain| chain.market.pool);
        let wallets = devnet.wallets.iter().map(|wallet| wallet.address).chain(pools).chain([Address::ZERO]);
        for wallet in wallets {
            proxies.iter().for_each(|proxy| drop(proxy.take()));
            let read = reader.read(wallet).await;
            for proxy in &proxies {
                let queries = log_queries(&proxy.take());
                let is_wallet = !pools.contains(&wallet) && !wallet.is_zero();
                assert!(queries <= 2 || !is_wallet, "{wallet}: {queries} log queries");
            }
            assert_eq!(read.chains, plain.read(wallet).await.chains, "{wallet}");
        }
    });
}

#[test]
fn it_begins_by_itself_with_the_second_wallet() {
    with(async |devnet| {
        let auto = |config: &mut Config| {
            indexed(config);
            config.reading.index = IndexMode::Auto;
        };
        let mut reader = Reader::of(devnet).ethereum().with(auto).started().await;
        let [one, other] = ["saver", "whale"].map(|name| devnet.wallet(name).address);
        reader.read(one).await;
        reader.read(one).await;
        assert_eq!(reader.chains().index(ETHEREUM).unwrap().borrow().through, None);
        reader.read(other).await;
        reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
        // Once begun, it goes on after a restart.
        reader.restart().await;
        reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
    });
}

#[test]
fn it_begins_by_itself_where_a_range_was_refused() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        proxy.rule(narrow(100));
        let auto = |config: &mut Config| {
            indexed(config);
            config.reading.index = IndexMode::Auto;
        };
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(auto).started().await;
        reader.read(devnet.wallet("saver").address).await;
        reader.in_step(ETHEREUM, &devnet.ethereum.rpc).await;
    });
}
