//! Reads the text of LightGBM: lines of `name=value`, a block for each tree.

use std::{collections::HashMap, str::FromStr};

use super::{
    Forest, Predicts, same_names,
    tree::{Leaf, Missing, Raw, Test, Tree},
};

/// Bits of `decision_type`. The two bits above them say which figures count as missing.
const CATEGORICAL: u8 = 1;
const DEFAULT_LEFT: u8 = 2;

pub(crate) fn read(text: &str, names: &[&str]) -> Result<Forest, String> {
    let (body, rest) = text.split_once("\nend of trees").ok_or("it is cut short: `end of trees` is missing")?;
    if let Some(categories) = encoded(rest) {
        return Err(format!(
            "it was trained on categories of pandas, which LightGBM numbers by their place in {categories}, and a \
             wallet has the figure itself. Train on numbers: `frame.astype(float)`, with the columns in \
             `categorical_feature`"
        ));
    }
    let mut blocks = body.split("\nTree=");
    let head = LightgbmLines::of(blocks.next().unwrap_or_default());
    if head.text("num_class")? != "1" || head.text("num_tree_per_iteration")? != "1" {
        return Err("it has several classes; a score needs one margin".into());
    }
    if body.lines().any(|line| line == "average_output") {
        return Err("it is a random forest (`boosting=rf`): train with boosting=gbdt".into());
    }
    let theirs: Vec<String> = head.text("feature_names")?.split(' ').map(Into::into).collect();
    same_names(&theirs, names)?;
    let tree = |(at, block): (usize, &str)| one(block, names.len()).map_err(|why| format!("tree {at}: {why}"));
    let trees = blocks.enumerate().map(tree).collect::<Result<_, _>>()?;
    let predicts = predicts(head.text("objective").ok())?;
    Ok(Forest { trees, start: 0.0, single: false, strict: false, predicts, unused: 0 })
}

/// The categories of a data frame, as the last lines of a file have them; none if the columns are numbers.
fn encoded(rest: &str) -> Option<&str> {
    let categories = rest.lines().find_map(|line| line.strip_prefix("pandas_categorical:"))?.trim();
    (!matches!(categories, "" | "null" | "[]")).then_some(categories)
}

/// What the sum means under an objective, such as `binary sigmoid:1`; none if the author wrote it himself.
fn predicts(objective: Option<&str>) -> Result<Predicts, String> {
    let Some(objective) = objective else {
        return Ok(Predicts::Value("its objective is a function of its author".into()));
    };
    let mut words = objective.split_ascii_whitespace();
    let (name, options) = (words.next().unwrap_or_default(), words.collect::<Vec<_>>());
    let plain = |name| Ok(Predicts::Value(format!("its objective is {name}")));
    match (name, options.as_slice()) {
        ("binary", [option]) => {
            let factor = option.strip_prefix("sigmoid:").and_then(|factor| factor.parse().ok());
            match factor {
                Some(factor) if f64::is_finite(factor) && factor > 0.0 => Ok(Predicts::LogOdds { factor, class: None }),
                _ => Err(format!("its objective is `{objective}`, which has no sigmoid above 0")),
            }
        }
        ("cross_entropy", []) => Ok(Predicts::LOG_ODDS),
        ("regression" | "regression_l1" | "huber" | "fair" | "quantile" | "mape" | "custom", []) => plain(name),
        _ => Err(format!(
            "its objective is {objective}: the sum of its trees is neither log-odds nor a value. Train with \
             objective=binary, or with objective=regression on a score"
        )),
    }
}

struct LightgbmLines<'a>(HashMap<&'a str, &'a str>);

impl<'a> LightgbmLines<'a> {
    fn of(block: &'a str) -> Self {
        Self(block.lines().filter_map(|line| line.split_once('=')).collect())
    }

    fn text(&self, name: &str) -> Result<&'a str, String> {
        self.0.get(name).copied().ok_or_else(|| format!("it has no line `{name}=`"))
    }

    fn list<T: FromStr>(&self, name: &str) -> Result<Vec<T>, String> {
        let number = |word: &str| word.parse().map_err(|_| format!("`{word}` in `{name}=` is not a number"));
        self.text(name)?.split_ascii_whitespace().map(number).collect()
    }
}

