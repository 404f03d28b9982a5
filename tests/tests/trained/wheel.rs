//! The Python package of `models/python`, from its wheel in a clean environment, has the tables and scores of the host.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use assay_author::Matrix;
use assay_backtest::Record;
use assay_domain::features::Features;
use assay_registry::{CreditModel, OfKind as _, ScoreError, standalone};
use assay_tests::{
    features, python,
    service::{binary, plugins},
};

use super::{declarations, limits};

fn said(command: &mut Command) -> String {
    let done = command.output().expect("it starts");
    let [out, error] = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(done.status.success(), "{command:?}\n{out}\n{error}");
    out
}

/// The package: the folder of its source.
fn source() -> PathBuf {
    declarations().join("../../models/python")
}

/// The interpreter of a new environment in `place`. It has the wheel, and sees the pinned packages.
fn installed(place: &Path) -> PathBuf {
    let (pinned, wheels, clean) = (python::interpreter().expect("Python"), place.join("wheels"), place.join("clean"));
    let wheel = ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"];
    said(Command::new(&pinned).args(wheel).arg("--wheel-dir").arg(&wheels).arg(source()));
    said(Command::new(&pinned).args(["-m", "venv"]).arg(&clean));
    let python = clean.join("bin/python");
    let site = |python: &Path| {
        let code = "import sysconfig; print(sysconfig.get_path('purelib'), end='')";
        said(Command::new(python).args(["-c", code]))
    };
    fs::write(Path::new(&site(&python)).join("pinned.pth"), site(&pinned)).expect("a file");
    // Without an index, a dependency that is not pinned is an error.
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"];
    let wheels: Vec<PathBuf> = fs::read_dir(&wheels).expect("wheels").flatten().map(|entry| entry.path()).collect();
    said(Command::new(&python).args(install).args(&wheels));
    python
}

/// The wallets that a file can have, as records with an outcome.
fn records(seed: u64, n: usize) -> Vec<Record> {
    let numbered = features::generate_v2(seed, n).into_iter().enumerate();
    let records = numbered.map(|(at, mut features)| {
        features.as_of = 1_700_000_000 + (at as u64 / 100) * 31 * 86_400;
        let repaid = features.markets.iter().any(|market| market.repay >= Some(3));
        Record::new(Some(format!("wallet {at}, \"of\" a person")), Some(repaid == (at % 5 == 0)), features)
    });
    records.filter(|record| record.clone().write().is_ok()).collect()
}

fn lines(records: &[Record]) -> String {
    records.iter().map(|record| record.clone().write().expect("a line")).collect()
}

/// Score, decile and points of each wallet; empty cells if the model refuses it.
fn scores(component: &Path, wallets: &[&Features]) -> Vec<String> {
    let bytes = fs::read(component).expect("a component");
    let model = CreditModel::of(&standalone(&bytes, &limits()).expect("a model")).expect("a credit model");
    let answers: Vec<_> = wallets.iter().map(|wallet| model.score(wallet)).collect();
    let factors = answers.iter().flatten().next().expect("a score").factors.len();
    let cells = answers.into_iter().map(|answer| match answer {
        Ok(answer) => {
            let points = answer.factors.iter().map(|factor| factor.points.to_string());
            let numbers = [answer.score.get().to_string(), answer.decile.get().to_string()];
            numbers.into_iter().chain(points).collect::<Vec<_>>().join(",")
        }
        Err(ScoreError::Refused(_)) => ",".repeat(factors + 1),
        Err(error) => panic!("{}: {error}", component.display()),
    });
    cells.collect()
}

#[test]
fn the_wheel_has_the_tables_and_scores_of_the_host() {
    let place = tempfile::tempdir().expect("a folder");
    let python = installed(place.path());
    let folder = place.path().join("work");
    fs::create_dir(&folder).expect("a folder");
    let records = records(17, 400);
    fs::write(folder.join("wallets.jsonl"), lines(&records)).expect("a file");
    let text = fs::read_to_string(declarations().join("model.toml")).expect("the declaration");
    let free: String =
        text.lines().filter(|line| !line.starts_with("monotone")).map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("declaration.toml"), free).expect("a file");
    let mut package = Command::new(&python);
    package.arg(declarations().join("package.py")).arg(&folder).arg(plugins()).env("ASSAY_BIN", binary());
    said(&mut package);

    let wallets: Vec<&Features> = records.iter().map(|record| &record.features).collect();
    let matrix = Matrix::of(&folder.join("declaration.toml")).expect("the declaration");
    let table = fs::read_to_string(folder.join("table.txt")).expect("a table");
    let (mut rows, mut absent) = (0, 0);
    for (wallet, row) in wallets.iter().zip(table.lines()) {
        let row: Vec<f64> = row.split(' ').map(|cell| cell.parse().expect("a number")).collect();
        let own = matrix.row(wallet);
        let equal = |(own, their): (&f64, &f64)| own.to_bits() == their.to_bits() || own.is_nan() && their.is_nan();
        assert!(own.len() == row.len() && own.iter().zip(&row).all(equal), "{own:?} {row:?}");
        (rows, absent) = (rows + 1, absent + own.iter().filter(|figure| figure.is_nan()).count());
    }
    assert!(rows == wallets.len() && rows > 150 && absent > rows, "{rows} rows, {absent} absent figures");
    let trained = ["lightgbm", "booster", "xgboost", "dmatrix", "catboost", "sklearn", "hist"];
    let packed = trained.map(|name| (name, folder.join(format!("{name}/{name}.wasm"))));
    let released = ["credit-1.1", "credit-1.2"].map(|name| (name, plugins().join(format!("{name}.wasm"))));
    for (name, component) in packed.iter().chain(&released) {
        let theirs = fs::read_to_string(folder.join(format!("{name}/scores.csv"))).expect("scores");
        let theirs: Vec<&str> = theirs.lines().skip(1).collect();
        let own = scores(component, &wallets);
        let refused = own.iter().filter(|cells| cells.starts_with(',')).count();
        println!("{name}: {} wallets have the scores of the host, {refused} of them refused", own.len());
        assert_eq!(own, theirs, "{name}");
        assert!(refused > 0 && refused < own.len() / 2, "{name}: {refused} refused");
    }
    notebook(&python, place.path(), &records);
}

/// Runs the package's notebook in the folder of the tree template, after its train.py.
fn notebook(python: &Path, place: &Path, records: &[Record]) {
    let folder = place.join("mine");
    said(Command::new(binary()).current_dir(place).args(["model", "new", "mine", "--lang", "trees"]));
    fs::write(folder.join("history.jsonl"), lines(records)).expect("a file");
    let table = ["features", "table", "model.toml", "history.jsonl"];
    let table = said(Command::new(binary()).current_dir(&folder).args(table));
    fs::write(folder.join("matrix.csv"), table).expect("a file");
    said(Command::new(python).current_dir(&folder).env("ASSAY_BIN", binary()).arg("train.py"));
    let mut run = Command::new(python);
    run.arg(declarations().join("notebook.py")).arg(source().join("example.ipynb")).arg(&folder);
    said(run.env("ASSAY_BIN", binary()));
}
