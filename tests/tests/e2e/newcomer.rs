//! The first hour: the server of `make run` answers every request in the tables of the API, the lines of the README and
//! the tour.

use std::path::Path;
use std::process::{Command, Output};

use assay_tests::{
    devnet::{BASE, ETHEREUM, actors::address as wallet},
    hostile::Credit,
    node::Anvil,
    process::{End, Guarded, Lines},
    service::{self, Answer, Caller, Service, binary, plugins, shelf_copy},
    tour, upstreams,
};
use serde_json::json;
use tempfile::TempDir;

use super::{released_on_devnet, run};

const KEY: &str = "assay-devnet-key";

/// What `devnet run` started. Dropping it ends everything.
struct Started {
    url: String,
    shelf: TempDir,
    _process: Guarded,
}

fn devnet() -> Command {
    Command::new(binary().with_file_name("devnet"))
}

fn start() -> Started {
    let shelf = shelf_copy();
    let mut command = devnet();
    command.args(["run", "--port", "0", "--assay"]).arg(binary()).arg("--shelf").arg(shelf.path());
    // As of other servers under test: on a busy machine, a read can take longer than the default.
    command.env("ASSAY__SCORING__READ_BUDGET_MS", "20000");
    let ready = |line: &str| line.strip_prefix("Assay listens on ").map(str::to_owned);
    let (process, url) =
        Guarded::start(&command, End::Terminate, Lines::Keep, ready).expect("the devnet and its server start");
    Started { url, shelf, _process: process }
}

/// The paths below `/api/v2/` of all requests that read, in the tables of the API.
fn reading(w: &str) -> Vec<String> {
    let addresses = format!("{w},{}", wallet("saver"));
    let mut paths = vec![
        format!("score/address/{w}"),
        format!("score/address/{w}?include_factors=true"),
        "score/address/borrower.eth".to_owned(),
        format!("report/address/{w}"),
        "report/address/whale.base.eth".to_owned(),
        format!("report/?address={addresses}"),
        format!("report/address/{w}/total/usd"),
        format!("report/address/{w}/total/usd/aggregate"),
        format!("identity/address/{w}/attestations"),
        "agents".to_owned(),
        "agents?page=2&limit=50".to_owned(),
        "agents/search?q=lend".to_owned(),
        "agents/1".to_owned(),
        "agents/10".to_owned(),
        "agents/1/reputation".to_owned(),
        format!("sandbox/score/address/{w}"),
        format!("sandbox/score/?address={addresses}"),
        format!("sandbox/score/batch/?address={addresses}"),
        format!("sandbox/report/address/{w}"),
        format!("sandbox/report/address/{w}/total/usd"),
        format!("sandbox/report/address/{w}/chain/137/total/usd"),
        "models".to_owned(),
    ];
    let reported = [1, 137, 42_161, 10, 8_453, 43_114, 56, 250, 324, 59_144];
    paths.extend(reported.map(|id| format!("report/address/{w}/chain/{id}")));
    let summed = [1, 10, 56, 137, 8_453, 42_220, 42_161, 43_114, 534_352, 59_144];
    paths.extend(summed.map(|id| format!("report/address/{w}/chain/{id}/summary")));
    paths
}

