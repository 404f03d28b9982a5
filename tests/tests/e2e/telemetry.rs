//! Telemetry for operators: a log with the ids of requests, traces at a collector, and metrics.

use std::collections::HashSet;

use assay_tests::collector::{Collector, Span};
use assay_tests::devnet::actors;
use assay_tests::proxy::Proxy;
use assay_tests::service::{KEY, Service, answer, plugins, sandbox_config};
use reqwest::Method;
use serde_json::Value;

use super::{devnet, run};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

fn traced(collector: &Collector, sample: f64) -> String {
    let headers = "headers = { authorization = \"Bearer of-the-collector\" }";
    format!("[telemetry.traces]\nendpoint = \"{}\"\nsample = {sample:?}\n{headers}\n", collector.url)
}

/// A server that reads Ethereum through `proxy`.
async fn through(proxy: &Proxy, more: &str) -> Service {
    let config = devnet().await.config_toml("127.0.0.1:0", &plugins(), std::path::Path::new("{dir}/assay.redb"), KEY);
    Service::start(&format!("{}\n{more}", config.replace(devnet().await.ethereum.url(), &proxy.url)))
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

#[test]
fn a_request_is_one_trace_from_its_caller_to_the_endpoints() {
    run(async {
        let (collector, proxy) = (Collector::start().await, Proxy::start(devnet().await.ethereum.url()).await);
        let service = through(&proxy, &format!("{}[reading.rpc]\ntraceparent = true\n", traced(&collector, 0.0))).await;
        proxy.take();
        let path = format!("/api/v2/score/address/{}", actors::address("borrower"));
        let request = service.keyed().request(Method::GET, &path).header("x-request-id", "a-test.1");
        let scored = answer(request.header("traceparent", format!("00-{TRACE}-{CALLER}-01"))).await;
        assert_eq!((scored.status.as_u16(), scored.headers["x-request-id"].to_str().unwrap()), (200, "a-test.1"));
        let calls = proxy.take();
        assert!(service.terminate().await.success());

        let spans = collector.spans();
        let all: HashSet<&str> = spans.iter().map(|span| span.id.as_str()).collect();
        for span in &spans {
            assert_eq!((span.trace.as_str(), span.attributes["service.name"].as_str()), (TRACE, "assay"), "{span:?}");
            assert!(span.parent == CALLER || all.contains(span.parent.as_str()), "{span:?}");
            assert!(span.started <= span.ended);
        }
        let [request] = named(&spans, "GET /api/v2/score/address/{address}")[..] else { panic!("{spans:?}") };
        assert_eq!((request.parent.as_str(), request.kind, request.status), (CALLER, 2, 0));
        assert_eq!(
            (request.attributes["assay.request_id"].as_str(), request.attributes["http.response.status_code"].as_str()),
            ("a-test.1", "200")
        );
        assert_eq!(named(&spans, "read chain").len(), 2);
        assert_eq!(named(&spans, "read lending history").len(), 2);
        let models = named(&spans, "model");
        assert!(models.iter().any(|model| model.attributes["assay.kind"] == "credit"), "{models:?}");
        let logs = named(&spans, "eth_getLogs");
        assert!(
            logs.iter().all(|logs| logs.kind == 3 && logs.attributes["assay.outcome"] == "ok") && logs.len() >= 6,
            "{logs:?}"
        );
        // Calls to an endpoint for this request carry its trace. Reads of the newest block belong to no request.
        let told: Vec<_> = calls
            .iter()
            .filter_map(|call| call.traceparent.as_deref())
            .filter(|parent| parent.contains(TRACE))
            .collect();
        assert!(told.len() >= logs.len() / 2, "{told:?}");
        for parent in told {
            let asked = spans.iter().find(|span| parent == format!("00-{TRACE}-{}-01", span.id));
            assert!(asked.is_some_and(|span| span.kind == 3), "{parent}");
        }
        // The spans contain no address and no key.
        let written = format!("{spans:?}").to_lowercase();
        assert!(
            !written.contains(&actors::address("borrower").to_string().to_lowercase())
                && !written.contains(&KEY.to_lowercase())
        );
        assert!(collector.authorizations().iter().all(|given| given.as_deref() == Some("Bearer of-the-collector")));
    });
}

#[test]
fn what_is_not_sampled_is_not_sent_and_endpoints_are_told_nothing_unasked() {
    run(async {
        let (collector, proxy) = (Collector::start().await, Proxy::start(devnet().await.ethereum.url()).await);
        let service = through(&proxy, &traced(&collector, 1.0)).await;
        let path = format!("/api/v2/score/address/{}", actors::address("saver"));
        let not_sampled =
            service.keyed().request(Method::GET, &path).header("traceparent", format!("00-{TRACE}-{CALLER}-00"));
        assert_eq!(answer(not_sampled).await.status, 200);
        let nonsense = service.keyed().request(Method::GET, "/healthz").header("traceparent", "00-not-a-trace");
        assert_eq!(answer(nonsense).await.status, 200);
        let failed = service.keyed().get("/api/v2/agents").await;
        assert_eq!(failed.status, 502);
        assert!(proxy.take().iter().all(|call| call.traceparent.is_none()));
        assert!(service.terminate().await.success());
        let spans = collector.spans();
        assert!(spans.iter().all(|span| span.trace != TRACE), "{spans:?}");
        // Without a trace of the caller, the server starts one; and a failure of the server marks its span as an error.
        let [health] = named(&spans, "GET /healthz")[..] else { panic!("{spans:?}") };
        assert_eq!((health.parent.as_str(), health.status), ("", 0));
        let [agents] = named(&spans, "GET /api/v2/agents")[..] else { panic!("{spans:?}") };
        assert_eq!(agents.status, 2);
    });
}

#[test]
fn a_collector_that_is_down_harms_nobody() {
    run(async {
        let collector = Collector::start().await;
        let config = format!("{}{}", sandbox_config(&plugins()), traced(&collector, 1.0));
        drop(collector);
        let service = Service::start(&config);
        let score =
            service.keyed().get("/api/v2/sandbox/score/address/0x0000000000000000000000000000000000000001").await;
        score.ok();
        assert!(service.terminate().await.success());
    });
}

#[test]
fn lines_of_a_request_carry_its_id_and_a_bad_one_is_replaced() {
    run(async {
        let telemetry = "[telemetry]\nlog = \"warn,assay=debug\"\nlog_format = \"json\"\n";
        let service = Service::start(&format!("{}{telemetry}", sandbox_config(&plugins())));
        let (long, mine) = ("x".repeat(65), "mine-1:2.3_4");
        for (given, taken) in
            [(mine, true), ("two words", false), ("\"quoted\"", false), (long.as_str(), false), ("", false)]
        {
            let request = service.keyed().request(Method::GET, "/api/v2/models").header("x-request-id", given);
            let echoed = answer(request).await.headers["x-request-id"].to_str().unwrap().to_owned();
            assert_eq!(echoed == given, taken, "{given:?} {echoed:?}");
            let line = |line: &str| {
                serde_json::from_str::<Value>(line).ok().filter(|line| line["span"]["id"] == echoed.as_str())
            };
            let log = service.logged(&echoed).await;
            let found = log.lines().find_map(line).expect("a line of JSON with the id");
            assert_eq!(
                (&found["span"]["method"], &found["span"]["path"], &found["message"]),
                (&"GET".into(), &"/api/v2/models".into(), &"answered".into())
            );
        }
    });
}

#[test]
fn every_metric_says_what_it_is_and_names_its_unit() {
    run(async {
        let service = super::released_on_devnet().await;
        let api = service.keyed();
        for path in [
            format!("/api/v2/score/address/{}", actors::address("borrower")),
            "/api/v2/agents".to_owned(),
            "/api/v2/models".to_owned(),
        ] {
            api.get(&path).await;
        }
        let text = api.get("/metrics").await.text;
        let help =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("# HELP {name} ")).map(str::to_owned));
        let mut seen = 0;
        for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
            let (name, kind) = line.split_once(' ').unwrap();
            let said = help(name).unwrap_or_else(|| panic!("{name} is not described"));
            match kind {
                "counter" => assert!(name.ends_with("_total"), "{name}"),
                "histogram" => assert!(name.ends_with("_seconds") || name.ends_with("_writes"), "{name}"),
                _ => {}
            }
            // Metrics of time are in seconds, and their help texts begin accordingly.
            assert_eq!(
                name.ends_with("_seconds"),
                said.starts_with("Time") || said.starts_with("Age"),
                "{name}: {said}"
            );
            seen += 1;
        }
        assert!(seen > 20, "{text}");
        for name in [
            "assay_http_requests_total{",
            "assay_model_calls_total{",
            "assay_rpc_requests_total{",
            "assay_rpc_requests_waiting{",
        ] {
            assert!(text.contains(name), "{name} is not in\n{text}");
        }
    });
}

#[test]
fn the_alerts_are_raised_as_their_tests_say() {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ops/alerts.test.yml");
    let done = std::process::Command::new("promtool").args(["test", "rules"]).arg(tests).output();
    let done = done.expect("promtool comes with Prometheus: run `.ci/setup test`");
    let [out, error] = [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(done.status.success(), "{out}\n{error}");
}
