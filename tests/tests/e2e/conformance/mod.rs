//! The API compared with its description: the document is valid, thousands of generated requests get only declared
//! answers, and recorded answers keep their shape.

mod check;
mod document;
mod recorded;
mod request;
mod schema;
mod values;

use std::{collections::BTreeMap, sync::Arc};

use assay_tests::{
    agents,
    lenders::Small,
    service::{Answer, Caller, Service, shelf_copy, try_answer},
};
use futures::{StreamExt, stream};
use reqwest::Method;
use serde_json::{Value, json};

use super::{on_devnet, run};
use check::{Verdict, check};
use document::{Document, Operation};
use request::{Key, Request};
use schema::Schema;
use values::Dice;

const REQUESTS: usize = 3_000;
/// Each run makes the same requests, unless `ASSAY_SEED` sets another seed.
const SEED: u64 = 2;
const AT_ONCE: usize = 24;

const READER: &str = "assay_conformance_reader";
const METERED: &str = "assay_conformance_metered";
const SUBMITTER: &str = "assay_conformance_submitter";

/// Keys with every relevant set of scopes.
fn keys() -> String {
    let key =
        |name: &str, key: &str, rest: &str| format!("[[access.keys]]\nname = \"{name}\"\nkey = \"{key}\"\n{rest}\n");
    [
        key("reader", READER, "scopes = [\"read\"]"),
        key("metered", METERED, "scopes = [\"read\"]\nunits = 3"),
        key("submitter", SUBMITTER, "scopes = [\"submit\"]"),
    ]
    .concat()
}

/// Checks an answer to `method` at `path` (with placeholders for its parameters) against the server's own document.
#[track_caller]
pub(super) fn assert_declared(document: &Value, method: &str, path: &str, answer: &Answer) {
    let document = Document::read(document);
    let operation = document.operations.iter().find(|operation| operation.path == path && operation.method == method);
    let undeclared = check::undeclared(operation.expect("the path is in the document"), answer);
    assert_eq!(undeclared, None, "{} {}", answer.status, answer.text);
}

/// A chain with a few agents, and its section of the server's configuration.
async fn registries() -> (Small, String) {
    let mut chain = Small::start(31_337).await.expect("the chain starts");
    let agents = agents::deploy(&mut chain).await.expect("the registries are deployed");
    let uris = [
        "{\"name\":\"Ada\",\"description\":\"counts\"}".to_owned(),
        "{\"name\":\"Lending agent\"}".to_owned(),
        String::new(),
    ];
    agents.register(&mut chain, "ada", &uris).await.expect("agents are registered");
    let toml = format!(
        "[[chains]]\nid = 31337\nname = \"Local\"\nrpc = [\"{}\"]\nfinality = 2\nnative = {{ symbol = \"ETH\" }}\n{}",
        chain.url(),
        agents.toml(31_337, 1_800_000)
    );
    (chain, toml)
}

async fn send(api: &Caller, request: &Request, document: &Document) -> Verdict {
    // A server may close a connection after any answer, and a client learns of it when it sends the next request on it.
    for _ in 0..5 {
        let method = Method::from_bytes(request.method.as_bytes()).expect("a method");
        let mut asked = api.request(method, &request.path_and_query());
        if let Some(authorization) = request.key.authorization() {
            asked = asked.header("authorization", authorization);
        }
        for (name, value) in &request.headers {
            asked = asked.header(*name, value);
        }
        if let Some(body) = &request.body {
            asked = asked.body(body.clone());
        }
        if let Ok(answer) = try_answer(asked).await {
            return check(document, request, &answer);
        }
    }
    Verdict::Wrong("no answer, five times".to_owned())
}

/// The smallest variant of this request that fails too.
async fn smallest(api: &Caller, request: Request, document: &Document) -> (Request, String) {
    let mut smallest = request;
    'shrink: loop {
        for simpler in smallest.simpler() {
            if matches!(send(api, &simpler, document).await, Verdict::Wrong(_)) {
                smallest = simpler;
                continue 'shrink;
            }
        }
        let Verdict::Wrong(why) = send(api, &smallest, document).await else {
            return (smallest, "it fails now and then".to_owned());
        };
        return (smallest, why);
    }
}

#[test]
fn the_document_is_whole() {
    run(async {
        let service = Service::sandbox(&assay_tests::service::plugins());
        let document = service.anonymous().get("/openapi.json").await.ok();
        let faults = document::faults(&document);
        assert!(faults.is_empty(), "{faults:#?}");
    });
}

