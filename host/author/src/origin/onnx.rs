//! Reads the trees of ONNX: one `TreeEnsembleRegressor` or binary `TreeEnsembleClassifier` of the domain `ai.onnx.ml`.
//! Such a file has single precision or, in attributes that end with `_as_tensor`, double precision, and a model that is
//! packed from it computes in the same. A file without trees is read as a linear model or a network.

mod columns;
mod constants;
mod known;
mod labels;
mod network;
mod proto;
mod symbol;

use std::collections::{HashMap, HashSet};

use prost::Message as _;
use proto::{Attribute, Graph, Input, OnnxModel, Operator, Tensor};

use super::{
    Forest, Predicts, Trained,
    tree::{Leaf, Missing, Raw, Test, Tree},
};

const MIXED: &str = "its splits compare in different ways: some send a figure at the threshold left, and some right";

/// The suffix of attributes in double precision.
const AS_TENSOR: &str = "_as_tensor";

/// Operators that change no figure.
const PLAIN: [&str; 4] = ["Cast", "Identity", "Reshape", "ZipMap"];

/// The graph of a model; `None` if the bytes are no ONNX.
pub(crate) fn graph(bytes: &[u8]) -> Option<Graph> {
    OnnxModel::decode(bytes).ok()?.graph.filter(|graph| !graph.nodes.is_empty())
}

pub(crate) fn read(graph: &Graph, names: &[&str]) -> Result<Trained, String> {
    known::check(graph)?;
    if graph.nodes.iter().any(|node| node.name.starts_with("TreeEnsemble")) {
        return forest(graph, names).map(Trained::Forest);
    }
    network::read(graph, names).map(Trained::Network)
}

fn forest(graph: &Graph, names: &[&str]) -> Result<Forest, String> {
    let nodes = &graph.nodes;
    let ensembles = nodes.iter().filter(|node| node.name.starts_with("TreeEnsemble"));
    let [ensemble] = ensembles.collect::<Vec<_>>()[..] else {
        return Err(several(nodes));
    };
    // LightGBM's converter multiplies by a constant of 1.
    let ones: Vec<_> = graph.constants.iter().filter(|constant| constant.is_one()).map(|one| &one.name).collect();
    let by_one = |node: &Operator| node.name == "Mul" && node.inputs.last().is_some_and(|input| ones.contains(&input));
    let constants = constants::constants(graph);
    let scores = if ensemble.name == "TreeEnsembleClassifier" { 2 } else { 1 };
    let is_plain = |node: &Operator| match node.name.as_str() {
        "Cast" => node.attributes.iter().any(|to| to.name == "to" && to.int == i64::from(proto::FLOAT)),
        // CatBoost and XGBoost have the margin of one class or of both.
        "Reshape" => [1, scores].iter().any(|width| constants::keeps_rows(&constants, node, *width)),
        name => PLAIN.contains(&name) || by_one(node),
    };
    let own = Ensemble::of(ensemble)?;
    columns::check(graph, ensemble, names, own.precision)?;
    let (after, scores) = after(nodes, ensemble);
    if let Some(other) = after.iter().find(|node| !is_plain(node)) {
        return Err(changed(other));
    }
    if let Some(why) = std::iter::once(ensemble).chain(after).find_map(known::uninterpreted) {
        return Err(why);
    }
    // Labels are whole numbers or texts.
    let is_figure = |output: &&Input| matches!(output.element(), Some(proto::FLOAT | proto::DOUBLE));
    if let Some(other) = graph.outputs.iter().filter(is_figure).find(|output| !scores.contains(&output.name)) {
        return Err(format!("its output `{}` is not that of its trees: export only theirs", other.name));
    }
    let mut forest = own.forest(names)?;
    forest.predicts.of_class(labels::second(graph)?);
    Ok(forest)
}

/// An operator before or after the trees, which no model computes.
fn changed(other: &Operator) -> String {
    let advice = match other.name.as_str() {
        "Scaler" | "Imputer" | "Normalizer" => {
            "trees need no scaling, and `or_else` replaces what is absent: train and export them without a pipeline"
        }
        "Exp" | "Sigmoid" => "export the trees without it, or train with a loss that needs none",
        _ => "export the trees without it",
    };
    format!("it has the operator {} before or after the trees: {advice}", other.name)
}

