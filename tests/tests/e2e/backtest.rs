//! `assay backtest` and `assay features export` as processes: from real chains to a page.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use assay_tests::{
    hostile::{Credit, act},
    service::{KEY, binary, plugins},
};
use serde_json::Value;
use tempfile::TempDir;

use super::{devnet, run};

/// A folder with a configuration that uses the released shelf.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = assay_tests::redis::chosen(config, folder.path());
        std::fs::write(folder.path().join("assay.toml"), config.replace("{dir}", &folder.path().display().to_string()))
            .unwrap();
        Self { folder }
    }

    fn shelf() -> Self {
        Self::new(&format!("[models]\nshelf = {:?}\n", plugins()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.current_dir(self.folder.path()).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(arguments).output().expect("assay runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (status.code(), text(stdout), text(stderr))
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.path(name)).unwrap()).unwrap()
    }
}

/// A wallet with `n` transactions; `as_of` gives it one of 200 scores.
fn wallet(n: u64) -> String {
    format!(
        concat!(
            r#"{{"id":"wallet {}","as_of":{},"outcome":{},"chains":[{{"chain_id":1,"coverage":"complete","#,
            r#""first_transaction":1600000000,"transactions":{},"assets_usd":0,"supplied_usd":0,"borrowed_usd":0}}]}}"#
        ),
        n,
        1_760_000_000 + n,
        n.is_multiple_of(5),
        n
    )
}

fn write(path: &Path, lines: impl IntoIterator<Item = String>) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    lines.into_iter().for_each(|line| writeln!(file, "{line}").unwrap());
}

