//! The seven sandbox endpoints, field by field, and their determinism; sandbox mode is in [`mode`].

mod mode;

use std::collections::{BTreeMap, BTreeSet};

use assay_tests::service::{Caller, Service, plugins, shelf_copy};
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const ONE: &str = "0x0000000000000000000000000000000000000001";
const FOUR: &str = "0x0000000000000000000000000000000000000004";
const VITALIK: &str = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";

/// Object keys, sorted.
fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn range_of(score: u64) -> &'static str {
    match score {
        920..=1000 => "excellent",
        840..=919 => "very_good",
        750..=839 => "good",
        640..=749 => "fair",
        300..=639 => "low",
        _ => panic!("{score} is no score"),
    }
}

fn assert_score(body: &Value) {
    assert_eq!(keys(body), ["address", "decile", "model_version", "range", "score", "timestamp"]);
    let score = body["score"].as_u64().expect("an integer score");
    assert_eq!(body["range"], range_of(score));
    assert!((1..=10).contains(&body["decile"].as_u64().expect("an integer decile")));
    assert_eq!(body["model_version"], "1.1");
    assert_timestamp(&body["timestamp"]);
}

fn assert_timestamp(value: &Value) {
    let text = value.as_str().expect("a timestamp");
    assert!(chrono::DateTime::parse_from_rfc3339(text).is_ok() && text.ends_with('Z'), "{text}");
}

#[tokio::test]
async fn scores_have_the_contracts_shape_and_the_four_addresses_reach_their_bands() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    for (last, range) in [(1, "excellent"), (2, "good"), (3, "fair"), (4, "low")] {
        let body = api.get(&format!("/api/v2/sandbox/score/address/0x{last:040x}")).await.ok();
        assert_score(&body);
        assert_eq!(body["range"], range);
    }
    let lower = api.get(&format!("/api/v2/sandbox/score/address/{}", VITALIK.to_lowercase())).await.ok();
    assert_eq!(lower["address"], VITALIK, "the answer carries the checksummed address");
}

#[tokio::test]
async fn the_boost_is_half_the_gap_at_a_hundred_thousand_dollars() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let path = format!("/api/v2/sandbox/score/address/{FOUR}");
    let base = api.get(&path).await.ok()["score"].as_u64().unwrap();
    for (assets, share) in [(0.0, 0.0), (25_000.0, 0.25), (100_000.0, 1.0), (5_000_000.0, 1.0)] {
        let body = api.post(&path, &json!({ "total_asset_usd": assets })).await.ok();
        assert_score(&body);
        let expected = base + (0.5 * (1000 - base) as f64 * share).round() as u64;
        assert_eq!(body["score"], expected, "{assets}");
    }
    assert_eq!(api.post(&path, &json!({})).await.ok()["score"], base, "the figure is optional");
    assert_eq!(api.post_bytes(&path, "").await.ok()["score"], base, "so is the body");
}

#[tokio::test]
async fn several_addresses_are_their_mean_or_a_batch() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    for slash in ["", "/"] {
        let batch = api.get(&format!("/api/v2/sandbox/score/batch{slash}?address={ONE},nonsense,{FOUR}")).await.ok();
        assert_eq!(keys(&batch), ["count", "scores", "skipped", "skipped_total"]);
        assert_eq!(batch["count"], 2);
        let scores = batch["scores"].as_array().unwrap();
        scores.iter().for_each(assert_score);
        let sum: u64 = scores.iter().map(|score| score["score"].as_u64().unwrap()).sum();

        let mut mean = api.get(&format!("/api/v2/sandbox/score{slash}?address={ONE},nonsense,{FOUR}")).await.ok();
        for field in ["skipped", "skipped_total"] {
            assert_eq!(mean.as_object_mut().unwrap().remove(field).unwrap(), batch[field]);
        }
        assert_score(&mean);
        assert_eq!(mean["address"], json!([ONE, FOUR]));
        assert_eq!(mean["score"], sum.div_ceil(2));
    }
}

