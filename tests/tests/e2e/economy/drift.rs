//! The alert on drift: two economies of the same borrowers, one through a fall of prices and one without it. Their
//! scores are written as a server keeps them, and Prometheus's own tool evaluates the shipped rule on what the server
//! serves.

use std::{collections::BTreeSet, path::Path, process::Command};

use assay_tests::{
    economy::{Account, Economy, Event, Kind, Ledger},
    service::{Caller, KEY, Service, shelf_copy},
};
use serde_json::{Value, json};

use super::{
    super::{past::Desk, run, shadow::ALWAYS},
    outcomes::{self, gauge},
    said,
};

/// Enough for 500 scores in each week.
const BORROWERS: u64 = 800;
/// Weeks with scores: four before the fall, one in it, and the first after it.
const WEEKS: [u64; 6] = [17, 18, 19, 20, 23, 25];

/// What the node says of a wallet, as a line of a features file.
fn row(wallet: &str, as_of: u64, sent: usize, account: Account, events: &[Event]) -> Value {
    let of = |kind| events.iter().filter(move |event| event.kind == kind);
    let count = |kind| of(kind).count();
    let (owed, kept) = (account.debt, account.collateral);
    json!({
        "id": wallet,
        "as_of": as_of,
        "chains": [{
            "chain_id": 1, "coverage": "complete", "transactions": sent, "assets_usd": 0.0, "supplied_usd": kept,
            "borrowed_usd": owed,
        }],
        "markets": [{
            "chain_id": 1, "protocol": "lenderA_v3", "market": "Core", "coverage": "complete", "feeds_score": true,
            "supply": count(Kind::Supply), "withdraw": count(Kind::Withdraw), "borrow": count(Kind::Borrow),
            "repay": count(Kind::Repay), "liquidation": count(Kind::Liquidation),
            "first_event": events.first().map(|event| event.time),
            "last_event": events.last().map(|event| event.time),
            "last_liquidation": of(Kind::Liquidation).next_back().map(|event| event.time),
            "supplied_usd": kept, "borrowed_usd": owed,
            "position": {
                "coverage": "complete", "collateral": [], "debt": [],
                "liquidation_threshold": (kept > 0.0).then_some(account.threshold),
                "health_factor": (owed > 0.0).then_some(account.health),
                "utilisation": (kept > 0.0).then_some(owed / kept),
            },
        }],
        "holdings": [],
        "identity": [],
    })
}

/// A row of every wallet that has an event, on each date.
async fn rows(economy: &Economy, ledger: &Ledger) -> Vec<Value> {
    let mut rows = Vec::new();
    for week in WEEKS {
        let moment = Economy::day(week * 7);
        let block = ledger.before(moment);
        let begun = economy.borrowers.iter().filter(|wallet| !ledger.through(**wallet, block).is_empty());
        let begun: Vec<_> = begun.copied().collect();
        assert!(begun.len() >= 500, "{} wallets in week {week}", begun.len());
        let accounts = Account::at(&economy.chain, &begun, block).await.expect("the node answers");
        rows.extend(begun.iter().zip(accounts).map(|(wallet, account)| {
            let (sent, events) = (ledger.nonce(*wallet, block), ledger.through(*wallet, block));
            row(&wallet.to_string(), moment, sent, account, &events)
        }));
    }
    rows
}

/// What the server serves as the index of version 1.3, once its tables equal an independent join; and the inputs of
/// 1.3 that have drifted.
async fn served(is_calm: bool) -> (f64, BTreeSet<String>) {
    let economy = Economy::start_short(BORROWERS, 1, is_calm).await.expect("the economy starts");
    let ledger = Ledger::of(&economy.chain).await.expect("the node answers");
    let scored = outcomes::scored(&rows(&economy, &ledger).await);
    let shelf = shelf_copy();
    let config = economy.config_toml(shelf.path(), KEY);
    let desk = Desk::start(&config, &[&economy.chain]).await;
    outcomes::keep(&scored, desk.0.path(), &config).await;
    let service = Service::start_in(desk.0, &format!("{config}{ALWAYS}"), &[]);
    let api = service.keyed();
    let found = outcomes::check(&api, &ledger, &scored).await;
    let new = &found["models"][1];
    let weeks = new["weeks"].as_array().expect("weeks");
    assert!(weeks.iter().all(|week| week["scores"].as_u64() >= Some(500) && week["share"] == 1.0), "{weeks:?}");
    assert!(weeks[0]["psi"].is_null() && weeks[1..].iter().all(|week| week["psi"].is_f64()), "{weeks:?}");
    let psi = gauge(&api.get("/metrics").await.text, "assay_outcome_psi");
    assert!((psi - weeks[WEEKS.len() - 1]["psi"].as_f64().expect("an index")).abs() < 1e-9, "{weeks:?}");
    println!("{} liquidations; {weeks:?}; {}", economy.liquidations, new["realised"]);
    (psi, drifted(&api).await)
}