/// What to do if a model does not have exactly one ensemble.
fn several(nodes: &[Operator]) -> String {
    let has = |names: &[&str]| nodes.iter().any(|node| names.contains(&node.name.as_str()));
    if has(&["TreeEnsembleClassifier", "TreeEnsembleRegressor"]) {
        return "it has several tree ensembles, as AdaBoost, Bagging and CalibratedClassifierCV of scikit-learn do. \
                Train one: GradientBoostingClassifier, LightGBM, XGBoost or CatBoost. Its calibration belongs under \
                [score.calibration]"
            .into();
    }
    "it has no tree ensemble: export a TreeEnsembleClassifier or TreeEnsembleRegressor".into()
}

impl Tensor {
    fn is_one(&self) -> bool {
        self.floats == [1.0] || self.raw == 1.0_f32.to_le_bytes()
    }
}

/// The operators that change the scores of `node`, and the tensors that have them. The first output of a classifier is
/// its label, which no score needs.
fn after<'a>(nodes: &'a [Operator], node: &'a Operator) -> (Vec<&'a Operator>, HashSet<&'a String>) {
    let mut scores: HashSet<&String> = node.outputs.last().into_iter().collect();
    let mut found = Vec::new();
    for node in nodes {
        if node.inputs.iter().any(|input| scores.contains(input)) {
            scores.extend(&node.outputs);
            found.push(node);
        }
    }
    (found, scores)
}

/// The attributes of an ensemble.
struct Ensemble<'a> {
    by_name: HashMap<&'a str, &'a Attribute>,
    /// `target` or `class`, as the names of the leaves' attributes begin.
    leaves: &'static str,
    precision: Precision,
}

/// The precision of thresholds, sums and inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Precision {
    Single,
    Double,
}

impl Precision {
    fn round(self, figure: f64) -> f64 {
        match self {
            Self::Single => f64::from(figure as f32),
            Self::Double => figure,
        }
    }
}

/// The output that is the margin.
enum MarginOutput {
    /// The only one.
    Only,
    /// That of the second class.
    Second,
}

/// One node of a tree. `yes` and `no` are the numbers of its children.
struct Node<'a> {
    number: i64,
    mode: &'a [u8],
    feature: i64,
    value: f64,
    yes: i64,
    no: i64,
    missing_says_yes: bool,
}

impl<'a> Ensemble<'a> {
    fn of(node: &'a Operator) -> Result<Self, String> {
        let leaves = match node.name.as_str() {
            "TreeEnsembleRegressor" => "target",
            "TreeEnsembleClassifier" => "class",
            other => {
                return Err(format!(
                    "it has the operator {other}; export with ai.onnx.ml 3, which has a TreeEnsembleRegressor"
                ));
            }
        };
        let by_name = node.attributes.iter().map(|attribute| (attribute.name.as_str(), attribute)).collect();
        let mut ensemble = Self { by_name, leaves, precision: Precision::Single };
        if ensemble.by_name.keys().any(|name| name.ends_with(AS_TENSOR)) {
            ensemble.precision = Precision::Double;
        }
        for (name, known) in [("post_transform", ["NONE", "LOGISTIC"]), ("aggregate_function", ["SUM", "SUM"])] {
            let word = String::from_utf8_lossy(ensemble.by_name.get(name).map_or(b"" as &[u8], |word| &word.text));
            if !word.is_empty() && !known.contains(&&*word) {
                return Err(format!("its `{name}` is {word}; a margin is a sum, with NONE or LOGISTIC after it"));
            }
        }
        Ok(ensemble)
    }

