//! Several hosts that share one Redis: one shelf, one set of roles, keys, units and rates, and each submission once;
//! and the functions of a host that cannot reach Redis. `ASSAY_SOAK=1` raises the numbers to the promised ones (`make
//! soak`).

mod counted;
mod drift;
mod killed;
mod proxied;
mod takeover;
mod unwritable;

use std::{
    process::Command,
    time::{Duration, Instant},
};

use assay_tests::{
    hostile::{Credit, IN_PRODUCTION, act},
    redis::{self, DURABLE, Redis},
    service::{Answer, Caller, Service, binary, counting_together, plugins, sandbox_config, shelf_copy},
};
use futures::future::join_all;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::{agents, configured, devnet, run, shadow::ALWAYS};

const PREFIX: &str = "fleet:";
const SANDBOX: &str = "/api/v2/sandbox/score/address/0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";
/// Requests a minute.
const RATE: usize = 6;
const METERED: &str = "assay_fleet_counted";

fn soak() -> bool {
    std::env::var_os("ASSAY_SOAK").is_some_and(|on| on == "1")
}

fn metered(units: usize) -> String {
    format!(
        "[[access.keys]]\nname = \"counted\"\nkey = \"{METERED}\"\nscopes = [\"read\", \"submit\"]\nunits = {units}\n"
    )
}

fn on(port: u16, config: &str) -> String {
    redis::on(config, &format!("redis://127.0.0.1:{port}"), PREFIX)
}

/// Repeats a request until the answer is as expected, and returns the time that it took.
async fn until(api: &Caller, path: &str, is_so: impl Fn(&Answer) -> bool) -> Duration {
    let started = Instant::now();
    api.until(path, is_so).await;
    started.elapsed()
}

fn lists(body: &Value, version: &str) -> bool {
    body["models"].as_array().unwrap().iter().any(|model| model["kind"] == "credit" && model["version"] == version)
}

#[test]
fn hosts_share_a_shelf_roles_and_keys() {
    run(async {
        let server = Redis::start(&DURABLE);
        let (full, bare) = (shelf_copy(), shelf_copy());
        let gone = std::fs::read_dir(bare.path())
            .unwrap()
            .map(|file| file.unwrap().path())
            .find(|path| path.ends_with("credit-1.0.wasm"));
        let component = gone.unwrap();
        let bytes = std::fs::read(&component).unwrap();
        for shelf in [&full, &bare] {
            std::fs::remove_file(shelf.path().join("credit-1.0.wasm")).unwrap();
        }
        let [one, two] = [&full, &bare].map(|shelf| Service::start(&on(server.port, &sandbox_config(shelf.path()))));
        let [a, b] = [&one, &two].map(Service::keyed);

        a.post_bytes("/api/v2/admin/models", bytes.clone()).await.expect(201);
        let shelf = until(&b, "/api/v2/models", |answer| lists(&answer.ok(), "1.0")).await;
        a.put("/api/v2/admin/models/credit/champion", &json!({ "version": "1.0" })).await.ok();
        let champion = |version: &'static str| {
            move |answer: &assay_tests::service::Answer| {
                let body = answer.ok();
                let is = |model: &Value| {
                    model["kind"] == "credit" && model["version"] == version && model["role"] == "champion"
                };
                body["models"].as_array().unwrap().iter().any(is)
            }
        };
        let role = until(&b, "/api/v2/models", champion("1.0")).await;
        // In the other direction, based on the state that was read there.
        b.put("/api/v2/admin/models/credit/champion", &json!({ "version": "1.1" })).await.ok();
        until(&a, "/api/v2/models", champion("1.1")).await;
        println!("a component reached the other host after {shelf:?}, a role after {role:?}");

        b.delete("/api/v2/admin/models/credit/1.0").await;
        until(&a, "/api/v2/models", |answer| !lists(&answer.ok(), "1.0")).await;
        // The same version may come back, and a host that starts later has it too.
        b.post_bytes("/api/v2/admin/models", bytes).await.expect(201);
        let third = shelf_copy();
        std::fs::remove_file(third.path().join("credit-1.0.wasm")).unwrap();
        let late = Service::start(&on(server.port, &sandbox_config(third.path())));
        until(&late.keyed(), "/api/v2/models", |answer| lists(&answer.ok(), "1.0")).await;

        let config = one.dir().join("assay.toml");
        let minted = Command::new(binary())
            .args(["key", "mint", "--store", "--name", "shared", "--config"])
            .arg(config)
            .output()
            .unwrap();
        assert!(minted.status.success(), "{}", String::from_utf8_lossy(&minted.stderr));
        let key = String::from_utf8(minted.stdout).unwrap();
        for host in [&one, &two, &late] {
            host.with_key(key.trim()).get(SANDBOX).await.ok();
        }
        let [first, second] = [a.get(SANDBOX).await.ok(), b.get(SANDBOX).await.ok()];
        assert_eq!((&first["score"], &first["decile"]), (&second["score"], &second["decile"]));
    });
}

