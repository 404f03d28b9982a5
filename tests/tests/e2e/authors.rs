//! What the author of a model tries beside a server.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Output, Stdio},
};

use assay_backtest::Record;
use assay_domain::{ModelKind, features::Features};
use assay_tests::{
    authors,
    devnet::actors::address as wallet,
    features, python,
    service::{KEY, Service, binary, plugins, sandbox_config, shelf_copy},
};
use serde_json::json;

use super::{configured, devnet, on_devnet, released_on_devnet, run};

/// `assay model try` of a released component, in `folder`.
fn tried(folder: &Path, component: &str, more: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.current_dir(folder).args(["model", "try"]).arg(plugins().join(component)).args(more);
    command.output().expect("assay runs")
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

#[test]
fn a_wallet_is_tried_as_the_chains_show_it() {
    run(async {
        let service = released_on_devnet().await;
        let who = wallet("borrower").to_checksum(None);
        let served = service.keyed().get(&format!("/api/v2/score/address/{who}")).await.ok();
        let files = || std::fs::read_dir(service.dir()).expect("a folder").count();
        let before = files();
        // The server has its store open, and `try` reads its configuration.
        let done = tried(service.dir(), "credit-1.1.wasm", &["--address", &who]);
        let text = said(&done);
        assert!(done.status.success() && text.contains(&format!("{who}: {}, decile ", served["score"])), "{text}");
        assert!(text.contains("  not read  NFTs on chain 1: no source lists them"), "{text}");
        assert!(!text.contains("not read  everything"), "{text}");
        assert_eq!(files(), before, "nothing is left behind");
        let named = said(&tried(service.dir(), "credit-1.1.wasm", &["--address", "no-such-name.eth"]));
        assert!(named.contains("assay: no-such-name.eth: "), "{named}");

        let unread = tempfile::tempdir().expect("a folder");
        let config = configured(&plugins(), "").await.replace(devnet().await.base.url(), "http://127.0.0.1:9");
        std::fs::write(unread.path().join("other.toml"), config).expect("a file");
        let text = said(&tried(unread.path(), "sybil-1.0.wasm", &["--address", &who, "--config", "other.toml"]));
        assert!(
            text.contains(&format!("{who}: risk ")) && text.contains("  not read  everything on chain 8453: "),
            "{text}"
        );

        let text = said(&tried(tempfile::tempdir().expect("a folder").path(), "credit-1.1.wasm", &["--address", &who]));
        assert!(text.contains("no chains are configured") && text.contains("--config"), "{text}");
        let text = said(&tried(unread.path(), "enhanced-boost-1.1.wasm", &["--score", "700", "--assets", "50000"]));
        assert!(text.contains("700 with 50000 dollars: 745\n"), "{text}");
        let text = said(&tried(unread.path(), "enhanced-boost-1.1.wasm", &["--address", &who]));
        assert!(text.contains("a boost model takes no wallet"), "{text}");
    });
}

/// `ASSAY_SOAK=1` builds the template and asks a server that serves it, which takes a compiler a minute.
#[tokio::test]
async fn a_generator_from_the_template_answers_for_a_sandbox_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = authors::built_as(ModelKind::Sandbox, "python", folder.path(), "0.2").expect_err("no template");
    assert!(refused.contains("--lang rust makes one"), "{refused}");
    if std::env::var_os("ASSAY_SOAK").is_none() {
        return;
    }
    let component = authors::built_as(ModelKind::Sandbox, "rust", folder.path(), "0.2").expect("a component");
    std::fs::write(folder.path().join("box.wasm"), &component).expect("a file");
    let mine = folder.path().join("box.wasm").display().to_string();
    let text = said(&tried(folder.path(), &mine, &["--address", "0x0000000000000000000000000000000000000064"]));
    assert!(text.contains("0x0000000000000000000000000000000000000064: 400\n"), "{text}");

    let shelf = shelf_copy();
    let service = Service::start_in(folder, &sandbox_config(shelf.path()), &["--sandbox"]);
    let api = service.keyed();
    api.post_bytes("/api/v2/admin/models", component).await.expect(201);
    api.put("/api/v2/admin/models/sandbox/champion", &json!({ "version": "0.2" })).await.ok();
    let score = api.get("/api/v2/score/address/0x0000000000000000000000000000000000000064").await.ok();
    assert_eq!(score["score"], 400, "{score}");
    let limited = api.get("/api/v2/score/address/0x00000000000000000000000000000000000000a1").await;
    assert_eq!((limited.status.as_u16(), &limited.headers["retry-after"]), (429, &"30".parse().expect("a header")));
}

