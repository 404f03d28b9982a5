//! Models of ordinary training: each is equal to its origin, or refused in words that name the way out.

use std::{collections::BTreeMap, fs};

use assay_author::{Unit, Wallet, pack};
use assay_domain::features::Features;
use assay_tests::features;
use serde::Deserialize;
use tables::{Data, answer};

use super::{declarations, load, numbers, soak, train};

/// A line of `configurations.py`.
#[derive(Deserialize)]
struct Configuration {
    name: String,
    origin: String,
    trained: String,
    file: String,
    /// It predicts a score, and not log-odds.
    #[serde(default)]
    points: bool,
    /// It was trained on -1 for what is absent.
    #[serde(default)]
    filled: bool,
    /// Its file does not say how much of the training data reached each leaf.
    #[serde(default)]
    table: bool,
    /// The declared directions are proved.
    #[serde(default)]
    monotone: bool,
    /// What its predictions are multiplied by for log-odds.
    #[serde(default = "one")]
    factor: f64,
    /// What its author says that it predicts.
    says: Option<String>,
    /// Lines of the declaration.
    calibration: Option<String>,
    /// The weight of each feature, and the intercept, of a model without a file.
    #[serde(default)]
    weights: BTreeMap<String, f64>,
    #[serde(default)]
    intercept: f64,
    /// It predicts a probability, and not a margin.
    #[serde(default)]
    probability: bool,
    /// It predicts with single precision.
    #[serde(default)]
    single: bool,
    /// Words of the refusal; none if it must be equal.
    refused: Option<String>,
    /// Why its library cannot save it.
    unsaved: Option<String>,
}

/// What its library cannot save. Any other configuration must be compared or refused.
const UNSAVED: [&str; 2] = ["cat-leaves", "cat-categories"];

fn one() -> f64 {
    1.0
}

/// What a component makes of a configuration.
enum Outcome {
    /// The largest differences of margins and of scores.
    Equal {
        margins: f64,
        scores: u32,
        /// All predictions agree within the precision of both.
        agree: bool,
        wallets: usize,
    },
    Refused(String),
    Unsaved(String),
    /// It packs, and should be refused.
    Packed,
}

impl Configuration {
    fn declaration(&self) -> String {
        let text = fs::read_to_string(declarations().join("model.toml")).expect("the declaration");
        let mut lines = Vec::new();
        if !self.file.is_empty() {
            lines.push(format!("trained = \"{}\"", self.file));
        }
        let mut calibration = self.calibration.as_deref();
        if self.table {
            lines.push(format!("table = \"{}\"", if self.filled { "filled.csv" } else { "matrix.csv" }));
        }
        for line in text.lines() {
            if line == "[[factor]]"
                && let Some(calibration) = calibration.take()
            {
                lines.push(calibration.to_owned());
            }
            let name = line.strip_prefix("name = \"").and_then(|rest| rest.strip_suffix('"'));
            if let Some(weight) = name.and_then(|name| self.weights.get(name)) {
                lines.push(format!("weight = {weight:?}"));
            }
            let odds = ["margin =", "points_to_double", "anchor_"].iter().any(|begins| line.starts_with(begins));
            match line.strip_prefix("is = ") {
                Some(quoted) if self.filled => {
                    let (quote, expression) = quoted.split_at(1);
                    let expression = expression.trim_end_matches(quote);
                    lines.push(format!("is = {quote}or_else({expression}, -1){quote}"));
                }
                _ if self.points && odds => {}
                _ if !self.monotone && line.starts_with("monotone") => {}
                _ => lines.push(line.to_owned()),
            }
            if line == "[score]" && self.points {
                lines.extend(["margin = \"points\"".to_owned(), "base = 0".to_owned()]);
            }
            if line == "[score]" && !self.weights.is_empty() {
                lines.push(format!("intercept = {:?}", self.intercept));
            }
            if line == "[score]"
                && let Some(said) = &self.says
            {
                lines.push(format!("predicts = \"{said}\""));
            }
        }
        lines.join("\n")
    }

