//! Submissions for wallets without a score: they are not free, ask the chain once for each wallet, and are given back
//! all but the units of a score.

use alloy::primitives::Address;
use assay_tests::{
    proxy::Proxy,
    reputation::World,
    service::{Caller, Service},
};
use serde_json::json;

use super::ended;
use crate::run;

const METERED: &str = "assay_reputation_unscored";

fn serve(world: &World, rpc: &str, units: u64) -> (Service, Caller) {
    let key = format!(
        "[[access.keys]]\nname = \"unscored\"\nkey = \"{METERED}\"\nscopes = [\"read\", \"submit\"]\nunits = {units}\n"
    );
    let service = Service::start(&(world.config(rpc, "") + &key));
    let api = service.with_key(METERED);
    (service, api)
}

/// Submits for `wallet`, and returns the final error; `None` if the submission is refused for its units.
async fn unscored(api: &Caller, wallet: Address) -> Option<String> {
    let answer = api.post("/api/v2/agents/1/reputation", &json!({ "address": wallet })).await;
    if answer.status == 429 {
        assert_eq!(answer.json()["code"], "units_used_up");
        return None;
    }
    let status = ended(api, answer.expect(202)["status_url"].as_str().expect("a path")).await;
    assert_eq!((&status["status"], &status["scores"]), (&json!("failed"), &json!(null)), "{status}");
    Some(status["error"].as_str().expect("a message").to_owned())
}

#[test]
fn each_submission_of_a_wallet_without_a_score_costs_the_units_of_a_score() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let (_service, api) = serve(&world, &proxy.url, 13);
        let (one, two) = (Address::repeat_byte(0x91), Address::repeat_byte(0x92));
        let error = unscored(&api, one).await.expect("it is accepted");
        println!("a wallet without activity: {error}");
        // The same wallet again, and another one: three units are gone.
        for wallet in [one, two] {
            unscored(&api, wallet).await.expect("it is accepted");
        }
        let last = unscored(&api, Address::repeat_byte(0x93)).await.expect("ten of thirteen units are left");
        assert_eq!(last, error);
        assert_eq!(unscored(&api, Address::repeat_byte(0x94)).await, None);
        assert!(world.held().await.is_empty());
    });
}

#[test]
fn one_wallet_without_a_score_is_read_once_for_many_submissions() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let (service, api) = serve(&world, &proxy.url, 1_000);
        let wallet = Address::repeat_byte(0x91);
        let questions = |proxy: &Proxy| {
            let names = |call: &assay_tests::proxy::Call| call.params.to_string().contains(&"91".repeat(20));
            proxy.take().iter().filter(|call| names(call)).count()
        };
        unscored(&api, wallet).await.expect("it is accepted");
        let first = questions(&proxy);
        for _ in 0..10 {
            unscored(&api, wallet).await.expect("it is accepted");
        }
        let later = questions(&proxy);
        println!("a wallet without activity: {first} calls for the first submission, {later} for ten more");
        assert!(first > 0 && later <= 3 * first, "{first} {later}");
        drop(service);
    });
}

#[test]
fn what_cannot_be_submitted_asks_the_chain_nothing_of_the_wallet() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let (_service, api) = serve(&world, &proxy.url, 20);
        let wallet = Address::repeat_byte(0x91);
        for (agent, body) in [
            ("999999", json!({ "address": wallet })),
            ("2", json!({ "address": wallet })),
            ("1", json!({ "address": format!("{wallet:#x}0") })),
            ("1", json!({ "address": "nobody.eth" })),
            ("1", json!({ "address": wallet, "tags": [] })),
            ("1", json!({ "address": wallet, "tags": ["other"] })),
        ] {
            for _ in 0..5 {
                let refused = api.post(&format!("/api/v2/agents/{agent}/reputation"), &body).await;
                assert!([400, 404, 422].contains(&refused.status.as_u16()), "{agent} {body}: {}", refused.text);
            }
            let asked = proxy.take();
            let of_wallet = |call: &&assay_tests::proxy::Call| {
                call.method != "eth_call" && call.params.to_string().contains(&"91".repeat(20))
            };
            assert_eq!(asked.iter().filter(of_wallet).count(), 0, "{agent} {body}: {asked:?}");
        }
        // Nothing was charged: two submissions still fit.
        for wallet in [0x92, 0x93] {
            let body = json!({ "address": Address::repeat_byte(wallet) });
            api.post("/api/v2/agents/1/reputation", &body).await.expect(202);
        }
    });
}
