//! Credit that one wallet gives another: both answers say whose debt it is. Counted are the calls of a wallet with such
//! logs and of one without.

use alloy::primitives::{Address, U256};
use alloy::sol;
use assay_domain::{Coverage, Delegation, Position};
use assay_tests::devnet::actors::address as wallet;
use assay_tests::devnet::data_provider::DataProvider;
use assay_tests::lenders::config::{CHAIN, Setup, price_feed};
use assay_tests::lenders::{Small, aave_v2};
use assay_tests::proxy::{Call, Proxy};

use super::super::RUNTIME;
use super::aave_v2::{On as OnV2, USDC_PER_ETHER};
use super::forks::On as OnV3;
use super::{pool, position, reader};

sol! {
    interface DebtToken {
        function approveDelegation(address delegatee, uint256 amount) external;
    }
    interface PoolV3 {
        function borrow(address asset, uint256 amount, uint256 mode, uint16 referralCode, address onBehalfOf) external;
    }
}

fn dollars(whole: u64) -> U256 {
    U256::from(whole) * U256::from(1_000_000)
}

/// Ada lends ben 1,000 dollars of her credit, of which he draws 400.
async fn lent(chain: &mut Small, pool: Address, asset: Address, debt: Address) {
    let (ada, ben) = (wallet("ada"), wallet("ben"));
    let approve = DebtToken::approveDelegationCall { delegatee: ben, amount: dollars(1_000) };
    chain.call(ada, debt, &approve).await.unwrap();
    let (amount, mode) = (dollars(400), U256::from(2));
    let borrow = PoolV3::borrowCall { asset, amount, mode, referralCode: 0, onBehalfOf: ada };
    chain.call(ben, pool, &borrow).await.unwrap();
    for _ in 0..20 {
        chain.mine().await.unwrap();
    }
}

/// What both wallets are told, and what a third one is.
async fn compare(setup: &Setup, chain: &Small, market: Address, asset: Address) {
    let proxy = Proxy::start(chain.url()).await;
    let uncached = |config: &mut assay::config::Config| {
        (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = Default::default();
    };
    let reader = reader(setup, chain).through(&[&proxy]).with(uncached).started().await;
    let told = async |name: &str| {
        let chain = reader.read(wallet(name)).await.chains[0].clone();
        let history = pool(&chain, market);
        assert_eq!(history.coverage, Coverage::Complete, "{name}: {:?}", history.remark);
        position(&chain, market).cloned()
    };
    let (ada, ben) = (told("ada").await.unwrap(), told("ben").await.unwrap());
    let expected = |of: &Position| {
        let [Delegation { owner, delegate, token, allowance, drawn, .. }] = of.delegations.as_deref().unwrap() else {
            panic!("{of:?}");
        };
        assert_eq!((*owner, *delegate, *token), (wallet("ada"), wallet("ben"), asset));
        assert_eq!((*allowance, *drawn), (dollars(600), dollars(400)));
    };
    expected(&ada);
    expected(&ben);
    assert!(ada.borrowed_usd > 399.0 && ada.health_factor.is_some(), "the debt is the owner's: {ada:?}");
    assert_eq!((ben.borrowed_usd, ben.supplied_usd, ben.health_factor), (0.0, 0.0, None));

    // A repeated read: one more request only for those who gave or received credit.
    proxy.take();
    let count = async |name: &str| {
        told(name).await;
        proxy.take().iter().filter(|call: &&Call| call.method == "eth_call").count()
    };
    let (of_bank, of_ben) = (count("bank").await, count("ben").await);
    assert!(of_ben > of_bank, "{of_ben} calls with credit, {of_bank} without");
}

#[test]
fn credit_in_aave_v3_is_said_to_both() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, 2_000.0);
        let market = chain.aave_v3_market().await.unwrap();
        let mut on = OnV3(&mut chain, &market);
        on.supply("bank", "USDC", 500_000).await.unwrap();
        on.supply("ada", "WBTC", 1).await.unwrap();
        let asset = market.token("USDC").unwrap().address;
        let ask = DataProvider::getReserveTokensAddressesCall { asset };
        let debt = chain.view(market.data_provider, &ask, chain.head).await.unwrap().variableDebt;
        lent(&mut chain, market.pool, asset, debt).await;
        let setup = Setup { native_feed, markets: vec![("lenderA_v3", "Core", market.pool)], ..Setup::default() };
        compare(&setup, &chain, market.pool, asset).await;
    });
}

#[test]
fn credit_in_aave_v2_is_said_to_both() {
    RUNTIME.block_on(async {
        let mut chain = Small::start(CHAIN).await.unwrap();
        let native_feed = price_feed(&mut chain, 2_500.0);
        let market = aave_v2::deploy(&mut chain, USDC_PER_ETHER).await.unwrap();
        let mut on = OnV2(&mut chain, &market);
        on.deposit("bank", "bank", market.usdc, 100_000).await.unwrap();
        on.deposit("ada", "ada", market.weth, 10).await.unwrap();
        let debt = market.debt_token(&chain, market.usdc).await.unwrap();
        lent(&mut chain, market.pool, market.usdc.asset, debt).await;
        let setup = Setup {
            native_feed,
            wrapped: Some(market.weth.asset),
            markets: vec![("lenderA_v2", "Main", market.pool)],
            ..Setup::default()
        };
        compare(&setup, &chain, market.pool, market.usdc.asset).await;
    });
}
