//! Endpoints that leave the data of a revert out, or have it in the message. A name off the chain begins with a revert,
//! and must not seem to have no address.

use alloy::{primitives::Address, sol_types::SolValue};
use assay_tests::{
    devnet::actors::address as wallet,
    people::{self, Universal, gateway::Gateway},
    proxy::{Proxy, Reply},
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

/// A proxy that does this to every revert.
async fn endpoint(url: &str, form: fn(&mut Value)) -> Proxy {
    let proxy = Proxy::start(url).await;
    proxy.rule(move |_| Reply::Edit(form));
    proxy
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
        let outbound = format!("[outbound]\nallow = [\"{}\"]\n", gateway.url.trim_start_matches("http://"));
        let node = world.chain.url();
        let owner = json!(owner.to_checksum(None));

        // By the Universal Resolver, and by the registry with its wildcard resolvers.
        for by in
            [format!(", universal_resolver = \"{}\"", universal.resolver), ", universal_resolver = \"none\"".into()]
        {
            let ask = async |rpc: &str, name: &str| {
                let service = world.serve_with(rpc, &by, &outbound);
                service.keyed().get(&format!("/api/v2/report/address/{name}")).await
            };
            for (form, change) in WITHOUT {
                let bare = endpoint(node, change).await;
                let answer = ask(&bare.url, "x.wild.eth").await;
                assert_eq!(answer.expect(502)["code"], "name_unreadable", "{form} {by}");
                let two = format!("{}\", \"{node}", bare.url);
                assert_eq!(ask(&two, "x.wild.eth").await.ok()["address"], owner, "{form} {by}");
                let other = endpoint(node, change).await;
                let answer = ask(&format!("{}\", \"{}", bare.url, other.url), "x.wild.eth").await;
                assert_eq!(answer.expect(502)["code"], "name_unreadable", "{form} {by}");
            }
            for (form, change) in ELSEWHERE {
                let odd = endpoint(node, change).await;
                assert_eq!(ask(&odd.url, "x.wild.eth").await.ok()["address"], owner, "{form} {by}");
                // The resolver refuses this name, with data: it has no address.
                ask(&odd.url, "x.on.eth").await.expect(404);
            }
        }
    });
}

#[test]
fn a_plain_resolver_that_reverts_has_no_address_for_a_name() {
    run(async {
        let mut world = World::start().await;
        let resolver = people::stub(&mut world.chain, "RefusingStub", Vec::new()).await.expect("a resolver");
        world.ens.register(&mut world.chain, "refused.eth", resolver);
        world.chain.mine().await.expect("a name is registered");
        let node = world.chain.url();
        for (form, change) in WITHOUT {
            let (one, other) = (endpoint(node, change).await, endpoint(node, change).await);
            for rpc in [one.url.clone(), format!("{}\", \"{}", one.url, other.url), format!("{}\", \"{node}", one.url)]
            {
                let service = world.serve_with(&rpc, ", universal_resolver = \"none\"", "");
                let answer = service.keyed().get("/api/v2/report/address/refused.eth").await.expect(404);
                assert_eq!(answer, json!({ "detail": NOT_FOUND }), "{form}");
            }
        }
    });
}
