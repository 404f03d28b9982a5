//! Too many, too frequent and too slow requests: each is refused at once and does not affect other callers.

mod overload;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use assay_tests::{
    proxy::{Proxy, Reply},
    service::{Answer, Caller, KEY, Service, answer, counting_together, plugins, sandbox_config},
    until::PATIENCE,
};
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const SCORE: &str = "/api/v2/sandbox/score/address/0x0000000000000000000000000000000000000001";
const RATED: &str = "assay_limits_rated";

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).map_or("", |value| value.to_str().expect("a text"))
}

/// Status, and the headers with the policy and the current limit.
fn limit(answer: &Answer) -> (u16, &str, &str) {
    (answer.status.as_u16(), header(answer, "ratelimit-policy"), header(answer, "ratelimit"))
}

fn with_rates(http: &str) -> String {
    let key =
        format!("[[access.keys]]\nname = \"rated\"\nkey = \"{RATED}\"\nscopes = [\"read\"]\nunits = 1\nrate = 3\n");
    let config = sandbox_config(&plugins()).replace("address_rate = 0", "address_rate = 2");
    counting_together(&config) + &key + http
}

#[tokio::test]
async fn a_rate_is_counted_down_in_every_answer_and_then_told() {
    let host = Service::start(&with_rates(""));
    let api = host.with_key(RATED);
    // One request returns every 20 seconds, and the test takes less time.
    let policy = "\"key\";q=3;w=60";
    assert_eq!(limit(&api.get(SCORE).await), (200, policy, "\"key\";r=2;t=20"));
    assert_eq!(limit(&api.get("/api/v2/nothing").await), (404, policy, "\"key\";r=1;t=40"));
    assert_eq!(limit(&api.get("/api/v2/usage").await), (200, policy, "\"key\";r=0;t=60"));
    let refused = api.get(SCORE).await;
    assert_eq!(limit(&refused), (429, policy, "\"key\";r=0;t=60"));
    let seconds: u64 = header(&refused, "retry-after").parse().expect("seconds");
    assert!((1..=20).contains(&seconds), "{seconds}");
    assert_eq!(
        refused.json(),
        json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded", "title": "Quota exceeded",
            "status": 429,
            "detail": format!("This API key may make 3 requests a minute; try again in {seconds} s"),
            "code": "too_many_requests",
            "violated-policies": ["key"]
        })
    );
    // Other callers are not affected: the key without a rate, operators, and callers without a key.
    let other = host.keyed().get(SCORE).await;
    assert_eq!(limit(&other), (200, "", ""));
    let policy = "\"address\";q=2;w=60";
    let stranger = host.anonymous();
    assert_eq!(limit(&stranger.get(SCORE).await), (401, policy, "\"address\";r=1;t=30"));
    assert_eq!(limit(&host.with_key("assay_guessed").get(SCORE).await), (401, policy, "\"address\";r=0;t=60"));
    let refused = stranger.get("/openapi.json").await;
    assert_eq!(limit(&refused), (429, policy, "\"address\";r=0;t=60"));
    assert_eq!(refused.json()["violated-policies"], json!(["address"]));
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(limit(&stranger.get(path).await), (200, "", ""), "{path}");
    }
    let metrics = stranger.get("/metrics").await.text;
    for line in ["assay_http_refused_total{reason=\"key\"} 1", "assay_http_refused_total{reason=\"address\"} 1"] {
        assert!(metrics.contains(line), "{line} not in\n{metrics}");
    }
}

#[tokio::test]
async fn a_burst_gets_what_the_rate_allows_and_not_one_more() {
    let host = Service::start(&with_rates(""));
    let (api, started) = (host.with_key(RATED), Instant::now());
    let answers = join_all((0..60).map(|_| api.get(SCORE))).await;
    // One comes back every 20 seconds.
    let back = usize::try_from(started.elapsed().as_secs() / 20).expect("a number");
    let count = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
    assert_eq!(count(200) + count(429), 60);
    assert!((3..=3 + back).contains(&count(200)), "{} of 3 were answered", count(200));
}

