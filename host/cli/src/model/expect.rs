//! The proof of a model that a library trained: the component predicts what its origin does, for each wallet of the
//! training and for odd rows.

use std::path::{Path, PathBuf};

use assay_author::{FileFault, OddRows, Pack, Predicted, Predictions, Unit};
use assay_backtest::RecordSource;
use assay_domain::features::Features;
use assay_registry::{CreditModel, Limits, OfKind as _, ScoreError, SybilModel, standalone};

use crate::{Failure, print};

/// The component.
enum Served {
    Credit(CreditModel),
    Sybil(SybilModel),
}

impl Served {
    /// The score of a wallet, or its risk.
    fn score(&self, features: &Features) -> Result<u32, ScoreError> {
        match self {
            Self::Credit(model) => model.score(features).map(|answer| answer.score.get()),
            Self::Sybil(model) => model.risk(features).map(|answer| answer.risk.into()),
        }
    }
}

/// Files that a training script writes, and from which a component is proved.
#[derive(Debug, Clone, Default)]
pub struct Proof {
    /// What the origin predicts for the wallets of the training; predictions.csv in the folder if absent.
    pub expect: Option<PathBuf>,
    /// What it predicts for the odd rows; odd-predictions.csv next to the former if absent.
    pub odd: Option<PathBuf>,
    /// Skip the comparison, and say so in the card.
    pub unproven: bool,
}

const EXPECTED: &str = "predictions.csv";
const ODD: &str = "odd-predictions.csv";

/// The outcome of a comparison so far.
#[derive(Default)]
struct Compared {
    /// Wallets, or odd rows.
    wallets: usize,
    refused: usize,
    differ: usize,
    largest: f64,
    /// The first difference, in words.
    first: Option<String>,
}

/// Figures from here on may have no finite sum in single precision.
const EXTREME: f64 = 1e15;

/// Compares a component that was made of the declaration with what its training predicts. Returns the result in a
/// sentence, for the card; `None` for a model that no library trained and that nobody asks to compare.
///
/// # Errors
/// The predictions are absent and `unproven` is not set, or one differs.
pub fn prove(
    proof: &Proof,
    declaration: &Path,
    packed: &Pack,
    component: &[u8],
    features: &Path,
) -> Result<Option<String>, Failure> {
    if !packed.is_trained && proof.expect.is_none() {
        return Ok(None);
    }
    if proof.unproven {
        let said = "This component was never compared with the training that it was made of.";
        print(format!("not compared with its training, and its card says so: {said}"))?;
        return Ok(Some(said.to_owned()));
    }
    let folder = declaration.parent().unwrap_or(Path::new(""));
    let expected = proof.expect.clone().unwrap_or_else(|| folder.join(EXPECTED));
    let odd = proof.odd.clone().unwrap_or_else(|| expected.with_file_name(ODD));
    let rows = if packed.is_trained { Some(OddRows::of(declaration).map_err(Failure::no)?) } else { None };
    for (file, what) in [
        (&expected, format!("the predictions of the training for the wallets of {}", features.display())),
        (&odd, format!("its predictions for the rows of `assay features odd {}`", declaration.display())),
    ] {
        if !file.is_file() && (file != &odd || rows.is_some()) {
            return Err(Failure::no(format!(
                "there is no {}: write {what}, as train.py of the template and `assay_model.pack` do. --unproven \
                 builds without a comparison, and the card says so",
                file.display()
            )));
        }
    }
    let on_wallets = compare(packed, component, &expected, features)?;
    let Some(rows) = rows else { return Ok(Some(on_wallets)) };
    let on_rows = compare_odd(packed, &rows, &odd)?;
    Ok(Some(format!("Compared with the predictions of its training: {on_wallets}; {on_rows}.")))
}

