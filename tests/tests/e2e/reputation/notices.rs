//! Clients that wait for a submission: told of each state, bounded, sent away politely, and no burden once they are
//! gone.

use std::time::Instant;

use assay_tests::{
    redis::{self, DURABLE, Redis},
    reputation::World,
    service::{Answer, Caller, KEY, Service, answer, plugins, sandbox_config},
    until::until,
};
use futures::future::join_all;
use reqwest::{Method, RequestBuilder, Response, header};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{PATIENCE, confirmed, submit};
use crate::run;

/// Clients who wait at the same time.
const MANY: usize = 1_000;
const STATES: [&str; 5] = ["pending", "scoring", "uploading", "submitting", "confirmed"];

/// A server whose submission stays in one state, because no block is mined; and the path of its status.
async fn stuck(limits: &str) -> (World, Service, String) {
    let world = World::start().await;
    world.mining(false).await;
    let config = world.config(world.chain.url(), "");
    let service = Service::start(&format!("{config}\n[http]\nmax_connections_per_address = 0\n{limits}\n"));
    let api = service.keyed();
    let url = submit(&api, 1).await;
    api.until(&url, |status| status.ok()["status"] == "submitting").await;
    (world, service, url)
}

/// The states of an event stream in their order.
fn states(stream: &Answer) -> Vec<Value> {
    assert_eq!(
        (stream.status.as_u16(), &stream.headers[header::CONTENT_TYPE]),
        (200, &"text/event-stream".parse().unwrap())
    );
    let events = stream.text.split("\n\n").filter(|event| !event.is_empty() && *event != ":");
    let data = |event: &str| event.strip_prefix("event: status\ndata: ").map(serde_json::from_str);
    events.map(|event| data(event).expect("a status").expect("JSON")).collect()
}

async fn stream(api: &Caller, url: &str) -> Answer {
    answer(api.request(Method::GET, url).header(header::ACCEPT, "text/event-stream")).await
}

/// A client that waits on a connection of its own, until the server has sent the head of its response.
async fn waits(service: &Service, url: &str) -> TcpStream {
    let mut client = TcpStream::connect(service.address()).await.expect("a connection");
    let request = format!("GET {url} HTTP/1.1\r\nhost: assay\r\nauthorization: Bearer {KEY}\r\n\r\n");
    client.write_all(request.as_bytes()).await.expect("a request");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.expect("a head"));
    }
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    client
}

async fn waited_for(service: &Service) -> u64 {
    let metrics = service.anonymous().get("/metrics").await.text;
    let line = metrics.lines().find_map(|line| line.strip_prefix("assay_submissions_waited_for "));
    line.map_or(0, |value| value.parse().expect("a number"))
}

async fn until_waited_for(service: &Service, by: u64) {
    until(async || waited_for(service).await, |now| *now == by).await;
}

#[test]
fn a_submission_on_a_chain_is_followed_by_events_and_by_waiting() {
    run(async {
        let world = World::start().await;
        let service = Service::start(&world.config(world.chain.url(), ""));
        let api = service.keyed();
        // No block comes before both clients wait.
        world.mining(false).await;
        let url = submit(&api, 1).await;
        let by_waiting = async {
            let mut seen = vec![api.get(&url).await.ok()];
            while !["confirmed", "failed"].contains(&seen[seen.len() - 1]["status"].as_str().unwrap()) {
                seen.push(api.get(&format!("{url}?wait=60")).await.ok());
            }
            seen
        };
        let both_wait = async {
            until_waited_for(&service, 2).await;
            world.mining(true).await;
        };
        let (events, waited, ()) = tokio::join!(stream(&api, &url), by_waiting, both_wait);
        let last = confirmed(&api, &url).await;
        for seen in [states(&events), waited] {
            assert_eq!(seen[seen.len() - 1], last);
            // Each is one of the states, in their order; a short one may have passed unseen.
            let order = |state: &Value| STATES.iter().position(|name| state["status"] == *name).expect("a state");
            assert!(seen.len() > 1 && seen.is_sorted_by_key(order), "{seen:?}");
        }
    });
}

