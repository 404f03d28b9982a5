//! Small ensembles as a converter writes them, and those that cannot be served.

mod networks;
mod trees;

use super::{
    proto::{Input, Size, TensorShape, TensorType, Type},
    *,
};

fn attribute(name: &str) -> Attribute {
    Attribute { name: name.to_owned(), ..Attribute::default() }
}

fn ints(name: &str, ints: &[i64]) -> Attribute {
    Attribute { ints: ints.to_vec(), ..attribute(name) }
}

fn floats(name: &str, floats: &[f32]) -> Attribute {
    Attribute { floats: floats.to_vec(), ..attribute(name) }
}

fn words(name: &str, words: &[&str]) -> Attribute {
    Attribute { texts: words.iter().map(|word| word.as_bytes().to_vec()).collect(), ..attribute(name) }
}

fn operator(name: &str, input: &str, output: &str, attributes: Vec<Attribute>) -> Operator {
    Operator { attributes, ..between(name, &[input], output) }
}

/// One split and two leaves, and what `change` makes of its attributes.
fn tree(change: impl Fn(&mut Attribute)) -> Operator {
    let mut attributes = vec![
        ints("nodes_treeids", &[0; 3]),
        ints("nodes_nodeids", &[0, 1, 2]),
        ints("nodes_featureids", &[0; 3]),
        words("nodes_modes", &["BRANCH_GT", "LEAF", "LEAF"]),
        floats("nodes_values", &[1.5, 0.0, 0.0]),
        ints("nodes_truenodeids", &[1, 0, 0]),
        ints("nodes_falsenodeids", &[2, 0, 0]),
        ints("target_ids", &[0, 0]),
        ints("target_treeids", &[0, 0]),
        ints("target_nodeids", &[1, 2]),
        floats("target_weights", &[0.25, -0.5]),
    ];
    attributes.iter_mut().for_each(change);
    operator("TreeEnsembleRegressor", "x", "y", attributes)
}

fn read(graph: &Graph, names: &[&str]) -> Result<Forest, String> {
    match super::read(graph, names)? {
        Trained::Forest(forest) => Ok(forest),
        Trained::Network(network) => panic!("{network:?}"),
    }
}

fn said(nodes: Vec<Operator>) -> Result<Forest, String> {
    of(nodes, &[("raw", 1), ("x", 1)], &["a"])
}

/// A model with these inputs, each with its columns.
fn of(nodes: Vec<Operator>, inputs: &[(&str, i64)], names: &[&str]) -> Result<Forest, String> {
    let input = |(name, columns): &(&str, i64)| Input { name: (*name).into(), holds: Some(tensor(1, *columns)) };
    let inputs = inputs.iter().map(input).collect();
    let bytes = OnnxModel { graph: Some(Graph { nodes, inputs, ..Graph::default() }) }.encode_to_vec();
    read(&graph(&bytes).expect("a graph"), names)
}

fn tensor(element: i32, columns: i64) -> Type {
    let shape = Some(TensorShape { sizes: vec![Size { value: 0 }, Size { value: columns }] });
    Type { tensor: Some(TensorType { element, shape }) }
}

/// The tree as a classifier, with what `change` makes of its attributes.
fn classifier(labels: Attribute, change: impl Fn(&mut Attribute)) -> Result<Forest, String> {
    let mut node = tree(|attribute| attribute.name = attribute.name.replace("target", "class"));
    node.attributes.extend([labels, Attribute { text: b"LOGISTIC".to_vec(), ..attribute("post_transform") }]);
    node.attributes.iter_mut().for_each(change);
    node.name = "TreeEnsembleClassifier".into();
    said(vec![node])
}

fn changed(name: &str, change: impl Fn(&mut Attribute)) -> String {
    said(vec![tree(|attribute| {
        if attribute.name == name {
            change(attribute);
        }
    })])
    .expect_err("a refusal")
}

fn between(name: &str, inputs: &[&str], output: &str) -> Operator {
    let inputs = inputs.iter().map(|input| (*input).into()).collect();
    let of_sklearn = ["Scaler", "Imputer", "Normalizer", "ArrayFeatureExtractor", "OneHotEncoder", "ZipMap"];
    let domain = if of_sklearn.contains(&name) || name.starts_with("Tree") || name.starts_with("Linear") {
        "ai.onnx.ml"
    } else {
        ""
    };
    Operator { inputs, outputs: vec![output.into()], name: name.into(), domain: domain.into(), attributes: Vec::new() }
}

fn operator_of(node: Operator, attributes: Vec<Attribute>) -> Operator {
    Operator { attributes, ..node }
}
