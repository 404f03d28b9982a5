//! Names by ENS's Universal Resolver: a stub of it with the ABI of the standard, beside the real old registry.

use alloy::{
    primitives::{Address, Bytes, hex},
    sol,
    sol_types::{SolError, SolValue},
};
use assay_tests::{
    devnet::actors::address as wallet,
    people::{self, Universal, gateway::Gateway},
    proxy::Proxy,
};
use serde_json::{Value, json};

use super::{World, run};

/// Where ENS has the contract, on mainnet and on its test networks.
const STANDARD: &str = "0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe";
/// A batch gateway of the client itself (ENSIP-21), and one that is never asked.
const BATCHES: [&str; 2] = ["https://batches.example/", "x-batch-gateway:true"];

sol! {
    error ResolverNotFound(bytes name);
    error ResolverNotContract(bytes name, address resolver);
    error UnsupportedResolverProfile(bytes4 selector);
    error ResolverError(bytes errorData);
    error ReverseAddressMismatch(string primary, bytes primaryAddress);
    error DNSDecodingFailed(bytes dns);
    error HttpError(uint16 status, string message);
    error InvalidBatchGatewayResponse();
    error NewError(uint256 number);
}

impl World {
    async fn universal(&mut self, gateways: &[&str]) -> Universal {
        let gateways: Vec<String> = gateways.iter().map(|url| (*url).to_owned()).collect();
        Universal::deploy(&mut self.chain, self.ens.registry, &gateways).await.expect("the stub is deployed")
    }

    /// Puts a proxy (EIP-1167) of `resolver` at the standard address, where ENS has one too.
    async fn at_its_standard_address(&self, resolver: Address) {
        let code = format!("0x363d3d373d3d3d363d73{}5af43d82803e903d91602b57fd5bf3", hex::encode(resolver));
        let _: Value = self.chain.rpc.request("anvil_setCode", json!([STANDARD, code])).await.expect("code is set");
    }
}

fn keys(at: impl std::fmt::Display) -> String {
    format!(", universal_resolver = \"{at}\"")
}

#[test]
fn it_decides_where_it_is_and_the_old_registry_only_where_it_is_not() {
    run(async {
        let mut world = World::start().await;
        let universal = world.universal(&BATCHES).await;
        let (ada, emil) = (wallet("ada").to_checksum(None), wallet("emil").to_checksum(None));
        // `ada.eth` moved, to another address; `🅰🅱.eth` only stands in the old registry.
        let moved = people::stub(&mut world.chain, "AddressStub", wallet("emil").abi_encode()).await.expect("a stub");
        universal.register(&mut world.chain, "ada.eth", moved);
        world.ens.name(&mut world.chain, "expired.eth", wallet("ada"));
        universal.fail(&mut world.chain, "expired.eth", ResolverNotFound { name: Bytes::new() }.abi_encode());
        world.chain.mine().await.expect("names are registered");
        let path = |name: &str| format!("/api/v2/score/address/{name}");
        let source = async |service: &assay_tests::service::Service| {
            service.keyed().get("/api/v2/admin/status").await.ok()["chains"][0]["names"].clone()
        };

        // Nothing at the standard address: the old registry, and the status says so.
        let service = world.serve(world.chain.url(), "");
        assert_eq!(source(&service).await, Value::Null);
        assert_eq!(service.keyed().get(&path("ada.eth")).await.ok()["address"], json!(ada));
        assert_eq!(source(&service).await, "registry");

        // By default it is at its standard address, and no call names the old registry from outside.
        world.at_its_standard_address(universal.resolver).await;
        let proxy = Proxy::start(world.chain.url()).await;
        let service = world.serve(&proxy.url, "");
        for (name, owner) in [("ada.eth", &emil), ("AdA.ETH", &emil), ("🅰️🅱.eth", &emil)] {
            assert_eq!(service.keyed().get(&path(name)).await.ok()["address"], json!(owner), "{name}");
        }
        for name in ["expired.eth", "nobody.eth", "zero.eth", "sub.ada.eth"] {
            service.keyed().get(&path(name)).await.expect(404);
        }
        assert_eq!(source(&service).await, "universal_resolver");
        let registry = world.ens.registry.to_string().to_lowercase();
        let resolve = |call: &assay_tests::proxy::Call| {
            call.method == "eth_call"
                && call.params[0]["to"].as_str() == Some(registry.as_str())
                && call.params[0]["data"]
                    .as_str()
                    .is_some_and(|data| data.contains(&hex::encode(super::ens::node("ada.eth"))))
        };
        assert_eq!(proxy.take().iter().filter(|call| resolve(call)).count(), 0);

        // At another address, and not at all.
        for (at, owner) in [(universal.resolver.to_string(), &emil), ("none".to_owned(), &ada)] {
            let service = world.serve_with(world.chain.url(), &keys(&at), "");
            assert_eq!(service.keyed().get(&path("ada.eth")).await.ok()["address"], json!(owner), "{at}");
            assert_eq!(source(&service).await, if at == "none" { "registry" } else { "universal_resolver" });
        }
    });
}