/// A generator states counts and times; the events and positions of production are made from them.
#[tokio::test]
async fn the_events_of_a_mock_report_are_those_that_its_pools_count() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let mut liquidated = 0;
    for last in 1..=40 {
        let report = api.get(&format!("/api/v2/sandbox/report/address/0x{last:040x}")).await.ok();
        let events = &report["credit_events"];
        let list = |name: &str| events[name].as_array().unwrap().clone();
        let sum: u64 = events["totals"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(list("events").len() as u64, sum.min(200), "{last}");
        for pool in list("pools") {
            let own = |event: &&Value| {
                ["protocol", "market_address", "chain_id"].iter().all(|field| event[field] == pool[field])
            };
            let dated = list("events");
            let times: Vec<_> = dated.iter().filter(own).map(|event| event["at"].clone()).collect();
            // A report has the newest 200 of all pools.
            if let (Some(newest), Some(oldest), ..=200) = (times.first(), times.last(), sum) {
                assert_eq!((newest, oldest), (&pool["last_event_at"], &pool["first_event_at"]), "{last} {pool}");
            }
        }
        let newest_first = list("events").windows(2).all(|two| two[0]["at"].as_str() >= two[1]["at"].as_str());
        assert!(newest_first, "{last}");
        let was_liquidated = events["totals"]["liquidation"] != 0;
        assert_eq!(events["last_liquidation_at"].is_string(), was_liquidated, "{last}");
        liquidated += u32::from(was_liquidated);
        let cents = |value: &Value| (value.as_f64().unwrap() * 100.0).round() as i64;
        let borrowed: i64 = list("positions").iter().map(|position| cents(&position["borrowed"])).sum();
        assert_eq!(borrowed, cents(&report["defi"]["total_borrowed"]), "{last}");
        for position in list("positions") {
            let is_owing = cents(&position["borrowed"]) > 0;
            assert_eq!(position["health_factor"].is_f64(), is_owing, "{last} {position}");
            let debt = position["assets"].as_array().unwrap().iter().find(|asset| asset["side"] == "debt");
            assert_eq!(debt.map_or(0, |debt| cents(&debt["usd"])), cents(&position["borrowed"]), "{last} {position}");
        }
        let counted = |totals: &Value| totals["borrow"].as_u64().unwrap();
        assert!(counted(&events["score_totals"]) <= counted(&events["totals"]), "{last}");
    }
    assert!(liquidated > 0);
    let list = api.get(&format!("/api/v2/sandbox/score/batch/?address={ONE},nonsense")).await.ok();
    assert_eq!(list["skipped"], json!([{ "address": "nonsense", "reason": "invalid" }]));
}

#[tokio::test]
async fn reports_and_portfolios_have_the_contracts_shape() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let report = api.get(&format!("/api/v2/sandbox/report/address/{VITALIK}")).await.ok();
    assert_eq!(
        keys(&report),
        ["activity", "address", "assets", "cached", "credit_events", "defi", "sandbox", "score", "timestamp"]
    );
    assert_eq!(report["sandbox"], true);
    assert_eq!(report["address"], VITALIK);
    let score = api.get(&format!("/api/v2/sandbox/score/address/{VITALIK}")).await.ok();
    let slash = api.get(&format!("/api/v2/sandbox/score/address/{VITALIK}/")).await.ok();
    assert_eq!((&slash["score"], &slash["address"]), (&score["score"], &score["address"]));
    assert_eq!(report["score"], json!({ "value": score["score"], "classification": score["range"] }));
    assert_eq!(keys(&report["assets"]), ["nfts", "tokens", "total_value_usd"]);
    let tokens = report["assets"]["tokens"].as_array().unwrap();
    for token in tokens {
        let mut fields = keys(token);
        fields.retain(|field| *field != "address");
        assert_eq!(fields, ["balance", "chain_id", "name", "price_source", "priced", "symbol", "value_usd"]);
        assert!(token["balance"].is_string() && token["chain_id"].is_u64());
        let native = ["ETH", "POL", "AVAX", "BNB", "FTM", "CELO"].contains(&token["symbol"].as_str().unwrap());
        assert!(!native || token["address"].is_null(), "{token}");
    }
    for nft in report["assets"]["nfts"].as_array().unwrap() {
        assert_eq!(keys(nft), ["chain_id", "collection", "name"]);
    }
    for protocol in report["defi"]["protocols"].as_array().unwrap() {
        assert_eq!(keys(protocol), ["borrowed", "chain_id", "name", "supplied"]);
    }
    assert_eq!(keys(&report["defi"]), ["protocols", "total_borrowed", "total_supplied"]);
    assert_eq!(keys(&report["activity"]), ["active_chains", "first_transaction", "total_transactions"]);
    assert_timestamp(&report["activity"]["first_transaction"]);
    let events = &report["credit_events"];
    let mut fields = keys(events);
    fields.retain(|field| *field != "last_liquidation_at");
    let expected = [
        "coverage",
        "defaults",
        "delinquencies",
        "events",
        "feeds_score",
        "not_covered",
        "pools",
        "positions",
        "remarks",
        "score_totals",
        "totals",
    ];
    assert_eq!(fields, expected);
    for kind in ["supply", "withdraw", "borrow", "repay", "liquidation"] {
        let sum: u64 =
            events["pools"].as_array().unwrap().iter().filter_map(|pool| pool["counts"][kind].as_u64()).sum();
        assert_eq!(events["totals"][kind], sum, "{kind}");
    }
    for pool in events["pools"].as_array().unwrap() {
        let expected = [
            "chain_id",
            "counts",
            "coverage",
            "feeds_score",
            "first_event_at",
            "last_event_at",
            "market",
            "market_address",
            "protocol",
            "synced_to_block",
        ];
        assert_eq!(keys(pool), expected);
    }

    let total = api.get(&format!("/api/v2/sandbox/report/address/{VITALIK}/total/usd")).await.ok();
    assert_eq!(keys(&total), ["address", "timestamp", "total_asset_usd"]);
    assert!(
        (total["total_asset_usd"].as_f64().unwrap() - report["assets"]["total_value_usd"].as_f64().unwrap()).abs()
            < 0.05
    );
    let mut sum = 0.0;
    for chain in [1, 10, 56, 137, 250, 324, 8453, 42161, 42220, 43114, 534352, 59144] {
        let body = api.get(&format!("/api/v2/sandbox/report/address/{VITALIK}/chain/{chain}/total/usd")).await.ok();
        assert_eq!(keys(&body), ["address", "chain_id", "chain_name", "timestamp", "total_asset_usd"]);
        assert_eq!(body["chain_id"], chain);
        sum += body["total_asset_usd"].as_f64().unwrap();
    }
    assert!((sum - total["total_asset_usd"].as_f64().unwrap()).abs() < 0.1, "{sum} {total}");
}

