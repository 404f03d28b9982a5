//! Reads the JSON of XGBoost. XGBoost computes with single precision, so a model of its trees does too.

use std::collections::HashMap;

use serde::Deserialize;

use super::{
    Forest, Predicts, same_names,
    tree::{Leaf, Missing, Raw, Test, Tree},
};

#[derive(Deserialize)]
struct XgboostFile {
    learner: Learner,
}

#[derive(Deserialize)]
struct Learner {
    #[serde(default)]
    feature_names: Vec<String>,
    gradient_booster: Booster,
    learner_model_param: Parameters,
    objective: Objective,
    #[serde(default)]
    attributes: HashMap<String, String>,
}

#[derive(Deserialize)]
struct Parameters {
    base_score: String,
    num_class: String,
    num_feature: String,
    #[serde(default)]
    num_target: Option<String>,
}

#[derive(Deserialize)]
struct Objective {
    name: String,
}

#[derive(Deserialize)]
struct Booster {
    name: String,
    model: Option<XgboostModel>,
}

#[derive(Deserialize)]
struct XgboostModel {
    #[serde(default)]
    trees: Vec<XgboostTree>,
    cats: Option<Encodings>,
    #[serde(default)]
    gbtree_model_param: TreeParameters,
}

#[derive(Default, Deserialize)]
struct TreeParameters {
    /// The trees of one round, as text.
    num_parallel_tree: Option<String>,
}

