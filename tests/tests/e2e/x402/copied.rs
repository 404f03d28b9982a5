//! Transfers that somebody takes out of the pool and sends first, in ways that hide whose they are: through a contract,
//! and in a block that does not stay.

use alloy::primitives::{Address, Bytes, hex};
use assay_tests::{
    payment::{Order, PRICE, Till, USDC},
    service::Service,
};
use serde_json::json;

use super::pay_until_settled;
use crate::{
    reputation::{ahead, confirmed, waiting},
    run,
};

/// Code that calls the token with its own input.
fn forwards() -> Bytes {
    let (before, after) = (hex!("365f5f375f5f365f5f73"), hex!("5af100"));
    [&before[..], USDC.as_slice(), &after[..]].concat().into()
}

/// Takes `order` out of the pool and sends it to `to` ahead of everything.
async fn copy(till: &Till, order: &Order, to: Address) {
    ahead(&till.world, Address::repeat_byte(0x66), to, &order.call()).await;
}

#[test]
fn a_copy_through_a_contract_is_the_payment() {
    run(async {
        let till = Till::start().await;
        let forwarder = Address::repeat_byte(0x67);
        till.world.rpc("anvil_setCode", json!([forwarder, forwards()])).await;
        let service = Service::start(&till.config(till.world.chain.url(), "settle_ms = 29_000"));
        let api = service.anonymous();
        let order = till.order();
        till.world.mining(false).await;
        let header = order.header();
        let copying = async {
            waiting(&till.world, 1).await;
            copy(&till, &order, forwarder).await;
            till.world.mining(true).await;
        };
        let (answer, ()) = tokio::join!(pay_until_settled(&api, &header, 1), copying);
        confirmed(&api, answer.expect(202)["status_url"].as_str().expect("a path")).await;
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
        // The receipt of the copy is not one of a call of the token.
        let transfer = till.transfers().await.remove(0);
        let sent = till.world.rpc("eth_getTransactionByHash", json!([transfer])).await;
        assert_eq!(sent["to"].as_str().and_then(|to| to.parse().ok()), Some(forwarder), "{sent}");
    });
}

#[test]
fn a_copy_in_a_block_that_does_not_stay_buys_one_item() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 29_000");
        let service = Service::start(&config.replace("confirmations = 1", "confirmations = 3"));
        let api = service.anonymous();
        let order = till.order();
        till.world.mining(false).await;
        let header = order.header();
        let copying = async {
            waiting(&till.world, 1).await;
            let before = till.world.rpc("evm_snapshot", json!([])).await;
            copy(&till, &order, USDC).await;
            till.world.rpc("evm_mine", json!([])).await;
            assert_eq!(till.transfers().await.len(), 1);
            // The block with the copy, and with our transfer that it made fail, is replaced by an empty one.
            till.world.rpc("evm_revert", json!([before])).await;
            till.world.rpc("evm_mine", json!([])).await;
            assert_eq!(till.transfers().await.len(), 0);
            till.world.mining(true).await;
        };
        let (answer, ()) = tokio::join!(pay_until_settled(&api, &header, 1), copying);
        confirmed(&api, answer.expect(202)["status_url"].as_str().expect("a path")).await;
        let again = pay_until_settled(&api, &header, 1).await.expect(202);
        confirmed(&api, again["status_url"].as_str().expect("a path")).await;
        assert_eq!((till.balance().await, till.transfers().await.len(), till.world.held().await.len()), (PRICE, 1, 1));
    });
}
