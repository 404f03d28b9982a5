//! The feedback that the Reputation Registry holds of an agent.

use alloy::primitives::{B256, U256};
use assay_tests::{agents::Reputation, devnet::actors::address as wallet, service::Service};
use serde_json::json;

use super::World;
use crate::run;

#[test]
fn reputation_is_summed_up_by_tag() {
    run(async {
        let mut world = World::start().await;
        world.register("ada", &[String::new(), String::new(), String::new()]).await;
        let reputation = world.agents.reputation;
        let give = |value: i128, decimals: u8, tag: &str| Reputation::giveFeedbackCall {
            agentId: U256::from(1),
            value,
            valueDecimals: decimals,
            tag1: tag.to_owned(),
            tag2: "1.0".to_owned(),
            endpoint: String::new(),
            feedbackURI: "ipfs://bafy".to_owned(),
            feedbackHash: B256::ZERO,
        };
        for (client, value, decimals, tag) in [
            ("emil", 740, 0, "creditScore"),
            ("emil", 7_505, 1, "creditScore"),
            ("otto", 300, 0, "creditScore"),
            ("otto", 100, 0, "creditScore"),
            ("emil", -5, 0, "starred"),
        ] {
            world.chain.queue(wallet(client), reputation, &give(value, decimals, tag));
        }
        world.chain.queue(
            wallet("otto"),
            reputation,
            &Reputation::revokeFeedbackCall { agentId: U256::from(1), index: 2 },
        );
        // One client that gives feedback repeatedly.
        for value in 0..25 {
            world.chain.queue(wallet("nina"), reputation, &give(value, 0, "uptime"));
        }
        world.chain.mine().await.expect("feedback");
        let service = Service::start(&world.config(world.chain.url(), 1_800_000, ""));
        let api = service.keyed();
        let body = api.get("/api/v2/agents/1/reputation").await.ok();
        let mean = (740.0 + 750.5 + 300.0) / 3.0;
        let read = body["summaries"][0]["mean"].as_f64().expect("a mean");
        assert!((read - mean).abs() < 1e-9, "{read}");
        assert_eq!(
            body,
            json!({
                "agent_id": 1,
                "summaries": [
                    { "tag": "creditScore", "count": 3, "clients": 2, "mean": read, "min": 300.0, "max": 750.5 },
                    { "tag": "starred", "count": 1, "clients": 1, "mean": -5.0, "min": -5.0, "max": -5.0 },
                    { "tag": "uptime", "count": 20, "clients": 1, "mean": 14.5, "min": 5.0, "max": 24.0 },
                ],
                "total_clients": 3, "clients_read": 3, "complete": false
            })
        );
        let none = api.get("/api/v2/agents/2/reputation").await.ok();
        assert_eq!(
            none,
            json!({ "agent_id": 2, "summaries": [], "total_clients": 0, "clients_read": 0, "complete": true })
        );
    });
}