/// Compares the packed model with `expected` on rows that are not in the training data.
fn compare_odd(packed: &Pack, odd: &OddRows, expected: &Path) -> Result<String, Failure> {
    let predictions = read(packed, expected, Predictions::read_odd)?;
    if predictions.rows.len() != odd.rows.len() {
        return Err(Failure::no(format!(
            "{} has {} predictions, and the model has {} odd rows. Predict the rows of `assay features odd`, after the \
             training",
            expected.display(),
            predictions.rows.len(),
            odd.rows.len()
        )));
    }
    let mut compared = Compared::default();
    for (row, origin) in odd.rows.iter().zip(&predictions.rows) {
        compared.wallets += 1;
        let is_extreme = row.iter().any(|figure| figure.is_nan() || figure.abs() >= EXTREME);
        let own = |unit| packed.predicts_of(unit, row);
        compared.row("odd row", &predictions.units, origin, own, is_extreme);
    }
    let most = compared.wallets / 2;
    let result = compared.result("odd rows", expected, most)?;
    print(&result)?;
    Ok(result)
}

/// The predictions of a file.
///
/// # Errors
/// What is wrong with the file, or a calibrated model has only margins in it, which no calibration changes.
fn read(packed: &Pack, file: &Path, read: fn(&Path) -> Result<Predictions, FileFault>) -> Result<Predictions, Failure> {
    let predictions = read(file).map_err(Failure::no)?;
    if packed.is_calibrated && predictions.units == [Unit::Margin] {
        return Err(Failure::no(format!(
            "{} has only margins, which do not show the calibration: write the calibrated `probability`, that of \
             predict_proba, as `assay_model.pack` does with CalibratedClassifierCV(FrozenEstimator(…))",
            file.display()
        )));
    }
    Ok(predictions)
}

/// Compares `component`, made of `packed`, with `expected` on the wallets of `features`.
fn compare(packed: &Pack, component: &[u8], expected: &Path, features: &Path) -> Result<String, Failure> {
    let predictions = read(packed, expected, Predictions::read)?;
    let model = standalone(component, &Limits::default()).map_err(Failure::no)?;
    let model = match (CreditModel::of(&model), SybilModel::of(&model)) {
        (Some(credit), _) => Served::Credit(credit),
        (None, Some(sybil)) => Served::Sybil(sybil),
        (None, None) => return Err(Failure::no("it is neither a credit nor a sybil model")),
    };
    let cannot = |error| Failure::cannot(format!("{} cannot be read: {error}", features.display()));
    let mut source = RecordSource::open(features).map_err(cannot)?;
    let mut compared = Compared::default();
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        for (line, record) in chunk.records() {
            let record = record.map_err(|bad| Failure::no(format!("{}:{line}: {}", features.display(), bad.reason)))?;
            let Some(record) = record else { continue };
            let origin = predictions.rows.get(compared.wallets);
            compared.wallets += 1;
            if let Some(origin) = origin {
                compared.one(packed, &model, &predictions.units, &record.features, origin)?;
            }
        }
    }
    let (count, wallets) = (predictions.rows.len(), compared.wallets);
    if count != wallets {
        return Err(Failure::no(format!(
            "{} has {count} predictions, and {} has {wallets} wallets. Predict the rows of `assay features table`, all \
             of them and in their order",
            expected.display(),
            features.display()
        )));
    }
    let result = compared.result("wallets", expected, wallets.saturating_sub(1))?;
    print(&result)?;
    Ok(result)
}

impl Compared {
    fn one(
        &mut self,
        packed: &Pack,
        model: &Served,
        units: &[Unit],
        features: &Features,
        origin: &[f64],
    ) -> Result<(), Failure> {
        let wallet = self.wallets;
        let served = match model.score(features) {
            Ok(score) => Some(score),
            Err(ScoreError::Refused(_)) => None,
            Err(error) => return Err(Failure::no(format!("wallet {wallet}: {error}"))),
        };
        let score = packed.score(features);
        if served != score {
            return Err(Failure::no(format!("wallet {wallet}: the component answers {served:?}, not {score:?}")));
        }
        if score.is_none() {
            self.refused += 1;
            return Ok(());
        }
        let own = |unit| packed.predicts(unit, features);
        if units.iter().any(|unit| own(*unit).is_none()) {
            let message = "a margin in points has no probability: name the column of the predictions `margin`";
            return Err(Failure::no(message));
        }
        self.row("wallet", units, origin, own, false);
        Ok(())
    }

