//! Submissions that are under way when the account or the registries of the service are changed.

use alloy::{
    primitives::{Address, U256},
    signers::local::PrivateKeySigner,
};
use assay_tests::{
    payment::{PRICE, Till},
    reputation::World,
    service::Service,
};
use serde_json::json;

use super::{confirmed, ended, said, submit, waiting};
use crate::{
    run,
    x402::{pay, pay_until_settled},
};

/// The configuration with the key of another account, which can pay for gas.
async fn with_another_account(world: &World, config: &str) -> String {
    let other = PrivateKeySigner::random();
    world.rpc("anvil_setBalance", json!([other.address(), U256::from(10).pow(U256::from(20))])).await;
    config.replace(&world.signer.to_bytes().to_string(), &other.to_bytes().to_string())
}

#[test]
fn another_account_starts_with_its_own_nonces() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        // The transactions of the first account, with nonces 1 to 3, take all that may be in progress.
        let config = world.config(world.chain.url(), "max_transactions = 3");
        let service = Service::start(&config);
        let old = submit(&service.keyed(), 1).await;
        waiting(&world, 3).await;
        let dir = service.kill();
        world.rpc("anvil_dropAllTransactions", json!([])).await;
        let service = Service::start_in(dir, &with_another_account(&world, &config).await, &[]);
        let api = service.keyed();
        said(&api, &old, "account of this service was changed").await;
        world.mining(true).await;
        for n in 2..4 {
            confirmed(&api, &submit(&api, n).await).await;
        }
        assert_eq!(world.held().await.len(), 6);
    });
}

#[test]
fn what_the_account_sent_to_other_registries_is_followed_or_taken_back() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        let config = world.config(world.chain.url(), "");
        let other = Address::repeat_byte(0x72);
        let code = world.rpc("eth_getCode", json!([world.reputation, "latest"])).await;
        world.rpc("anvil_setCode", json!([other, code])).await;
        let moved = config.replace(&world.reputation.to_string(), &other.to_string());
        for (is_mined, status) in [(true, "confirmed"), (false, "failed")] {
            let service = Service::start(&config);
            let url = submit(&service.keyed(), 1).await;
            waiting(&world, 3).await;
            let dir = service.kill();
            if is_mined {
                world.rpc("evm_mine", json!([])).await;
                world.mining(true).await;
            }
            let service = Service::start_in(dir, &moved, &[]);
            if !is_mined {
                super::cancelled(&world, 3).await;
                world.mining(true).await;
            }
            let ended = ended(&service.keyed(), &url).await;
            println!("sent to the registries of before, mined meanwhile: {is_mined}: {ended}");
            assert_eq!(ended["status"], status, "{ended}");
            assert_eq!(world.held().await.len(), 3, "only what was mined");
            world.mining(false).await;
        }
    });
}

#[test]
fn a_payment_that_another_account_sent_is_found_on_the_chain() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 500");
        let service = Service::start(&config);
        till.world.mining(false).await;
        let header = till.order().header();
        pay(&service.anonymous(), &header, 1).await.expect(503);
        waiting(&till.world, 1).await;
        let dir = service.kill();
        let service = Service::start_in(dir, &with_another_account(&till.world, &config).await, &[]);
        till.world.mining(true).await;
        let api = service.anonymous();
        let paid = pay_until_settled(&api, &header, 1).await.expect(202);
        confirmed(&api, paid["status_url"].as_str().expect("a path")).await;
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
    });
}
