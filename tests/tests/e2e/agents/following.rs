//! The index of agents follows the chain, also after a restart and on a chain that was replaced.

use alloy::primitives::U256;
use assay_tests::{
    agents::{Identity, documents::Documents},
    devnet::actors::address as wallet,
    proxy::{Call, Proxy, Reply},
    service::Service,
};
use serde_json::{Value, json};

use super::{FINALITY, NOBODY, OFTEN, World, ids, inline, until};
use crate::run;

#[test]
fn the_index_follows_the_chain_and_outlives_the_process() {
    run(async {
        let mut world = World::start().await;
        let documents = Documents::start(NOBODY).await;
        world
            .register(
                "ada",
                &[
                    String::new(),
                    inline("First", "stays"),
                    format!("{}/named/Second", documents.url),
                    inline("Third", "goes"),
                ],
            )
            .await;
        world.settle().await;
        let proxy = Proxy::start(world.chain.url()).await;
        let more = format!("[outbound]\nallow = [\"{}\"]\ntimeout_ms = 20000\n", documents.at());
        let config = world.config(&proxy.url, OFTEN, &more);
        let service = Service::start(&config);
        let api = service.keyed();
        until(&api, "/api/v2/agents/search?q=second", |body| ids(body) == [2]).await;
        assert_eq!(documents.take(), ["/named/Second"]);

        // Changes while the server runs: an owner, a URI, a burn, a new agent; all before finality.
        let (ada, emil, identity) = (wallet("ada"), wallet("emil"), world.agents.identity);
        world.chain.queue(ada, identity, &Identity::transferFromCall { from: ada, to: emil, agentId: U256::from(1) });
        world.chain.queue(
            ada,
            identity,
            &Identity::setAgentURICall { agentId: U256::from(2), uri: inline("Renamed", "") },
        );
        world.chain.queue(ada, identity, &Identity::burnCall { agentId: U256::from(3) });
        world.chain.queue(ada, identity, &Identity::registerCall { uri: format!("{}/named/Fourth", documents.url) });
        world.chain.mine().await.expect("changes");
        until(&api, "/api/v2/agents/search?q=fourth", |body| ids(body) == [4]).await;
        let found = until(&api, "/api/v2/agents/search?q=first", |body| {
            body["agents"][0]["owner"] == json!(emil.to_checksum(None))
        })
        .await;
        assert_eq!(ids(&found), [1]);
        for (query, expected) in [("renamed", vec![2]), ("second", vec![]), ("third", vec![])] {
            assert_eq!(ids(&api.get(&format!("/api/v2/agents/search?q={query}")).await.ok()), expected, "{query}");
        }
        world.settle().await;
        // The events are settled now, and the documents are not fetched again.
        proxy.take();
        let head = world.chain.head;
        let settled = |call: &Call| call.span() == Some((head - FINALITY + 1, head));
        until::until(async || proxy.take(), |calls| calls.iter().any(settled)).await;
        assert_eq!(documents.take(), ["/named/Fourth"]);

        // Killed, and started while the chain does not respond: the index is available at once.
        let dir = service.kill();
        proxy.rule(|_| Reply::Status(500, None));
        let service = Service::start_in(dir, &config, &[]);
        let api = service.keyed();
        until(&api, "/api/v2/agents/search?q=fourth", |body| ids(body) == [4]).await;
        assert_eq!(ids(&api.get("/api/v2/agents/search?q=r").await.ok()), [1, 2, 4]);

        // The index continues after the last settled block.
        let dir = service.kill();
        proxy.rule(|_| Reply::Pass);
        proxy.take();
        let uri = inline("Fifth", "");
        world.register("ada", &[uri]).await;
        let service = Service::start_in(dir, &config, &[]);
        until(&service.keyed(), "/api/v2/agents/search?q=fifth", |body| ids(body) == [5]).await;
        let spans: Vec<_> = proxy.take().iter().filter_map(|call| call.span()).collect();
        assert!(
            !spans.is_empty() && spans.iter().all(|(from, _)| *from > head - FINALITY),
            "{spans:?} after {}",
            head - FINALITY
        );
        assert_eq!(documents.take(), Vec::<String>::new());
    });
}

#[test]
fn an_index_of_a_chain_that_was_replaced_is_built_anew() {
    run(async {
        let mut world = World::start().await;
        let before: Value = world.chain.rpc.request("evm_snapshot", json!([])).await.expect("a snapshot");
        world.register("ada", &[String::new(), inline("Gone", "")]).await;
        world.settle().await;
        let service = Service::start(&world.config(world.chain.url(), OFTEN, ""));
        let api = service.keyed();
        until(&api, "/api/v2/agents/search?q=gone", |body| ids(body) == [1]).await;
        let _: Value = world.chain.rpc.request("evm_revert", json!([before])).await.expect("the past");
        world.register("emil", &[String::new(), String::new(), inline("Instead", "")]).await;
        world.settle().await;
        until(&api, "/api/v2/agents/search?q=instead", |body| ids(body) == [2]).await;
        assert_eq!(ids(&api.get("/api/v2/agents/search?q=gone").await.ok()), Vec::<u64>::new());
    });
}
