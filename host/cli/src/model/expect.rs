//! `assay model build --expect`: the component predicts what its origin does, for each wallet of the training.

use std::path::Path;

use assay_author::{Pack, Predictions, Unit};
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

/// The outcome of a comparison so far.
#[derive(Default)]
struct Compared {
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
/// Bad outcomes have the higher scores, and `reversed` does not accept that.
pub fn ranks(packed: &Pack, features: &Path, reversed: bool) -> Result<(), Failure> {
    if packed.kind != ModelKind::Credit || !packed.is_trained || !features.is_file() {
        return Ok(());
    }
    let cannot = |error| Failure::cannot(format!("{} cannot be read: {error}", features.display()));
    let mut source = RecordSource::open(features).map_err(cannot)?;
    let mut outcomes = Outcomes::default();
    while let Some(chunk) = source.chunk().map_err(cannot)? {
        for (_, record) in chunk.records() {
            // Bad lines are reported by the comparison.
            let Ok(Some(record)) = record else { continue };
            let Some(score) = packed.score(&record.features).and_then(Score::new) else { continue };
            match record.outcome {
                Some(true) => outcomes.bad.add_many(score, 1),
                Some(false) => outcomes.good.add_many(score, 1),
                None => {}
            }
        }
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

/// Compares `component`, made of `packed`, with `expected` on the wallets of `features`.
pub fn compare(packed: &Pack, component: &[u8], expected: &Path, features: &Path) -> Result<(), Failure> {
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
    compared.result(&predictions, expected, features)
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
        self.largest = self.largest.max((own.value - origin).abs());
        if !own.agrees(origin) {
            self.differ += 1;
            let (unit, own) = (unit.as_str(), own.value);
            self.first.get_or_insert_with(|| format!("wallet {wallet} has the {unit} {own}, expected {origin}"));
        }
        Ok(())
    }

    fn result(self, predictions: &Predictions, expected: &Path, features: &Path) -> Result<(), Failure> {
        let Self { wallets, refused, differ, largest, first } = self;
        let count = predictions.values.len();
        let (expected, features) = (expected.display(), features.display());
        if count != wallets {
            return Err(Failure::no(format!(
                "{expected} has {count} predictions, and {features} has {wallets} wallets. Predict the rows of `assay \
                 features table`, all of them and in their order"
            )));
        }
        if let Some(first) = first {
            return Err(Failure::no(format!(
                "{first}; {differ} of {wallets} differ, by up to {largest:e}. Are the predictions of this file, and of \
                 the features as model.toml has them now? Write the table again, train, and build"
            )));
        }
        let refused = if refused == 0 { String::new() } else { format!(" ({refused} refused)") };
        print(format!(
            "{wallets} wallets{refused}: the component predicts what {expected} has; largest difference {largest:e}"
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
        for (name, text) in assay_author::template(Language::Trees, ModelKind::Credit, "t", "").unwrap() {
            std::fs::write(path(name), text).unwrap();
        }
        std::fs::write(path("model.txt"), TREE).unwrap();
        std::fs::write(path("matrix.csv"), "age,repays,liquidations,assets\n1,2,3,4\n").unwrap();
        let packed = assay_author::pack(&path("model.toml")).unwrap();
        let component = assay_registry::to_component(&packed.core).unwrap();
        let said = |predictions: &str| {
            std::fs::write(path("predictions.csv"), predictions).unwrap();
            let compared = compare(&packed, &component, &path("predictions.csv"), &path("wallets.jsonl"));
            compared.map_or_else(|failure| failure.message, |()| "equal".to_owned())
        };
        let probability = 1.0 / (1.0 + 0.25_f64.exp());
        for (said, words) in [
            (said("margin\n-0.25\n-0.25\n"), "equal"),
            (said(&format!("probability\n{probability}\n{probability}\n")), "equal"),
            (said("margin\n-0.25\n0.5\n"), "wallet 2 has the margin -0.25, expected 0.5; 1 of 2 differ"),
            (said("margin\n-0.25\n"), "has 1 predictions, and "),
            (said("points\n1\n"), "its first line has none of `margin`, `probability` and `score`"),
            (said("margin\n-0.25\n\"\"\n"), "prediction 2 is not a finite number"),
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
