//! The queue of payments while the budget for gas is in use.

use alloy::{primitives::U256, signers::local::PrivateKeySigner};
use assay_tests::{
    payment::{PRICE, Till, now},
    service::{Answer, Caller, Service},
};

use super::{drained::order, pay, pay_until_settled, with_gas};
use crate::{reputation::waiting, run};

/// The place of a payment in the queue, by this answer.
fn place(answer: &Answer) -> usize {
    let body = answer.expect(503);
    assert_eq!(body["code"], "settlement_queued", "{body}");
    let detail = body["detail"].as_str().expect("a sentence");
    let number = detail.split("is number ").nth(1).and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{detail}"))
}

/// Presents a payment until it is in the queue.
async fn queue(api: &Caller, header: &str, n: usize) -> usize {
    loop {
        let answer = pay(api, header, n).await;
        if answer.expect(503)["code"] != "settlement_pending" {
            return place(&answer);
        }
    }
}

#[test]
fn a_payer_whose_signature_expires_in_the_queue_signs_again_and_keeps_its_place() {
    run(async {
        let till = Till::start().await;
        let config = till.config(till.world.chain.url(), "settle_ms = 500");
        // One transfer fits at a time.
        let service = Service::start(&with_gas(&config, "accounts_usd = 0.015"));
        let api = service.anonymous();
        let payers: Vec<_> = (0..3).map(|_| PrivateKeySigner::random()).collect();
        for payer in &payers {
            till.mint(payer.address(), PRICE).await;
        }
        till.world.mining(false).await;
        let orders: Vec<_> = payers.iter().map(|payer| order(&till, payer)).collect();
        let first = orders[0].header();
        assert_eq!(pay(&api, &first, 0).await.expect(503)["code"], "settlement_pending");
        waiting(&till.world, 1).await;
        // A signature must be valid for 20 more seconds, so it is made only when it is needed.
        let mut short = orders[1].clone();
        short.authorization.valid_before = U256::from(now() + 24);
        let headers = [first, short.header(), orders[2].header()];
        assert_eq!((queue(&api, &headers[1], 1).await, queue(&api, &headers[2], 2).await), (1, 2));
        // A second signature counts for the first as long as that one holds.
        let mut again = order(&till, &payers[1]);
        assert_eq!(queue(&api, &again.header(), 1).await, 1);
        let expired = loop {
            let answer = pay(&api, &headers[1], 1).await;
            if answer.status != 503 {
                break answer.expect(402);
            }
            assert_eq!(place(&answer), 1);
        };
        println!("a signature that expired in the queue: {expired}");
        assert_eq!(expired["error"], "invalid_exact_evm_payload_authorization_valid_before");
        again.authorization.nonce = order(&till, &payers[1]).authorization.nonce;
        assert_eq!((queue(&api, &again.header(), 1).await, queue(&api, &headers[2], 2).await), (1, 2));
        till.world.mining(true).await;
        for (n, header) in [&headers[0], &again.header(), &headers[2]].into_iter().enumerate() {
            pay_until_settled(&api, header, n).await.expect(202);
        }
        let payments = till.transfers().await.len();
        assert_eq!((payments, till.balance().await), (3, 3 * PRICE));
    });
}