async fn asks_every_request(api: &Caller) {
    let w = wallet("borrower").to_string();
    // The index of agents is built in the background, and so ends a read that takes long.
    api.until("/api/v2/agents/search?q=lend", |found| found.status == 200).await;
    let whole = |report: &Answer| report.status == 200 && report.json()["credit_events"]["coverage"] == "complete";
    api.until(&format!("/api/v2/report/address/{w}"), whole).await;
    for path in reading(&w) {
        let answer = api.get(&format!("/api/v2/{path}")).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
    let money = json!({ "total_asset_usd": 50_000 });
    for (path, body) in [
        (format!("score/address/{w}"), money.clone()),
        (format!("report/address/{w}"), json!({ "name": "My bank", "total_asset_usd": 1_000 })),
        (format!("sandbox/score/address/{w}"), money),
    ] {
        let answer = api.post(&format!("/api/v2/{path}"), &body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    }
    for path in ["agents/2/reputation", "reputation/3"] {
        let accepted = api.post(&format!("/api/v2/{path}"), &json!({ "address": w, "tags": ["creditScore"] })).await;
        let status_url = accepted.expect(202)["status_url"].as_str().expect("a path").to_owned();
        super::reputation::confirmed(api, &status_url).await;
    }
}

async fn shows_what_was_made(api: &Caller) {
    let report = api.get(&format!("/api/v2/report/address/{}", wallet("borrower"))).await.ok();
    assert_eq!(report["activity"]["active_chains"].as_array().map(Vec::len), Some(12));
    assert_eq!((&report["credit_events"]["coverage"], &report["unread"]), (&json!("complete"), &json!([])));
    assert!(report["assets"]["nfts"].as_array().is_some_and(|all| all.len() > 1), "{}", report["assets"]);
    let agents = api.get("/api/v2/agents?limit=100").await.ok();
    // Callers do not see the burned agent and the agent with id 0.
    let listed = agents["agents"].as_array().expect("a list");
    assert_eq!((agents["total"].as_u64(), listed.len()), (Some(60), 58));
    let unread = listed.iter().filter(|agent| agent["metadata"].is_null()).count();
    assert_eq!(unread, 3, "without a document, with one that is not there, and with one that is no JSON");
    let found = |found: &Answer| found.ok()["total_results"] == 1;
    api.until("/api/v2/agents/search?q=%D0%BF%D1%80%D0%B8%D0%B2%D0%B5%D1%82", found).await;
    let roles = api.get("/api/v2/models").await.ok();
    let challenger = roles["models"].as_array().into_iter().flatten().find(|model| model["role"] == "challenger");
    assert_eq!(challenger.expect("a challenger")["version"], "1.0");
}

/// Types the lines that work as they are, says the README, with the address of this server.
async fn types_the_readme(url: &str) {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).expect("a README");
    let (_, block) = readme.split_once("these lines work as they are:\n\n```sh\n").expect("the lines");
    let block = block.split("```").next().expect("a block").replace("http://127.0.0.1:8080", url);
    let (variables, requests) = block.split_once('\n').expect("variables, then requests");
    assert!(requests.lines().count() >= 3, "{requests}");
    for line in requests.lines() {
        let line = line.replace("curl -s", "curl -s -w '\\n%{http_code}'");
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(format!("{variables}\n{line}"));
        let typed = tokio::task::spawn_blocking(move || shell.output()).await.expect("no panic").expect("bash runs");
        let said = String::from_utf8(typed.stdout).expect("text");
        assert!(said.ends_with("\n200"), "{line}: {said}{}", String::from_utf8_lossy(&typed.stderr));
    }
}

/// Each JSON block of the README is part of what the request named before it answers; times are of another day.
async fn answers_as_the_readme_shows(api: &Caller) {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).expect("a README");
    let blocks: Vec<_> = readme.split("```json\n").collect();
    let mut shown = 0;
    for pair in blocks.windows(2) {
        let (before, block) = (pair[0], pair[1].split("```").next().expect("a block"));
        let Some((_, path)) = before.rsplit_once("`GET ") else { continue };
        let path = path.split('`').next().expect("a path");
        let mut block: serde_json::Value = serde_json::from_str(block).expect("the README has JSON");
        block.as_object_mut().expect("an object").remove("timestamp");
        let answer = api.get(path).await.ok();
        assert!(is_part(&block, &answer), "{path}: the README shows {block:#}, the answer is {answer:#}");
        shown += 1;
    }
    assert!(shown >= 2, "the README shows {shown} answers");
}