/// Address number `n` of a fixed random sequence.
fn random_address(n: u64) -> String {
    format!("0x{}", hex::encode(&Sha256::digest(n.to_be_bytes())[..20]))
}

async fn scores(api: &Caller, count: u64) -> BTreeMap<String, (u64, String)> {
    let batches: Vec<Vec<String>> =
        (0..count).map(random_address).collect::<Vec<_>>().chunks(100).map(<[_]>::to_vec).collect();
    let answers = stream::iter(batches).map(|batch| async move {
        let body = api.get(&format!("/api/v2/sandbox/score/batch/?address={}", batch.join(","))).await.ok();
        body["scores"].as_array().unwrap().clone()
    });
    let all: Vec<Vec<Value>> = answers.buffer_unordered(8).collect().await;
    all.into_iter()
        .flatten()
        .map(|score| {
            (
                score["address"].as_str().unwrap().to_lowercase(),
                (score["score"].as_u64().unwrap(), score["range"].as_str().unwrap().to_owned()),
            )
        })
        .collect()
}

#[tokio::test]
async fn ten_thousand_addresses_answer_alike_across_a_restart_and_on_a_second_host() {
    let shelf = shelf_copy();
    let first = Service::sandbox(shelf.path());
    let before = scores(&first.keyed(), 10_000).await;
    assert_eq!(before.len(), 10_000);
    let ranges: BTreeSet<&str> = before.values().map(|(_, range)| range.as_str()).collect();
    assert_eq!(ranges.len(), 5, "{ranges:?}");
    let second = Service::sandbox(&plugins());
    assert_eq!(scores(&second.keyed(), 10_000).await, before);
    let folder = first.kill();
    let restarted = Service::start_in(folder, &assay_tests::service::sandbox_config(shelf.path()), &[]);
    assert_eq!(scores(&restarted.keyed(), 10_000).await, before);
}

#[tokio::test]
async fn the_model_version_is_the_champions_also_after_a_swap() {
    let host = Service::sandbox(&plugins());
    let api = host.keyed();
    let path = format!("/api/v2/sandbox/score/address/{ONE}");
    let before = api.get(&path).await.ok();
    api.put("/api/v2/admin/models/credit/champion", &json!({ "version": "1.0" })).await.ok();
    let after = api.get(&path).await.ok();
    assert_eq!((&before["model_version"], &after["model_version"]), (&json!("1.1"), &json!("1.0")));
    assert_eq!(before["score"], after["score"], "the generator is another model");
    let restarted = Service::start_in(host.kill(), &assay_tests::service::sandbox_config(&plugins()), &[]);
    assert_eq!(restarted.keyed().get(&path).await.ok()["model_version"], "1.0", "a role outlives a restart");
}
