//! Aave v2, Aave v3 and Comet on one chain: a continued history costs two log queries.

use std::collections::BTreeSet;
use std::time::Duration;

use alloy::primitives::U256;
use assay_domain::Coverage;
use assay_tests::devnet::actors::address as wallet;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::{Small, aave_v2, comet, euler, fluid};
use assay_tests::proxy::{Call, Proxy};

use super::super::RUNTIME;
use super::super::wallets::counted;
use super::aave_v2::{On, USDC_PER_ETHER, liquidate};
use super::pool;

#[test]
fn a_repeated_read_takes_two_log_queries_and_misses_no_liquidation() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let v3 = chain.aave_v3().await.unwrap();
        let native_feed = price_feed(&mut chain, 2_500.0);
        let market = aave_v2::deploy(&mut chain, USDC_PER_ETHER).await.unwrap();
        let comet = comet::deploy(&mut chain, &[(6, 0.9, [2.0, 3.0])]).await.unwrap().remove(0);
        let mut on = On(&mut chain, &market);
        on.deposit("bank", "bank", market.weth, 1_000).await.unwrap();
        on.deposit("ben", "ben", market.usdc, 4_000).await.unwrap();
        on.borrow("ben", market.weth, 1, 2).await.unwrap();
        let supply =
            comet::Comet::supplyToCall { dst: wallet("ben"), asset: comet.base, amount: U256::from(5_000_000) };
        chain.call(wallet("ben"), comet.comet, &supply).await.unwrap();
        // Settles a part of the chain.
        for _ in 0..20 {
            chain.mine().await.unwrap();
        }
        let setup = Setup {
            native_feed,
            wrapped: Some(market.weth.asset),
            markets: vec![
                ("lenderA_v2", "Main", market.pool),
                ("lenderA_v3", "Core", v3),
                ("lenderB_v3", "USD", comet.comet),
            ],
            ..Setup::default()
        };
        let proxy = Proxy::start(chain.url()).await;
        let uncached = |config: &mut assay::config::Config| config.scoring.cache_ttl = Duration::ZERO;
        let reader = super::reader(&setup, &chain).through(&[&proxy]).with(uncached).started().await;
        let asked = |calls: &[Call], method: &str| calls.iter().filter(|call| call.method == method).count();

        assert_eq!(reader.read(wallet("ben")).await.coverage(), Coverage::Complete);
        assert_eq!(asked(&proxy.take(), "eth_getLogs"), 3);
        reader.read(wallet("ben")).await;
        let calls = proxy.take();
        assert_eq!((asked(&calls, "eth_getLogs"), asked(&calls, "eth_getTransactionReceipt")), (2, 0));

        liquidate(&mut On(&mut chain, &market), "ben").await.unwrap();
        let read = reader.read(wallet("ben")).await;
        let calls = proxy.take();
        assert_eq!((asked(&calls, "eth_getLogs"), asked(&calls, "eth_getTransactionReceipt")), (2, 1));
        let pools = &read.chains[0];
        assert_eq!(counted(pool(pools, market.pool)), market.lived(&chain, wallet("ben")).await.unwrap());
        assert_eq!(pool(pools, market.pool).counts.liquidation, Some(1));
        assert!(pools.pools.iter().all(|pool| pool.coverage == Coverage::Complete), "{:?}", pools.pools);
    });
}

/// The calls, the requests and the log queries for a wallet that did nothing, on a chain whose terms are known.
async fn cost(setup: &Setup, chain: &Small, endpoints: usize) -> [usize; 3] {
    let mut proxies = Vec::new();
    for _ in 0..endpoints {
        proxies.push(Proxy::start(chain.url()).await);
    }
    let reader = super::reader(setup, chain).through(&proxies.iter().collect::<Vec<_>>()).started().await;
    reader.read_for_a_score(wallet("nobody")).await;
    proxies.iter().for_each(|proxy| _ = proxy.take());
    assert_eq!(reader.read_for_a_score(wallet("stranger")).await.coverage(), Coverage::Complete);
    proxies.iter().map(Proxy::take).fold([0; 3], |[calls, requests, logs], taken| {
        let of_proxy: BTreeSet<u64> = taken.iter().map(|call| call.request).collect();
        [calls + taken.len(), requests + of_proxy.len(), logs + taken.iter().filter_map(Call::span).count()]
    })
}

#[test]
fn a_wallet_that_uses_no_market_costs_little_more_with_more_of_them() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let v3 = chain.aave_v3().await.unwrap();
        let native_feed = price_feed(&mut chain, 2_500.0);
        let v2 = aave_v2::deploy(&mut chain, USDC_PER_ETHER).await.unwrap();
        let comet = comet::deploy(&mut chain, &[(6, 0.9, [2.0, 3.0])]).await.unwrap().remove(0);
        let euler = euler::deploy(&mut chain, 2_500.0).await.unwrap();
        let fluid = fluid::deploy(&mut chain).await.unwrap();
        for _ in 0..20 {
            chain.mine().await.unwrap();
        }
        let mut setup = Setup {
            native_feed,
            wrapped: Some(v2.weth.asset),
            markets: vec![
                ("lenderA_v2", "Main", v2.pool),
                ("lenderA_v3", "Core", v3),
                ("lenderB_v3", "USD", comet.comet),
            ],
            evc: Some(euler.connector),
            lending_factory: Some(fluid.lending),
            ..Setup::default()
        };
        for endpoints in [1, 2] {
            let before = cost(&setup, &chain, endpoints).await;
            setup.markets.push(("fluid", "Fluid", fluid.factory));
            let with_fluid = cost(&setup, &chain, endpoints).await;
            setup.markets.push(("euler_v2", "Euler", euler.factory));
            let after = cost(&setup, &chain, endpoints).await;
            setup.markets.truncate(3);
            let costs = format!("{endpoints}: {before:?}, with Fluid {with_fluid:?}, with Euler too {after:?}");
            println!("{costs}");
            assert!(after.iter().zip(before).all(|(after, before)| after * 100 <= before * 115), "{costs}");
        }
    });
}