    /// The score of a prediction.
    fn score(&self, predicted: f64) -> f64 {
        let margin = if self.probability { (predicted / (1.0 - predicted)).ln() } else { predicted };
        let per = 60.0 / std::f64::consts::LN_2;
        if self.points { margin } else { 700.0 - per * 4.0_f64.ln() - per * self.factor * margin }
    }

    fn outcome(&self, folder: &std::path::Path, wallets: &[Features]) -> Outcome {
        if let Some(why) = &self.unsaved {
            return Outcome::Unsaved(why.clone());
        }
        let path = folder.join("model.toml");
        fs::write(&path, self.declaration()).expect("the declaration");
        let packed = match pack(&path) {
            Ok(packed) => packed,
            Err(fault) => return Outcome::Refused(fault.to_string().replace(&format!("{}/", folder.display()), "")),
        };
        if self.refused.is_some() {
            // Its script writes no predictions.
            return Outcome::Packed;
        }
        let (data, model) = (Data::new(&packed.data).expect("data"), load(&packed));
        let expected = numbers(&folder.join(format!("{}.csv", self.name)));
        assert_eq!(expected.len(), wallets.len(), "{}", self.name);
        let (mut margins, mut scores, mut compared, mut agree) = (0.0_f64, 0, 0, true);
        for (at, (wallet, origin)) in wallets.iter().zip(expected).enumerate() {
            let Some(native) = answer(data, &Wallet::new(wallet)) else { continue };
            let wanted = (self.score(origin).clamp(300.0, 1000.0) + 0.5).floor() as u32;
            let unit = if self.probability { Unit::Probability } else { Unit::Margin };
            let own = packed.predicts(unit, wallet).expect("a prediction");
            margins = margins.max((own.value - origin).abs() / origin.abs().max(1.0));
            agree &= own.agrees(origin);
            scores = scores.max(native.score().abs_diff(wanted));
            compared += 1;
            // The suite asks the component about fewer wallets: it runs the same code.
            if soak() || at < 50 {
                let served = model.score(wallet).unwrap_or_else(|error| panic!("{}: {error}", self.name));
                assert_eq!(served.score.get(), native.score(), "{}: {wallet:?}", self.name);
            }
        }
        Outcome::Equal { margins, scores, agree, wallets: compared }
    }
}

#[test]
fn ordinary_configurations_are_equal_to_their_origin_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let wallets = features::generate_v2(7, 2000);
    train("configurations.py", folder.path(), &wallets, ["10", "100"]);
    let lines = fs::read_to_string(folder.path().join("configurations.jsonl")).expect("the configurations");
    let all: Vec<Configuration> =
        lines.lines().map(|line| serde_json::from_str(line).expect("a configuration")).collect();
    assert!(all.len() >= 40, "{} configurations", all.len());
    let mut wrong = Vec::new();
    println!("| origin | trained | margins | scores |\n|---|---|---|---|");
    for one in &all {
        let outcome = one.outcome(folder.path(), &wallets);
        let (result, holds) = match &outcome {
            Outcome::Equal { margins, scores, agree, wallets: compared } => {
                // A sum of single precision can lie on the other side of a half.
                let exact = !one.table && !one.single;
                let equal = *agree && *scores <= u32::from(!exact);
                let enough = *compared > wallets.len() * 9 / 10;
                (format!("{margins:.1e} | {scores}"), equal && enough && one.refused.is_none())
            }
            Outcome::Refused(why) => {
                (format!("{why} | "), one.refused.as_ref().is_some_and(|words| why.contains(words.as_str())))
            }
            Outcome::Unsaved(why) => (format!("its library cannot save it: {why} | "), UNSAVED.contains(&&*one.name)),
            Outcome::Packed => ("it packs | ".to_owned(), false),
        };
        println!("| {} | {} | {result} |", one.origin, one.trained);
        if !holds {
            wrong.push(format!("{}: {result}, and expected {:?}", one.name, one.refused));
        }
    }
    assert!(wrong.is_empty(), "{} of {} configurations:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}