#[tokio::test]
async fn units_and_rate_are_told_side_by_side() {
    // No chain is configured, so a score costs nothing; a key without units is refused before that.
    let host = Service::start(&with_rates("").replace("units = 1\n", "units = 0\n"));
    let refused = host.with_key(RATED).get("/api/v2/score/address/0x0000000000000000000000000000000000000001").await;
    assert_eq!(limit(&refused), (429, "\"units\";q=0, \"key\";q=3;w=60", "\"units\";r=0, \"key\";r=2;t=20"));
    assert_eq!(
        (&refused.json()["code"], &refused.json()["violated-policies"]),
        (&json!("units_used_up"), &json!(["units"]))
    );
}

#[tokio::test]
async fn only_a_trusted_proxy_says_where_a_request_comes_from() {
    let from = async |host: &Service, forwarded: &str| {
        let request = host.anonymous().request(Method::GET, SCORE).header("x-forwarded-for", forwarded);
        answer(request).await.status.as_u16()
    };
    let direct = Service::start(&with_rates(""));
    for (forwarded, status) in [("198.51.100.1", 401), ("198.51.100.2", 401), ("198.51.100.3", 429)] {
        assert_eq!(from(&direct, forwarded).await, status, "{forwarded}");
    }
    let behind = Service::start(&with_rates("[http]\ntrusted_proxies = [\"127.0.0.0/8\"]\n"));
    for (forwarded, status) in [
        ("198.51.100.1", 401),
        ("6.6.6.6, 198.51.100.1", 401),
        ("198.51.100.1", 429),
        ("198.51.100.2", 401),
        ("7.7.7.7, 198.51.100.1, 127.0.0.9", 429),
    ] {
        assert_eq!(from(&behind, forwarded).await, status, "{forwarded}");
    }
}

/// A server with room for two requests, and a chain whose node holds every call.
async fn full_house() -> (Service, Proxy) {
    let proxy = Proxy::start("http://127.0.0.1:9").await;
    proxy.rule(|_| Reply::Hold);
    let more = format!(
        "[http]\nmax_requests = 2\n[[chains]]\nid = 8453\nrpc = [\"{}\"]\nmarkets = []\n[names]\nregistries = \
         []\n[identity]\nsources = []\n",
        proxy.url
    );
    (Service::start(&(sandbox_config(&plugins()) + &more)), proxy)
}

pub(super) async fn in_flight(host: &Service, route: &str, number: u64) {
    let line = format!("assay_http_requests_in_flight{{method=\"GET\",route=\"{route}\"}} {number}");
    host.anonymous().until("/metrics", |metrics| metrics.text.lines().any(|found| found == line)).await;
}

#[tokio::test]
async fn beyond_its_room_a_server_sends_away_at_once_and_goes_on_afterwards() {
    let (host, proxy) = full_house().await;
    let api = host.keyed();
    let path = "/api/v2/score/address/0x00000000000000000000000000000000000000aa";
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let api = api.clone();
            tokio::spawn(async move { api.get(path).await })
        })
        .collect();
    in_flight(&host, "/api/v2/score/address/{address}", 2).await;
    for answer in join_all((0..20).map(|_| api.get(SCORE))).await {
        assert_eq!(
            answer.expect(503),
            json!({ "detail": "Too many requests are in progress; try again", "code": "busy" })
        );
        assert_eq!(header(&answer, "retry-after"), "1");
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(host.anonymous().get(path).await.status, 200, "{path}");
    }
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
    let refused = "assay_http_refused_total{reason=\"busy\"} 20";
    host.anonymous().until("/metrics", |metrics| metrics.text.contains(refused)).await;
    proxy.rule(|_| Reply::Status(500, None));
    proxy.release(10_000);
    for waiting in waiting {
        assert_eq!(waiting.await.expect("an answer").status, 502);
    }
    api.get(SCORE).await.ok();
}

