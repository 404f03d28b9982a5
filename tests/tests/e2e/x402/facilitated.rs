//! Payments that a facilitator settles, also one that gives wrong answers.

use assay_tests::{
    facilitator::{Facilitator, Manner},
    payment::{PRICE, Till, npm_client},
    service::Service,
    until::until,
};
use futures::future::join_all;
use serde_json::json;

use super::{PATH, clients::paid, pay, pay_until_settled, receipt, serve, try_pay};
use crate::{
    reputation::{confirmed, subject},
    run,
};

fn keys(facilitator: &Facilitator) -> String {
    format!("facilitator = \"{}\"\nfacilitator_timeout_ms = 5_000\nsettle_ms = 8_000", facilitator.url)
}

#[test]
fn a_facilitator_settles_for_the_public_client() {
    run(async {
        let till = Till::start().await;
        let facilitator = Facilitator::start(&till.world.chain.rpc).await;
        // Fifty callers at once keep a slow machine busy.
        let patient = keys(&facilitator).replace("timeout_ms = 5_000", "timeout_ms = 10_000");
        let (service, api) = serve(&till, &patient).await;
        let said =
            npm_client(2, &format!("{}{PATH}", service.base()), &till.payer, &json!({ "address": subject(1) })).await;
        paid(&till, &said, "eip155:8453", 0).await;
        confirmed(&api, said["body"]["status_url"].as_str().expect("a path")).await;
        let header = till.order().header();
        let answers = join_all((0..50).map(|_| pay_until_settled(&api, &header, 2))).await;
        assert!(answers.iter().all(|answer| answer.expect(202)["submission_id"] == answers[0].json()["submission_id"]));
        assert_eq!((till.balance().await, facilitator.asked("settle")), (2 * PRICE, 2));
        assert!(facilitator.asked("verify") >= 2);
    });
}

#[test]
fn whatever_a_facilitator_says_the_chain_decides() {
    run(async {
        let till = Till::start().await;
        let facilitator = Facilitator::start(&till.world.chain.rpc).await;
        let (_service, api) = serve(&till, &keys(&facilitator)).await;
        let mut arrived = 0;
        // The facilitator settles, and its response is lost, invalid or a refusal.
        for (n, manner) in [Manner::Mute, Manner::Garbled, Manner::Denying].into_iter().enumerate() {
            facilitator.be(manner);
            let header = till.order().header();
            let answer = pay_until_settled(&api, &header, n).await;
            // After a false refusal the transfer may not be mined yet: when the payment is presented again, the server
            // finds it.
            let answer = if answer.status == 402 { pay_until_settled(&api, &header, n).await } else { answer };
            answer.expect(202);
            arrived += 1;
            assert_eq!(
                (receipt(&answer)["success"].as_bool(), till.transfers().await.len()),
                (Some(true), arrived),
                "{manner:?}"
            );
        }
        // The facilitator does not settle at first. The server accepts nothing until it settles this same payment.
        for (n, manner) in [Manner::Stalled, Manner::Broken, Manner::Lying].into_iter().enumerate() {
            facilitator.be(manner);
            let (header, asked) = (till.order().header(), facilitator.asked("settle"));
            let presented = tokio::spawn({
                let (api, header) = (api.clone(), header.clone());
                async move { pay_until_settled(&api, &header, 10 + n).await }
            });
            until(async || facilitator.asked("settle"), |now| *now != asked).await;
            assert_eq!(till.transfers().await.len(), arrived, "{manner:?}");
            facilitator.be(Manner::Well);
            let answer = presented.await.expect("the caller is told");
            answer.expect(202);
            arrived += 1;
            assert_eq!(
                (till.transfers().await.len(), till.balance().await),
                (arrived, arrived as u64 * PRICE),
                "{manner:?}"
            );
        }
        facilitator.be(Manner::Refusing);
        let header = till.order().header();
        let refused = pay(&api, &header, 20).await;
        assert_eq!(refused.expect(402)["error"], "insufficient_funds");
        assert_eq!(receipt(&refused)["success"], false);
        // The payment was not settled, so it can be settled now.
        facilitator.be(Manner::Well);
        pay_until_settled(&api, &header, 20).await.expect(202);
        assert_eq!(till.transfers().await.len(), arrived + 1);
    });
}

#[test]
fn a_payment_that_was_refused_is_not_settled_beside_another_for_the_same_request() {
    run(async {
        let till = Till::start().await;
        let facilitator = Facilitator::start(&till.world.chain.rpc).await;
        let (_service, api) = serve(&till, &keys(&facilitator)).await;
        facilitator.be(Manner::Refusing);
        let refused = till.order().header();
        pay(&api, &refused, 1).await.expect(402);
        facilitator.be(Manner::Well);
        let paid = pay_until_settled(&api, &till.order().header(), 1).await.expect(202);
        let again = pay_until_settled(&api, &refused, 1).await.expect(202);
        assert_eq!(again["submission_id"], paid["submission_id"]);
        assert_eq!((till.balance().await, till.transfers().await.len()), (PRICE, 1));
    });
}

#[test]
fn killed_while_a_facilitator_settles_it_is_one_transfer_and_one_submission() {
    run(async {
        let till = Till::start().await;
        let facilitator = Facilitator::start(&till.world.chain.rpc).await;
        let config = till.config(till.world.chain.url(), &keys(&facilitator));
        let mut service = Service::start(&config);
        for (n, manner) in [Manner::Stalled, Manner::Mute].into_iter().enumerate() {
            facilitator.be(manner);
            let (api, header, asked) = (service.anonymous(), till.order().header(), facilitator.asked("settle"));
            let presented = tokio::spawn({
                let (api, header) = (api.clone(), header.clone());
                async move { try_pay(&api, &header, n).await }
            });
            let settles = usize::from(manner == Manner::Mute);
            let now = async || (facilitator.asked("settle"), till.transfers().await.len());
            until(now, |(now, transfers)| *now != asked && *transfers >= n + settles).await;
            let dir = service.kill();
            // The client's answer, if there is one, is lost with the process.
            drop(presented.await);
            facilitator.be(Manner::Well);
            service = Service::start_in(dir, &config, &[]);
            let api = service.anonymous();
            pay_until_settled(&api, &header, n).await.expect(202);
            assert_eq!(
                (till.transfers().await.len(), till.balance().await),
                (n + 1, (n as u64 + 1) * PRICE),
                "{manner:?}"
            );
        }
    });
}

#[test]
fn a_facilitator_that_is_not_there_costs_nothing() {
    run(async {
        let till = Till::start().await;
        let (_service, api) = serve(&till, "facilitator = \"http://127.0.0.1:9/s3cret\"").await;
        let answer = pay(&api, &till.order().header(), 1).await;
        let body = answer.expect(502);
        assert_eq!(body["code"], "payment_not_checked", "{body}");
        assert!(!answer.text.contains("s3cret"));
        assert_eq!(till.balance().await, 0);
    });
}
