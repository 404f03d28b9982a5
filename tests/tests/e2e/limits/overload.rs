//! Four times the sustained load, for a minute (`ASSAY_SOAK=1`; a few seconds otherwise): admitted requests are
//! answered as fast as before, others are refused at once, memory does not grow, and afterwards all is as before.
//!
//! The chain limits the capacity: every score reads anew from a slow node, so a score takes as long as its calls, and
//! the server's own work is small. The sustained load is then the number of concurrent requests divided by that time.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy::primitives::{Address, keccak256};
use assay_tests::{
    lenders::Small,
    service::{Caller, Service, plugins, sandbox_config},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Mutex};

use super::{is_later, timed};
use crate::run;

/// Requests that are processed at the same time.
const ROOM: usize = 8;
/// The duration of every call to the chain.
const CALL: Duration = Duration::from_millis(25);
/// The most resident memory that a minute of overload may add.
const GROWTH: u64 = 64 << 20;

/// Length of the overload.
fn length() -> Duration {
    Duration::from_secs(if std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1") { 60 } else { 3 })
}

/// A proxy of a node in which every call takes `CALL`, for any number of concurrent callers.
async fn slow_line(upstream: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (upstream, http) = (upstream.to_owned(), reqwest::Client::new());
    let forward = move |body: axum::body::Bytes| {
        let (upstream, http) = (upstream.clone(), http.clone());
        async move {
            tokio::time::sleep(CALL).await;
            let sent = http.post(upstream).header("content-type", "application/json").body(body).send().await;
            let bytes = match sent {
                Ok(response) => response.bytes().await.unwrap_or_default(),
                Err(_) => Default::default(),
            };
            ([("content-type", "application/json")], bytes)
        }
    };
    let app = axum::Router::new().route("/", axum::routing::post(forward));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// An address that no request has used.
fn fresh(n: usize) -> String {
    format!("/api/v2/score/address/{}", Address::from_word(keccak256(format!("overload {n}"))))
}

/// The 99th percentile of the times.
fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[(times.len() * 99).div_ceil(100).saturating_sub(1).min(times.len() - 1)]
}

/// The results of requests.
#[derive(Default)]
struct Seen {
    accepted: Vec<Duration>,
    refused: Vec<Duration>,
    wrong: Vec<(u16, Value)>,
}

impl Seen {
    fn take(&mut self, (status, took, body): (u16, Duration, Value)) {
        match status {
            // These addresses are unknown, which only a full reading shows.
            200 | 404 => self.accepted.push(took),
            503 | 429 if is_later(&body) => self.refused.push(took),
            _ => self.wrong.push((status, body)),
        }
    }
}

/// `count` callers that send requests without a pause until `until`.
async fn callers(api: &Caller, count: usize, from: usize, until: Instant) -> Seen {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let all = (0..count).map(|caller| {
        let (api, seen) = (api.clone(), seen.clone());
        async move {
            let mut n = from + caller;
            while Instant::now() < until {
                let outcome = timed(&api, &fresh(n)).await;
                n += count;
                seen.lock().await.take(outcome);
            }
        }
    });
    futures::future::join_all(all).await;
    std::mem::take(&mut *seen.lock().await)
}

/// `rate` requests a second at equal intervals, independent of the answers to earlier ones.
async fn offered(api: &Caller, rate: f64, from: usize, length: Duration) -> Seen {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut due = tokio::time::interval(Duration::from_secs_f64(1.0 / rate));
    let (started, mut asked) = (Instant::now(), Vec::new());
    while started.elapsed() < length {
        due.tick().await;
        let (api, seen, n) = (api.clone(), seen.clone(), from + asked.len());
        asked.push(tokio::spawn(async move {
            let outcome = timed(&api, &fresh(n)).await;
            seen.lock().await.take(outcome);
        }));
    }
    for asked in asked {
        asked.await.expect("no panic");
    }
    std::mem::take(&mut *seen.lock().await)
}

#[test]
fn four_times_too_much_is_sent_away_and_the_rest_served_as_ever() {
    run(async {
        let chain = Small::start(8_453).await.expect("the chain starts");
        let line = slow_line(chain.url()).await;
        let more = format!(
            "[http]\nmax_requests = {ROOM}\nmax_connections_per_address = 0\n[reading.rpc]\nconcurrency = \
             1000\n[[chains]]\nid = 8453\nname = \"Base\"\nrpc = [\"{line}\"]\n\
             finality = 2\nmax_head_age = 0\nmulticall = \"none\"\nsequencer = \"none\"\nnative = \
             {{ symbol = \"ETH\" }}\ntokens = []\nmarkets = []\n\
             [names]\nregistries = []\n[identity]\nsources = []\n"
        );
        let service = Service::start(&(sandbox_config(&plugins()) + &more));
        let api = service.keyed();
        let (length, soak) = (length(), length() >= Duration::from_secs(60));

        // First one caller without competition. Then the sustained load: as many callers as there is room for.
        let mut alone = callers(&api, 1, 0, Instant::now() + length / 4).await;
        let full = callers(&api, ROOM, 1_000_000, Instant::now() + length / 4).await;
        assert!(alone.wrong.is_empty() && full.wrong.is_empty(), "{:?} {:?}", alone.wrong.first(), full.wrong.first());
        // As measured, or by the fastest request of one caller if a busy machine held up the measurement.
        let fastest = alone.accepted.iter().min().expect("an answer").as_secs_f64();
        let sustained = (full.accepted.len() as f64 / (length / 4).as_secs_f64()).max(ROOM as f64 / fastest);
        let before = service.resident();

        let mut seen = offered(&api, 4.0 * sustained, 2_000_000, length).await;
        let after = service.resident();
        assert!(seen.wrong.is_empty(), "{} others, such as {:?}", seen.wrong.len(), seen.wrong.first());
        assert!(!seen.accepted.is_empty() && !seen.refused.is_empty(), "{} let in", seen.accepted.len());

        // Directly afterwards, times are as before.
        let over = Instant::now();
        let mut again = callers(&api, 1, 9_000_000, over + Duration::from_secs(1)).await;
        assert!(
            again.wrong.is_empty() && again.refused.is_empty() && !again.accepted.is_empty(),
            "{:?}",
            again.wrong.first()
        );
        let (quiet, busy, told) = (p99(&mut alone.accepted), p99(&mut seen.accepted), p99(&mut seen.refused));
        let (median, later) = (seen.refused[seen.refused.len() / 2], p99(&mut again.accepted));
        println!(
            "{}",
            json!({
                "seconds": length.as_secs(), "sustained_per_second": sustained, "offered_per_second": 4.0 * sustained,
                "accepted": seen.accepted.len(), "refused": seen.refused.len(),
                "p99_ms": { "uncontended": quiet.as_millis(), "accepted": busy.as_millis(), "refused": told.as_millis(),
                            "afterwards": later.as_millis() },
                "refused_median_ms": median.as_millis(),
                "ratio": busy.as_secs_f64() / quiet.as_secs_f64(),
                "resident_mb": { "before": before >> 20, "after": after >> 20 }
            })
        );
        assert!(after.saturating_sub(before) < GROWTH, "{} bytes more", after.saturating_sub(before));
        // Only the soak asserts times, because it has the machine to itself.
        if soak {
            assert!(busy <= 2 * quiet, "p99 {busy:?}, uncontended {quiet:?}");
            // A refusal takes a fraction of the work's time; even the slowest of these clients waits no longer than the
            // admitted ones.
            assert!(
                4 * median <= quiet && told <= 2 * quiet,
                "it took {median:?} to be sent away, and at worst {told:?}"
            );
            assert!(later <= 2 * quiet, "p99 {later:?} in the second after it, {quiet:?} before");
        }
    });
}
