//! Small ensembles as a converter writes them, and those that cannot be served.

use super::*;

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
    Operator { inputs: vec![input.into()], outputs: vec![output.into()], name: name.into(), attributes }
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

fn said(nodes: Vec<Operator>) -> Result<Forest, String> {
    let bytes = Model { graph: Some(Graph { nodes, constants: Vec::new() }) }.encode_to_vec();
    read(&graph(&bytes).expect("a graph"), &["a"])
}

fn changed(name: &str, change: impl Fn(&mut Attribute)) -> String {
    said(vec![tree(|attribute| {
        if attribute.name == name {
            change(attribute);
        }
    })])
    .expect_err("a refusal")
}

#[test]
fn the_branch_of_smaller_figures_is_the_left_one() {
    let nodes =
        vec![operator("Cast", "raw", "x", Vec::new()), tree(|_| ()), operator("Identity", "y", "z", Vec::new())];
    let forest = said(nodes).unwrap();
    let tree = forest.trees.first().unwrap();
    let split = tree.splits.first().unwrap();
    let value = |child| tree.leaf_at(child).unwrap().value;
    assert_eq!((value(split.left), value(split.right)), (-0.5, 0.25));
    // `x > 1.5` is false for an absent figure.
    assert!(split.default_left && !forest.strict && forest.single);
}

#[test]
fn what_cannot_be_served_is_refused_in_words() {
    let around = |before: &str, after: &str| {
        let (before, after) = (operator(before, "raw", "x", vec![]), operator(after, "y", "z", vec![]));
        said(vec![before, tree(|_| ()), after]).expect_err("a refusal")
    };
    for (said, words) in [
        (around("Scaler", "Identity"), "it has the operator Scaler before or after the trees"),
        (around("Cast", "Mul"), "it has the operator Mul before or after the trees"),
        (said(vec![tree(|_| ()), tree(|_| ())]).unwrap_err(), "no tree ensemble, or several"),
        (said(vec![operator("TreeEnsemble", "x", "y", vec![])]).unwrap_err(), "export with ai.onnx.ml 3"),
        (changed("target_ids", |ids| ids.ints = vec![0, 1]), "several outputs"),
        (changed("target_weights", |weights| weights.floats = vec![0.25]), "leaves have different lengths"),
        (changed("nodes_values", |values| values.floats = vec![]), "nodes have different lengths"),
        (changed("nodes_values", |values| values.floats[0] = f32::NAN), "the threshold of node 0 is not a number"),
        (changed("nodes_modes", |modes| modes.texts[0] = b"BRANCH_EQ".to_vec()), "a split BRANCH_EQ, which cannot"),
        (changed("nodes_truenodeids", |yes| yes.ints[0] = 0), "no tree that begins with its root"),
        (changed("nodes_truenodeids", |yes| yes.ints[0] = 2), "no tree that begins with its root"),
        (changed("nodes_featureids", |features| features.ints[0] = -1), "asks for feature"),
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(graph(b"<xml>").is_none() && graph(&[]).is_none() && graph(&[0xff; 99]).is_none());
}