/// The lists of one tree.
struct LightgbmTree {
    features: Vec<usize>,
    thresholds: Vec<f64>,
    decisions: Vec<u8>,
    lefts: Vec<i64>,
    rights: Vec<i64>,
    leaves: Vec<f64>,
    weights: Vec<f64>,
    /// Where the set of each categorical split begins in `words`.
    starts: Vec<usize>,
    words: Vec<u32>,
}

fn one(block: &str, features: usize) -> Result<Tree, String> {
    let lines = LightgbmLines::of(block);
    if lines.text("is_linear").is_ok_and(|linear| linear != "0") {
        return Err("its leaves are linear models: train without linear_tree".into());
    }
    let leaves = lines.list::<f64>("leaf_value")?;
    let weights = if lines.text("leaf_count").is_ok() { lines.list("leaf_count")? } else { Vec::new() };
    if leaves.len() == 1 {
        let leaf = |_| Ok(Raw::Leaf(Leaf { value: leaves.first().copied().unwrap_or_default(), weight: 1.0 }));
        return Tree::grow(1, features, leaf);
    }
    let categorical = lines.text("num_cat").is_ok_and(|count| count != "0");
    let lists = LightgbmTree {
        features: lines.list("split_feature")?,
        thresholds: lines.list("threshold")?,
        decisions: lines.list("decision_type")?,
        lefts: lines.list("left_child")?,
        rights: lines.list("right_child")?,
        leaves,
        weights,
        starts: if categorical { lines.list("cat_boundaries")? } else { Vec::new() },
        words: if categorical { lines.list("cat_threshold")? } else { Vec::new() },
    };
    Tree::grow(lists.features.len() + lists.leaves.len(), features, |number| lists.node(number))
}

/// The largest figure that LightGBM takes for zero before it compares: 1e-35 in single precision.
const ZERO: f64 = 1e-35_f32 as f64;

/// The threshold for figures as they are. LightGBM compares those near zero as zero, so they all go one way.
fn of_zero(threshold: f64) -> f64 {
    match threshold {
        0.0..ZERO => ZERO,
        _ if (-ZERO..0.0).contains(&threshold) => (-ZERO).next_down(),
        _ => threshold,
    }
}

impl LightgbmTree {
    /// The node of a number. Splits have the numbers from 0, and leaves the numbers after the last split.
    fn node(&self, number: usize) -> Result<Raw, String> {
        let Some(feature) = self.features.get(number).copied() else {
            let leaf = number - self.features.len();
            let value = self.leaves.get(leaf).copied().ok_or_else(|| format!("it has no leaf {leaf}"))?;
            return Ok(Raw::Leaf(Leaf { value, weight: self.weights.get(leaf).copied().unwrap_or(0.0) }));
        };
        let short = || format!("its lists are shorter than {}", number + 1);
        let decision = self.decisions.get(number).copied().ok_or_else(short)?;
        let threshold = self.thresholds.get(number).copied().ok_or_else(short)?;
        let is_set = decision & CATEGORICAL != 0;
        Ok(Raw::Split {
            feature,
            test: if is_set { self.set(threshold)? } else { Test::Threshold(of_zero(threshold)) },
            missing: match decision >> 2 & 3 {
                0 => Missing::AsZero,
                1 => Missing::Zero,
                2 => Missing::Nan,
                _ => return Err(format!("node {number} has the unknown decision_type {decision}")),
            },
            default_left: decision & DEFAULT_LEFT != 0,
            left: self.child(self.lefts.get(number).copied().ok_or_else(short)?),
            right: self.child(self.rights.get(number).copied().ok_or_else(short)?),
        })
    }

    /// The number of a child. LightGBM writes a leaf as the complement of its place.
    fn child(&self, number: i64) -> usize {
        let past =
            |leaf: i64| usize::try_from(leaf).map_or(usize::MAX, |leaf| self.features.len().saturating_add(leaf));
        usize::try_from(number).unwrap_or_else(|_| past(!number))
    }

    /// The set of categories with this number. LightGBM writes the number in place of a threshold.
    fn set(&self, number: f64) -> Result<Test, String> {
        let at = number as usize;
        let words = self.starts.get(at).zip(self.starts.get(at + 1));
        let words = words.and_then(|(from, to)| self.words.get(*from..*to));
        let set = words.ok_or_else(|| format!("it has no set of categories {number}"))?.to_vec();
        Ok(Test::Categories { set, members_right: false })
    }
}