/// Each error of the Universal Resolver: a name that does not exist is 404, and one that could not be read 502.
#[test]
fn each_of_its_errors_is_an_answer_or_none() {
    run(async {
        let mut world = World::start().await;
        let universal = world.universal(&BATCHES).await;
        let text = || "quota exceeded".to_owned();
        let http = |status| HttpError { status, message: text() }.abi_encode();
        let nothing = Bytes::new;
        let revert = alloy::sol_types::Revert::from(text()).abi_encode();
        let cases = [
            ("a", ResolverNotFound { name: nothing() }.abi_encode(), 404),
            ("b", ResolverNotContract { name: nothing(), resolver: wallet("ada") }.abi_encode(), 404),
            ("c", UnsupportedResolverProfile { selector: [1; 4].into() }.abi_encode(), 404),
            ("d", ResolverError { errorData: revert.clone().into() }.abi_encode(), 404),
            ("e", ResolverError { errorData: nothing() }.abi_encode(), 404),
            ("f", ReverseAddressMismatch { primary: text(), primaryAddress: nothing() }.abi_encode(), 404),
            ("g", DNSDecodingFailed { dns: nothing() }.abi_encode(), 404),
            ("h", http(404), 404),
            ("i", http(429), 502),
            ("j", http(503), 502),
            ("k", http(0), 502),
            ("l", revert, 502),
            ("m", InvalidBatchGatewayResponse {}.abi_encode(), 502),
            ("n", NewError { number: alloy::primitives::U256::from(7) }.abi_encode(), 502),
        ];
        for (label, data, _) in &cases {
            universal.fail(&mut world.chain, &format!("{label}.eth"), data.clone());
        }
        world.chain.mine().await.expect("errors are set");
        let service = world.serve_with(world.chain.url(), &keys(universal.resolver), "");
        for (label, data, status) in cases {
            let answer = service.keyed().get(&format!("/api/v2/report/address/{label}.eth")).await;
            let said = answer.expect(status);
            assert_eq!(said["code"] == "name_unreadable", status == 502, "{label}: {said} {}", hex::encode(&data));
        }
    });
}

#[test]
fn it_reads_names_off_the_chain_through_batches_and_directly() {
    run(async {
        let mut world = World::start().await;
        let owner = wallet("emil");
        let inward = Gateway::start(owner, String::new()).await;
        let gateway = Gateway::start(owner, format!("{}/stolen", inward.url)).await;
        let at = |path: &str| format!("{}{path}", gateway.url);
        let none = Address::ZERO;
        let allow = format!("allow = [\"{}\"]", gateway.url.trim_start_matches("http://"));
        // For each name: its gateways, the sender that it declares, the number of its rounds, and the expected status.
        let cases = [
            ("get.eth", vec![at("/{sender}/{data}.json")], none, 1, 200),
            ("post.eth", vec![at("/post/{sender}")], none, 1, 200),
            ("second.eth", vec![at("/error/500"), at("/{data}")], none, 1, 200),
            ("upper.eth", vec![at("/upper/{data}")], none, 1, 200),
            ("four.eth", vec![at("/{data}")], none, 4, 200),
            ("five.eth", vec![at("/{data}")], none, 5, 404),
            ("foreign.eth", vec![at("/{data}")], wallet("ada"), 1, 404),
            ("no.eth", vec![at("/error/404/{data}"), at("/{data}")], none, 1, 404),
            ("bad.eth", vec![at("/error/400/{data}")], none, 1, 404),
            ("inward.eth", vec![at("/inward/{data}")], none, 1, 404),
            ("file.eth", vec!["file:///etc/passwd?{data}".to_owned()], none, 1, 404),
            ("broken.eth", vec![at("/error/500/{data}")], none, 1, 502),
            ("later.eth", vec![at("/error/429/{data}")], none, 1, 502),
            ("page.eth", vec![at("/page/{data}")], none, 1, 502),
            ("message.eth", vec![at("/message/{data}")], none, 1, 502),
        ];
        for (name, urls, sender, rounds, _) in &cases {
            let resolver = people::offchain(&mut world.chain, urls, *sender, *rounds).await.expect("a resolver");
            world.ens.register(&mut world.chain, name, resolver);
            world.chain.mine().await.expect("a name is registered");
        }
        let never = people::offchain(&mut world.chain, &[at("/never/{data}")], none, 1).await.expect("a resolver");
        world.ens.register(&mut world.chain, "never.eth", never);
        world.chain.mine().await.expect("a name is registered");

        for gateways in [&BATCHES[..], &[]] {
            let universal = world.universal(gateways).await;
            let serve = |outbound: &str| {
                world.serve_with(world.chain.url(), &keys(universal.resolver), &format!("[outbound]\n{outbound}\n"))
            };
            let service = serve(&format!("{allow}\ntimeout_ms = 20000"));
            for (name, _, _, rounds, status) in &cases {
                gateway.take();
                let answer = service.keyed().get(&format!("/api/v2/report/address/{name}")).await.expect(*status);
                let asked = gateway.take();
                match *status {
                    200 => {
                        assert_eq!(answer["address"], json!(owner.to_checksum(None)), "{name}");
                        assert_eq!(asked.len() as u64, if *name == "second.eth" { 2 } else { *rounds }, "{name}");
                    }
                    502 => assert_eq!(answer["code"], "name_unreadable", "{name}"),
                    _ => assert_eq!(answer["code"], Value::Null, "{name}"),
                }
            }
            assert_eq!(inward.connections(), 0);
            // A gateway that does not answer in time.
            let answer =
                serve(&format!("{allow}\ntimeout_ms = 300")).keyed().get("/api/v2/report/address/never.eth").await;
            assert_eq!(answer.expect(502)["code"], "name_unreadable");

            // By default no private address is contacted.
            let before = gateway.connections();
            let answer = serve("").keyed().get("/api/v2/report/address/get.eth").await.expect(404);
            assert_eq!((&answer["code"], gateway.connections()), (&Value::Null, before));
        }
    });
}
