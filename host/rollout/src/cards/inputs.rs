//! The inputs of a model: those that its card states, with the table of its training in bins, or else the figures of a
//! wallet that it reads.

use std::collections::BTreeSet;

use assay_author::Matrix;
use assay_domain::{
    ModelInfo,
    features::{FIGURES, Features, figures},
    stats::Bins,
};
use serde::Deserialize;

/// The longest name of an input, which is a label of metrics.
const LONGEST: usize = 64;

/// An input as a card states it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CardInput {
    pub name: String,
    /// An expression of the feature language.
    pub is: String,
    /// Of the table that the model was trained on.
    pub training: Option<Bins>,
}

/// The inputs of a model.
#[derive(Debug)]
pub struct ModelInputs {
    inputs: Vec<ModelInput>,
    source: InputSource,
}

/// One input.
#[derive(Debug)]
pub struct ModelInput {
    pub name: String,
    /// The wallets of the training; `None` if the card does not have them.
    pub training: Option<Bins>,
}

#[derive(Debug)]
enum InputSource {
    Card(Matrix),
    /// Their places in the list of all figures.
    Figures(Vec<usize>),
}

impl ModelInputs {
    /// The figures of which the model reads an input; all if it names none of their inputs.
    pub(super) fn read_by(info: &ModelInfo) -> Self {
        let is_read = |place: &usize| FIGURES.get(*place).is_some_and(|figure| figure.is_read(&info.reads));
        let mut places: Vec<usize> = (0..FIGURES.len()).filter(is_read).collect();
        if places.is_empty() {
            places = (0..FIGURES.len()).collect();
        }
        let named = places.iter().filter_map(|place| FIGURES.get(*place));
        let inputs = named.map(|figure| ModelInput { name: figure.name.to_owned(), training: None }).collect();
        Self { inputs, source: InputSource::Figures(places) }
    }

    pub fn iter(&self) -> impl Iterator<Item = &ModelInput> {
        self.inputs.iter()
    }

    /// The value of each input for a wallet; `None` if it is absent.
    pub fn values(&self, features: &Features) -> Vec<Option<f64>> {
        match &self.source {
            InputSource::Card(matrix) => {
                matrix.row(features).into_iter().map(|value| (!value.is_nan()).then_some(value)).collect()
            }
            InputSource::Figures(places) => {
                let figures = figures(features);
                places.iter().map(|place| figures.get(*place).copied().flatten()).collect()
            }
        }
    }
}

/// The inputs that a card states; `None` if it states none.
///
/// # Errors
/// The first problem.
pub(super) fn checked(stated: &[CardInput]) -> Result<Option<ModelInputs>, String> {
    if stated.is_empty() {
        return Ok(None);
    }
    let mut names = BTreeSet::new();
    for CardInput { name, training, .. } in stated {
        if name.is_empty() || name.len() > LONGEST {
            return Err(format!("the name of an input has 1 to {LONGEST} bytes, and one is {name:?}"));
        }
        if !names.insert(name) {
            return Err(format!("there are two inputs {name:?}"));
        }
        if let Some(bins) = training {
            bins.check().map_err(|why| format!("input {name}: the bins of its training are wrong: {why}"))?;
        }
    }
    let matrix = Matrix::of_card(stated.iter().map(|input| (input.name.as_str(), input.is.as_str())))?;
    let input = |input: &CardInput| ModelInput { name: input.name.clone(), training: input.training.clone() };
    Ok(Some(ModelInputs { inputs: stated.iter().map(input).collect(), source: InputSource::Card(matrix) }))
}

#[cfg(test)]
mod tests {
    use assay_domain::{Digest, ModelKind};

    use super::*;
    use crate::cards::{check, inputs, markdown};

    const CARD: &str = "[[input]]\nname = \"loans\"\nis = \"sum(markets.borrow)\"\ntraining = { absent = 1, zero = 0, \
                        edges = [0.0, 2.5], counts = [0, 5, 4] }\n[[input]]\nname = \"age\"\nis = \
                        \"days(min(chains.first_transaction))\"\n";

    fn info(reads: &[&str]) -> ModelInfo {
        ModelInfo {
            kind: ModelKind::Credit,
            version: "9.9".parse().unwrap(),
            title: "A model".into(),
            authors: Vec::new(),
            reads: reads.iter().map(|read| (*read).to_owned()).collect(),
            claims: None,
        }
    }

    #[test]
    fn a_card_states_the_inputs_and_their_training() {
        assert_eq!(check(CARD), Ok(()));
        let (shelf, info) = (tempfile::tempdir().unwrap(), info(&[]));
        let found = inputs(shelf.path(), &info, Digest([1; 32]), Some(CARD)).unwrap();
        let stated: Vec<_> =
            found.iter().map(|input| (&*input.name, input.training.as_ref().map(Bins::count))).collect();
        assert_eq!(stated, [("loans", Some(10)), ("age", None)]);
        let typical = assay_registry::measure::typical();
        let values = found.values(&typical);
        assert_eq!(values.len(), 2);
        assert_eq!(found.values(&Features::default()), [Some(0.0), None], "absent is not 0");
        let page = markdown(shelf.path(), &info, Digest([1; 32]), Some(CARD)).unwrap().unwrap();
        assert!(page.contains("| loans | `sum(markets.borrow)` | 10 | 10.0 % |"), "{page}");
        assert!(page.contains("| age | `days(min(chains.first_transaction))` | not stated |  |"), "{page}");
    }

    #[test]
    fn a_model_without_stated_inputs_has_the_figures_that_it_reads() {
        let names = |reads: &[&str]| {
            ModelInputs::read_by(&info(reads)).iter().map(|input| input.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&["markets.repay", "markets.position.health-factor"]), ["Repayments", "Lowest health factor"]);
        assert_eq!(names(&["something.else"]).len(), FIGURES.len());
    }

    #[test]
    fn a_wrong_input_is_named() {
        for (good, bad, words) in [
            ("\"age\"", "\"loans\"", "there are two inputs \"loans\""),
            ("\"age\"", "\"\"", "the name of an input has 1 to 64 bytes"),
            ("markets.borrow", "markets.borrows", "input loans: markets has no field `borrows`"),
            ("[0.0, 2.5]", "[2.5, 0.0]", "input loans: the bins of its training are wrong: its edges"),
            ("[0, 5, 4]", "[0, 5]", "2 edges make 3 bins, and 2 have counts"),
            ("absent = 1", "absnt = 1", "absnt"),
        ] {
            let wrong = check(&CARD.replacen(good, bad, 1)).unwrap_err();
            assert!(wrong.contains(words), "{words}: {wrong}");
        }
    }
}