#[test]
fn every_example_is_as_its_schema_says() {
    run(async {
        let service = Service::sandbox(&assay_tests::service::plugins());
        let document = service.anonymous().get("/openapi.json").await.ok();
        let mut examples = 0;
        for operation in Document::read(&document).operations {
            let Operation { method, path, answers, .. } = operation;
            for (status, answer) in answers.range(200..300) {
                let (Some((kind, schema)), method) = (answer, method.to_ascii_lowercase()) else { continue };
                let content = &document["paths"][&path][&method]["responses"][status.to_string()]["content"][kind];
                let Some(example) = content.get("example") else { continue };
                assert_eq!(schema.errors(example), [] as [String; 0], "{method} {path}");
                examples += 1;
            }
        }
        assert!(examples > 40, "{examples}");
    });
}

#[test]
fn every_type_of_event_has_an_example_as_its_schema_says() {
    run(async {
        let service = Service::sandbox(&assay_tests::service::plugins());
        let document = service.anonymous().get("/openapi.json").await.ok();
        let components = Arc::new(document["components"]["schemas"].as_object().expect("schemas").clone());
        let hooks = document["webhooks"].as_object().expect("webhooks");
        for (kind, item) in hooks {
            let content = &item["post"]["requestBody"]["content"]["application/json"];
            let errors = Schema::new(&content["schema"], &components).errors(&content["example"]);
            assert_eq!((errors, &content["example"]["type"]), (Vec::new(), &json!(kind)), "{kind}");
        }
        assert!(hooks.len() >= 12, "{}", hooks.len());
    });
}

#[test]
fn thousands_of_requests_get_only_what_the_document_declares() {
    run(async {
        let shelf = shelf_copy();
        let (_chain, registries) = registries().await;
        // On a busy machine, a read of many wallets can exceed the default timeout.
        let patient = "[http]\nrequest_timeout_ms = 300000\n";
        let service = on_devnet(shelf.path(), &format!("{patient}{}{registries}", keys())).await;
        let document = Document::read(&service.anonymous().get("/openapi.json").await.ok());
        // The only answer that is not available from the start.
        service.keyed().until("/api/v2/agents/search?q=a", |answer| answer.status != 503).await;
        let seed = std::env::var("ASSAY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
        println!("{REQUESTS} requests by ASSAY_SEED={seed}");
        let mut dice = Dice::new(seed);
        let requests = (0..REQUESTS).map(|_| Request::any(&document, &mut dice)).collect::<Vec<_>>();
        let api = service.anonymous();
        let verdicts = stream::iter(requests).map(async |request| (send(&api, &request, &document).await, request));
        let mut verdicts = std::pin::pin!(verdicts.buffer_unordered(AT_ONCE));
        let (mut seen, mut wrong) = (BTreeMap::<String, usize>::new(), Vec::new());
        while let Some((verdict, request)) = verdicts.next().await {
            match verdict {
                Verdict::Right(status) => *seen.entry(status).or_default() += 1,
                Verdict::Wrong(_) => wrong.push(request),
            }
        }
        println!("answers: {seen:?}");
        let failures = wrong.len();
        let mut shown = BTreeMap::new();
        for request in wrong.into_iter().take(12) {
            let (request, why) = smallest(&api, request, &document).await;
            shown.insert(request.curl(service.base()), why);
        }
        assert!(
            shown.is_empty(),
            "{failures} of {REQUESTS} requests by ASSAY_SEED={seed} were answered outside the document: {shown:#?}"
        );
        for status in ["200", "201", "304", "400", "401", "403", "404", "405", "413", "422", "429"] {
            assert!(seen.contains_key(status), "no request got {status}: {seen:?}");
        }
        assert!(service.anonymous().get("/healthz").await.status.is_success());
    });
}

impl Key {
    fn authorization(self) -> Option<String> {
        let bearer = |key: &str| Some(format!("Bearer {key}"));
        match self {
            Self::None => None,
            Self::Every => bearer(assay_tests::service::KEY),
            Self::Reader => bearer(READER),
            Self::Metered => bearer(METERED),
            Self::Submitter => bearer(SUBMITTER),
            Self::Wrong => bearer("assay_wrong"),
            Self::Malformed => Some("Basic =?".to_owned()),
        }
    }
}