#[test]
fn who_waits_for_what_has_ended_is_answered_at_once() {
    run(async {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let service = Service::start_in(dir, &sandbox_config(&plugins()), &["--sandbox"]);
        let api = service.keyed();
        let url = submit(&api, 1).await;
        let last = confirmed(&api, &url).await;
        assert_eq!(api.get(&format!("{url}?wait=60")).await.ok(), last);
        assert_eq!(states(&stream(&api, &url).await), [last]);
        let refused = api.get(&format!("{url}?wait=61")).await.expect(422);
        assert_eq!(refused["detail"][0]["loc"], json!(["query", "wait"]));
        let unknown = "/api/v2/agents/1/reputation/status/550e8400-e29b-41d4-a716-446655440000?wait=60";
        assert_eq!(api.get(unknown).await.expect(404)["detail"], "Submission not found");
    });
}

#[test]
fn places_are_limited_and_free_again_when_a_client_hangs_up() {
    run(async {
        let (_world, service, url) = stuck("max_waiting = 2").await;
        let (api, wait) = (service.keyed(), format!("{url}?wait=60"));
        let clients = (waits(&service, &wait).await, waits(&service, &wait).await);
        let refused = api.get(&wait).await;
        assert_eq!(refused.expect(503)["code"], "busy");
        assert_eq!(refused.headers[header::RETRY_AFTER], "5");
        assert_eq!(stream(&api, &url).await.expect(503)["code"], "busy");
        assert_eq!(api.get(&url).await.ok()["status"], "submitting", "a client that polls needs no place");
        drop(clients);
        until_waited_for(&service, 0).await;
        waits(&service, &wait).await;
    });
}

/// The heads of the responses to half of the clients, who wait for the next state.
async fn asked(api: &Caller, url: &str) -> Vec<Response> {
    heads(|| api.request(Method::GET, &format!("{url}?wait=60"))).await
}

/// The other half, who follow the events.
async fn streams(api: &Caller, url: &str) -> Vec<Response> {
    heads(|| api.request(Method::GET, url).header(header::ACCEPT, "text/event-stream")).await
}

async fn heads(request: impl Fn() -> RequestBuilder) -> Vec<Response> {
    let mut heads = Vec::new();
    for _ in 0..MANY / 2 {
        heads.push(request().timeout(PATIENCE).send().await.expect("a head"));
    }
    heads
}

async fn check_polite(waiting: impl IntoIterator<Item = Response>) {
    for body in join_all(waiting.into_iter().map(Response::text)).await {
        let body = body.expect("a whole body");
        assert!(body.contains("\"status\":\"submitting\""), "{body}");
    }
}

/// `ASSAY_SOAK=1` lets them wait for as long as they may.
#[test]
fn a_thousand_who_wait_are_sent_away_politely() {
    run(async {
        let (_world, service, url) = stuck("max_requests = 8").await;
        let api = service.keyed();
        let before = service.resident();
        // Who waits for the next state waits a minute at most.
        let mut follows = streams(&api, &url).await;
        let mut waits = asked(&api, &url).await;
        until_waited_for(&service, MANY as u64).await;
        if std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1") {
            let began = Instant::now();
            check_polite(waits).await;
            println!("the answers to {} clients came after {} s more", MANY / 2, began.elapsed().as_secs());
            until_waited_for(&service, MANY as u64 / 2).await;
            waits = asked(&api, &url).await;
            until_waited_for(&service, MANY as u64).await;
        }
        let each = (service.peak() - before) / 1024 / MANY as u64;
        println!("at most {each} KiB for each of {MANY} waiting clients");
        assert!(each < 64, "{each} KiB");
        assert_eq!(api.get(&url).await.ok()["status"], "submitting", "who waits is no request in progress");
        waits.truncate(MANY / 4);
        follows.truncate(MANY / 4);
        until_waited_for(&service, MANY as u64 / 2).await;
        let ending = tokio::spawn(service.terminate());
        check_polite(waits.into_iter().chain(follows)).await;
        assert!(ending.await.expect("it ends").success());
    });
}

#[test]
fn the_worker_of_another_host_is_noticed_through_the_store() {
    run(async {
        let redis = Redis::start(&DURABLE);
        let world = World::start().await;
        let config = redis::on(&world.config(world.chain.url(), ""), &redis.url(), "notices:");
        let (one, other) = (Service::start(&config), Service::start(&config));
        let url = submit(&one.keyed(), 1).await;
        let (here, there) = (one.keyed(), other.keyed());
        let (here, there) = tokio::join!(stream(&here, &url), stream(&there, &url));
        for events in [states(&here), states(&there)] {
            assert_eq!(events.last().map(|last| &last["status"]), Some(&json!("confirmed")), "{events:?}");
        }
    });
}