#[test]
fn a_version_that_another_host_has_just_promoted_is_not_removed() {
    run(async {
        let server = Redis::start(&DURABLE);
        let shelves = [shelf_copy(), shelf_copy()];
        let [one, two] =
            shelves.each_ref().map(|shelf| Service::start(&on(server.port, &sandbox_config(shelf.path()))));
        let [a, b] = [&one, &two].map(Service::keyed);
        for version in ["1.0", "1.1", "1.0"] {
            b.put("/api/v2/admin/models/credit/champion", &json!({ "version": version })).await.ok();
            let refused = a.delete(&format!("/api/v2/admin/models/credit/{version}")).await.expect(409);
            assert_eq!(refused["code"], "is_champion", "{refused}");
        }
        // Nor is one promoted that another host has just removed.
        assert_eq!(a.delete("/api/v2/admin/models/credit/1.1").await.status, 204);
        let refused = b.put("/api/v2/admin/models/credit/champion", &json!({ "version": "1.1" })).await;
        assert!([404, 409].contains(&refused.status.as_u16()), "{}", refused.text);
    });
}

/// The version of a model that traps in production.
const TRAPPING: &str = "6.1";

/// Two hosts with that model, and what must outlive them.
async fn with_trapping() -> (impl Sized, [Service; 2]) {
    let (server, shelves) = (Redis::start(&DURABLE), [shelf_copy(), shelf_copy()]);
    let config = async |shelf: &TempDir| on(server.port, &configured(shelf.path(), ALWAYS).await);
    let hosts = [config(&shelves[0]).await, config(&shelves[1]).await].map(|config| Service::start(&config));
    let model = Credit::new(TRAPPING).act_when(IN_PRODUCTION, act::TRAP).build();
    hosts[0].keyed().post_bytes("/api/v2/admin/models", model).await.expect(201);
    until(&hosts[1].keyed(), "/api/v2/models", |answer| has(answer, TRAPPING, "state", "ready")).await;
    ((server, shelves), hosts)
}

/// Whether a credit model has this value in this field.
fn has(answer: &Answer, version: &str, field: &str, value: &str) -> bool {
    let body = answer.ok();
    let mut models = body["models"].as_array().unwrap().iter().filter(|model| model["kind"] == "credit");
    models.any(|model| model["version"] == version && model[field] == value)
}

#[test]
fn a_version_that_failed_on_one_host_returns_there_when_another_host_makes_it_a_challenger_again() {
    run(async {
        let (_around, hosts) = with_trapping().await;
        let [a, b] = hosts.each_ref().map(Service::keyed);
        let challenge = async |api: &Caller| {
            api.put("/api/v2/admin/models/credit/challengers", &json!({ "versions": [TRAPPING] })).await.ok();
        };
        challenge(&a).await;
        until(&b, "/api/v2/models", |answer| has(answer, TRAPPING, "role", "challenger")).await;
        // Only this host scores, so the version fails only here.
        let path = format!("/api/v2/score/address/{}", assay_tests::devnet::actors::address("saver"));
        let listed = async || {
            a.get(&path).await.ok();
            a.get("/api/v2/models").await
        };
        assay_tests::until::until(listed, |answer| has(answer, TRAPPING, "state", "benched")).await;
        assert!(has(&b.get("/api/v2/models").await, TRAPPING, "state", "ready"));
        challenge(&b).await;
        until(&a, "/api/v2/models", |answer| has(answer, TRAPPING, "state", "ready")).await;
    });
}

