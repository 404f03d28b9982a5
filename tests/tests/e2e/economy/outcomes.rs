//! Kept scores joined with what happened after them, beside an independent join. A server cannot serve a score in the
//! past: the scores are computed here from exported rows, and written as a server keeps them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use alloy::primitives::Address;
use assay::config;
use assay_backtest::Record;
use assay_domain::{Digest, ModelPin, Score, Standing, features::Features};
use assay_rollout::{
    cards,
    records::{self, InputsRecord, ObservedRecord, ObservedScore, Segment},
};
use assay_store::Store;
use assay_tests::{
    economy::Ledger,
    native, redis,
    service::{Caller, plugins},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const DAY: u64 = 86_400;
const VERSIONS: [&str; 2] = ["1.1", "1.3"];

/// A row with what each version says of it.
pub struct Row {
    wallet: Address,
    features: Features,
    owed: f64,
    scores: [Option<u32>; 2],
}

/// The exported rows, scored by native code.
pub fn scored(rows: &[Value]) -> Vec<Row> {
    let read = |row: &Value| {
        let record = Record::read(1, row.to_string().as_bytes()).expect("a record").expect("no blank");
        let old = credit_1_1::score(&native::features(&record.features)).ok().map(|answer| answer.score);
        let new = credit_1_3::score(&native::features_v2(&record.features)).ok().map(|answer| answer.score);
        Row {
            wallet: record.id.expect("an id").parse().expect("an address"),
            owed: row["markets"][0]["borrowed_usd"].as_f64().expect("a figure"),
            features: record.features,
            scores: [old, new],
        }
    };
    rows.iter().map(read).collect()
}

/// Writes the scores to the store of a server that does not run.
pub async fn keep(rows: &[Row], folder: &Path, config: &str) {
    let file = folder.join("store.toml");
    let config = redis::chosen(config, folder).replace("{dir}", &folder.display().to_string());
    std::fs::write(&file, config).expect("a file");
    let store = Store::open(&config::load(Some(&file)).expect("a configuration").store).await.expect("a store");
    let pins = VERSIONS.map(|version| {
        let bytes = std::fs::read(plugins().join(format!("credit-{version}.wasm"))).expect("a component");
        ModelPin { version: version.parse().expect("a version"), digest: Digest(Sha256::digest(bytes).into()) }
    });
    let mut hours = BTreeMap::<u64, Vec<ObservedScore>>::new();
    for row in rows {
        for (model, score) in pins.iter().zip(row.scores) {
            let Some(score) = score.and_then(Score::new) else { continue };
            let (address, as_of) = (row.wallet, row.features.as_of);
            let standing = Standing::of(&row.features);
            let model = model.clone();
            let kept = ObservedScore { model, address, as_of, score, standing, is_outcome_hidden: false, record: None };
            hours.entry(as_of / 3_600).or_default().push(kept);
        }
    }
    let mut weeks = BTreeMap::<(u64, Digest), InputsRecord>::new();
    for (model, version) in pins.iter().zip(VERSIONS) {
        let bytes = std::fs::read(plugins().join(format!("credit-{version}.wasm"))).expect("a component");
        let loaded = assay_registry::standalone(&bytes, &Default::default()).expect("a model");
        let inputs = cards::inputs(&plugins(), loaded.info(), model.digest, None).expect("its inputs");
        for row in rows {
            let week = row.features.as_of / 604_800;
            let record = weeks.entry((week, model.digest)).or_insert_with(|| InputsRecord::new(model.clone()));
            let named = inputs.iter().map(|input| &*input.name).zip(inputs.values(&row.features));
            record.count(row.wallet, Segment::of(&Standing::of(&row.features)), named);
        }
    }
    for ((week, model), record) in weeks {
        store.put(&records::inputs(week, &model), &record).await.expect("it is written");
    }
    for (hour, scores) in hours {
        let key = records::observed(i64::try_from(hour).expect("an hour"), "test");
        store.put(&key, &ObservedRecord { scores, ..ObservedRecord::default() }).await.expect("it is written");
    }
}

/// The server's tables equal those of the node's receipts. Returns what the server says.
pub async fn check(api: &Caller, ledger: &Ledger, rows: &[Row]) -> Value {
    api.put("/api/v2/admin/models/credit/challengers", &json!({ "versions": ["1.3"] })).await.ok();
    let found = api.get("/api/v2/admin/models/outcomes").await.ok();
    let until = chrono::DateTime::parse_from_rfc3339(found["known_until"].as_str().expect("a time")).expect("a time");
    let until = u64::try_from(until.timestamp()).expect("a time");
    let models = found["models"].as_array().expect("models");
    assert_eq!(models.len(), 2, "{found}");
    for (index, (model, role)) in models.iter().zip(["champion", "challenger"]).enumerate() {
        assert_eq!((&model["model"]["version"], &model["role"]), (&json!(VERSIONS[index]), &json!(role)));
        let tables = model["realised"].as_array().expect("tables");
        assert!(tables.len() >= 2);
        for table in tables {
            joined(table, index, until, ledger, rows);
        }
        let weeks = model["weeks"].as_array().expect("weeks");
        let dates: BTreeSet<u64> = rows.iter().map(|row| row.features.as_of / 604_800).collect();
        assert_eq!(weeks.len(), dates.len());
    }
    let metrics = api.get("/metrics").await.text;
    let ranges = models[1]["realised"].as_array().expect("tables").iter().flat_map(|table| table["ranges"].as_array());
    let broken = ranges.flatten().filter(|range| range["verdict"] == "fails").count();
    assert!((gauge(&metrics, "assay_outcome_claims_broken") - broken as f64).abs() < 1e-9, "{broken}");
    found
}

/// A gauge of version 1.3.
pub fn gauge(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find(|line| line.starts_with(name) && line.contains("version=\"1.3\""));
    line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or_else(|| panic!("{name}: {metrics}"))
}

/// One table beside a count of its own.
fn joined(table: &Value, index: usize, until: u64, ledger: &Ledger, rows: &[Row]) {
    let population = table["population"].as_str().expect("words");
    let horizon = table["horizon_days"].as_u64().expect("days") * DAY;
    // All rows are read whole, so nobody has a debt that was not read.
    let belongs =
        |row: &&Row| population.starts_with("wallets that owe") && row.owed >= 10.0 && row.scores[index].is_some();
    let (known, waiting): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(belongs).partition(|row| row.features.as_of + horizon <= until);
    assert_eq!((&table["known"], &table["waiting"]), (&json!(known.len()), &json!(waiting.len())), "{table}");
    assert_eq!(table["hidden"], 0);
    for range in table["ranges"].as_array().expect("ranges") {
        let (from, to) = match range["range"].as_str().expect("a range") {
            "low" => (300, 639),
            "fair" => (640, 749),
            "good" => (750, 839),
            "very_good" => (840, 919),
            _ => (920, 1000),
        };
        let own = || known.iter().filter(|row| row.scores[index].is_some_and(|score| (from..=to).contains(&score)));
        let wallets: BTreeSet<Address> = own().map(|row| row.wallet).collect();
        let liquidated =
            own().filter(|row| ledger.liquidated(row.wallet, row.features.as_of, row.features.as_of + horizon)).count();
        assert_eq!(
            (&range["scores"], &range["wallets"], &range["liquidated"]),
            (&json!(own().count()), &json!(wallets.len()), &json!(liquidated)),
            "{range}"
        );
        assert_eq!(range["verdict"], judged(range), "{range}");
    }
}

/// What the server must say of a claim, by the intervals that it shows.
fn judged(range: &Value) -> Value {
    let (claimed, of) = (&range["claimed"], |value: &Value| value.as_f64().expect("a rate"));
    if claimed.is_null() {
        return Value::Null;
    }
    if range["scores"].as_u64() < Some(50) {
        return json!("not_shown");
    }
    let [low, rate, high] = ["low", "rate", "high"].map(|name| of(&range[name]));
    let [least, estimate, most] = ["low", "estimate", "high"].map(|name| of(&claimed[name]));
    if !(low..=high).contains(&estimate) && !(least..=most).contains(&rate) {
        return json!("fails");
    }
    let is_within = low >= least.min(estimate / 2.0) && high <= most.max(estimate * 2.0);
    json!(if is_within { "holds" } else { "not_shown" })
}
