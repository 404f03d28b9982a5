//! From a chain to a champion: an index, an export with outcomes, a fit on the time before a fall of prices, a
//! component, a backtest on that fall, a challenger, and a promotion; all of it by the real binary.

mod drift;
mod outcomes;
mod rows;

use std::{
    path::Path,
    process::{Command, Output},
};

use assay_tests::{
    economy::{Economy, Ledger},
    python,
    service::{Answer, KEY, Service, binary, shelf_copy},
};
use serde_json::{Value, json};

use super::{past::Desk, run, shadow::ALWAYS};

/// Days after a row in which an outcome counts.
const WITHIN: u64 = 90;
/// Days between two dates.
const EVERY: u64 = 30;
/// The first date, when half of the borrowers have a loan.
const FIRST: u64 = 56;
/// The version in the declaration.
const VERSION: &str = "5.0";

/// Many borrowers, or as many as a minute allows.
fn borrowers() -> u64 {
    if std::env::var_os("ASSAY_SOAK").is_some() { 320 } else { 60 }
}

/// The standard output of a command that works.
fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let [out, error] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(status.success(), "{command:?}\n{out}\n{error}");
    out
}

/// `assay` in the folder of the desk.
fn assay(desk: &Desk, arguments: &[&str]) -> String {
    said(Command::new(binary()).current_dir(desk.0.path()).args(arguments))
}

/// Everybody who owed on each date from a day on, at most until another.
fn export(desk: &Desk, economy: &Economy, to: &str, from: u64, until: u64) -> Vec<Value> {
    let [from, until] = [from, until].map(|day| Economy::day(day).to_string());
    let (market, every, within) = (economy.chain.market.pool.to_string(), format!("{EVERY}d"), format!("{WITHIN}d"));
    let dates = ["--as-of", &from, "--every", &every, "--until", &until];
    let population = ["--population", "borrowers", "--market", &market, "--chain", "1"];
    let outcome = ["--outcome", "liquidation", "--within", &within, "--min-debt", "10"];
    desk.rows(to, &[&dates[..], &population, &outcome].concat())
}

/// Fits a scorecard to an export and packs it. Returns what the fit says.
fn fitted(desk: &Desk, export: &str) -> String {
    let authors = Path::new(env!("CARGO_MANIFEST_DIR")).join("authors/economy");
    let mut fit = Command::new(python::interpreter().expect("Python"));
    fit.arg(authors.join("fit.py")).arg(binary()).arg(authors.join("model.toml"));
    let words = said(fit.arg(desk.path(export)).arg(desk.path("model.toml")));
    assay(desk, &["model", "pack", "model.toml", "-o", "model.wasm"]);
    words
}

/// The recipe of the released models makes a new version of an export, and changes no released one.
fn fitted_by_the_recipe(desk: &Desk, export: &str) {
    let fit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/credit-1.3/fit/fit.py");
    let (data, models) = (desk.path("data"), desk.path("models"));
    std::fs::create_dir_all(&data).expect("a folder");
    std::fs::copy(desk.path(export), data.join(export)).expect("a copy");
    let recipe = |version: &str| {
        let mut command = Command::new(python::interpreter().expect("Python"));
        command.arg(&fit).arg(&data).arg(version).arg("--models").arg(&models);
        command
    };
    println!("{}", said(&mut recipe("9.1")));
    let new = models.join("credit-9.1");
    let [card, table, package] = ["scorecard.toml", "src/table.rs", "Cargo.toml"]
        .map(|file| std::fs::read_to_string(new.join(file)).unwrap_or_else(|e| panic!("{file}: {e}")));
    assert!(card.contains("version = \"9.1\"") && card.contains("near = "), "{card}");
    assert!(table.contains("VERSION: &str = \"9.1\"") && package.contains("name = \"credit-9-1\""), "{table}");
    let refused = recipe("1.3").output().expect("it runs");
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("is released"));
}

/// The grade of each model, by its name.
fn grade<'a>(report: &'a Value, version: &str) -> &'a Value {
    let grades = report["grades"].as_array().expect("grades");
    grades.iter().find(|grade| grade["model"].as_str().is_some_and(|name| name.contains(version))).expect(version)
}