/// Whether every field of `shown` is in `whole`, and every item of a list.
fn is_part(shown: &serde_json::Value, whole: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Object};
    match (shown, whole) {
        (Object(shown), Object(whole)) => {
            shown.iter().all(|(name, value)| whole.get(name).is_some_and(|found| is_part(value, found)))
        }
        (Array(shown), Array(whole)) => shown.iter().all(|item| whole.iter().any(|found| is_part(item, found))),
        _ => shown == whole,
    }
}

async fn walks(started: &Started, url: &str, key: &str) -> Output {
    let mut tour = devnet();
    tour.args(["tour", "--url", url, "--key", key, "--shelf"]).arg(started.shelf.path());
    tokio::task::spawn_blocking(move || tour.output()).await.expect("no panic").expect("the tour runs")
}

#[test]
fn everything_answers_on_what_make_run_starts() {
    run(async {
        let started = tokio::task::spawn_blocking(start).await.expect("no panic");
        let api = Caller::at(&started.url, KEY);
        asks_every_request(&api).await;
        shows_what_was_made(&api).await;
        types_the_readme(&started.url).await;
        answers_as_the_readme_shows(&api).await;

        let walked = walks(&started, &started.url, KEY).await;
        let (said, error) = (String::from_utf8_lossy(&walked.stdout), String::from_utf8_lossy(&walked.stderr));
        assert!(walked.status.success(), "{said}{error}");
        assert!(said.contains("\nAll 15 steps answered as they should."), "{said}");
        assert!(!started.shelf.path().join("tour-9.0.wasm").exists(), "the shelf is as it was");
        let refused: Answer = api.get("/api/v2/score/address/empty.eth").await;
        assert_eq!(refused.status, 404, "{}", refused.text);

        // Anywhere else, the tour says what to do.
        let [sandbox, less] = [Service::sandbox(&plugins()), released_on_devnet().await];
        let node = Anvil::start(1, 1_700_000_000).expect("a node starts");
        for (url, key, says) in [
            ("http://127.0.0.1:9", KEY, "Start the devnet first with `make run`"),
            (node.url(), KEY, "no Assay server. Say with --url, or PORT=, where `make run` started one"),
            (sandbox.base(), service::KEY, "a server without chains. The tour needs the one that `make run` starts"),
            (sandbox.base(), KEY, "a server that refuses this key"),
            (less.base(), service::KEY, "a devnet with two chains alone. Start it again without LESS=1"),
        ] {
            let lost = walks(&started, url, key).await;
            let error = String::from_utf8_lossy(&lost.stderr).into_owned();
            assert!(!lost.status.success() && error.contains(says), "{error}");
        }
    });
}

/// The chains that a server knows beyond those of the contract. They are data like those of the others.
const BEYOND: [u64; 10] = [100, 143, 146, 196, 1088, 1868, 4326, 5000, 9745, 57_073];

#[test]
fn every_chain_of_the_contract_that_a_server_knows_is_started() {
    let known: Vec<(u64, String)> = assay_chain::known::names().collect();
    let started = upstreams::other_chains::CHAINS.map(|(id, name)| (id, name.to_owned()));
    let is_started = |id: u64| ![ETHEREUM, BASE].contains(&id) && !BEYOND.contains(&id);
    assert!(BEYOND.iter().all(|beyond| known.iter().any(|(id, _)| id == beyond)), "{known:?}");
    let other: Vec<_> = known.into_iter().filter(|(id, _)| is_started(*id)).collect();
    assert_eq!(other, started);
}

/// `ASSAY_RECORD=1` writes it again.
#[test]
fn the_model_of_the_tour_is_the_one_that_tests_build() {
    let (built, file) = (Credit::new(tour::models::VERSION).build(), "devnet/src/tour/credit-9.0.wasm");
    if std::env::var_os("ASSAY_RECORD").is_some() {
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), &built).expect("the file");
    }
    assert!(tour::models::MODEL == built, "{file} is another model");
}
