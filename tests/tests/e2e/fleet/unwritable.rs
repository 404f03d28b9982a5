//! A host whose Redis is reached and refuses writes.

use assay_tests::{
    devnet::actors,
    redis::{DURABLE, Redis, ask},
    service::{Service, plugins},
};
use serde_json::json;

use super::{METERED, SANDBOX, configured, metered, on, run, until};

#[test]
fn a_redis_that_refuses_writes_is_503_and_not_ready_until_it_takes_them() {
    run(async {
        let server = Redis::start(&DURABLE);
        let config = configured(&plugins(), "").await + &metered(4);
        let service = Service::start(&on(server.port, &config));
        let (api, counted) = (service.keyed(), service.with_key(METERED));
        let path = format!("/api/v2/score/address/{}", actors::address("busy"));
        counted.get(&path).await.ok();
        for (reason, begin, end) in [
            ("OOM", "config set maxmemory 1", "config set maxmemory 0"),
            ("NOREPLICAS", "config set min-replicas-to-write 1", "config set min-replicas-to-write 0"),
            ("NOPERM", "acl setuser default -eval -evalsha", "acl setuser default +eval +evalsha"),
        ] {
            let say = |words: &str| assert_eq!(ask(server.port, &words.split(' ').collect::<Vec<_>>()).trim(), "OK");
            say(begin);
            let refused = counted.get(&path).await.expect(503);
            assert_eq!(refused["code"], "store_unwritable", "{reason}: {refused}");
            // With the refusal, not some time after it.
            let ready = api.get("/readyz").await;
            assert!(ready.status == 503 && ready.text.contains(reason), "{reason}: {}", ready.text);
            let champion = json!({ "version": "1.0" });
            // Without the permission to run scripts, the roles cannot be read either.
            let refused = api.put("/api/v2/admin/models/credit/champion", &champion).await.expect(503);
            let code = if reason == "NOPERM" { "store_away" } else { "store_unwritable" };
            assert_eq!(refused["code"], code, "{reason}: {refused}");
            api.get(SANDBOX).await.ok();
            assert_eq!(api.get("/readyz").await.status, 503, "{reason}");
            say(end);
            until(&api, "/readyz", |answer| answer.status == 200).await;
        }
        // Without a write that could fail.
        ask(server.port, &["config", "set", "maxmemory", "100mb"]);
        ask(server.port, &["config", "set", "maxmemory-policy", "allkeys-lru"]);
        until(&api, "/readyz", |answer| answer.status == 503 && answer.text.contains("allkeys-lru")).await;
        ask(server.port, &["config", "set", "maxmemory-policy", "noeviction"]);
        until(&api, "/readyz", |answer| answer.status == 200).await;
        // Refused requests were not charged: exactly three of four units are left.
        for _ in 0..3 {
            counted.get(&path).await.ok();
        }
        counted.get(&path).await.expect(429);
    });
}
