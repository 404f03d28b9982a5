//! Agents are listed one by one, searched and counted.

use std::io::Write;

use alloy::primitives::U256;
use assay_tests::{
    agents::{Identity, documents::Documents},
    devnet::actors::address as wallet,
    proxy::{Proxy, Reply},
    service::Service,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use super::{NOBODY, World, ids, inline, metric, until};
use crate::run;

#[test]
fn agents_are_listed_one_by_one_and_found() {
    run(async {
        let mut world = World::start().await;
        let documents = Documents::start(NOBODY).await;
        let at = |path: &str| format!("{}{path}", documents.url);
        let uris = [
            inline("Zero", "has no id for callers"),
            "data:application/json;base64,\
             eyJuYW1lIjoiTGVuZGVyIiwiZGVzY3JpcHRpb24iOiJMZW5kc1xuXHUyMDJlIHRvIGFsbCIs\
             ImltYWdlIjoiaHR0cHM6Ly9hLmV4YW1wbGUvYS5wbmcifQ=="
                .to_owned(),
            "data:,%7B%22name%22%3A%22Stra%C3%9Fe%22%7D".to_owned(),
            r#"{"name":"Raw","description":7}"#.to_owned(),
            "ipfs://bafyAgent".to_owned(),
            at("/named/Elsewhere"),
            String::new(),
            inline("Burned", "exists no more"),
            at("/status/500"),
            inline("Приве\u{301}т", "мир"),
        ];
        world.register("ada", &uris).await;
        let identity = world.agents.identity;
        world.chain.queue(wallet("ada"), identity, &Identity::burnCall { agentId: U256::from(7) });
        let (from, to) = (wallet("ada"), wallet("emil"));
        world.chain.queue(wallet("ada"), identity, &Identity::transferFromCall { from, to, agentId: U256::from(5) });
        world.chain.mine().await.expect("a burn and a transfer");

        let proxy = Proxy::start(world.chain.url()).await;
        let more = format!(
            "[outbound]\nallow = [\"{}\"]\ntimeout_ms = 20000\n[ipfs]\ngateway = \"{}\"\n",
            documents.at(),
            documents.url
        );
        // The checks in the background call the same contracts.
        let config = format!("check_live = false\n{}", world.config(&proxy.url, 1_800_000, &more));
        let service = Service::start(&config);
        let api = service.keyed();
        let (ada, emil) = (wallet("ada").to_checksum(None), wallet("emil").to_checksum(None));
        let agent =
            |id: u64, owner: &str, metadata: Value| json!({ "agent_id": id, "owner": owner, "metadata": metadata });
        let elsewhere = |name: &str| {
            json!({ "name": name, "description": format!("{name} is elsewhere"),
            "image": "ipfs://bafy/a.png" })
        };
        let expected = vec![
            agent(
                1,
                &ada,
                json!({ "name": "Lender", "description": "Lends to all", "image": "https://a.example/a.png" }),
            ),
            agent(2, &ada, json!({ "name": "Straße", "description": "", "image": "" })),
            agent(3, &ada, json!({ "name": "Raw", "description": "", "image": "" })),
            agent(4, &ada, elsewhere("bafyAgent")),
            agent(5, &emil, elsewhere("Elsewhere")),
            agent(6, &ada, Value::Null),
            agent(8, &ada, Value::Null),
            agent(9, &ada, json!({ "name": "Приве\u{301}т", "description": "мир", "image": "" })),
        ];
        for path in ["/api/v2/agents", "/api/v2/agents/", "/api/v2/agents?page=1&limit=20"] {
            let body = api.get(path).await.ok();
            assert_eq!(body, json!({ "agents": expected, "total": 10, "page": 1, "limit": 20 }), "{path}");
        }
        // The count is read from storage with one call.
        proxy.take();
        let body = api.get("/api/v2/agents?page=3&limit=3").await.ok();
        assert_eq!(
            (ids(&body), &body["total"], &body["page"], &body["limit"]),
            (vec![8, 9], &json!(10), &json!(3), &json!(3))
        );
        let asked = proxy.take();
        let of = |method: &str| asked.iter().filter(|call| call.method == method).count();
        assert_eq!((of("eth_getStorageAt"), of("eth_call")), (1, 5), "three owners, two documents");
        for page in ["4", "5", "9007199254740991"] {
            let body = api.get(&format!("/api/v2/agents?limit=3&page={page}")).await.ok();
            assert_eq!((ids(&body), &body["total"]), (vec![], &json!(10)), "{page}");
        }
        let large = api.get("/api/v2/agents?limit=3&page=99999999999999999999999999").await.expect(422);
        assert_eq!(large["detail"][0]["loc"], json!(["query", "page"]));
        for one in &expected {
            assert_eq!(&api.get(&format!("/api/v2/agents/{}", one["agent_id"])).await.ok(), one);
        }

        let found = until(&api, "/api/v2/agents/search?q=LENDS%20TO", |body| body["total_results"] == 1).await;
        assert_eq!(
            found,
            json!({ "agents": [expected[0]], "total_results": 1, "query": "LENDS TO", "page": 1, "limit": 20 })
        );
        // Documents of other servers are fetched later than the others.
        until(&api, "/api/v2/agents/search?q=is+elsewhere", |body| ids(body) == [4, 5]).await;
        for (query, expected) in [
            ("strasse", vec![2]),
            ("ПРИВЕ%CC%81Т", vec![9]),
            ("мир", vec![9]),
            ("lenderlends", vec![]),
            ("burned", vec![]),
            ("has+no+id", vec![]),
            ("%00", vec![]),
        ] {
            let body = api.get(&format!("/api/v2/agents/search/?q={query}")).await.ok();
            assert_eq!((ids(&body), &body["total_results"]), (expected.clone(), &json!(expected.len())), "{query}");
        }
        let body = api.get("/api/v2/agents/search?q=e&limit=2&page=2").await.ok();
        assert_eq!((ids(&body), &body["total_results"], &body["page"]), (vec![4, 5], &json!(4), &json!(2)));
        assert_eq!(metric(&api, "assay_agents_indexed ").await, 8.0);
    });
}

#[test]
fn agents_are_counted_also_where_the_count_is_not_kept() {
    run(async {
        let mut world = World::start().await;
        let uris: Vec<String> = (0..45).map(|n| inline(&format!("Agent {n}"), "")).collect();
        world.register("ada", &uris).await;
        for id in [20_u64, 21, 44] {
            world.chain.queue(wallet("ada"), world.agents.identity, &Identity::burnCall { agentId: U256::from(id) });
        }
        world.chain.mine().await.expect("burned");
        let proxy = Proxy::start(world.chain.url()).await;
        let stored = |value: u64| Reply::Result(json!(format!("{value:#066x}")));
        for (reply, total) in [
            (Reply::Error { code: -32601, message: "method not found".into() }, 44),
            (stored(0), 44),
            (stored(7), 44),
            (stored(1 << 40), 44),
            (Reply::Result(json!(format!("0x{}", "f".repeat(64)))), 44),
            (Reply::Pass, 45),
        ] {
            let said = format!("{reply:?}");
            proxy.rule(move |call| if call.method == "eth_getStorageAt" { reply.clone() } else { Reply::Pass });
            let service = Service::start(&world.config(&proxy.url, 1_800_000, ""));
            let api = service.keyed();
            for _ in 0..2 {
                let body = api.get("/api/v2/agents?limit=30&page=1").await.ok();
                let expected: Vec<u64> = (1..=30).filter(|id| ![20, 21].contains(id)).collect();
                assert_eq!((&body["total"], ids(&body)), (&json!(total), expected), "{said}");
            }
            assert_eq!(
                ids(&api.get("/api/v2/agents?limit=30&page=2").await.ok()),
                (31..=43).collect::<Vec<_>>(),
                "{said}"
            );
        }
    });
}

#[test]
fn a_document_is_read_from_each_form_of_its_uri() {
    run(async {
        let mut world = World::start().await;
        let documents = Documents::start(NOBODY).await;
        // `{"name":"Small"}` in gzip and base64; and four megabytes of blanks before a document.
        let small = "H4sIAAAAAAAC/6tWykvMTVWyUgrOTczJUaoFAJeuwroQAAAA";
        let bomb = BASE64_STANDARD.encode(gzip(&[vec![b' '; 4 << 20], br#"{"name":"Bomb"}"#.to_vec()].concat()));
        let v0 = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnHUdt";
        let v1 = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi";
        let below = format!("{v1}/agent.json");
        let cases = [
            ("without id for callers".to_owned(), None),
            (format!("data:application/json;enc=gzip;base64,{small}"), Some("Small")),
            (format!("data:application/json;enc=gzip;level=6;base64,{small}"), Some("Small")),
            (format!("data:application/json;charset=utf-8;enc=gzip;base64 {small}"), Some("Small")),
            (format!("data:application/json;enc=gzip;base64,{bomb}"), None),
            (format!("data:application/json;enc=zstd;base64,{small}"), None),
            ("data:application/json;base64 eyJuYW1lIjoiQmxhbmsifQ==".to_owned(), Some("Blank")),
            (r#"data:application/json;utf8,{"name":"Utf8, 100%"}"#.to_owned(), Some("Utf8, 100%")),
            (v0.to_owned(), Some(v0)),
            (v1.to_owned(), Some(v1)),
            (format!("{v1}/agent.json"), Some(below.as_str())),
            (format!("{}/named/Allowed", documents.url), Some("Allowed")),
            // The host is not in `outbound.allow`.
            ("http://127.0.0.2:80/named/Private".to_owned(), None),
            ("ftp://a.example/agent.json".to_owned(), None),
        ];
        let uris: Vec<String> = cases.iter().map(|(uri, _)| uri.clone()).collect();
        world.register("ada", &uris).await;
        let more = format!(
            "[outbound]\nallow = [\"{}\"]\ntimeout_ms = 20000\n[ipfs]\ngateway = \"{}\"\n",
            documents.at(),
            documents.url
        );
        let service = Service::start(&world.config(world.chain.url(), 1_800_000, &more));
        let body = service.keyed().get("/api/v2/agents").await.ok();
        let names: Vec<Option<&str>> =
            body["agents"].as_array().expect("a list").iter().map(|agent| agent["metadata"]["name"].as_str()).collect();
        let expected: Vec<Option<&str>> = cases.iter().skip(1).map(|(_, name)| *name).collect();
        assert_eq!(names, expected);
    });
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}