#[tokio::test]
async fn clients_that_trickle_are_let_go_and_keep_nobody_out() {
    let host =
        Service::start(&(sandbox_config(&plugins()) + "[http]\nheader_timeout_ms = 2_000\nmax_connections = 4\n"));
    let address = host.base().trim_start_matches("http://").to_owned();
    let let_go = AtomicUsize::new(0);
    let trickle = async || {
        let mut stream = TcpStream::connect(&address).await.expect("a connection");
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: assay\r\nx-slow: ").await;
        // Sends another byte again and again, without an end, until the server closes the connection.
        let mut answer = [0; 1_024];
        loop {
            tokio::select! {
                read = stream.read(&mut answer) => {
                    if matches!(read, Ok(0) | Err(_)) {
                        break;
                    }
                }
                () = tokio::time::sleep(Duration::from_millis(20)) => {
                    if stream.write_all(b"a").await.is_err() {
                        break;
                    }
                }
            }
        }
        let_go.fetch_add(1, Ordering::SeqCst);
    };
    // Twice as many as the limit of connections, and one ordinary request after them.
    let api = host.keyed();
    let both = async { tokio::join!(join_all((0..8).map(|_| trickle())), api.get(SCORE)) };
    let (_, answer) = tokio::time::timeout(PATIENCE, both).await.expect("they are let go");
    answer.ok();
    assert_eq!(let_go.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_not_waited_for() {
    let host = Service::start(&(sandbox_config(&plugins()) + "[http]\nbody_timeout_ms = 300\n"));
    let mut stream = TcpStream::connect(host.base().trim_start_matches("http://")).await.expect("a connection");
    let head =
        format!("POST {SCORE} HTTP/1.1\r\nhost: assay\r\nauthorization: Bearer {KEY}\r\ncontent-length: 100\r\n\r\n{{");
    stream.write_all(head.as_bytes()).await.expect("the head is sent");
    let mut text = String::new();
    tokio::time::timeout(PATIENCE, stream.read_to_string(&mut text)).await.expect("an answer").expect("text");
    assert!(text.starts_with("HTTP/1.1 408 ") && text.contains("Request body did not arrive in time"), "{text}");
    // Headers above the size limit.
    let long = host.keyed().request(Method::GET, SCORE).header("x-long", "a".repeat(300_000));
    let refused = long.send().await.expect("an answer");
    assert_eq!(refused.status(), 431);
}

#[tokio::test]
async fn large_heads_are_refused_with_an_answer() {
    let service = Service::start(&(sandbox_config(&plugins()) + "[http]\nmax_head_bytes = 16_384\n"));
    let api = service.keyed();
    let list = "a".repeat(10_000);
    let refused = api.get(&format!("/healthz?list={list}")).await.expect(414);
    assert!(
        refused["detail"].as_str().is_some_and(|text| text.contains("POST") && text.contains("16384")),
        "{refused}"
    );
    let with = |length: usize| {
        let request = api.request(Method::GET, "/healthz");
        answer(request.header("x-large", "b".repeat(length)))
    };
    let refused = with(17_000).await.expect(431);
    assert!(refused["detail"].as_str().is_some_and(|text| text.contains("16384")), "{refused}");
    with(15_000).await.expect(200);
    // The server stops reading a head of twice the size.
    assert_eq!(with(40_000).await.status, 431);
}

#[test]
fn bounds_are_held_to_their_own_bounds() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let check = |http: &str| {
        std::fs::write(file.path(), http).expect("the configuration");
        let done = std::process::Command::new(assay_tests::service::binary())
            .args(["check-config", "--config"])
            .arg(file.path())
            .output();
        String::from_utf8(done.expect("assay runs").stderr).expect("text")
    };
    for (http, words) in [
        ("[http]\nmax_requests = 0\n", "http.max_requests: 0; must be at least 1"),
        ("[http]\nmax_connections = 0\n", "http.max_connections: 0; must be at least 1"),
        ("[http]\nheader_timeout_ms = 700000\n", "http.header_timeout_ms: 700000; may be at most 600000"),
        ("[http]\nbody_timeout_ms = 30000\n", "http.body_timeout_ms: not below http.request_timeout_ms"),
        ("[http]\nmax_head_bytes = 100\n", "http.max_head_bytes: below 8192"),
        ("[http]\ntrusted_proxies = [\"proxy.internal\"]\n", "not an address or a network"),
        ("[http]\ncors_origins = [\"https://app.example/\"]\n", "not an origin"),
        ("[http]\ncors_origins = [\"*\"]\n", "not an origin"),
        ("[[access.keys]]\nname = \"a\"\nkey = \"12345678\"\nscopes = [\"read\"]\nrate = -1\n", "rate"),
    ] {
        assert!(check(http).contains(words), "{http}: {}", check(http));
    }
}

/// Whether a body tells the caller to retry later.
fn is_later(body: &Value) -> bool {
    matches!(body["code"].as_str(), Some("busy" | "too_many_requests"))
}

/// Sends one more request, and measures the time of its answer.
async fn timed(api: &Caller, path: &str) -> (u16, Duration, Value) {
    let started = Instant::now();
    let answer = api.get(path).await;
    (answer.status.as_u16(), started.elapsed(), answer.json())
}
