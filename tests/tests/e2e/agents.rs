//! Agents through the whole server: stubs of the registries on a node with the chain id of Base, and documents on local
//! servers.

use std::time::Duration;

use alloy::primitives::{B256, U256};
use assay_tests::{
    agents::{self, Agents, Identity, Reputation, documents::Documents},
    devnet::actors::address as wallet,
    lenders::Small,
    proxy::{Proxy, Reply},
    service::{Caller, Service, plugins, sandbox_config},
};
use serde_json::{Value, json};

use super::run;

const BASE: u64 = 8453;
const FINALITY: u64 = 2;
/// An interval so short that a test need not wait.
pub(super) const OFTEN: u64 = 100;
/// A server where nothing listens.
const NOBODY: &str = "http://127.0.0.1:9/";
const NOT_READ: &str = "Failed to read from the Identity Registry contract";

pub(super) struct World {
    pub chain: Small,
    agents: Agents,
}

impl World {
    pub async fn start() -> Self {
        let mut chain = Small::start(BASE).await.expect("the chain starts");
        let agents = agents::deploy(&mut chain).await.expect("the registries are deployed");
        Self { chain, agents }
    }

    pub async fn register(&mut self, owner: &str, uris: &[String]) {
        self.agents.register(&mut self.chain, owner, uris).await.expect("agents are registered");
    }

    /// Mines until all present events are final.
    pub async fn settle(&mut self) {
        for _ in 0..FINALITY {
            self.chain.mine().await.expect("a block");
        }
    }

    /// A configuration with the chain at `rpc`.
    pub fn config(&self, rpc: &str, refresh_ms: u64, more: &str) -> String {
        let chain = format!(
            "[[chains]]\nid = {BASE}\nname = \"Base\"\nrpc = [\"{rpc}\"]\nfinality = {FINALITY}\nmulticall = \"none\"\nsequencer = \"none\"\n\
             native = {{ symbol = \"ETH\" }}\ntokens = []\nmarkets = []\n"
        );
        let agents = self.agents.toml(BASE, refresh_ms);
        format!("{}{chain}{agents}\n[reading.rpc]\nretries = 0\n{more}", sandbox_config(&plugins()))
    }
}

pub(super) fn inline(name: &str, description: &str) -> String {
    format!("data:application/json,{}", json!({ "name": name, "description": description }))
}

fn ids(body: &Value) -> Vec<u64> {
    body["agents"].as_array().expect("a list").iter().map(|agent| agent["agent_id"].as_u64().expect("an id")).collect()
}

/// Requests `path` until the answer is as expected: the index follows the chain with a delay.
pub(super) async fn until(api: &Caller, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let mut last = String::new();
    for _ in 0..300 {
        let answer = api.get(path).await;
        if answer.status == 200 && holds(&answer.json()) {
            return answer.json();
        }
        last = answer.text;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{path} stays {last}");
}

/// A value of the metrics; 0 if it is absent.
pub(super) async fn metric(api: &Caller, line: &str) -> f64 {
    let text = api.get("/metrics").await.text;
    text.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok()).unwrap_or(0.0)
}

