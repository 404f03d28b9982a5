//! `GET /api/v2/admin/status`: what it says of chains, endpoints, prices, index, queue and store.

use assay_tests::{
    node::Anvil,
    reputation::World,
    service::{Service, plugins, sandbox_config},
    until::until,
};
use serde_json::{Value, json};

use super::{devnet, released_on_devnet, reputation::subject, run};

const STATUS: &str = "/api/v2/admin/status";

#[test]
fn the_status_of_chains_is_what_was_read_of_them() {
    run(async {
        let service = released_on_devnet().await;
        let api = service.keyed();
        let wallet = devnet().await.wallet("borrower").address;
        api.get(&format!("/api/v2/report/address/{wallet}")).await.ok();
        let status = until(
            async || api.get(STATUS).await.ok(),
            |status| status["chains"].as_array().unwrap().iter().all(|chain| !chain["prices"].is_null()),
        )
        .await;
        assert_eq!((&status["ready"], &status["reasons"]), (&json!(true), &json!([])));
        assert_eq!(status["store"], json!({ "backend": status["store"]["backend"], "problem": null }));
        let metrics = service.anonymous().get("/metrics").await.text;
        for chain in status["chains"].as_array().unwrap() {
            let [endpoint] = chain["endpoints"].as_array().unwrap().as_slice() else { panic!("{chain}") };
            assert_eq!((&endpoint["current"], &endpoint["state"]), (&json!(true), &json!("ready")), "{chain}");
            assert!(endpoint["answers"].as_u64().unwrap() > 0 && endpoint["failures"] == 0, "{chain}");
            assert_eq!(chain["head"], endpoint["head"], "{chain}");
            let id = &chain["chain_id"];
            assert!(
                metrics.contains(&format!("assay_chain_head_block{{chain=\"{id}\"}} {}", chain["head"])),
                "{chain}"
            );
            let prices = &chain["prices"];
            assert!(prices["priced"].as_u64().unwrap() > 0 && prices["trusted"] == true, "{chain}");
            assert!(prices["oldest_round_seconds"].is_u64(), "{chain}");
        }
    });
}

/// An endpoint's address may hold a key, in its path, its query or before its host.
#[test]
fn an_endpoint_that_fails_is_shown_by_its_host_alone() {
    run(async {
        let chain = Anvil::start(1, 1_700_000_000).expect("the chain starts");
        let port = chain.url().rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
        let secrets = ["path-secret", "query-secret", "user-secret"];
        let dead = "http://user:user-secret@127.0.0.1:1/path-secret?key=query-secret";
        let good = format!("http://127.0.0.1:{port}/?key=query-secret");
        let config = format!(
            "{}[[chains]]\nid = 1\nname = \"Local\"\nrpc = [\"{dead}\", \"{good}\"]\nfinality = 1\nmax_head_age = 0\n\
             native = {{ symbol = \"ETH\" }}\ntokens = []\nmarkets = []\n",
            sandbox_config(&plugins())
        );
        let service = Service::start(&config);
        let api = service.keyed();
        let moved_on = |status: &Value| {
            let endpoints = &status["chains"][0]["endpoints"];
            endpoints[0]["failures"].as_u64() > Some(0) && endpoints[1]["current"] == true
        };
        let status = until(async || api.get(STATUS).await.ok(), moved_on).await;
        let endpoints = &status["chains"][0]["endpoints"];
        assert_eq!((&endpoints[0]["host"], &endpoints[0]["state"]), (&json!("127.0.0.1:1"), &json!("rests")));
        assert!(endpoints[0]["error"].as_str().unwrap().contains("cannot be reached"), "{endpoints}");
        assert_eq!(endpoints[1]["host"], format!("127.0.0.1:{port}"));
        let text = status.to_string() + &service.log();
        assert!(secrets.iter().all(|secret| !text.contains(secret)), "{text}");
    });
}

#[test]
fn the_queue_counts_what_is_open_and_only_an_admin_sees_it() {
    run(async {
        let world = World::start().await;
        world.mining(false).await;
        let reader =
            "[[access.keys]]\nname = \"reader\"\nkey = \"assay_status_reader\"\nscopes = [\"read\", \"submit\"]\n";
        let service = Service::start(&(world.config(world.chain.url(), "") + reader));
        let api = service.keyed();
        assert_eq!(api.get(STATUS).await.ok()["submissions"]["oldest_seconds"], Value::Null);
        api.post("/api/v2/agents/1/reputation", &json!({ "address": subject(1) })).await.expect(202);
        let sum = |status: &Value| -> u64 {
            status["submissions"]["open"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
        };
        let status =
            until(async || api.get(STATUS).await.ok(), |status| status["submissions"]["open"]["submitting"] == 1).await;
        assert!(sum(&status) == 1 && status["submissions"]["oldest_seconds"].is_u64(), "{status}");
        assert_eq!(service.with_key("assay_status_reader").get(STATUS).await.expect(403)["code"], "scope");
        service.anonymous().get(STATUS).await.expect(401);
    });
}
