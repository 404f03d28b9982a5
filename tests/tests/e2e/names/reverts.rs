//! Endpoints that leave the data of a revert out, or have it in the message. A name off the chain begins with a revert,
//! and must not seem to have no address.

use alloy::{primitives::Address, sol_types::SolValue};
use assay_tests::{
    devnet::actors::address as wallet,
    people::{self, Universal, gateway::Gateway},
    proxy::{Proxy, Reply},
    service::Service,
};
use serde_json::{Value, json};

use super::{NOT_FOUND, World, run};

/// What an endpoint does to a revert.
type Form = (&'static str, fn(&mut Value));

/// The data is gone.
const WITHOUT: [Form; 4] = [
    ("no data", |answer| {
        if let Some(error) = answer["error"].as_object_mut() {
            error.remove("data");
        }
    }),
    ("null", |answer| edit(answer, |error, _| error["data"] = Value::Null)),
    ("empty", |answer| edit(answer, |error, _| error["data"] = json!("0x"))),
    ("another code", |answer| {
        edit(answer, |error, _| *error = json!({ "code": -32000, "message": "execution reverted" }))
    }),
];
/// The data is somewhere else.
const ELSEWHERE: [Form; 5] = [
    ("after a colon", |answer| {
        edit(answer, |error, data| *error = json!({ "code": 3, "message": format!("execution reverted: {data}") }))
    }),
    ("after words", |answer| {
        edit(answer, |error, data| {
            let message = format!("Error: VM Exception while processing transaction: reverted with data: \"{data}\"");
            *error = json!({ "code": -32603, "message": message, "data": null });
        })
    }),
    ("as Parity", |answer| {
        edit(answer, |error, data| {
            *error = json!({ "code": -32015, "message": "VM execution error.", "data": format!("Reverted {data}") });
        })
    }),
    ("nested", |answer| {
        edit(answer, |error, data| {
            let nested = json!({ "txHash": format!("0x{}", "ab".repeat(32)), "data": data });
            *error = json!({ "code": -32603, "message": "reverted", "data": nested });
        })
    }),
    ("in upper case", |answer| {
        edit(answer, |error, data| error["data"] = json!(data.to_uppercase().replacen("0X", "0x", 1)))
    }),
];

/// Changes the error of a revert with data.
fn edit(answer: &mut Value, change: impl Fn(&mut Value, &str)) {
    let Some(data) = answer["error"]["data"].as_str().map(str::to_owned) else { return };
    change(&mut answer["error"], &data);
}

#[test]
fn a_name_off_the_chain_is_read_elsewhere_or_not_at_all_and_never_absent() {
    run(async {
        let mut world = World::start().await;
        let owner = wallet("emil");
        let gateway = Gateway::start(owner, String::new()).await;
        let gateways = [format!("{}/{{data}}", gateway.url)];
        let resolver = people::offchain(&mut world.chain, &gateways, Address::ZERO, 1).await.expect("a resolver");
        world.ens.register(&mut world.chain, "wild.eth", resolver);
        let wild = people::stub(&mut world.chain, "WildcardStub", owner.abi_encode()).await.expect("a resolver");
        world.ens.register(&mut world.chain, "on.eth", wild);
        world.chain.mine().await.expect("names are registered");
        let batches = ["x-batch-gateway:true".to_owned()];
        let universal = Universal::deploy(&mut world.chain, world.ens.registry, &batches).await.expect("the stub");
        let allowed = gateway.url.trim_start_matches("http://");
        let outbound = format!("[outbound]\nallow = [\"{allowed}\"]\ntimeout_ms = 20000\n");
        let node = world.chain.url();
        let owner = json!(owner.to_checksum(None));

        // By the Universal Resolver, and by the registry with its wildcard resolvers.
        for by in [universal.resolver.to_string(), "none".to_owned()] {
            let keys = format!(", universal_resolver = \"{by}\"");
            let (one, other) = (Proxy::start(node).await, Proxy::start(node).await);
            let endpoints =
                [one.url.clone(), format!("{}\", \"{}", one.url, other.url), format!("{}\", \"{node}", one.url)];
            let [alone, both, healthy] = endpoints.map(|rpc| world.serve_with(&rpc, &keys, &outbound));
            // Each has names of its own, since answers are cached.
            let ask = async |service: &Service, name: String| {
                service.keyed().get(&format!("/api/v2/report/address/{name}")).await
            };
            for (index, (form, change)) in WITHOUT.into_iter().enumerate() {
                one.rule(move |_| Reply::Edit(change));
                other.rule(move |_| Reply::Edit(change));
                let name = || format!("{index}.wild.eth");
                for service in [&alone, &both] {
                    let answer = ask(service, name()).await;
                    assert_eq!(answer.expect(502)["code"], "name_unreadable", "{form} {by}");
                }
                assert_eq!(ask(&healthy, name()).await.ok()["address"], owner, "{form} {by}");
            }
            for (index, (form, change)) in ELSEWHERE.into_iter().enumerate() {
                one.rule(move |_| Reply::Edit(change));
                let answer = ask(&alone, format!("e{index}.wild.eth")).await;
                assert_eq!(answer.ok()["address"], owner, "{form} {by}");
                // The resolver refuses this name, with data: it has no address.
                ask(&alone, format!("e{index}.on.eth")).await.expect(404);
            }
        }
    });
}

#[test]
fn a_plain_resolver_that_reverts_has_no_address_for_a_name() {
    run(async {
        let mut world = World::start().await;
        let resolver = people::stub(&mut world.chain, "RefusingStub", Vec::new()).await.expect("a resolver");
        for index in 0..WITHOUT.len() {
            world.ens.register(&mut world.chain, &format!("r{index}.eth"), resolver);
            world.chain.mine().await.expect("a name is registered");
        }
        let node = world.chain.url();
        let (one, other) = (Proxy::start(node).await, Proxy::start(node).await);
        let endpoints =
            [one.url.clone(), format!("{}\", \"{}", one.url, other.url), format!("{}\", \"{node}", one.url)];
        let services = endpoints.map(|rpc| world.serve_with(&rpc, ", universal_resolver = \"none\"", ""));
        for (index, (form, change)) in WITHOUT.into_iter().enumerate() {
            one.rule(move |_| Reply::Edit(change));
            other.rule(move |_| Reply::Edit(change));
            for service in &services {
                let answer = service.keyed().get(&format!("/api/v2/report/address/r{index}.eth")).await.expect(404);
                assert_eq!(answer, json!({ "detail": NOT_FOUND }), "{form}");
            }
        }
    });
}
