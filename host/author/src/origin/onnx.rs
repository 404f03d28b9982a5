//! Reads the trees of ONNX: one `TreeEnsembleRegressor` or binary `TreeEnsembleClassifier` of the domain `ai.onnx.ml`.
//! ONNX computes them with single precision, so a model of its trees does too.

use std::collections::{HashMap, HashSet};

use prost::Message;

use super::{
    Forest,
    tree::{Leaf, Missing, Raw, Test, Tree},
};

/// The fields of `onnx.proto` that trees need.
#[derive(Clone, PartialEq, Message)]
struct Model {
    #[prost(message, optional, tag = "7")]
    graph: Option<Graph>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Graph {
    #[prost(message, repeated, tag = "1")]
    nodes: Vec<Operator>,
    #[prost(message, repeated, tag = "5")]
    constants: Vec<Tensor>,
}

#[derive(Clone, PartialEq, Message)]
struct Tensor {
    #[prost(float, repeated, tag = "4")]
    floats: Vec<f32>,
    #[prost(string, tag = "8")]
    name: String,
    #[prost(bytes = "vec", tag = "9")]
    raw: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Operator {
    #[prost(string, repeated, tag = "1")]
    inputs: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    outputs: Vec<String>,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(message, repeated, tag = "5")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(bytes = "vec", tag = "4")]
    text: Vec<u8>,
    #[prost(float, repeated, tag = "7")]
    floats: Vec<f32>,
    #[prost(int64, repeated, tag = "8")]
    ints: Vec<i64>,
    #[prost(bytes = "vec", repeated, tag = "9")]
    texts: Vec<Vec<u8>>,
}

/// Operators that change no figure.
const PLAIN: [&str; 4] = ["Cast", "Identity", "Reshape", "ZipMap"];

/// The graph of a model; `None` where the bytes are no ONNX.
pub fn graph(bytes: &[u8]) -> Option<Graph> {
    Model::decode(bytes).ok()?.graph.filter(|graph| !graph.nodes.is_empty())
}

pub fn read(graph: &Graph, names: &[&str]) -> Result<Forest, String> {
    let nodes = &graph.nodes;
    let ensembles = nodes.iter().filter(|node| node.name.starts_with("TreeEnsemble"));
    let [ensemble] = ensembles.collect::<Vec<_>>()[..] else {
        return Err("it has no tree ensemble, or several; export one".into());
    };
    // LightGBM's converter multiplies by a constant of 1.
    let ones: Vec<_> = graph.constants.iter().filter(|constant| constant.is_one()).map(|one| &one.name).collect();
    let by_one = |node: &Operator| node.name == "Mul" && node.inputs.last().is_some_and(|input| ones.contains(&input));
    let changes = |node: &&Operator| !PLAIN.contains(&node.name.as_str()) && !by_one(node);
    let other = before(nodes, ensemble).find(changes).or_else(|| after(nodes, ensemble).into_iter().find(changes));
    if let Some(other) = other {
        return Err(format!("it has the operator {} before or after the trees; export the trees alone", other.name));
    }
    Ensemble::of(ensemble)?.forest(names)
}

impl Tensor {
    fn is_one(&self) -> bool {
        self.floats == [1.0] || self.raw == 1.0_f32.to_le_bytes()
    }
}

/// The operators that make the features of `node`, from the last to the first.
fn before<'a>(nodes: &'a [Operator], node: &'a Operator) -> impl Iterator<Item = &'a Operator> {
    let mut input = node.inputs.first();
    // An operator comes after those that make its inputs, so no walk is longer than the list.
    (0..nodes.len()).map_while(move |_| {
        let maker = nodes.iter().find(|node| input.is_some_and(|input| node.outputs.contains(input)))?;
        input = maker.inputs.first();
        Some(maker)
    })
}

/// The operators that change the scores of `node`. The first output of a classifier is its label, which no score needs.
fn after<'a>(nodes: &'a [Operator], node: &'a Operator) -> Vec<&'a Operator> {
    let mut scores: HashSet<&String> = node.outputs.last().into_iter().collect();
    let mut found = Vec::new();
    for node in nodes {
        if node.inputs.iter().any(|input| scores.contains(input)) {
            scores.extend(&node.outputs);
            found.push(node);
        }
    }
    found
}

/// The attributes of an ensemble.
struct Ensemble<'a> {
    by_name: HashMap<&'a str, &'a Attribute>,
    /// `target` or `class`, as the names of the leaves' attributes begin.
    leaves: &'static str,
}

