//! The proof of a model that a library trained: the component predicts what its origin does, for each wallet of the
//! training and for odd rows.

use std::path::{Path, PathBuf};

use assay_author::{OddRows, Pack, Predicted, Predictions, Unit};
use assay_backtest::RecordSource;
use assay_domain::{ModelKind, Score, features::Features, stats::Outcomes};
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

/// Outcomes of each kind with which a ranking is judged; of fewer it may be chance.
const ENOUGH: u64 = 20;

/// Says how well the scores of `packed` rank the outcomes of `features`, if these have any.
///
/// # Errors
/// All outcomes are of one class; or bad ones have the higher scores, and `reversed` does not accept that.
pub fn ranks(packed: &Pack, features: &Path, reversed: bool) -> Result<(), Failure> {
    if packed.kind != ModelKind::Credit || !packed.is_trained || !features.is_file() {
        return Ok(());
    }
    let cannot = |error| Failure::cannot(format!("{} cannot be read: {error}", features.display()));
    let mut source = RecordSource::open(features).map_err(cannot)?;
    let (mut outcomes, mut good, mut bad) = (Outcomes::default(), 0, 0);
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        for (_, record) in chunk.records() {
            // Bad lines are reported by the comparison.
            let Ok(Some(record)) = record else { continue };
            match record.outcome {
                Some(true) => bad += 1,
                Some(false) => good += 1,
                None => continue,
            }
            let Some(score) = packed.score(&record.features).and_then(Score::new) else { continue };
            match record.outcome {
                Some(true) => outcomes.bad.add_many(score, 1),
                Some(false) => outcomes.good.add_many(score, 1),
                None => {}
            }
        }
    }
    if let Some(why) = assay_author::one_class(good, bad) {
        return Err(Failure::no(format!("{}: {why}", features.display())));
    }
    let Some(auc) = outcomes.auc() else { return Ok(()) };
    let of = format!("AUC {auc:.3} on the outcomes of {}", features.display());
    let is_judged = outcomes.good.count().min(outcomes.bad.count()) >= ENOUGH;
    if auc >= 0.5 || reversed || !is_judged {
        return print(format!("{of}, with which it was trained"));
    }
    Err(Failure::no(format!(
        "{of}: wallets with a bad outcome have the higher scores. Was the order of the classes exchanged? LightGBM and \
         scikit-learn sort text labels, so \"good\" is the second class and `margin` is \"log-odds-of-good\". \
         --reversed accepts the model as it is"
    )))
}

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
    let predictions = Predictions::read_odd(expected).map_err(Failure::no)?;
    if predictions.values.len() != odd.rows.len() {
        return Err(Failure::no(format!(
            "{} has {} predictions, and the model has {} odd rows. Predict the rows of `assay features odd`, after the \
             training",
            expected.display(),
            predictions.values.len(),
            odd.rows.len()
        )));
    }
    let mut compared = Compared::default();
    for (row, origin) in odd.rows.iter().zip(&predictions.values) {
        compared.wallets += 1;
        match packed.predicts_of(predictions.unit, row) {
            // Nobody trusts a margin that is no number: neither does the component, which refuses the wallet.
            None => compared.refused += 1,
            Some(_) if origin.is_nan() => compared.refused += 1,
            Some(own) => compared.agrees("odd row", predictions.unit, own, *origin),
        }
    }
    let result = compared.result("odd rows", expected)?;
    print(&result)?;
    Ok(result)
}

/// Compares `component`, made of `packed`, with `expected` on the wallets of `features`.
fn compare(packed: &Pack, component: &[u8], expected: &Path, features: &Path) -> Result<String, Failure> {
    let predictions = Predictions::read(expected).map_err(Failure::no)?;
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
            let origin = predictions.values.get(compared.wallets).copied();
            compared.wallets += 1;
            if let Some(origin) = origin {
                compared.one(packed, &model, predictions.unit, &record.features, origin)?;
            }
        }
    }
    let (count, wallets) = (predictions.values.len(), compared.wallets);
    if count != wallets {
        return Err(Failure::no(format!(
            "{} has {count} predictions, and {} has {wallets} wallets. Predict the rows of `assay features table`, all \
             of them and in their order",
            expected.display(),
            features.display()
        )));
    }
    let result = compared.result("wallets", expected)?;
    print(&result)?;
    Ok(result)
}

impl Compared {
    fn one(
        &mut self,
        packed: &Pack,
        model: &Served,
        unit: Unit,
        features: &Features,
        origin: f64,
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
        let own = packed.predicts(unit, features).ok_or_else(|| {
            Failure::no("a margin in points has no probability: name the column of the predictions `margin`")
        })?;
        self.agrees("wallet", unit, own, origin);
        Ok(())
    }

    /// Counts one prediction; `what` is a wallet or an odd row.
    fn agrees(&mut self, what: &str, unit: Unit, own: Predicted, origin: f64) {
        self.largest = self.largest.max(own.difference(origin));
        if !own.agrees(origin) {
            self.differ += 1;
            let (at, unit, own) = (self.wallets, unit.as_str(), own.value);
            self.first.get_or_insert_with(|| format!("{what} {at} has the {unit} {own}, expected {origin}"));
        }
    }

    /// The result in a clause; `what` are wallets or odd rows.
    fn result(self, what: &str, expected: &Path) -> Result<String, Failure> {
        let Self { wallets, refused, differ, largest, first } = self;
        let expected = expected.file_name().unwrap_or_default().display();
        if let Some(first) = first {
            return Err(Failure::no(format!(
                "{first}; {differ} of {wallets} {what} differ from {expected}, by up to {largest:e}. Are the \
                 predictions of this file, and of the features as model.toml has them now? Write the table again, \
                 train, and build"
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
    use assay_author::Language;
    use assay_domain::ModelKind;

    use super::*;

    /// Every wallet of the template reaches the left leaf.
    const TREE: &str = "tree\nnum_class=1\nnum_tree_per_iteration=1\nobjective=binary sigmoid:1\n\
        feature_names=age repays liquidations assets\n\nTree=0\nnum_cat=0\nsplit_feature=1\nthreshold=1000000\n\
        decision_type=10\nleft_child=-1\nright_child=-2\nleaf_value=-0.25 0.5\nleaf_count=30 10\n\n\nend of trees\n";

    #[test]
    fn a_component_is_compared_with_what_its_training_predicts() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, text) in assay_author::template(Language::Trees, ModelKind::Credit, "t", "0.1", "").unwrap() {
            std::fs::write(path(name), text).unwrap();
        }
        std::fs::write(path("model.txt"), TREE).unwrap();
        std::fs::write(path("matrix.csv"), "age,repays,liquidations,assets\n1,2,3,4\n1,2000000,3,4\n").unwrap();
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
