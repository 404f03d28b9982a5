//! Models without code answer as the libraries that trained them, on 2,000 wallets of every shape.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use assay_author::{Matrix, Pack, Wallet, pack};
use assay_domain::features::Features;
use assay_registry::{CreditModel, Limits, OfKind as _, ScoreError, standalone, to_component};
use assay_tests::{features, python};
use tables::{Data, answer};

fn declarations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("authors")
}

/// Trains in `folder` on the features of `wallets`.
fn train(folder: &Path, wallets: &[Features]) {
    let matrix = Matrix::of(&declarations().join("model.toml")).expect("the declaration");
    let rows = wallets.iter().map(|wallet| matrix.line(wallet));
    let text: Vec<String> = std::iter::once(matrix.header()).chain(rows).collect();
    fs::write(folder.join("matrix.csv"), text.join("\n") + "\n").expect("the matrix");
    let done = Command::new(python::interpreter().expect("Python"))
        .arg(declarations().join("train.py"))
        .arg(folder)
        // More of them show nothing new, and take a minute on a busy machine.
        .arg(if std::env::var_os("ASSAY_SOAK").is_some() { "200" } else { "40" })
        .output()
        .expect("Python starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// The declaration with `trees`, packed.
fn packed(folder: &Path, trees: &str) -> Pack {
    let text = fs::read_to_string(declarations().join("model.toml")).expect("the declaration");
    let path = folder.join("model.toml");
    fs::write(&path, format!("trees = \"{trees}\"\n{text}")).expect("the declaration");
    pack(&path).unwrap_or_else(|fault| panic!("{trees}: {fault}"))
}

fn numbers(file: &Path) -> Vec<f64> {
    let text = fs::read_to_string(file).expect("what the library predicts");
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

fn load(pack: &Pack) -> CreditModel {
    let component = to_component(&pack.core).expect("a component");
    CreditModel::of(&standalone(&component, &Limits::default()).expect("a model")).expect("a credit model")
}

/// Compares native code with `expected` margins, and the component with the scores that follow from them.
fn compare(name: &str, pack: &Pack, wallets: &[Features], expected: &[f64], score: impl Fn(f64) -> f64) {
    let (data, model) = (Data::new(&pack.data).expect("data"), load(pack));
    assert_eq!(wallets.len(), expected.len());
    let (mut largest, mut scored) = (0.0_f64, 0);
    for (wallet, margin) in wallets.iter().zip(expected) {
        let Some(native) = answer(data, &Wallet::new(wallet)) else {
            assert!(matches!(model.score(wallet), Err(ScoreError::Refused(_))), "{name}: {wallet:?}");
            continue;
        };
        largest = largest.max((native.margin - margin).abs());
        let wanted = (score(*margin).clamp(300.0, 1000.0) + 0.5).floor() as u32;
        let answer = model.score(wallet).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(answer.score.get(), wanted, "{name}: margin {margin} and not {}", native.margin);
        let points: Vec<i32> = answer.factors.iter().map(|factor| factor.points).collect();
        assert_eq!(points, native.points, "{name}");
        scored += 1;
    }
    assert!(scored > wallets.len() * 9 / 10, "{name}: {scored} scored");
    println!("{name}: {}; {scored} wallets, largest difference of margins {largest:e}", pack.summary);
    assert!(largest <= 1e-9, "{name}: margins differ by {largest:e}");
}

#[test]
fn models_without_code_answer_as_their_libraries() {
    let folder = tempfile::tempdir().expect("a folder");
    let wallets = features::generate_v2(7, 2000);
    train(folder.path(), &wallets);
    let per = 60.0 / std::f64::consts::LN_2;
    let odds = |margin: f64| 700.0 - per * 4.0_f64.ln() - per * margin;
    for (name, file) in [("lightgbm", "lightgbm.txt"), ("xgboost", "xgboost.json")] {
        let expected = numbers(&folder.path().join(format!("{name}.csv")));
        compare(name, &packed(folder.path(), file), &wallets, &expected, odds);
    }
    let card = pack(&declarations().join("card.toml")).expect("the scorecard");
    // The margin of a scorecard of points begins at its base.
    let expected: Vec<f64> =
        numbers(&folder.path().join("card.csv")).into_iter().map(|points| points - 300.0).collect();
    compare("scorecard", &card, &wallets, &expected, |points| points + 300.0);
}