    fn ints(&self, name: &str) -> &'a [i64] {
        self.by_name.get(name).map_or(&[], |attribute| &attribute.ints)
    }

    /// A list of numbers, which all have the precision of the ensemble; empty if it has none of this name.
    fn floats(&self, name: &str) -> Result<Vec<f64>, String> {
        let plain = self.by_name.get(name).map_or(&[] as &[f32], |attribute| &attribute.floats);
        let tensor = self.by_name.get(format!("{name}{AS_TENSOR}").as_str()).copied();
        match (self.precision, tensor) {
            (Precision::Single, _) => Ok(plain.iter().copied().map(f64::from).collect()),
            (Precision::Double, None) if plain.is_empty() => Ok(Vec::new()),
            (Precision::Double, Some(tensor)) if plain.is_empty() => tensor
                .tensor
                .as_ref()
                .and_then(constants::doubles)
                .ok_or_else(|| format!("its `{name}{AS_TENSOR}` is no list of double precision")),
            (Precision::Double, _) => {
                Err(format!("its `{name}` has single precision, and others have double: export all with one of them"))
            }
        }
    }

    fn forest(&self, names: &[&str]) -> Result<Forest, String> {
        let values = self.leaf_values()?;
        let mut trees: Vec<(i64, Vec<Node<'a>>)> = Vec::new();
        for (tree, node) in self.nodes()? {
            match trees.last_mut().filter(|(last, _)| *last == tree) {
                Some((_, nodes)) => nodes.push(node),
                None => trees.push((tree, vec![node])),
            }
        }
        let growers = trees.iter().map(|(tree, nodes)| Grower::of(*tree, nodes, &values));
        let growers: Vec<Grower<'_>> = growers.collect::<Result<_, _>>()?;
        let mut ways = Vec::with_capacity(growers.len());
        for grower in &growers {
            ways.extend(grower.strict()?);
        }
        let strict = ways.first().copied().unwrap_or(false);
        if ways.contains(&!strict) {
            return Err(MIXED.to_owned());
        }
        let trees = growers.iter().map(|grower| grower.grow(names.len())).collect::<Result<_, _>>()?;
        let start = match (self.floats("base_values")?.as_slice(), self.outcome()?) {
            ([], _) => 0.0,
            ([start], MarginOutput::Only) | ([_, start], MarginOutput::Second) if start.is_finite() => *start,
            _ => return Err("its `base_values` are not one finite number for each output".into()),
        };
        let single = self.precision == Precision::Single;
        Ok(Forest { trees, start, single, strict, predicts: self.predicts()?, unused: 0 })
    }

    /// Which of the outputs is the margin.
    fn outcome(&self) -> Result<MarginOutput, String> {
        let ids = self.ints(&format!("{}_ids", self.leaves));
        match (self.leaves, ids.contains(&1), ids.iter().all(|id| matches!(id, 0 | 1))) {
            (_, false, true) => Ok(MarginOutput::Only),
            // CatBoost writes the margin of each class.
            ("class", true, true) => Ok(MarginOutput::Second),
            _ => Err("it has several outputs; a score needs one margin, that of the bad or of the good outcome".into()),
        }
    }

    /// What the sum means. The scores of a binary classifier are of its second class.
    fn predicts(&self) -> Result<Predicts, String> {
        let logistic = self.by_name.get("post_transform").is_some_and(|word| word.text == b"LOGISTIC");
        if self.leaves == "target" {
            let value = || Predicts::Value("it is a TreeEnsembleRegressor, which does not say what it predicts".into());
            return Ok(if logistic { Predicts::LOG_ODDS } else { value() });
        }
        // Of leaves that are all positive, onnxruntime 1.23 makes no log-odds even with LOGISTIC, and 1.32 does.
        let is_only = matches!(self.outcome()?, MarginOutput::Only);
        let weights = self.floats("class_weights")?;
        let are_shares = weights.iter().all(|weight| *weight >= 0.0) && weights.iter().any(|weight| *weight > 0.0);
        if (is_only || !logistic) && are_shares {
            let why = "its leaves are probabilities, as in a random forest or a single tree, and a score needs \
                       log-odds. Train with gradient boosting: GradientBoostingClassifier, LightGBM, XGBoost or \
                       CatBoost";
            return Err(why.to_owned());
        }
        let has_texts = self.by_name.get("classlabels_strings").is_some_and(|labels| !labels.texts.is_empty());
        if !has_texts && self.ints("classlabels_int64s").is_empty() {
            return Err(labels::TWO.to_owned());
        }
        Ok(match logistic {
            true => Predicts::LOG_ODDS,
            false => Predicts::Value("it is a TreeEnsembleClassifier without LOGISTIC after its sum".into()),
        })
    }

    /// The value of each leaf, by tree and number.
    fn leaf_values(&self) -> Result<HashMap<(i64, i64), f64>, String> {
        let of = |part: &str| format!("{}_{part}", self.leaves);
        let (ids, trees, nodes) = (self.ints(&of("ids")), self.ints(&of("treeids")), self.ints(&of("nodeids")));
        let weights = self.floats(&of("weights"))?;
        if [ids.len(), trees.len(), nodes.len()] != [weights.len(); 3] {
            return Err("the attributes of its leaves have different lengths".into());
        }
        let wanted = match self.outcome()? {
            MarginOutput::Only => 0,
            MarginOutput::Second => 1,
        };
        let mut values = HashMap::with_capacity(weights.len());
        for (((tree, node), weight), _) in
            trees.iter().zip(nodes).zip(weights).zip(ids).filter(|(_, id)| **id == wanted)
        {
            let value = values.entry((*tree, *node)).or_insert(0.0);
            *value = self.precision.round(*value + weight);
        }
        Ok(values)
    }

    /// Each node with the number of its tree, in the order of the file.
    fn nodes(&self) -> Result<Vec<(i64, Node<'a>)>, String> {
        let ints = |part: &str| self.ints(&format!("nodes_{part}"));
        let (trees, numbers, features) = (ints("treeids"), ints("nodeids"), ints("featureids"));
        let (yes, no, missing) = (ints("truenodeids"), ints("falsenodeids"), ints("missing_value_tracks_true"));
        let values = self.floats("nodes_values")?;
        let modes = self.by_name.get("nodes_modes").map_or(&[] as &[Vec<u8>], |modes| &modes.texts);
        let lengths = [trees.len(), numbers.len(), features.len(), yes.len(), no.len(), values.len()];
        if lengths != [modes.len(); 6] || !(missing.is_empty() || missing.len() == modes.len()) {
            return Err("the attributes of its nodes have different lengths".into());
        }
        let node = |at: usize| {
            Some((
                *trees.get(at)?,
                Node {
                    number: *numbers.get(at)?,
                    mode: modes.get(at)?,
                    feature: *features.get(at)?,
                    value: *values.get(at)?,
                    yes: *yes.get(at)?,
                    no: *no.get(at)?,
                    missing_says_yes: missing.get(at) == Some(&1),
                },
            ))
        };
        Ok((0..modes.len()).filter_map(node).collect())
    }
}

