//! Aave v2, Aave v3 and Comet on one chain: a continued history costs two log queries.

use std::time::Duration;

use alloy::primitives::U256;
use assay_domain::Coverage;
use assay_tests::devnet::actors::address as wallet;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::{Small, aave_v2, comet};
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