    /// Counts a wallet or odd row, of which the origin predicts `origin` in `units`. Nobody trusts a prediction that is
    /// no number, so the component refuses such a row; of an extreme row, only one of the two may have none.
    fn row(
        &mut self,
        what: &str,
        units: &[Unit],
        origin: &[f64],
        own: impl Fn(Unit) -> Option<Predicted>,
        is_extreme: bool,
    ) {
        let (mut is_refused, mut differs) = (false, None);
        for (unit, origin) in units.iter().zip(origin) {
            let own = own(*unit);
            match own {
                Some(own) if !origin.is_nan() => self.largest = self.largest.max(own.difference(*origin)),
                _ => is_refused = true,
            }
            let agrees = match own {
                _ if is_refused && is_extreme => true,
                Some(own) => own.agrees(*origin),
                None => origin.is_nan(),
            };
            if !agrees {
                differs.get_or_insert((unit.as_str(), own.map_or(f64::NAN, |own| own.value), *origin));
            }
        }
        self.refused += usize::from(is_refused);
        if let Some((unit, own, origin)) = differs {
            self.differ += 1;
            let at = self.wallets;
            self.first.get_or_insert_with(|| format!("{what} {at} has the {unit} {own}, expected {origin}"));
        }
    }

    /// The result in a clause; `what` are wallets or odd rows, of which `most` may be refused.
    fn result(self, what: &str, expected: &Path, most: usize) -> Result<String, Failure> {
        let Self { wallets, refused, differ, largest, first } = self;
        let expected = expected.file_name().unwrap_or_default().display();
        if let Some(first) = first {
            return Err(Failure::no(format!(
                "{first}; {differ} of {wallets} {what} differ from {expected}, by up to {largest:e}. Are the \
                 predictions of this file, and of the features as model.toml has them now? Write the table again, \
                 train, and build"
            )));
        }
        if refused > most {
            return Err(Failure::no(format!(
                "{refused} of {wallets} {what} have no prediction, so {expected} proves too little: correct what makes \
                 it NaN, or what makes the component refuse a wallet"
            )));
        }
        let refused = if refused == 0 { String::new() } else { format!(" ({refused} refused)") };
        Ok(format!(
            "{wallets} {what}{refused}: the component predicts what {expected} has; largest difference {largest:e}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use assay_domain::ModelKind;

    use super::*;
    use crate::model::samples::{TREE, folder};

    #[test]
    fn a_proof_without_numbers_or_without_the_calibration_proves_nothing() {
        let calibration = "calibration = { method = \"platt\", of = \"margin\", a = -2.0, b = 0.5 }";
        let calibrated = |margin: f64| 1.0 / (1.0 + (-2.0 * margin + 0.5).exp());
        let plain = |margin: f64| 1.0 / (1.0 + (-margin).exp());
        for (more, probability) in [("", &plain as &dyn Fn(f64) -> f64), (calibration, &calibrated)] {
            let folder = folder(ModelKind::Credit, TREE, more);
            let path = |name: &str| folder.path().join(name);
            let packed = assay_author::pack(&path("model.toml")).unwrap();
            let component = assay_registry::to_component(&packed.core).unwrap();
            let rows = OddRows::of(&path("model.toml")).unwrap().rows;
            let margins: Vec<f64> = rows.iter().map(|row| if row[1] > 1e6 { 0.5 } else { -0.25 }).collect();
            let said = |head: &str, cells: &dyn Fn(f64) -> String, is_read: &dyn Fn(usize) -> bool| {
                let write = |name: &str, margins: &[f64], is_read: &dyn Fn(usize) -> bool| {
                    let nan = vec!["nan"; head.split(',').count()].join(",");
                    let line = |(at, margin)| if is_read(at) { cells(margin) } else { nan.clone() };
                    let lines: Vec<String> = margins.iter().copied().enumerate().map(line).collect();
                    std::fs::write(path(name), format!("{head}\n{}\n", lines.join("\n"))).unwrap();
                };
                write("predictions.csv", &[-0.25, -0.25], &|_| true);
                write("odd-predictions.csv", &margins, is_read);
                let proof = Proof::default();
                let proved = prove(&proof, &path("model.toml"), &packed, &component, &path("wallets.jsonl"));
                proved.map_or_else(|failure| failure.message, |_| "equal".into())
            };
            let margin = |margin: f64| margin.to_string();
            let both = |margin: f64| format!("{margin},{}", probability(margin));
            let exchanged = |margin: f64| format!("{margin},{}", probability(-margin));
            let all = |_: usize| true;
            let none = |_: usize| false;
            let half = |at: usize| at.is_multiple_of(2);
            let few = |at: usize| rows[at].iter().all(|figure| figure.abs() < 1e15);
            let calibrated = !more.is_empty();
            for (head, cells, is_read, words) in [
                ("margin", &margin as &dyn Fn(f64) -> String, &all as &dyn Fn(usize) -> bool, "equal"),
                ("margin,probability", &both, &all, "equal"),
                ("margin,probability", &both, &few, "equal"),
                ("margin,probability", &exchanged, &all, "has the probability"),
                ("margin,probability", &both, &none, "expected NaN"),
                ("margin,probability", &both, &half, "expected NaN"),
            ] {
                let words = if calibrated && head == "margin" { "do not show the calibration" } else { words };
                let said = said(head, cells, is_read);
                assert!(said.contains(words), "{more} {head} {words}: {said}");
            }
        }
    }

    #[test]
    fn a_component_is_compared_with_what_its_training_predicts() {
        let folder = folder(ModelKind::Credit, TREE, "");
        let path = |name: &str| folder.path().join(name);
        let packed = assay_author::pack(&path("model.toml")).unwrap();
        let component = assay_registry::to_component(&packed.core).unwrap();
        let proved = |proof: &Proof| {
            let proved = prove(proof, &path("model.toml"), &packed, &component, &path("wallets.jsonl"));
            proved.map_or_else(|failure| failure.message, |said| format!("equal: {}", said.unwrap_or_default()))
        };
        let proof = Proof { expect: Some(path("predictions.csv")), ..Proof::default() };
        let unproven = Proof { unproven: true, ..Proof::default() };
        assert!(proved(&proof).contains("there is no "), "{}", proved(&proof));
        assert!(proved(&unproven).contains("never compared with the training"), "{}", proved(&unproven));
        let rows = OddRows::of(&path("model.toml")).unwrap().rows;
        // The left branch has an absent figure, too.
        let margin = |row: &Vec<f64>| if row[1] > 1e6 { 0.5 } else { -0.25 };
        let odd = |margins: Vec<f64>| {
            let lines: String = margins.iter().map(|margin| format!("{margin}\n")).collect();
            std::fs::write(path("odd-predictions.csv"), format!("margin\n{lines}")).unwrap();
        };
        let said = |predictions: &str| {
            std::fs::write(path("predictions.csv"), predictions).unwrap();
            proved(&proof)
        };
        assert!(said("margin\n-0.25\n-0.25\n").contains("odd-predictions.csv: write its predictions"));
        // A reader that sends a figure at the threshold to the right.
        odd(rows.iter().map(|row| if row[1] >= 1e6 { 0.5 } else { -0.25 }).collect());
        let differs = said("margin\n-0.25\n-0.25\n");
        assert!(
            differs.contains("odd row ") && differs.contains("odd rows differ from odd-predictions.csv"),
            "{differs}"
        );
        odd(vec![0.5]);
        assert!(said("margin\n-0.25\n-0.25\n").contains("has 1 predictions, and the model has "));
        odd(rows.iter().map(margin).collect());
        let probability = 1.0 / (1.0 + 0.25_f64.exp());
        for (said, words) in [
            (said("margin\n-0.25\n-0.25\n"), "equal: Compared with the predictions of its training: 2 wallets"),
            (said(&format!("probability\n{probability}\n{probability}\n")), "equal"),
            (said("margin\n-0.25\n0.5\n"), "wallet 2 has the margin -0.25, expected 0.5; 1 of 2 wallets differ"),
            (said("margin\n-0.25\n"), "has 1 predictions, and "),
            (said("points\n1\n"), "its first line has none of `margin`, `probability` and `score`"),
            (said("margin\n-0.25\n\"\"\n"), "prediction 2 is not a finite number"),
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