/// The nodes of one tree.
struct Grower<'a> {
    tree: i64,
    nodes: &'a [Node<'a>],
    /// The place of each node in the list.
    places: HashMap<i64, usize>,
    values: &'a HashMap<(i64, i64), f64>,
}

impl<'a> Grower<'a> {
    /// The nodes of a tree, of which the first is its root.
    fn of(tree: i64, nodes: &'a [Node<'a>], values: &'a HashMap<(i64, i64), f64>) -> Result<Self, String> {
        let places: HashMap<i64, usize> = nodes.iter().enumerate().map(|(at, node)| (node.number, at)).collect();
        let grower = Self { tree, nodes, places, values };
        let children: HashSet<i64> = grower.splits().flat_map(|node| [node.yes, node.no]).collect();
        let roots: Vec<_> = nodes.iter().enumerate().filter(|(_, node)| !children.contains(&node.number)).collect();
        if grower.places.len() == nodes.len() && matches!(roots[..], [(0, _)]) {
            return Ok(grower);
        }
        Err(format!("the nodes of tree {tree} are no tree that begins with its root"))
    }

    fn splits(&self) -> impl Iterator<Item = &'a Node<'a>> {
        self.nodes.iter().filter(|node| node.mode != b"LEAF")
    }

    /// Whether a figure at a threshold goes right; `None` for a tree without splits.
    fn strict(&self) -> Result<Option<bool>, String> {
        let mut strict = self.splits().map(|node| matches!(node.mode, b"BRANCH_LT" | b"BRANCH_GTE"));
        let first = strict.next();
        if strict.all(|strict| Some(strict) == first) { Ok(first) } else { Err(MIXED.to_owned()) }
    }

    fn grow(&self, features: usize) -> Result<Tree, String> {
        Tree::grow(self.nodes.len(), features, |at| {
            let node = self.nodes.get(at).ok_or_else(|| format!("tree {} has no node {at}", self.tree))?;
            self.raw(node)
        })
    }

    fn raw(&self, node: &Node<'_>) -> Result<Raw, String> {
        // The branch for smaller figures is the left one.
        let smaller = match node.mode {
            b"LEAF" => {
                let value = self.values.get(&(self.tree, node.number)).copied().unwrap_or(0.0);
                return Ok(Raw::Leaf(Leaf { value, weight: 0.0 }));
            }
            b"BRANCH_LEQ" | b"BRANCH_LT" => true,
            b"BRANCH_GT" | b"BRANCH_GTE" => false,
            mode => {
                let mode = String::from_utf8_lossy(mode);
                return Err(format!("tree {} has a split {mode}, which cannot be served", self.tree));
            }
        };
        let (left, right) = if smaller { (node.yes, node.no) } else { (node.no, node.yes) };
        Ok(Raw::Split {
            feature: usize::try_from(node.feature).unwrap_or(usize::MAX),
            test: Test::Threshold(node.value),
            missing: Missing::Nan,
            // A comparison with an absent figure is false.
            default_left: node.missing_says_yes == smaller,
            left: self.place(left)?,
            right: self.place(right)?,
        })
    }

    fn place(&self, number: i64) -> Result<usize, String> {
        self.places.get(&number).copied().ok_or_else(|| format!("tree {} has no node {number}", self.tree))
    }
}

#[cfg(test)]
mod tests;