/// How categories of a data frame became numbers.
#[derive(Deserialize)]
struct Encodings {
    #[serde(default)]
    enc: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct XgboostTree {
    left_children: Vec<i64>,
    right_children: Vec<i64>,
    split_indices: Vec<usize>,
    split_conditions: Vec<f32>,
    default_left: Vec<u8>,
    #[serde(default)]
    sum_hessian: Vec<f64>,
    #[serde(default)]
    split_type: Vec<u8>,
    #[serde(default)]
    categories: Vec<u32>,
    #[serde(default)]
    categories_nodes: Vec<usize>,
    #[serde(default)]
    categories_segments: Vec<usize>,
    #[serde(default)]
    categories_sizes: Vec<usize>,
}

/// Every category of a set is below this number.
const CATEGORIES: u32 = 1 << 14;

pub(crate) fn read(text: &str, names: &[&str]) -> Result<Forest, String> {
    if text.contains("\"tree_info\"") && !text.contains("\"learner\"") {
        return Err(
            "it is what `dump_model` of LightGBM gives: save it with `booster.save_model(\"model.txt\")`".into()
        );
    }
    if text.contains("\"features_info\"") && !text.contains("\"learner\"") {
        return Err("it is JSON of CatBoost: save it with `save_model(\"model.onnx\", format=\"onnx\")`".into());
    }
    let file: XgboostFile =
        serde_json::from_str(text).map_err(|error| format!("it is not JSON of XGBoost: {error}"))?;
    let Learner { feature_names, gradient_booster, learner_model_param, objective, attributes } = file.learner;
    let mut model = match (gradient_booster.name.as_str(), gradient_booster.model) {
        ("gbtree", Some(model)) => model,
        ("gblinear", _) => {
            let why = "its booster is gblinear, which has weights and no trees: train with booster=gbtree, or write a \
                       scorecard";
            return Err(why.to_owned());
        }
        (other, _) => return Err(format!("its booster is {other}: train with booster=gbtree")),
    };
    let Parameters { base_score, num_class, num_feature, num_target } = learner_model_param;
    if num_class.parse().is_ok_and(|classes: u32| classes > 1) || num_target.is_some_and(|targets| targets != "1") {
        return Err("it has several classes or targets; a score needs one margin".into());
    }
    if model.cats.as_ref().is_some_and(|cats| cats.enc.iter().any(|one| !one.is_null())) {
        return Err("it keeps categories of a data frame: train on a matrix, with categories as numbers".into());
    }
    let columns = num_feature.parse().unwrap_or(0);
    let unnamed = || (0..columns).map(|at| format!("Column_{at}")).collect::<Vec<_>>();
    same_names(&if feature_names.is_empty() { unnamed() } else { feature_names }, names)?;
    let one = |(at, lists): (usize, &XgboostTree)| {
        let tree = Tree::grow(lists.left_children.len(), names.len(), |number| lists.node(number));
        tree.map_err(|why| format!("tree {at}: {why}"))
    };
    let unused = unused(&model, &attributes)?;
    model.trees.truncate(model.trees.len() - unused);
    let trees = model.trees.iter().enumerate().map(one).collect::<Result<_, _>>()?;
    let predicts = predicts(&objective.name)?;
    let start = f64::from(start(&base_score, &objective.name)?);
    Ok(Forest { trees, start, single: true, strict: true, predicts, unused })
}

/// The trees that early stopping left at the end. `predict` of an estimator uses none of them, and `predict` of a
/// booster uses all, so the file of a booster does not say what its author means.
fn unused(model: &XgboostModel, attributes: &HashMap<String, String>) -> Result<usize, String> {
    let Some(best) = attributes.get("best_iteration") else { return Ok(0) };
    let best: usize = best.parse().map_err(|_| format!("its best_iteration is `{best}`, which is not a number"))?;
    let a_round = model.gbtree_model_param.num_parallel_tree.as_deref().and_then(|count| count.parse().ok());
    let used = best.saturating_add(1).saturating_mul(a_round.unwrap_or(1));
    let unused = model.trees.len().saturating_sub(used);
    if unused == 0 || attributes.contains_key("scikit_learn") {
        return Ok(unused);
    }
    Err(format!(
        "early stopping chose {used} of its {} trees, and `Booster.predict` uses all. Save those that you mean: \
         `booster[:booster.best_iteration + 1].save_model(…)`, or all after `booster.set_attr(best_iteration=None)`",
        model.trees.len()
    ))
}

/// What the sum means under an objective.
fn predicts(objective: &str) -> Result<Predicts, String> {
    match objective {
        "binary:logistic" | "reg:logistic" | "binary:logitraw" => Ok(Predicts::LOG_ODDS),
        "reg:squarederror" => Ok(Predicts::Value(format!("its objective is {objective}"))),
        other => Err(format!(
            "its objective is {other}: the sum of its trees is neither log-odds nor a value. Train with \
             binary:logistic, or with reg:squarederror on a score"
        )),
    }
}

/// The margin before the first tree. XGBoost saves it as a prediction.
fn start(base_score: &str, objective: &str) -> Result<f32, String> {
    let base: f32 = base_score
        .trim_matches(['[', ']'])
        .parse()
        .map_err(|_| format!("its base_score is `{base_score}`, which is not one number"))?;
    let margin = match objective {
        "binary:logistic" | "reg:logistic" => {
            // XGBoost computes all of it in single precision. The logarithm in double precision rounds to the same
            // number.
            -f64::from(1.0 / base - 1.0).ln() as f32
        }
        _ => base,
    };
    if margin.is_finite() { Ok(margin) } else { Err(format!("its base_score is {base}")) }
}

impl XgboostTree {
    fn node(&self, number: usize) -> Result<Raw, String> {
        let short = || format!("its lists are shorter than {}", number + 1);
        let left = self.left_children.get(number).copied().ok_or_else(short)?;
        let condition = self.split_conditions.get(number).copied().ok_or_else(short)?;
        if left < 0 {
            let weight = self.sum_hessian.get(number).copied().unwrap_or(0.0);
            return Ok(Raw::Leaf(Leaf { value: f64::from(condition), weight }));
        }
        let right = self.right_children.get(number).copied().ok_or_else(short)?;
        let is_set = self.split_type.get(number).is_some_and(|kind| *kind == 1);
        Ok(Raw::Split {
            feature: self.split_indices.get(number).copied().ok_or_else(short)?,
            test: if is_set { self.set(number)? } else { Test::Threshold(f64::from(condition)) },
            missing: Missing::Nan,
            default_left: self.default_left.get(number).copied().ok_or_else(short)? != 0,
            left: usize::try_from(left).unwrap_or(usize::MAX),
            right: usize::try_from(right).unwrap_or(usize::MAX),
        })
    }

    /// The set of categories of a node. Its members go right.
    fn set(&self, number: usize) -> Result<Test, String> {
        let at = self.categories_nodes.iter().position(|node| *node == number);
        let segment = at.and_then(|at| self.categories_segments.get(at).zip(self.categories_sizes.get(at)));
        let members = segment.and_then(|(start, size)| self.categories.get(*start..start.checked_add(*size)?));
        let members = members.ok_or_else(|| format!("node {number} has no categories"))?;
        let mut set = Vec::new();
        for member in members {
            if *member >= CATEGORIES {
                return Err(format!("node {number} has the category {member}; the largest is {}", CATEGORIES - 1));
            }
            let word = *member as usize / 32;
            set.resize(set.len().max(word + 1), 0_u32);
            if let Some(bits) = set.get_mut(word) {
                *bits |= 1 << (member % 32);
            }
        }
        Ok(Test::Categories { set, members_right: true })
    }
}
