//! The summary of an agent's feedback: the service's own counts whole, and a registry may answer anything.

use alloy::{
    primitives::{Address, Bytes, U256},
    sol,
    sol_types::{SolCall, SolValue},
};
use assay_tests::{
    proxy::{Proxy, Reply},
    reputation::World,
    service::Service,
};
use serde_json::json;

use crate::run;

sol! {
    #![sol(all_derives)]
    function giveFeedback(uint256 agentId, int128 value, uint8 valueDecimals, string tag1, string tag2, string endpoint,
        string feedbackURI, bytes32 feedbackHash) external;
    function getClients(uint256 agentId) external view returns (address[] clients);
    function getLastIndex(uint256 agentId, address client) external view returns (uint64 index);
}

#[test]
fn the_feedback_of_the_service_itself_counts_whole() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        for value in 0..25 {
            let call = giveFeedbackCall {
                agentId: U256::from(1),
                value,
                valueDecimals: 0,
                tag1: "creditScore".into(),
                tag2: "1.0".into(),
                endpoint: String::new(),
                feedbackURI: String::new(),
                feedbackHash: Default::default(),
            };
            let data = Bytes::from(call.abi_encode());
            let sent = json!({ "from": world.signer.address(), "to": world.reputation, "data": data, "gas": "0x80000",
                "gasPrice": "0x0" });
            world.rpc("eth_sendTransaction", json!([sent])).await;
        }
        world.rpc("evm_mine", json!([])).await;
        assert_eq!(world.held().await.len(), 25);
        let service = Service::start(&world.config(world.chain.url(), ""));
        let body = service.keyed().get("/api/v2/agents/1/reputation").await.ok();
        println!("25 feedbacks of the service itself: {body}");
        assert_eq!((&body["summaries"][0]["count"], &body["complete"]), (&json!(25), &json!(true)), "{body}");
    });
}

#[test]
fn a_registry_that_counts_to_the_end_of_numbers_is_read_as_incomplete() {
    run(async {
        let world = World::start().await;
        let proxy = Proxy::start(world.chain.url()).await;
        proxy.rule(|call| {
            let data = call.params[0]["data"].as_str().or(call.params[0]["input"].as_str()).unwrap_or_default();
            let asks =
                |selector: [u8; 4]| call.method == "eth_call" && data.starts_with(&Bytes::from(selector).to_string());
            if asks(getClientsCall::SELECTOR) {
                let clients: Vec<Address> = (1..=60).map(Address::repeat_byte).collect();
                Reply::Result(json!(Bytes::from(clients.abi_encode())))
            } else if asks(getLastIndexCall::SELECTOR) {
                Reply::Result(json!(Bytes::from(u64::MAX.abi_encode())))
            } else {
                Reply::Pass
            }
        });
        let service = Service::start(&world.config(&proxy.url, ""));
        let answer = service.keyed().get("/api/v2/agents/1/reputation").await;
        println!("a registry that answers 2^64-1: {} {}", answer.status, answer.text);
        assert_eq!(answer.ok()["complete"], json!(false));
    });
}
