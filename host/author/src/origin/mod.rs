//! Reads the trees of LightGBM, XGBoost and ONNX into one form, which keeps the rules of each: what it does with an
//! absent figure, and which figures go left. Reads linear models and networks of ONNX too.

mod covers;
mod lightgbm;
mod onnx;
mod tree;
mod xgboost;

pub(crate) use covers::count;
#[cfg(test)]
pub(crate) use tree::Leaf;
pub(crate) use tree::{Missing, Split, Test, Tree};

use crate::{network::NeuralNetwork, predicts::Predicts};

/// The most trees, and the most splits of one tree.
const TREES: usize = 20_000;
const SPLITS: usize = 4095;

/// What a library trained.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Trained {
    Forest(Forest),
    Network(NeuralNetwork),
}

/// A trained ensemble.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forest {
    pub trees: Vec<Tree>,
    /// Where the sum of the trees begins.
    pub start: f64,
    /// Figures and sums have single precision.
    pub single: bool,
    /// A figure at the threshold goes right. Without this, it goes left.
    pub strict: bool,
    pub predicts: Predicts,
    /// The trees that the file has beside these, which its library does not use either.
    pub unused: usize,
}

impl Forest {
    /// Whether the file says how much of the training data reached each leaf.
    pub(crate) fn has_covers(&self) -> bool {
        self.trees.iter().all(|tree| tree.splits.is_empty() || tree.leaves.iter().any(|leaf| leaf.weight > 0.0))
    }
}

/// Reads what a library saved. `names` are the features, in the order of the training.
///
/// # Errors
/// Why no model can use it, in words.
pub(crate) fn read(bytes: &[u8], names: &[&str]) -> Result<Trained, String> {
    if let Some(what) = foreign(bytes) {
        return Err(what.into());
    }
    // Some programs write a mark before UTF-8.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let forest = match str::from_utf8(bytes) {
        Ok(text) if text.trim_start().starts_with('{') => xgboost::read(text, names)?,
        Ok(text) if text.starts_with("tree\n") || text.starts_with("tree\r\n") => lightgbm::read(text, names)?,
        _ => {
            let graph = onnx::graph(bytes).ok_or(
                "it is neither LightGBM text (`booster.save_model(\"model.txt\")`) nor XGBoost JSON \
                 (`booster.save_model(\"model.json\")`) nor ONNX. CatBoost saves ONNX with \
                 `save_model(\"model.onnx\", format=\"onnx\")`, and skl2onnx makes it of scikit-learn",
            )?;
            match onnx::read(&graph, names)? {
                Trained::Forest(forest) => forest,
                network => return Ok(network),
            }
        }
    };
    match forest.trees.len() {
        0 => Err("it has no tree".into()),
        _ if forest.trees.iter().all(|tree| tree.splits.is_empty()) => Err(
            "none of its trees has a split, so every wallet would have the same score. Train it on more wallets, or \
             let its leaves have fewer"
                .into(),
        ),
        1..=TREES => Ok(Trained::Forest(forest)),
        trees => Err(format!("it has {trees} trees and may have {TREES}")),
    }
}

/// What a file is that a library also writes, and how to save the model instead.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x80, 2..=5, ..] => Some(
            "it is a pickle of Python, which runs code when it is read. Save the model itself: LightGBM with \
             `booster.save_model(\"model.txt\")`, XGBoost with `save_model(\"model.json\")`, scikit-learn as ONNX by \
             skl2onnx",
        ),
        [b'{', b'L' | b'l' | b'U' | b'i' | b'I', ..] => {
            Some("it is UBJSON of XGBoost: save it as JSON, with `save_model(\"model.json\")`")
        }
        [b'C', b'B', b'M', b'1', ..] => {
            Some("it is CatBoost's own format: save it with `save_model(\"model.onnx\", format=\"onnx\")`")
        }
        _ => None,
    }
}

/// Refuses a model that was trained on other columns.
fn same_names(theirs: &[String], names: &[&str]) -> Result<(), String> {
    let unnamed = theirs.iter().enumerate().all(|(at, name)| *name == format!("Column_{at}"));
    if theirs.len() == names.len() && (unnamed || theirs.iter().zip(names).all(|(theirs, name)| theirs == name)) {
        return Ok(());
    }
    let differs = theirs.iter().zip(names).position(|(theirs, name)| theirs != name);
    let at = differs.map_or(String::new(), |at| {
        let theirs = theirs.get(at).map_or("", String::as_str);
        format!("; feature {} is `{}` here and `{theirs}` there", at + 1, names.get(at).copied().unwrap_or_default())
    });
    Err(format!(
        "it was trained on {} features, and {} are declared{at}. Train on the columns that `assay features table` \
         writes",
        theirs.len(),
        names.len()
    ))
}

#[cfg(test)]
mod tests;