/// The inputs of 1.3 that have drifted in the newest week: of all wallets, and in any segment as the gauge counts them.
async fn drifted(api: &Caller) -> BTreeSet<String> {
    let found = api.get("/api/v2/admin/models/drift").await.ok();
    let weeks = found["models"][1]["weeks"].as_array().expect("weeks");
    let newest: Vec<_> = weeks.iter().filter(|week| week["from"] == weeks[0]["from"]).collect();
    assert!(newest[0]["segment"] == "all" && newest[0]["wallets"].as_u64() >= Some(500), "{newest:?}");
    let inputs = newest[0]["inputs"].as_array().expect("inputs");
    assert!(inputs.iter().all(|input| input["against"] == "first_week" && input["psi"].is_f64()), "{inputs:?}");
    for input in inputs {
        println!("  {}: PSI {}, {}", input["name"], input["psi"], input["drift"]);
    }
    let all = newest.iter().flat_map(|week| week["inputs"].as_array().expect("inputs"));
    let drifted = all.filter(|input| input["drift"] == "drifted");
    let drifted: BTreeSet<_> = drifted.map(|input| input["name"].as_str().expect("a name").to_owned()).collect();
    let metrics = api.until("/metrics", |answer| answer.text.contains("assay_inputs_drifted{")).await.text;
    let shown = gauge(&metrics, "assay_inputs_drifted");
    assert!((shown - drifted.len() as f64).abs() < 1e-9, "{shown}: {drifted:?}");
    drifted
}

/// A test of the shipped rule: three hours of these values, of which the first alarms.
fn rule(crash: f64, calm: f64) -> String {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.ops/alerts.yml");
    let series = |instance: &str, psi: f64| {
        let name = format!("assay_outcome_psi{{version=\"1.3\",instance=\"{instance}\"}}");
        json!({ "series": name, "values": format!("{psi}x180") })
    };
    let alert = json!({
        "exp_labels": { "severity": "ticket", "version": "1.3", "instance": "crash" },
        "exp_annotations": {
            "summary": format!("The scores of credit 1.3 have shifted: PSI {crash:.2} since the first week"),
            "action": "`assay model outcomes` shows the weeks and the realised rates. Either the wallets have changed, \
                       or what is read of them: backtest the model on a new export before decisions rest on its \
                       ranges.",
        },
    });
    // Every JSON is YAML.
    let test = json!({
        "rule_files": [rules],
        "tests": [{
            "interval": "1m",
            "input_series": [series("crash", crash), series("calm", calm)],
            "alert_rule_test": [{ "eval_time": "3h", "alertname": "AssayScoresDrift", "exp_alerts": [alert] }],
        }],
    });
    test.to_string()
}

#[test]
fn a_fall_of_prices_raises_the_alert_on_drift_and_calm_weeks_do_not() {
    run(async {
        let ((crash, fallen), (calm, control)) = tokio::join!(served(false), served(true));
        println!("drifted inputs: {fallen:?} after the fall, {control:?} without it");
        assert!(fallen.contains("Lowest health factor"), "{fallen:?}");
        assert_eq!(control, BTreeSet::new(), "nothing has drifted without a fall");
        println!("PSI of the newest week: {crash:.3} after the fall, {calm:.3} without it");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("drift.yml");
        std::fs::write(&file, rule(crash, calm)).expect("a file");
        println!("{}", said(Command::new("promtool").args(["test", "rules"]).arg(file)));
    });
}