#[test]
fn a_champion_that_fails_is_replaced_though_another_host_changes_a_role_at_the_same_moment() {
    run(async {
        let (_around, hosts) = with_trapping().await;
        let [a, b] = hosts.each_ref().map(Service::keyed);
        let promotion = json!({ "version": TRAPPING, "force": true, "why": "test" });
        a.put("/api/v2/admin/models/credit/champion", &promotion).await.ok();
        until(&b, "/api/v2/models", |answer| has(answer, TRAPPING, "role", "champion")).await;
        // The failures come before the next look at the stored roles.
        b.put("/api/v2/admin/models/credit/challengers", &json!({ "versions": ["1.3"] })).await.ok();
        let path = format!("/api/v2/score/address/{}", assay_tests::devnet::actors::address("saver"));
        for _ in 0..3 {
            a.get(&path).await.expect(500);
        }
        for host in [&a, &b] {
            until(host, "/api/v2/models", |answer| {
                has(answer, "1.1", "role", "champion") && has(answer, "1.3", "role", "challenger")
            })
            .await;
        }
        assert!(has(&a.get("/api/v2/models").await, TRAPPING, "state", "benched"));
        assert_eq!(a.get(&path).await.ok()["model_version"], "1.1");
    });
}

#[test]
fn a_host_that_could_not_load_an_upload_tries_it_again() {
    run(async {
        let server = Redis::start(&DURABLE);
        let (full, bare) = (shelf_copy(), shelf_copy());
        let bytes = std::fs::read(full.path().join("credit-1.0.wasm")).unwrap();
        for shelf in [&full, &bare] {
            std::fs::remove_file(shelf.path().join("credit-1.0.wasm")).unwrap();
        }
        // One host cannot write the file, because a folder has its name.
        let digest = hex::encode(Sha256::digest(&bytes));
        let obstacle = bare.path().join(format!("credit-1.0-{}.wasm", &digest[..12]));
        std::fs::create_dir(&obstacle).unwrap();
        let [one, two] = [&full, &bare].map(|shelf| Service::start(&on(server.port, &sandbox_config(shelf.path()))));
        let [a, b] = [&one, &two].map(Service::keyed);

        a.post_bytes("/api/v2/admin/models", bytes).await.expect(201);
        two.logged("the shelf of this host differs from that of the fleet").await;
        assert!(!lists(&b.get("/api/v2/models").await.ok(), "1.0"));
        std::fs::remove_dir(&obstacle).unwrap();
        let took = until(&b, "/api/v2/models", |answer| lists(&answer.ok(), "1.0")).await;
        println!("the component was loaded {took:?} after the obstacle was gone");
    });
}

#[test]
fn the_index_of_agents_is_kept_by_whoever_is_left() {
    run(async {
        let server = Redis::start(&DURABLE);
        let mut world = agents::World::start().await;
        let agent = |name: &str| agents::inline(name, "of a fleet");
        world.register("ada", &[agent("Nobody"), agent("First")]).await;
        world.settle().await;
        let config = on(server.port, &world.config(world.chain.url(), agents::OFTEN, ""));
        let [one, two] = [Service::start(&config), Service::start(&config)];
        let found = |name: &'static str| {
            (format!("/api/v2/agents/search?q={name}"), move |body: &Value| body["total_results"] == 1)
        };
        for host in [&one, &two] {
            let (path, is_so) = found("first");
            agents::until(&host.keyed(), &path, is_so).await;
        }
        // Its lease, if it has one, expires.
        drop(one);
        world.register("ada", &[agent("Second")]).await;
        world.settle().await;
        let (path, is_so) = found("second");
        agents::until(&two.keyed(), &path, is_so).await;
    });
}