#[test]
fn two_models_are_compared_on_a_file() {
    let desk = Desk::shelf();
    write(&desk.path("w.jsonl"), (0..400).map(wallet));
    let given = [
        "backtest",
        "--models",
        "1.0,1.1",
        "--features",
        "w.jsonl",
        "--json",
        "r.json",
        "--html",
        "p.html",
        "--scores",
        "s.csv",
    ];
    let (code, out, err) = desk.run(&given);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let report = desk.json("r.json");
    let found = &report["comparisons"][0];
    assert_eq!((&report["sample"]["records"], &found["count"]), (&400.into(), &400.into()));
    assert!(out.contains(found["verdict"].as_str().unwrap()), "{out}");
    for (model, file) in [(0, "credit-1.0.wasm"), (1, "credit-1.1.wasm")] {
        let sums = std::fs::read_to_string(plugins().join("SHA256SUMS")).unwrap();
        let digest = sums.lines().find_map(|line| line.strip_suffix(file)).unwrap().trim();
        assert_eq!(report["models"][model]["digest"], digest);
        assert!(report["models"][model]["cost"]["fuel_p50"].as_f64().unwrap() > 1000.0, "{}", report["models"][model]);
    }
    // The written scores are the counted ones.
    let scores = std::fs::read_to_string(desk.path("s.csv")).unwrap();
    let sum: f64 =
        scores.lines().skip(1).map(|line| line.split(',').next_back().unwrap().parse::<f64>().unwrap()).sum();
    assert!((sum / 400.0 - report["models"][1]["mean"].as_f64().unwrap()).abs() < 1e-9);
    let page = std::fs::read_to_string(desk.path("p.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains(found["verdict"].as_str().unwrap()), "{page:.500}");
    assert!(!desk.path("p.html.part").exists() && !desk.path("s.csv.part").exists());
    // In a second run, everything except durations is the same.
    let (_, _, _) = desk.run(&[
        "backtest",
        "--models",
        "1.0,1.1",
        "--features",
        "w.jsonl",
        "--json",
        "again.json",
        "--threads",
        "7",
    ]);
    assert_eq!(desk.json("again.json")["comparisons"], report["comparisons"]);
    assert_eq!(desk.json("again.json")["models"][1]["cost"]["fuel_p99"], report["models"][1]["cost"]["fuel_p99"]);
}

#[test]
fn one_model_is_judged_against_bounds_with_clusters_and_another_score() {
    let desk = Desk::shelf();
    // Forty wallets on thirty dates; every fourth was liquidated the day before and is liquidated again.
    let line = |n: u64| {
        let (wallet, as_of) = (n % 40, 1_600_000_000 + n * 86_400);
        let (bad, last) = (u8::from(wallet % 4 == 0), as_of - 86_400);
        let liquidated =
            if bad == 1 { format!(r#","liquidation":1,"last_liquidation":{last}"#) } else { String::new() };
        format!(
            r#"{{"id":"{n}","cluster":"wallet {wallet}","outcome":{bad}.0,"as_of":{as_of},"rival":{wallet},
                "markets":[{{"chain_id":1,"protocol":"lenderA_v3","coverage":"complete","feeds_score":true,
                "supply":1,"borrow":1.0{liquidated},"supplied_usd":100,"borrowed_usd":0}}]}}"#
        )
        .replace('\n', "")
    };
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    (0..1_200).map(line).for_each(|line| writeln!(packed, "{line}").unwrap());
    std::fs::write(desk.path("w.jsonl.gz"), packed.finish().unwrap()).unwrap();
    let judge = |model: &str, bounds: &str| {
        let arguments =
            ["backtest", "--models", model, "--features", "w.jsonl.gz", "--json", "r.json", "--html", "p.html"];
        let more = ["--scores", "s.csv", "--by", "chain,month,protocol", "--external", "rival", "--bounds", bounds];
        desk.run(&[arguments.as_slice(), &more].concat())
    };
    // 1.1 claims nothing, and is as good as the date of the liquidation alone; not better.
    let (code, out, err) = judge("1.1", "auc=0.9,ks=0.9");
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(std::fs::read_to_string(desk.path("p.html")).unwrap().contains("Verdict on credit 1.1: pass"));
    let (code, _, err) = judge("1.1", "beats=last_liquidation");
    assert!(code == Some(1) && err.contains("ranks better than last_liquidation"), "{code:?} {err}");
    // What 1.2 claims did not happen: its verdict fails, though nobody asked for the bound.
    let (code, out, err) = judge("1.2", "auc=0.9,falls");
    assert!(code == Some(1) && err.contains("1.2 does not meet its bounds: each claim holds"), "{err}");
    assert!(out.contains("What it claims does not hold: low claims 67.1 % and had 100.0 %"), "{out}");
    let grade = &desk.json("r.json")["grades"][0];
    assert_eq!(
        (&grade["clusters"], &grade["largest_cluster"], &grade["auc"]["value"]),
        (&40.into(), &30.into(), &1.0.into())
    );
    assert_eq!((&grade["external"]["count"], &grade["segments"][0]["by"]), (&1_200.into(), &"chain".into()));
    assert!(grade["external"]["auc"]["value"].as_f64().unwrap() < 0.6, "{}", grade["external"]);
    assert!(std::fs::read_to_string(desk.path("p.html")).unwrap().contains("Verdict on credit 1.2: fail"));
    let scores = std::fs::read_to_string(desk.path("s.csv")).unwrap();
    let first = scores.lines().nth(1).unwrap();
    assert!(
        first.starts_with("1,0,2020-09-13,1,") && first.contains("Current Position 347; Repayment History "),
        "{first}"
    );
    let (code, _, err) = judge("1.2", "ks=0.2,psi=0.0");
    assert!(code == Some(1) && err.contains("does not meet its bounds: PSI"), "{code:?} {err}");
}

#[test]
fn a_challenger_that_traps_is_told_on_and_harms_nobody() {
    let desk = Desk::shelf();
    write(&desk.path("w.jsonl"), (0..300).map(wallet));
    let trapping = "(i64.eq (i64.rem_u (local.get $as_of) (i64.const 10)) (i64.const 3))";
    std::fs::write(desk.path("bad.wasm"), Credit::new("9.0").act_when(trapping, act::TRAP).build()).unwrap();
    let (code, out, err) =
        desk.run(&["backtest", "--models", "1.1,bad.wasm", "--features", "w.jsonl", "--json", "r.json"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    let report = desk.json("r.json");
    assert_eq!((&report["models"][0]["scored"], &report["models"][1]["scored"]), (&300.into(), &270.into()), "{out}");
    assert_eq!(report["models"][1]["without_score"]["trap"]["calls"], 30);
    assert_eq!(report["models"][1]["without_score"]["trap"]["line"], 4);
    assert_eq!(report["comparisons"][0]["count"], 270);
    assert!(out.contains("it failed on 30 of them"), "{out}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let desk = Desk::shelf();
    write(
        &desk.path("w.jsonl"),
        (0..20).map(|n| if n == 4 { r#"{"as_of":1,"chain":[]}"#.to_owned() } else { wallet(n) }),
    );
    let (code, out, err) = desk.run(&["backtest", "--models", "1.0,1.1", "--features", "w.jsonl"]);
    assert_eq!(code, Some(1), "{out}\n{err}");
    assert!(
        out.contains("line 5: unknown field `chain`") && err.contains("1 of the lines could not be read"),
        "{out}\n{err}"
    );
    let (code, out, err) = desk.run(&["backtest", "--models", "1.0,1.1", "--features", "w.jsonl", "--skip-bad"]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    for (arguments, part) in [
        (
            ["backtest", "--models", "1.0,7.7", "--features", "w.jsonl"],
            "no credit model 7.7; it has 1.0, 1.1, 1.2, 1.3, 1.4",
        ),
        (["backtest", "--models", "7.7", "--features", "w.jsonl"], "no credit model 7.7"),
        (
            ["backtest", "--models", "1.0,1.1", "--features", "nowhere.jsonl"],
            "nowhere.jsonl: the features cannot be read",
        ),
        (["backtest", "--models", "1.0,w.jsonl", "--features", "w.jsonl"], "w.jsonl: "),
    ] {
        let (code, out, err) = desk.run(&arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        assert!(err.contains(part), "{part}: {err}");
    }
}

#[test]
fn a_table_is_compared_as_its_lines_are_and_a_bad_row_is_named() {
    let desk = Desk::shelf();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/backtest/tests/features");
    // The name of a file does not decide its format.
    std::fs::copy(folder.join("polars.parquet"), desk.path("w.jsonl")).unwrap();
    std::fs::copy(folder.join("wallets.jsonl"), desk.path("w.parquet")).unwrap();
    let results = ["w.jsonl", "w.parquet"].map(|file| {
        let (code, out, err) =
            desk.run(&["backtest", "--models", "1.0,1.1", "--features", file, "--json", "r.json", "--scores", "s.csv"]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
        (desk.json("r.json")["comparisons"].clone(), std::fs::read_to_string(desk.path("s.csv")).unwrap())
    });
    assert_eq!(results[0], results[1]);
    std::fs::copy(folder.join("bad.parquet"), desk.path("bad")).unwrap();
    let (code, out, err) = desk.run(&["backtest", "--models", "1.0,1.1", "--features", "bad"]);
    assert_eq!(code, Some(1), "{out}\n{err}");
    assert!(
        out.contains("row 3: as_of: -5 is negative") && err.contains("5 of the rows could not be read"),
        "{out}\n{err}"
    );
    std::fs::copy(folder.join("negative.parquet"), desk.path("cut")).unwrap();
    let (code, out, err) = desk.run(&["backtest", "--models", "1.0,1.1", "--features", "cut"]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("cut: the features cannot be read") && !err.contains("panicked"), "{err}");
}

#[test]
fn an_interrupted_backtest_leaves_nothing() {
    let desk = Desk::shelf();
    // A pipe: the run lasts until the test closes it.
    let pipe = desk.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let arguments = ["backtest", "--models", "1.0,1.1", "--features", "pipe", "--json", "r.json", "--scores", "s.csv"];
    let child = desk.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Opening the pipe waits for the reader.
    let mut lines = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    (0..500).for_each(|n| writeln!(lines, "{}", wallet(n)).unwrap());
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
    // The reader checks the flag at the next chunk.
    while (0..200).all(|n| writeln!(lines, "{}", wallet(n)).is_ok()) {}
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(String::from_utf8_lossy(&done.stderr).contains("no result was written"));
    for name in ["r.json", "s.csv", "r.json.part", "s.csv.part"] {
        assert!(!desk.path(name).exists(), "{name}");
    }
}

#[test]
fn features_are_exported_from_real_chains_and_the_export_goes_on() {
    run(async {
        let devnet = devnet().await;
        let desk = Desk::new(&devnet.config_toml("127.0.0.1:0", &plugins(), Path::new("{dir}/assay.redb"), KEY));
        let [one, two, three] = [1, 2, 3].map(|n| format!("0x{n:040x}"));
        let known = devnet.ethereum.market.pool.to_string();
        let export = |more: &[&str]| {
            let mut arguments = vec!["features", "export", "-o", "f.jsonl"];
            arguments.extend(more);
            desk.run(&arguments)
        };
        std::fs::write(desk.path("list"), format!("# two wallets\n{one}\n{two} # the second\n\n")).unwrap();
        let (code, _, err) = export(&["--from", "list", "0xnonsense"]);
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains("0xnonsense: Invalid Ethereum address format") && err.contains("2 written"), "{err}");
        // An incomplete last line of an interrupted export is replaced, and existing records are not read again.
        let mut file = std::fs::OpenOptions::new().append(true).open(desk.path("f.jsonl")).unwrap();
        file.write_all(br#"{"id":"0xcut"#).unwrap();
        let (code, _, err) = export(&[&one, &three, &known, &two]);
        assert_eq!(code, Some(0), "{err}");
        assert!(err.contains("2 written, 2 already in the file or repeated"), "{err}");
        let lines: Vec<Value> = BufReader::new(std::fs::File::open(desk.path("f.jsonl")).unwrap())
            .lines()
            .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
            .collect();
        assert_eq!(
            lines.iter().map(|line| line["id"].as_str().unwrap()).collect::<Vec<_>>(),
            [&one, &two, &three, &known]
        );
        assert_eq!(lines[0]["chains"].as_array().unwrap().len(), 2);
        assert!(!std::fs::read_to_string(desk.path("f.jsonl")).unwrap().contains("address"), "no model sees one");
        let (code, out, err) = desk.run(&["backtest", "--models", "1.0,1.1", "--features", "f.jsonl"]);
        assert_eq!(code, Some(0), "{out}\n{err}");
        assert!(out.contains("4 wallets") && out.contains("too few to say much"), "{out}");
        // The same into a table, in two steps: records of the first step are in a file beside it until the table is
        // complete.
        let table = |more: &[&str]| {
            let mut arguments = vec!["features", "export", "-o", "f.parquet"];
            arguments.extend(more);
            desk.run(&arguments)
        };
        std::fs::write(
            desk.path("f.parquet.jsonl"),
            std::fs::read_to_string(desk.path("f.jsonl")).unwrap().lines().next().unwrap().to_owned() + "\n",
        )
        .unwrap();
        let (code, _, err) = table(&[&one, &two]);
        assert!(code == Some(0) && err.contains("1 written, 1 already in the file or repeated"), "{err}");
        let (code, _, err) = table(&[&one, &two, &three, &known]);
        assert!(code == Some(0) && err.contains("2 written, 2 already in the file or repeated"), "{err}");
        assert!(!desk.path("f.parquet.jsonl").exists() && !desk.path("f.parquet.part").exists());
        let results = ["f.jsonl", "f.parquet"].map(|file| {
            let (code, out, err) =
                desk.run(&["backtest", "--models", "1.0,1.1", "--features", file, "--json", "r.json"]);
            assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
            desk.json("r.json")
        });
        assert_eq!(results[0]["sample"]["records"], results[1]["sample"]["records"]);
        assert_eq!(
            (&results[0]["sample"]["counted_in"], &results[1]["sample"]["counted_in"]),
            (&"line".into(), &"row".into())
        );
    });
}
