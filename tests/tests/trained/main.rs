//! Models without code answer as the libraries that trained them, on 2,000 wallets of every shape.

mod bad_tables;
mod bins;
mod configurations;
mod graphs;
mod networks;
mod sybil;
mod wheel;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use assay_author::{Matrix, Pack, Wallet, pack};
use assay_domain::features::Features;
use assay_registry::{CreditModel, Limits, OfKind as _, ScoreError, standalone, to_component};
use assay_tests::{features, python};
use tables::{Data, answer, data::FEATURES, margin, values};

fn declarations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("authors")
}

/// Runs a script of `authors` in `folder`, on the features of `wallets`. The second number of trees is that of
/// `make soak`.
fn train(script: &str, folder: &Path, wallets: &[Features], trees: [&str; 2]) {
    let matrix = Matrix::of(&declarations().join("model.toml")).expect("the declaration");
    let rows = wallets.iter().map(|wallet| matrix.line(wallet));
    let text: Vec<String> = std::iter::once(matrix.header()).chain(rows).collect();
    fs::write(folder.join("matrix.csv"), text.join("\n") + "\n").expect("the matrix");
    let done = Command::new(python::interpreter().expect("Python"))
        .arg(declarations().join(script))
        .arg(folder)
        // More of them show nothing new, and take a minute on a busy machine.
        .arg(trees[usize::from(soak())])
        .output()
        .expect("Python starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn soak() -> bool {
    std::env::var_os("ASSAY_SOAK").is_some()
}

/// Why the declaration with `trees` is refused.
fn refused(folder: &Path, trees: &str) -> String {
    let text = fs::read_to_string(declarations().join("model.toml")).expect("the declaration");
    let path = folder.join("model.toml");
    fs::write(&path, format!("trees = \"{trees}\"\n{text}")).expect("the declaration");
    pack(&path).expect_err(trees).to_string()
}

/// The declaration with `trees`, packed.
fn packed(folder: &Path, trees: &str) -> Pack {
    packed_with(folder, &format!("trees = \"{trees}\""))
}

fn packed_with(folder: &Path, lines: &str) -> Pack {
    let text = fs::read_to_string(declarations().join("model.toml")).expect("the declaration");
    let path = folder.join("model.toml");
    fs::write(&path, format!("{lines}\n{text}")).expect("the declaration");
    pack(&path).unwrap_or_else(|fault| panic!("{lines}: {fault}"))
}

/// The declaration without one feature.
fn packed_without(folder: &Path, trees: &str, feature: &str) -> Pack {
    let text = fs::read_to_string(declarations().join("model.toml")).expect("the declaration");
    let parts: Vec<&str> = text.split("\n[[feature]]\n").collect();
    let name = format!("name = \"{feature}\"\n");
    let kept: Vec<&str> = parts.iter().filter(|part| !part.starts_with(&name)).copied().collect();
    assert_eq!(kept.len() + 1, parts.len(), "{feature}");
    let path = folder.join("model.toml");
    let table = if trees.ends_with(".onnx") { "table = \"matrix.csv\"\n" } else { "" };
    let text = format!("trees = \"{trees}\"\n{table}{}", kept.join("\n[[feature]]\n"));
    fs::write(&path, text).expect("the declaration");
    pack(&path).unwrap_or_else(|fault| panic!("{trees}: {fault}"))
}

fn numbers(file: &Path) -> Vec<f64> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

/// The largest difference between the parts of the margin and what a library says that each feature adds.
fn largest_difference_of_parts(pack: &Pack, wallets: &[Features], file: &Path) -> f64 {
    let data = Data::new(&pack.data).expect("data");
    let text = fs::read_to_string(file).expect("the contributions of the library");
    let mut largest = 0.0_f64;
    for (wallet, line) in wallets.iter().zip(text.lines()) {
        let expected: Vec<f64> = line.split(' ').map(|part| part.parse().expect("a number")).collect();
        let (figures, mut parts) = (values(data, &Wallet::new(wallet)), [0.0; FEATURES]);
        margin(data, &figures, &mut parts);
        // The last column is what the library expects of a wallet of which nothing is known.
        let (_, expected) = expected.split_last().expect("the expected margin");
        let difference = |(part, wanted): (&f64, &f64)| (part - wanted).abs();
        largest = parts.iter().zip(expected).map(difference).fold(largest, f64::max);
    }
    largest
}

/// A busy machine must not change an answer.
fn limits() -> Limits {
    Limits { deadline: Duration::from_secs(5), self_test: Duration::from_secs(300), ..Limits::default() }
}

fn load(pack: &Pack) -> CreditModel {
    let component = to_component(&pack.core).expect("a component");
    CreditModel::of(&standalone(&component, &limits()).expect("a model")).expect("a credit model")
}

/// Compares native code with `expected` margins, and the component with the scores that follow from them.
fn compare(name: &str, pack: &Pack, wallets: &[Features], expected: &[f64], score: impl Fn(f64) -> f64) {
    let (data, model) = (Data::new(&pack.data).expect("data"), load(pack));
    assert_eq!(wallets.len(), expected.len());
    let (mut largest, mut scored) = (0.0_f64, 0);
    // The runtime of ONNX adds up with single precision, in an order of its own.
    let exact = !name.starts_with("onnx");
    for (wallet, margin) in wallets.iter().zip(expected) {
        let Some(native) = answer(data, &Wallet::new(wallet)) else {
            assert!(matches!(model.score(wallet), Err(ScoreError::Refused(_))), "{name}: {wallet:?}");
            continue;
        };
        largest = largest.max((native.margin - margin).abs());
        // A score can differ by one where a margin that is less exact lies at a half.
        let margin = if exact { *margin } else { native.margin };
        let wanted = (score(margin).clamp(300.0, 1000.0) + 0.5).floor() as u32;
        let answer = model.score(wallet).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(answer.score.get(), wanted, "{name}: margin {margin} and not {}", native.margin);
        let points: Vec<i32> = answer.factors.iter().map(|factor| factor.points).collect();
        assert_eq!(points, native.points, "{name}");
        scored += 1;
    }
    assert!(scored > wallets.len() * 9 / 10, "{name}: {scored} scored");
    println!("{name}: {}; {scored} wallets, largest difference of margins {largest:e}", pack.summary);
    assert!(largest <= if exact { 1e-9 } else { 1e-5 }, "{name}: margins differ by {largest:e}");
}

#[test]
fn models_without_code_answer_as_their_libraries() {
    let folder = tempfile::tempdir().expect("a folder");
    let wallets = features::generate_v2(7, 2000);
    train("train.py", folder.path(), &wallets, ["40", "200"]);
    let per = 60.0 / std::f64::consts::LN_2;
    let odds = |margin: f64| 700.0 - per * 4.0_f64.ln() - per * margin;
    for (name, file) in [("lightgbm", "lightgbm.txt"), ("xgboost", "xgboost.json")] {
        let expected = numbers(&folder.path().join(format!("{name}.csv")));
        compare(name, &packed(folder.path(), file), &wallets, &expected, odds);
    }
    for name in ["onnx-of-lightgbm", "onnx-of-xgboost"] {
        let expected = numbers(&folder.path().join(format!("{name}.csv")));
        compare(name, &packed_without(folder.path(), &format!("{name}.onnx"), "markets"), &wallets, &expected, odds);
    }
    let parts = |pack: &Pack, wallet: &Features| {
        let data = Data::new(&pack.data).expect("data");
        let (figures, mut parts) = (values(data, &Wallet::new(wallet)), [0.0; FEATURES]);
        (margin(data, &figures, &mut parts), parts)
    };
    let [own, counted] =
        ["onnx-of-lightgbm.txt", "onnx-of-lightgbm.onnx"].map(|file| packed_without(folder.path(), file, "markets"));
    // The text has the figures of a wallet in double precision, so a few wallets reach other leaves there.
    let (mut elsewhere, mut largest) = (0, 0.0_f64);
    for wallet in &wallets {
        let ((sum, own), (other, counted)) = (parts(&own, wallet), parts(&counted, wallet));
        if (sum - other).abs() > 1e-5 {
            elsewhere += 1;
            continue;
        }
        largest = own.iter().zip(counted).map(|(own, counted)| (own - counted).abs()).fold(largest, f64::max);
    }
    println!("onnx: parts differ from those of the same trees as text by {largest:e}; {elsewhere} wallets elsewhere");
    assert!(largest <= 1e-5 && elsewhere <= 20, "parts differ by {largest:e}, and {elsewhere} wallets are elsewhere");
    let expected = numbers(&folder.path().join("lightgbm-sigmoid.csv"));
    let doubled = |margin: f64| odds(2.0 * margin);
    compare("lightgbm-sigmoid", &packed(folder.path(), "lightgbm-sigmoid.txt"), &wallets, &expected, doubled);
    let expected = numbers(&folder.path().join("xgboost-estimator.csv"));
    compare("xgboost-estimator", &packed(folder.path(), "xgboost-estimator.json"), &wallets, &expected, odds);
    for (trees, words) in [
        ("xgboost-booster.json", "and `Booster.predict` uses all. Save those that you mean"),
        ("lightgbm-regression.txt", "the trees may not predict log-odds: its objective is regression"),
        ("lightgbm-poisson.txt", "its objective is poisson"),
        ("lightgbm-lambdarank.txt", "its objective is lambdarank"),
        ("xgboost-squarederror.json", "the trees may not predict log-odds: its objective is reg:squarederror"),
        ("xgboost-pairwise.json", "its objective is rank:pairwise"),
        ("onnx-of-lightgbm.onnx", "columns, and 33 features are declared"),
    ] {
        let said = refused(folder.path(), trees);
        assert!(said.contains(words), "{trees}: {said}");
    }
    ratings(folder.path(), &wallets);
    // XGBoost computes contributions in single precision.
    for (name, file, most) in [("lightgbm", "lightgbm.txt", 1e-9), ("xgboost", "xgboost.json", 1e-3)] {
        let pack = packed_with(folder.path(), &format!("trees = \"{file}\"\nexplain = \"treeshap\""));
        let expected = numbers(&folder.path().join(format!("{name}.csv")));
        let difference =
            largest_difference_of_parts(&pack, &wallets, &folder.path().join(format!("{name}-shapley.csv")));
        println!("{name}: largest difference of Shapley values {difference:e}");
        assert!(difference <= most, "{name}: Shapley values differ by {difference:e}");
        compare(name, &pack, &wallets[..50], &expected[..50], odds);
    }
    let card = pack(&declarations().join("card.toml")).expect("the scorecard");
    // The margin of a scorecard of points begins at its base.
    let expected: Vec<f64> =
        numbers(&folder.path().join("card.csv")).into_iter().map(|points| points - 300.0).collect();
    compare("scorecard", &card, &wallets, &expected, |points| points + 300.0);
}

/// With the table of the training, the ratings of factors are fifths of its wallets; without, nearly all are `low`.
fn ratings(folder: &Path, wallets: &[Features]) {
    let counted = |pack: &Pack| {
        let (data, mut counts) = (Data::new(&pack.data).expect("data"), [0_usize; 5]);
        for wallet in wallets {
            let Some(native) = answer(data, &Wallet::new(wallet)) else { continue };
            native.parts(data).iter().for_each(|part| counts[usize::from(part.rating)] += 1);
        }
        let all = counts.iter().sum::<usize>() as f64;
        counts.map(|count| (1000.0 * count as f64 / all).round() / 10.0)
    };
    let trees = "trees = \"lightgbm.txt\"";
    let plain = packed_with(folder, trees);
    assert!(
        plain.summary.contains("which is `low` for most wallets: add `table = \"matrix.csv\"`"),
        "{}",
        plain.summary
    );
    let rated = packed_with(folder, &format!("{trees}\ntable = \"matrix.csv\""));
    assert!(rated.summary.contains("factors rated by fifths of 2000 wallets"), "{}", rated.summary);
    let (before, after) = (counted(&plain), counted(&rated));
    println!("ratings from low to excellent, in percent: {before:?} by possible points, {after:?} by the table");
    assert!(before[0] > 90.0 && after.iter().all(|share| (10.0..30.0).contains(share)), "{before:?} {after:?}");
    // The component says the same as native code.
    let (data, model) = (Data::new(&rated.data).expect("data"), load(&rated));
    for wallet in &wallets[..50] {
        let Some(native) = answer(data, &Wallet::new(wallet)) else { continue };
        let served = model.explained(wallet).expect("an answer");
        let ratings = served.factors.iter().map(|factor| factor.words.as_ref().expect("words").rating as u8);
        assert!(ratings.eq(native.parts(data).iter().map(|part| part.rating)), "{wallet:?}");
    }
}