#[test]
fn without_its_redis_a_host_answers_what_it_can_and_comes_back() {
    run(async {
        let server = Redis::start(&DURABLE);
        let config = configured(&plugins(), "").await + &metered(5);
        let service = Service::start(&on(server.port, &config));
        let (api, counted) = (service.keyed(), service.with_key(METERED));
        let path = |name: &str| format!("/api/v2/score/address/{}", assay_tests::devnet::actors::address(name));
        let before = api.get(&path("busy")).await.ok();
        counted.get(&path("busy")).await.ok();

        let (dir, port) = server.kill();
        until(&api, "/readyz", |answer| answer.status == 503 && answer.text.contains("store cannot be reached")).await;
        assert_eq!(api.get(&path("busy")).await.ok()["score"], before["score"], "what was read before");
        let other = devnet()
            .await
            .wallets
            .iter()
            .find(|wallet| !["busy", "empty"].contains(&wallet.name))
            .expect("another wallet");
        api.get(&path(other.name)).await.ok();
        api.get(SANDBOX).await.ok();
        for _ in 0..3 {
            let refused = counted.get(&path("busy")).await.expect(503);
            assert_eq!(refused["code"], "store_away", "{refused}");
        }
        let refused = api.put("/api/v2/admin/models/credit/champion", &json!({ "version": "1.0" })).await.expect(503);
        assert_eq!(refused["code"], "store_away", "{refused}");

        let _server = Redis::start_in(dir, port, &DURABLE).unwrap();
        until(&api, "/readyz", |answer| answer.status == 200).await;
        // Refused requests were not charged: exactly four of five units are left.
        for _ in 0..4 {
            counted.get(&path("busy")).await.ok();
        }
        counted.get(&path("busy")).await.expect(429);
    });
}

/// Sends twice as many requests at once as a key may make: half of them are answered, and only the elapsed time allows
/// more.
async fn exhaust(callers: &[Caller]) {
    let started = Instant::now();
    let answers = join_all((0..2 * RATE).map(|n| callers[n % callers.len()].get(SANDBOX))).await;
    let back = RATE * usize::try_from(started.elapsed().as_secs()).unwrap() / 60;
    let (answered, refused): (Vec<&Answer>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert!((RATE..=RATE + back).contains(&answered.len()), "{} of {RATE} were answered", answered.len());
    let header =
        |answer: &Answer, name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok().map(str::to_owned));
    for answer in &answers {
        assert_eq!(header(answer, "ratelimit-policy"), Some(format!("\"key\";q={RATE};w=60")), "{}", answer.text);
    }
    for answer in refused {
        assert_eq!(
            (answer.status.as_u16(), header(answer, "ratelimit")),
            (429, Some("\"key\";r=0;t=60".into())),
            "{}",
            answer.text
        );
        let wait: usize =
            header(answer, "retry-after").and_then(|seconds| seconds.parse().ok()).expect("seconds to wait");
        assert!((1..=60 / RATE).contains(&wait), "{wait}");
    }
}

#[test]
fn a_rate_holds_for_all_hosts_together_and_for_each_while_redis_is_away() {
    run(async {
        let server = Redis::start(&DURABLE);
        let key =
            format!("[[access.keys]]\nname = \"rated\"\nkey = \"{METERED}\"\nscopes = [\"read\"]\nrate = {RATE}\n");
        let config = counting_together(&sandbox_config(&plugins())) + &key;
        let config = on(server.port, &config);
        let hosts = [Service::start(&config), Service::start(&config)];
        let callers = hosts.each_ref().map(|host| host.with_key(METERED));
        exhaust(&callers).await;

        server.kill();
        for (host, caller) in hosts.iter().zip(&callers) {
            until(&host.keyed(), "/readyz", |answer| answer.status == 503).await;
            exhaust(std::slice::from_ref(caller)).await;
            let metrics = host.keyed().get("/metrics").await.text;
            let alone = metrics.lines().find_map(|line| line.strip_prefix("assay_rates_alone_total "));
            assert!(alone.is_some_and(|count| count != "0"), "{alone:?}");
        }
    });
}