#[test]
fn a_model_that_was_fitted_before_a_fall_of_prices_ranks_who_is_liquidated_in_it() {
    run(async {
        let economy = Economy::start(borrowers(), 1).await.expect("the economy starts");
        let shelf = shelf_copy();
        let config = economy.config_toml(shelf.path(), KEY);
        let desk = Desk::start(&config, &[&economy.chain]).await;
        let fall = Economy::fall(1);
        // The rows of the fit and their outcomes end before the fall.
        let last = FIRST + (fall - WITHIN - FIRST) / EVERY * EVERY;
        let train = export(&desk, &economy, "train.jsonl", FIRST, last);
        let test = export(&desk, &economy, "test.jsonl", last + EVERY, fall);
        let ledger = Ledger::of(&economy.chain).await.expect("the node answers");
        rows::check(&economy, &ledger, &[&train[..], &test].concat()).await;

        println!("{}", fitted(&desk, "train.jsonl"));
        fitted_by_the_recipe(&desk, "train.jsonl");
        let label = ["--label", "liquidated", "--horizon", "90", "--bounds", "auc=0.75"];
        let backtest =
            ["backtest", "--models", "1.1,1.2,model.wasm", "--features", "test.jsonl", "--json", "report.json"];
        let words = assay(&desk, &[&backtest[..], &["--html", "page.html"], &label].concat());
        println!("{words}");
        let report: Value = serde_json::from_slice(&std::fs::read(desk.path("report.json")).unwrap()).unwrap();
        let (new, old) = (&grade(&report, VERSION)["auc"], &grade(&report, "1.1")["auc"]);
        println!(
            "{} borrowers, {} liquidations; {} rows to fit, {} rows out of time; AUC {new}, of 1.1 {old}",
            economy.borrowers.len(),
            economy.liquidations,
            train.len(),
            test.len()
        );
        assert!(new["interval"]["low"].as_f64().unwrap() > 0.75, "{new}");
        assert!(new["interval"]["low"].as_f64() > old["value"].as_f64(), "{new} {old}");
        println!("{}", stated(&desk, "test.jsonl"));
        let scored = outcomes::scored(&[&train[..], &test].concat());
        outcomes::keep(&scored, desk.0.path(), &config).await;
        promoted(desk, &economy, &config, (&ledger, &scored)).await;
    });
}

/// The page of a backtest beside a program that knows only the features and the scores: every figure of a grade that a
/// committee reads. Returns what it says.
fn stated(desk: &Desk, export: &str) -> String {
    let judge = ["backtest", "--models", "1.3", "--features", export, "--horizon", "90", "--label", "gone"];
    assay(desk, &[&judge[..], &["--html", "judged.html", "--scores", "judged.csv"]].concat());
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("authors/economy/page.py");
    let mut program = Command::new(python::interpreter().expect("Python"));
    let card = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/credit-1.3/scorecard.toml");
    program.arg(check).arg(desk.path(export)).arg(desk.path("judged.csv")).arg(desk.path("judged.html")).arg(card);
    said(&mut program)
}

/// The model challenges, is promoted on what the shadow saw, and answers. What became of earlier scores is joined
/// first.
async fn promoted(desk: Desk, economy: &Economy, config: &str, (ledger, scored): (&Ledger, &[outcomes::Row])) {
    let model = desk.path("model.wasm");
    let service = Service::start_in(desk.0, &format!("{config}{ALWAYS}"), &[]);
    let api = service.keyed();
    let remote = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        command.arg("model").args(arguments).args(["--server", service.base(), "--key-from", "ASSAY_TEST_KEY"]);
        tokio::task::block_in_place(|| said(command.env("ASSAY_TEST_KEY", KEY).current_dir(service.dir())))
    };
    let known = outcomes::check(&api, ledger, scored).await;
    // About fifty wallets a week: an index of so few scores would be chance, so none is given.
    let models = known["models"].as_array().expect("models");
    let weeks: Vec<_> = models.iter().flat_map(|model| model["weeks"].as_array().expect("weeks")).collect();
    assert!(weeks.iter().all(|week| week["psi"].is_null()), "{weeks:?}");
    let words = remote(&["outcomes"]);
    println!("{words}");
    let scores = known["models"][1]["scores"].as_u64().unwrap();
    assert!(
        words.contains(&format!("credit 1.3, challenger: {scores} scores of ")) && words.contains("PSI"),
        "{words}"
    );
    remote(&["publish", model.to_str().unwrap()]);
    remote(&["challenge", "credit", VERSION, "--why", "its backtest"]);
    let list: Vec<String> = economy.borrowers.iter().take(20).map(ToString::to_string).collect();
    let path = format!("/api/v2/score/batch/?address={}", list.join(","));
    let before = api.get(&path).await.ok();
    let all = |report: &Answer| report.ok()["pairs"][0]["scored"].as_u64() >= Some(list.len() as u64);
    let pair = &api.until("/api/v2/models/credit/report", all).await.ok()["pairs"][0];
    assert_eq!((&pair["challenger"]["version"], &pair["failures"]), (&json!(VERSION), &json!([])));
    // Its claims have no test in a card, and the shadow saw twenty wallets.
    remote(&["promote", "credit", VERSION, "--force", "--why", "its backtest out of time"]);
    let after = api.get(&path).await.ok();
    for (answer, version) in [(&before, "1.1"), (&after, VERSION)] {
        let scores = answer["scores"].as_array().expect("scores");
        assert_eq!(scores.len(), list.len());
        assert!(
            scores.iter().all(|score| score["model_version"] == version && score["provisional"] == false),
            "{answer}"
        );
    }
    let last = &api.get("/api/v2/admin/audit?limit=1").await.ok()["entries"][0];
    assert_eq!((&last["action"], &last["why"]), (&json!("promote"), &json!("its backtest out of time")));
}

#[tokio::test]
async fn a_seed_repeats_an_economy() {
    let start = |seed| async move {
        let economy = Economy::start(20, seed).await.expect("the economy starts");
        (Ledger::of(&economy.chain).await.expect("the node answers").events, economy.liquidations)
    };
    let (one, same, other) = tokio::join!(start(1), start(1), start(2));
    assert_eq!(one, same);
    assert_ne!(one.0, other.0);
    assert!(one.1 > 0);
}