#[test]
fn agents_are_listed_one_by_one_and_found() {
    run(async {
        let mut world = World::start().await;
        let documents = Documents::start(NOBODY).await;
        let at = |path: &str| format!("{}{path}", documents.url);
        let uris = [
            inline("Zero", "has no id for callers"),
            "data:application/json;base64,eyJuYW1lIjoiTGVuZGVyIiwiZGVzY3JpcHRpb24iOiJMZW5kc1xuXHUyMDJlIHRvIGFsbCIsImltYWdlIjoiaHR0cHM6Ly9hLmV4YW1wbGUvYS5wbmcifQ==".to_owned(),
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
            "[outbound]\nallow = [\"{}\"]\ntimeout_ms = 500\n[ipfs]\ngateway = \"{}\"\n",
            documents.at(),
            documents.url
        );
        let service = Service::start(&world.config(&proxy.url, 1_800_000, &more));
        let api = service.keyed();
        let (ada, emil) = (wallet("ada").to_checksum(None), wallet("emil").to_checksum(None));
        let agent =
            |id: u64, owner: &str, metadata: Value| json!({ "agent_id": id, "owner": owner, "metadata": metadata });
        let elsewhere = |name: &str| json!({ "name": name, "description": format!("{name} is elsewhere"), "image": "ipfs://bafy/a.png" });
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
fn every_wrong_request_has_its_row() {
    run(async {
        let mut world = World::start().await;
        world.register("ada", &[String::new(), inline("One", "")]).await;
        let proxy = Proxy::start(world.chain.url()).await;
        let service = Service::start(&world.config(&proxy.url, OFTEN, ""));
        let api = service.keyed();
        let detail = |text: &str| json!({ "detail": text });
        let list = |kind: &str, place: &str, field: &str, msg: &str| json!({ "detail": [{ "type": kind, "loc": [place, field], "msg": msg }] });
        let whole = "Input should be a valid integer, unable to parse string as an integer";
        until(&api, "/api/v2/agents/search?q=one", |body| body["total_results"] == 1).await;

        for path in ["/api/v2/agents", "/api/v2/agents/search?q=a", "/api/v2/agents/1", "/api/v2/agents/1/reputation"] {
            let missing = service.anonymous().get(path).await;
            assert_eq!(missing.expect(401), detail("Invalid or missing API key"), "{path}");
        }
        for (query, status, body) in [
            ("page=0", 400, detail("Page must be >= 1")),
            ("page=-1", 400, detail("Page must be >= 1")),
            ("limit=0", 400, detail("Limit must be between 1 and 100")),
            ("limit=101", 400, detail("Limit must be between 1 and 100")),
            ("page=x", 422, list("int_parsing", "query", "page", whole)),
            ("limit=1.5", 422, list("int_parsing", "query", "limit", whole)),
        ] {
            for path in ["/api/v2/agents?", "/api/v2/agents/search?q=a&"] {
                assert_eq!(api.get(&format!("{path}{query}")).await.expect(status), body, "{path}{query}");
            }
        }
        assert_eq!(api.get("/api/v2/agents/search").await.expect(422), list("missing", "query", "q", "Field required"));
        let short = list("string_too_short", "query", "q", "String should have at least 1 character");
        assert_eq!(api.get("/api/v2/agents/search?q=").await.expect(422), short);
        let below = list("greater_than_equal", "path", "agent_id", "Input should be greater than or equal to 1");
        let unknown = |id: &str| detail(&format!("Agent {id} does not exist in the Identity Registry"));
        let beyond = "1".repeat(77);
        for rest in ["", "/reputation"] {
            for (id, status, body) in [
                ("0", 422, below.clone()),
                ("-1", 422, below.clone()),
                ("ada", 422, list("int_parsing", "path", "agent_id", whole)),
                ("2", 404, unknown("2")),
                ("18446744073709551615", 404, unknown("18446744073709551615")),
                (&beyond, 404, unknown(&beyond)),
            ] {
                assert_eq!(api.get(&format!("/api/v2/agents/{id}{rest}")).await.expect(status), body, "{id}{rest}");
            }
        }

        // The registry does not respond; search still works from its index.
        proxy.rule(|call| {
            if call.method == "eth_call" { Reply::Error { code: -32000, message: "no".into() } } else { Reply::Pass }
        });
        let unread = |detail: &str| json!({ "detail": detail, "code": "registry_unreadable" });
        assert_eq!(api.get("/api/v2/agents").await.expect(502), unread(NOT_READ));
        assert_eq!(api.get("/api/v2/agents/1").await.expect(502), unread(NOT_READ));
        let reputation = api.get("/api/v2/agents/1/reputation").await.expect(502);
        assert_eq!(reputation, unread("Failed to read from the Reputation Registry contract"));
        assert_eq!(ids(&api.get("/api/v2/agents/search?q=one").await.ok()), [1]);

        // No contract at the address of the registry, a server without a registry, and an index that was never built.
        let mut elsewhere = World { agents: Agents { identity: wallet("nobody"), ..world.agents }, chain: world.chain };
        let service = Service::start(&elsewhere.config(elsewhere.chain.url(), OFTEN, ""));
        for path in ["/api/v2/agents", "/api/v2/agents/1"] {
            assert_eq!(service.keyed().get(path).await.expect(502), unread(NOT_READ), "{path}");
        }
        elsewhere.agents = world.agents;
        let service = Service::start(&sandbox_config(&plugins()));
        let body = |detail: &str| json!({ "detail": detail, "code": "agents_not_configured" });
        assert_eq!(service.keyed().get("/api/v2/agents").await.expect(502), body(NOT_READ));
        assert_eq!(service.keyed().get("/api/v2/agents/1").await.expect(502), body(NOT_READ));
        assert_eq!(service.keyed().get("/api/v2/agents/search?q=a").await.expect(502), body("Failed to search agents"));
        proxy.rule(|_| Reply::Status(500, None));
        let service = Service::start(&elsewhere.config(&proxy.url, OFTEN, ""));
        let unbuilt = service.keyed().get("/api/v2/agents/search?q=a").await;
        assert_eq!(unbuilt.expect(503), json!({ "detail": "Failed to search agents", "code": "index_not_built" }));
        assert!(unbuilt.headers.contains_key("retry-after"));
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
        let more = format!("[outbound]\nallow = [{allow}]\ntimeout_ms = 1500\n[ipfs]\ngateway = \"{}\"\n", good.url);
        let service = Service::start(&world.config(world.chain.url(), 1_800_000, &more));
        let api = service.keyed();

        // A page of a hundred agents with servers that never finish is answered within the time of a request.
        let started = std::time::Instant::now();
        let page = api.get("/api/v2/agents?limit=100&page=1").await.ok();
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
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
        for _ in 0..200 {
            if metric(&api, "assay_agents_without_metadata{reason=\"not_read_yet\"}").await == 0.0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
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
        let more = format!("[outbound]\nallow = [\"{}\"]\n", documents.at());
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
        let mut settled = false;
        for _ in 0..200 {
            settled |= proxy
                .take()
                .iter()
                .any(|call| call.span().is_some_and(|(from, to)| from == head - FINALITY + 1 && to == head));
            if settled {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(settled, "the last final block is settled");
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