/// The node of one tree. `yes` and `no` are numbers of nodes.
struct Node<'a> {
    number: i64,
    mode: &'a [u8],
    feature: i64,
    value: f32,
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
        let ensemble = Self { by_name, leaves };
        if let Some(name) = ensemble.by_name.keys().find(|name| name.ends_with("_as_tensor")) {
            return Err(format!("it has `{name}`, of double precision; export with single precision"));
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

    fn floats(&self, name: &str) -> &'a [f32] {
        self.by_name.get(name).map_or(&[], |attribute| &attribute.floats)
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
        let mut strict = None;
        let grown = trees.iter().map(|(tree, nodes)| grow(*tree, nodes, &values, names.len(), &mut strict));
        let grown: Vec<Tree> = grown.collect::<Result<_, _>>()?;
        let start = match self.floats("base_values") {
            [] => 0.0,
            [start] if start.is_finite() => f64::from(*start),
            _ => return Err("its `base_values` are not one finite number".into()),
        };
        Ok(Forest { trees: grown, start, single: true, strict: strict.unwrap_or(false) })
    }

    /// The value of each leaf, by tree and number.
    fn leaf_values(&self) -> Result<HashMap<(i64, i64), f32>, String> {
        let of = |part: &str| format!("{}_{part}", self.leaves);
        let (ids, trees, nodes) = (self.ints(&of("ids")), self.ints(&of("treeids")), self.ints(&of("nodeids")));
        let weights = self.floats(&of("weights"));
        if [ids.len(), trees.len(), nodes.len()] != [weights.len(); 3] {
            return Err("the attributes of its leaves have different lengths".into());
        }
        if ids.iter().any(|id| Some(id) != ids.first()) {
            return Err(
                "it has several outputs; a score needs one margin, that of the bad or of the good outcome".into()
            );
        }
        let mut values = HashMap::with_capacity(weights.len());
        for ((tree, node), weight) in trees.iter().zip(nodes).zip(weights) {
            *values.entry((*tree, *node)).or_insert(0.0) += weight;
        }
        Ok(values)
    }

    /// The nodes with the numbers of their trees, in the order of the file.
    fn nodes(&self) -> Result<Vec<(i64, Node<'a>)>, String> {
        let ints = |part: &str| self.ints(&format!("nodes_{part}"));
        let (trees, numbers, features) = (ints("treeids"), ints("nodeids"), ints("featureids"));
        let (yes, no, missing) = (ints("truenodeids"), ints("falsenodeids"), ints("missing_value_tracks_true"));
        let values = self.floats("nodes_values");
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

/// One tree. Its first node is its root. `strict` is what the splits before say of a figure at a threshold.
fn grow(
    tree: i64,
    nodes: &[Node<'_>],
    values: &HashMap<(i64, i64), f32>,
    features: usize,
    strict: &mut Option<bool>,
) -> Result<Tree, String> {
    let places: HashMap<i64, usize> = nodes.iter().enumerate().map(|(at, node)| (node.number, at)).collect();
    let inner = || nodes.iter().filter(|node| node.mode != b"LEAF");
    let children: HashSet<i64> = inner().flat_map(|node| [node.yes, node.no]).collect();
    let roots: Vec<_> = nodes.iter().enumerate().filter(|(_, node)| !children.contains(&node.number)).collect();
    if places.len() != nodes.len() || !matches!(roots[..], [(0, _)]) {
        return Err(format!("the nodes of tree {tree} are no tree that begins with its root"));
    }
    for node in inner() {
        let here = matches!(node.mode, b"BRANCH_LT" | b"BRANCH_GTE");
        if *strict.get_or_insert(here) != here {
            return Err(
                "its splits compare in different ways: some send a figure at the threshold left, and some right".into(),
            );
        }
    }
    let place = |number: i64| places.get(&number).copied().ok_or_else(|| format!("tree {tree} has no node {number}"));
    Tree::grow(nodes.len(), features, |at| {
        let node = nodes.get(at).ok_or_else(|| format!("tree {tree} has no node {at}"))?;
        // The branch for smaller figures is the left one.
        let smaller = match node.mode {
            b"LEAF" => {
                let value = values.get(&(tree, node.number)).copied().unwrap_or(0.0);
                return Ok(Raw::Leaf(Leaf { value: f64::from(value), weight: 0.0 }));
            }
            b"BRANCH_LEQ" | b"BRANCH_LT" => true,
            b"BRANCH_GT" | b"BRANCH_GTE" => false,
            mode => {
                return Err(format!(
                    "tree {tree} has a split {}, which cannot be served",
                    String::from_utf8_lossy(mode)
                ));
            }
        };
        let (left, right) = if smaller { (node.yes, node.no) } else { (node.no, node.yes) };
        Ok(Raw::Split {
            feature: usize::try_from(node.feature).unwrap_or(usize::MAX),
            test: Test::Threshold(f64::from(node.value)),
            missing: Missing::Nan,
            // A comparison with an absent figure is false.
            default_left: node.missing_says_yes == smaller,
            left: place(left)?,
            right: place(right)?,
        })
    })
}

#[cfg(test)]
mod tests;