/// `assay` in `folder`, with the shelf beside it.
fn assay(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.current_dir(folder).env("ASSAY__MODELS__SHELF", "../shelf").args(arguments);
    command.output().expect("assay runs")
}

/// The template of trees, from a history to a component that says who made it and what it knows.
#[test]
fn trees_of_the_template_are_trained_rated_and_compared() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("mine");
    // The whole shelf would be compiled for each command.
    let shelf = place.path().join("shelf");
    std::fs::create_dir(&shelf).expect("a folder");
    std::fs::copy(plugins().join("credit-1.0.wasm"), shelf.join("credit-1.0.wasm")).expect("a file");
    let text = said(&assay(place.path(), &["model", "new", "mine", "--lang", "trees"]));
    assert!(text.contains("mine is credit 0.1 in trees"), "{text}");
    let ignored = std::fs::read_to_string(folder.join(".gitignore")).expect("a file");
    assert!(ignored.lines().any(|line| line == "*.key"), "{ignored}");
    // Eight months, of which the newest two are held back; two wallets of a person have one cluster; every tenth
    // outcome is not known yet. A features file has only finite figures, and more than half of the generated wallets
    // have others.
    let finite = |features: &Features| Record::new(None, None, features.clone()).write().is_ok();
    let wallets: Vec<_> = features::generate_v2(11, 2_400).into_iter().filter(finite).take(800).collect();
    assert_eq!(wallets.len(), 800);
    let history = wallets.into_iter().enumerate().map(|(at, mut features)| {
        features.as_of = 1_700_000_000 + (at as u64 / 100) * 31 * 86_400;
        let repaid = features.markets.iter().any(|market| market.repay >= Some(3));
        let bad = repaid == (at % 5 == 0);
        let id = format!("wallet {at}, of a person");
        let mut record = Record::new(Some(id), (at % 10 != 0).then_some(bad), features);
        record.cluster = Some(format!("person {}", at / 2));
        record.write().expect("its figures are finite")
    });
    std::fs::write(folder.join("history.jsonl"), history.collect::<String>()).expect("a file");
    let table = assay(&folder, &["features", "table", "model.toml", "history.jsonl"]);
    let rows = String::from_utf8(table.stdout).expect("a table");
    assert!(rows.starts_with("id,as_of,cluster,age,repays,liquidations,assets,outcome\n\"wallet "), "{rows}");
    std::fs::write(folder.join("matrix.csv"), &rows).expect("a file");
    let mut train = Command::new(python::interpreter().expect("Python"));
    let trained = train.arg("train.py").env("ASSAY_BIN", binary()).current_dir(&folder).output();
    let trained = trained.expect("Python starts");
    let text = said(&trained);
    for words in ["and tried on ", "  trees: AUC within months 0.", " alone: AUC within months "] {
        assert!(trained.status.success() && text.contains(words), "{words}: {text}");
    }
    println!("{text}");

    let card = "[[section]]\ntitle = \"Purpose\"\ntext = \"To try a template.\"\n";
    std::fs::write(folder.join("card.toml"), card.replace("title", "titel")).expect("a file");
    let build = ["model", "build"];
    let text = said(&assay(&folder, &build));
    assert!(text.contains("card.toml: ") && text.contains("titel"), "{text}");
    std::fs::write(folder.join("card.toml"), card).expect("a file");
    let text = said(&assay(&folder, &build));
    for words in [
        "the component predicts what predictions.csv has; largest difference 0e0",
        " odd rows: the component predicts what odd-predictions.csv has; largest difference 0e0",
        "factors rated by fifths of ",
        " points double the odds, 650 has odds of ",
        "; deciles [",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    println!("{text}");
    // Without what the training predicts there is no component, unless its card says so.
    std::fs::rename(folder.join("odd-predictions.csv"), folder.join("kept.csv")).expect("a file");
    let text = said(&assay(&folder, &build));
    assert!(text.contains("there is no ") && text.contains("--unproven builds without a comparison"), "{text}");
    let text = said(&assay(&folder, &["model", "pack", "model.toml", "-o", "packed.wasm"]));
    assert!(text.contains("odd-predictions.csv: write its predictions for the rows of"), "{text}");
    let text = said(&assay(&folder, &["model", "pack", "model.toml", "-o", "packed.wasm", "--unproven"]));
    assert!(text.contains("not compared with its training, and its card says so"), "{text}");
    std::fs::rename(folder.join("kept.csv"), folder.join("odd-predictions.csv")).expect("a file");

    let checked = |words: &str| {
        let text = said(&assay(&folder, &["model", "check", "mine.wasm"]));
        assert!(text.contains(words) && text.contains("good: this host would serve it"), "{text}");
    };
    checked("  signed   by nobody\n");
    let key = said(&assay(&folder, &["model", "key", "-o", "author.key"]));
    said(&assay(&folder, &["model", "sign", "mine.wasm", "--key", "author.key"]));
    checked(&format!("  signed   by {}\n", key.trim()));

    let compared = |file: &str| said(&assay(&folder, &["model", "compare", "mine.wasm", "--features", file]));
    let text = compared("history.jsonl");
    assert!(text.contains("assay: credit 0.1 was trained on these wallets"), "{text}");
    let text = compared("wallets.jsonl");
    assert!(!text.contains("was trained on"), "{text}");

    std::fs::copy(folder.join("mine.wasm"), shelf.join("mine.wasm")).expect("a file");
    let text = said(&assay(&folder, &["model", "card", "0.1"]));
    assert!(text.contains("# credit 0.1") && text.contains("## Purpose\n\nTo try a template."), "{text}");
    assert!(text.contains("## Proof\n\nCompared with the predictions of its training: 800 wallets"), "{text}");
}

