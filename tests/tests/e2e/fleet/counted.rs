//! A request that is counted against a rate and paid for by units needs the store once.

use assay_tests::{
    redis::{DURABLE, Redis, ask},
    service::{Service, counting_together, plugins},
};
use serde_json::json;

use super::{METERED, metered, on};
use crate::{configured, devnet, run};

/// Requests a minute: so many that none comes back during the test.
const RATE: usize = 30;
const REQUESTS: u64 = 10;

/// The number of scripts in the log of commands with a record of the key. A host calls others in the background.
fn scripts(port: u16) -> usize {
    let log = ask(port, &["SLOWLOG", "GET", "-1"]);
    let lines: Vec<&str> = log.lines().collect();
    let is_of_key = |call: &[&str]| {
        let [name, _digest, keys, rest @ ..] = call else { return false };
        let mut keys = rest.iter().take(keys.parse().unwrap_or(0));
        *name == "EVALSHA" && keys.any(|key| key.ends_with("/counted"))
    };
    (0..lines.len()).filter(|at| is_of_key(&lines[*at..])).count()
}

#[test]
fn a_request_is_counted_and_paid_for_in_one_call_of_the_store() {
    run(async {
        let redis = Redis::start(&DURABLE);
        for setting in [["slowlog-log-slower-than", "0"], ["slowlog-max-len", "100000"]] {
            ask(redis.port, &[&["CONFIG", "SET"][..], &setting].concat());
        }
        let config = configured(&plugins(), &format!("{}rate = {RATE}\n", metered(100))).await;
        let config = counting_together(&config);
        let host = Service::start(&on(redis.port, &config));
        let api = host.with_key(METERED);
        let saver = devnet().await.wallet("saver").address;
        let path = format!("/api/v2/score/address/{saver}");
        let used = async || host.with_key(METERED).get("/api/v2/usage").await.ok()["used"].clone();
        // Read before: then scores come from the cache.
        host.keyed().get(&path).await.ok();

        ask(redis.port, &["SLOWLOG", "RESET"]);
        for n in 1..=REQUESTS {
            let answer = api.get(&path).await;
            answer.ok();
            assert_eq!(answer.headers["assay-units-left"], (100 - n).to_string().as_str());
        }
        let scripts = scripts(redis.port);
        println!("{REQUESTS} requests with a rate and units: {scripts} scripts");
        assert_eq!((scripts as u64, used().await), (REQUESTS, json!(REQUESTS)));

        // A bad request costs nothing, though its units were taken ahead; one about several addresses takes its own.
        api.get(&format!("{path}?model_version=none")).await.expect(422);
        api.get(&format!("/api/v2/score/?address={saver},{saver}")).await.ok();
        // Beyond the rate nothing is taken.
        let mut limited = api.get(&path).await;
        let mut more = 0;
        while limited.status == 200 {
            more += 1;
            limited = api.get(&path).await;
        }
        assert_eq!(limited.expect(429)["code"], "too_many_requests");
        host.terminate().await;
        let host = Service::start(&on(redis.port, &config.replace(&format!("rate = {RATE}"), "rate = 0")));
        let spent = host.with_key(METERED).get("/api/v2/usage").await.ok()["used"].clone();
        assert_eq!(spent, json!(REQUESTS + 1 + more));
    });
}
