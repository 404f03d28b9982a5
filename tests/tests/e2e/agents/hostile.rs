//! Documents of agents from servers that lie, stall or send too much.

use assay_tests::{agents::documents::Documents, service::Service};
use serde_json::Value;

use super::{NOBODY, World, ids, inline, metric, until};
use crate::run;

#[test]
fn hostile_documents_keep_nobody_waiting() {
    run(async {
        let mut world = World::start().await;
        let (good, bad, inward) =
            (Documents::start(NOBODY).await, Documents::start(NOBODY).await, Documents::start(NOBODY).await);
        let sending = Documents::start(&format!("{}/named/secret", inward.url)).await;
        // Every twentieth agent.
        let ways = ["/slow", "/huge", "/endless", "/garbage", "/deep", "/round", "/status/500"];
        let uri = |n: usize| match n % 20 {
            7 if n == 7 => format!("{}/named/secret", inward.url),
            7 if n == 27 => format!("{}/inward", sending.url),
            7 => format!("{}{}", bad.url, ways[n / 20 % ways.len()]),
            0..5 => format!("{}/named/Agent{n}", good.url),
            5..10 => format!("ipfs://bafy{n}"),
            _ => inline(&format!("Agent{n}"), "is here"),
        };
        let uris: Vec<String> = (0..200).map(uri).collect();
        world.register("ada", &uris).await;
        world.settle().await;
        let allow = format!("\"{}\", \"{}\", \"{}\"", good.at(), bad.at(), sending.at());
        let more = format!("[outbound]\nallow = [{allow}]\ntimeout_ms = 6000\n[ipfs]\ngateway = \"{}\"\n", good.url);
        let service = Service::start(&world.config(world.chain.url(), 1_800_000, &more));
        let api = service.keyed();

        // A page of a hundred agents with servers that never finish is answered within the time of a request.
        let page = api.get("/api/v2/agents?limit=100&page=1").await.ok();
        assert_eq!(ids(&page), (1..=100).collect::<Vec<_>>());
        let unnamed = |page: &Value| -> Vec<u64> {
            page["agents"]
                .as_array()
                .expect("a list")
                .iter()
                .filter(|a| a["metadata"].is_null())
                .filter_map(|a| a["agent_id"].as_u64())
                .collect()
        };

        // The index is complete except for the hostile agents, and states the reason for each.
        let hostile: Vec<u64> = (0..200).filter(|n| n % 20 == 7).collect();
        until(&api, "/api/v2/agents/search?q=a", |body| body["total_results"] == 199 - hostile.len()).await;
        let unread = async || metric(&api, "assay_agents_without_metadata{reason=\"not_read_yet\"}").await;
        until::until(unread, |unread| *unread == 0.0).await;
        let mut reasons = Vec::new();
        for reason in ["refused", "timeout", "too_large", "not_metadata", "status", "not_read_yet", "no_uri"] {
            reasons.push((
                reason,
                metric(&api, &format!("assay_agents_without_metadata{{reason=\"{reason}\"}}")).await as u64,
            ));
        }
        // By n / 20: 0 at a private address, 1 redirects to one, 2 endless, 3 garbage, 4 deep, 5 round, 6 status, 7
        // slow, 8 huge, 9 endless.
        assert_eq!(
            reasons,
            [
                ("refused", 3),
                ("timeout", 1),
                ("too_large", 3),
                ("not_metadata", 2),
                ("status", 1),
                ("not_read_yet", 0),
                ("no_uri", 0)
            ]
        );
        assert_eq!(metric(&api, "assay_agents_indexed ").await, 199.0);
        assert_eq!(inward.connections(), 0, "nothing private was connected to");
        for page in 1..=2 {
            let body = api.get(&format!("/api/v2/agents?limit=100&page={page}")).await.ok();
            let expected: Vec<u64> =
                hostile.iter().copied().filter(|id| (1 + (page - 1) * 100..=page * 100).contains(id)).collect();
            assert_eq!(unnamed(&body), expected, "page {page}");
        }
    });
}