/// A version in development replaces itself on a server, unless it is the champion; any other version never changes.
#[tokio::test]
async fn a_version_in_development_replaces_itself() {
    let (place, shelf) = (tempfile::tempdir().expect("a folder"), shelf_copy());
    let service =
        Service::start_in(tempfile::tempdir().expect("a folder"), &sandbox_config(shelf.path()), &["--sandbox"]);
    let api = service.keyed();
    let remote = |arguments: &[&str]| {
        let mut command = Command::new(binary());
        command.arg("model").args(arguments).args(["--server", service.base(), "--key-from", "ASSAY_TEST_KEY"]);
        said(&command.env("ASSAY_TEST_KEY", KEY).current_dir(place.path()).output().expect("assay runs"))
    };
    said(&assay(place.path(), &["model", "new", "mine", "--lang", "scorecard"]));
    let declared = |key: &str, value: &str| {
        let path = place.path().join("mine/model.toml");
        let text = std::fs::read_to_string(&path).expect("the declaration");
        let line = text.lines().find(|line| line.starts_with(&format!("{key} = "))).expect("the key");
        std::fs::write(&path, text.replacen(line, &format!("{key} = \"{value}\""), 1)).expect("the declaration");
    };
    let titles = async |version: &str| {
        let models = api.get("/api/v2/models").await.ok()["models"].clone();
        let of = |one: &&serde_json::Value| one["kind"] == "credit" && one["version"] == version;
        models.as_array().expect("models").iter().filter(of).map(|one| one["title"].clone()).collect::<Vec<_>>()
    };

    let dev = ["dev", "mine", "--once"];
    let (off, on) = ("credit 0.1 was removed from the shelf of the server", "credit 0.1 is on the shelf of the server");
    let text = remote(&dev);
    assert!(text.contains(on) && !text.contains(off), "{text}");
    declared("title", "another");
    let text = remote(&dev);
    assert!(text.contains(off) && text.contains(on), "{text}");
    assert_eq!(titles("0.1").await, ["another"]);
    let text = remote(&dev);
    assert!(text.contains(on) && !text.contains(off), "{text}");

    remote(&["promote", "credit", "0.1", "--why", "to try it"]);
    declared("title", "a third");
    let text = remote(&dev);
    assert!(text.contains("champion") && !text.contains(on), "{text}");
    assert_eq!(titles("0.1").await, ["another"]);
    let text = remote(&["unpublish", "credit", "0.1"]);
    assert!(text.contains("champion"), "{text}");

    declared("version", "7.0");
    let text = remote(&dev);
    assert!(text.contains("credit 7.0 is on the shelf"), "{text}");
    declared("title", "a fourth");
    let text = remote(&dev);
    assert!(text.contains("7.0") && text.contains("(409)"), "{text}");
    assert_eq!(titles("7.0").await, ["a third"]);
    let text = remote(&["unpublish", "credit", "7.0"]);
    assert_eq!(text, "credit 7.0 was removed from the shelf of the server\n");
    assert!(titles("7.0").await.is_empty());
    let last = &api.get("/api/v2/admin/audit?limit=1").await.ok()["entries"][0];
    assert_eq!(last["action"], "remove", "{last}");
    let text = remote(&["unpublish", "credit", "7.0"]);
    assert!(text.contains("(404)"), "{text}");
}

