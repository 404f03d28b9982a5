//! A network of 73 features, as PyTorch writes one, answers as the runtime of ONNX, within the time of a call.

use std::{fs, path::PathBuf, process::Command};

use assay_author::{Matrix, Unit, Wallet, pack};
use assay_tests::{features, python};
use tables::{Data, data::FEATURES, margin, values};

use super::{declarations, load, numbers};

/// Features between 0 and 1, as a network needs.
fn declaration() -> String {
    let figures =
        ["chains.transactions", "chains.transfers", "chains.counterparties", "markets.repay", "markets.borrow"];
    let feature = |at: usize| {
        let figure = figures[at % figures.len()];
        let is = match at % 3 {
            0 => format!("min(log1p(or_else(sum({figure}), 0)), {}) / 20", at + 1),
            1 => format!("if(max({figure}) > {at} or count(chains) > 3, sqrt(1 / {}), 0)", at + 1),
            _ => format!("or_else(log(sum({figure} where coverage == complete or coverage == partial)), -1) / 20"),
        };
        // A quotient counts as absent to the packer.
        format!("[[feature]]\nname = \"f{at}\"\nis = \"{is}\"\nfactor = \"F{}\"\nabsent = 0\n", at % 4)
    };
    let factor = |at: usize| format!("[[factor]]\nlabel = \"F{at}\"\ntext = \"{{f{at}}}\"\n");
    let head = "version = \"1.0\"\ntitle = \"t\"\ntrained = \"network.onnx\"\ntable = \"matrix.csv\"\n[score]\nmargin \
                = \"log-odds-of-bad\"\npoints_to_double = 60\nanchor_score = 700\nanchor_odds = 4\ndeciles = [520, \
                580, 630, 670, 710, 750, 790, 840, 900]\n";
    let factors: String = (0..4).map(factor).collect();
    let features: String = (0..73).map(feature).collect();
    format!("{head}{factors}{features}")
}

#[test]
fn a_network_of_73_features_answers_as_the_runtime_of_onnx() {
    let folder = tempfile::tempdir().expect("a folder");
    let wallets = features::generate_v2(7, 2000);
    let path = folder.path().join("model.toml");
    fs::write(&path, declaration()).expect("the declaration");
    // Another network of this shape can be named instead.
    if let Some(given) = std::env::var_os("ASSAY_NETWORK") {
        fs::copy(PathBuf::from(given), folder.path().join("network.onnx")).expect("a network");
    }
    let matrix = Matrix::of(&path).expect("the declaration");
    // A cell that is empty has the figure of `absent`.
    let row = |line: String| {
        line.split(',').map(|cell| if cell.is_empty() { "0" } else { cell }).collect::<Vec<_>>().join(",")
    };
    let rows = wallets.iter().map(|wallet| row(matrix.line(wallet)));
    let text: Vec<String> = std::iter::once(matrix.header()).chain(rows).collect();
    fs::write(folder.path().join("matrix.csv"), text.join("\n")).expect("the matrix");
    let done = Command::new(python::interpreter().expect("Python"))
        .arg(declarations().join("networks.py"))
        .arg(folder.path())
        .output()
        .expect("Python starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let packed = pack(&path).unwrap_or_else(|why| panic!("{why}"));
    let expected = numbers(&folder.path().join("network.csv"));
    let (data, model) = (Data::new(&packed.data).expect("data"), load(&packed));
    let (mut largest, mut compared, mut scores) = (0.0_f64, 0, std::collections::BTreeSet::new());
    for (wallet, origin) in wallets.iter().zip(expected) {
        let Some(own) = packed.predicts(Unit::Probability, wallet) else { continue };
        largest = largest.max((own.value - origin).abs());
        compared += 1;
        scores.extend(packed.score(wallet));
        if compared <= 200 {
            assert_eq!(Some(model.score(wallet).expect("an answer").score.get()), packed.score(wallet));
            // The parts add up to the margin minus the margin of the average wallet of the training.
            let (figures, mut parts) = (values(data, &Wallet::new(wallet)), [0.0; FEATURES]);
            let sum = margin(data, &figures, &mut parts) - parts.iter().sum::<f64>();
            let means = mean_margin(&packed);
            assert!((sum - means).abs() < 1e-9, "{sum} and {means}");
        }
    }
    println!(
        "{}; {compared} wallets, {} scores, largest difference of probabilities {largest:e}",
        packed.summary,
        scores.len()
    );
    assert!(largest <= 1e-5 && compared > 1800 && scores.len() > 10, "{largest:e}, {} scores", scores.len());
}

/// The margin at the means, from a wallet whose parts are known to be complete: the first.
fn mean_margin(packed: &assay_author::Pack) -> f64 {
    let data = Data::new(&packed.data).expect("data");
    let wallet = features::generate_v2(7, 1).remove(0);
    let (figures, mut parts) = (values(data, &Wallet::new(&wallet)), [0.0; FEATURES]);
    margin(data, &figures, &mut parts) - parts.iter().sum::<f64>()
}