/// `dev` builds after a change, and takes other scores as golden if the author says so.
#[test]
fn golden_wallets_follow_the_author() {
    let place = tempfile::tempdir().expect("a folder");
    said(&assay(place.path(), &["model", "new", "mine", "--lang", "scorecard"]));
    let (declaration, golden) = (place.path().join("mine/model.toml"), place.path().join("mine/golden.txt"));
    let [text, before] = [&declaration, &golden].map(|path| std::fs::read_to_string(path).expect("a file"));
    let mut command = Command::new(binary());
    command.current_dir(place.path()).args(["model", "dev", "mine"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut dev = command.spawn().expect("assay runs");
    let mut lines = BufReader::new(dev.stdout.take().expect("its output")).lines().map_while(Result::ok);
    let mut says = |words: &str| assert!(lines.by_ref().any(|line| line.contains(words)), "{words}");
    says("the 2 golden wallets keep their scores");
    says("waiting for a change");
    std::fs::write(&declaration, text.replace("points = [0, 60, 120, 240]", "points = [0, 60, 130, 240]"))
        .expect("a file");
    says("of wallets.jsonl scores ");
    says("waiting for a change");
    assert_eq!(std::fs::read_to_string(&golden).expect("a file"), before);
    dev.stdin.as_mut().expect("its input").write_all(b"a\n").expect("it reads");
    says("golden.txt: the scores of 2 wallets");
    says("waiting for a change");
    dev.kill().expect("it runs");
    dev.wait().expect("it ends");
    assert_ne!(std::fs::read_to_string(&golden).expect("a file"), before);
}

/// A card that the author packed is what the API shows.
#[test]
fn a_packed_card_is_shown_by_the_api() {
    run(async {
        let shelf = shelf_copy();
        let service = on_devnet(shelf.path(), "").await;
        let folder = tempfile::tempdir().expect("a folder");
        said(&assay(folder.path(), &["model", "new", "mine", "--lang", "scorecard"]));
        let card = "[[section]]\ntitle = \"Limits\"\ntext = \"Only an example.\"\n";
        std::fs::write(folder.path().join("mine/card.toml"), card).expect("a file");
        let text = said(&assay(folder.path(), &["model", "build", "mine"]));
        let component = std::fs::read(folder.path().join("mine/mine.wasm")).expect(&text);
        let api = service.keyed();
        api.post_bytes("/api/v2/admin/models", component).await.expect(201);
        let models = api.get("/api/v2/models").await.ok();
        let mine = models["models"].as_array().and_then(|all| all.iter().find(|one| one["version"] == "0.1"));
        assert_eq!(mine.expect("the model")["card"], "/api/v2/models/credit/0.1/card", "{models}");
        let page = api.get("/api/v2/models/credit/0.1/card").await.text;
        assert!(page.contains("# credit 0.1") && page.contains("## Limits\n\nOnly an example."), "{page}");
    });
}
