//! Small ensembles as a converter writes them, and those that cannot be served.

use super::{
    proto::{Input, Size, TensorShape, TensorType, Type},
    *,
};
use crate::network::NeuralNetwork;

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

#[test]
fn the_branch_of_smaller_figures_is_the_left_one() {
    let nodes = vec![
        operator("Cast", "raw", "x", vec![Attribute { int: 1, ..attribute("to") }]),
        tree(|_| ()),
        operator("Identity", "y", "z", Vec::new()),
    ];
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
    let second = Operator { outputs: vec!["z".into()], ..tree(|_| ()) };
    for (said, words) in [
        (around("Scaler", "Identity"), "it has the operator Scaler before or after the trees"),
        (around("Cast", "Mul"), "it has the operator Cast before or after the trees"),
        (said(vec![tree(|_| ()), second]).unwrap_err(), "it has several tree ensembles, as AdaBoost"),
        (said(vec![tree(|_| ()), tree(|_| ())]).unwrap_err(), "two of its tensors are named `y`"),
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

#[test]
fn columns_are_the_declared_features() {
    let trees = || vec![tree(|_| ())];
    let said = of(trees(), &[("x", 2)], &["a", "b", "c"]).unwrap_err();
    assert!(said.contains("its input `x` has 2 columns, and 3 features are declared"), "{said}");
    let said = of(trees(), &[("x", 0)], &["a"]).unwrap_err();
    assert!(said.contains("does not say how many columns it has"), "{said}");
    let joined = |names: [&str; 2]| {
        let mut concat = operator("Concat", names[0], "x", vec![]);
        concat.inputs.push(names[1].into());
        of(vec![concat, tree(|_| ())], &names.map(|name| (name, 1)), &["a", "b"])
    };
    assert!(joined(["a", "b"]).is_ok());
    let said = joined(["b", "a"]).unwrap_err();
    assert!(said.contains("feature 1 is `a` here and `b` there"), "{said}");
}

#[test]
fn double_precision_is_refused_unless_it_is_cast() {
    let with = |nodes: Vec<Operator>| {
        let inputs = vec![Input { name: "raw".into(), holds: Some(tensor(11, 1)) }];
        read(&Graph { nodes, inputs, ..Graph::default() }, &["a"])
    };
    let cast = |to: i64| operator("Cast", "raw", "x", vec![Attribute { int: to, ..attribute("to") }]);
    assert!(with(vec![cast(1), tree(|_| ())]).is_ok());
    assert!(with(vec![cast(11), tree(|_| ())]).unwrap_err().contains("has double precision"));
}

#[test]
fn double_precision_is_that_of_the_whole_ensemble() {
    let threshold = 0.1_f64.next_up();
    let list = |doubles: &[f64]| Tensor {
        sizes: vec![doubles.len() as i64],
        element: 11,
        doubles: doubles.to_vec(),
        ..Tensor::default()
    };
    let doubled = |change: &dyn Fn(&mut Attribute)| {
        tree(|attribute| {
            let lists = [("nodes_values", vec![threshold, 0.0, 0.0]), ("target_weights", vec![0.1, -0.2])];
            if let Some((name, doubles)) = lists.iter().find(|(name, _)| *name == attribute.name) {
                (attribute.name, attribute.floats) = (format!("{name}_as_tensor"), Vec::new());
                attribute.tensor = Some(list(doubles));
            }
            change(attribute);
        })
    };
    let input = |element: i32, nodes: Vec<Operator>| {
        let inputs = vec![Input { name: "x".into(), holds: Some(tensor(element, 1)) }];
        read(&Graph { nodes, inputs, ..Graph::default() }, &["a"])
    };
    let forest = input(11, vec![doubled(&|_| ())]).unwrap();
    let split = &forest.trees[0].splits[0];
    assert!(!forest.single && split.test == Test::Threshold(threshold));
    assert_eq!(forest.trees[0].leaf_at(split.right).unwrap().value, 0.1);
    let as_bytes = |attribute: &mut Attribute| {
        if let Some(tensor) = &mut attribute.tensor {
            tensor.raw = std::mem::take(&mut tensor.doubles).into_iter().flat_map(f64::to_le_bytes).collect();
        }
    };
    assert_eq!(input(11, vec![doubled(&as_bytes)]), Ok(forest));
    let only = |name: &'static str, change: &'static dyn Fn(&mut Tensor)| {
        move |attribute: &mut Attribute| {
            if attribute.name == name {
                change(attribute.tensor.as_mut().unwrap());
            }
        }
    };
    let values = "nodes_values_as_tensor";
    let cast = operator("Cast", "raw", "x", vec![Attribute { int: 1, ..attribute("to") }]);
    let inputs = vec![Input { name: "raw".into(), holds: Some(tensor(11, 1)) }];
    let cast = Graph { nodes: vec![cast, doubled(&|_| ())], inputs, ..Graph::default() };
    let single = |attribute: &mut Attribute| {
        if attribute.name == "target_weights_as_tensor" {
            *attribute = floats("target_weights", &[0.25, -0.5]);
        }
    };
    for (said, words) in [
        (input(1, vec![doubled(&|_| ())]), "export with DoubleTensorType"),
        (read(&cast, &["a"]), "export with DoubleTensorType"),
        (input(11, vec![tree(|_| ())]), "export with FloatTensorType"),
        (input(11, vec![doubled(&single)]), "`target_weights` has single precision, and others have double"),
        (input(11, vec![doubled(&only(values, &|list| list.element = 1))]), "is no list of double precision"),
        (input(11, vec![doubled(&only(values, &|list| list.sizes = vec![4]))]), "is no list of double precision"),
        (input(11, vec![doubled(&only(values, &|list| list.raw = vec![0; 7]))]), "is no list of double precision"),
    ] {
        let said = said.unwrap_err();
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_classifier_predicts_the_log_odds_of_its_second_class() {
    let class = |labels| match classifier(labels, |_| ()).expect("a classifier").predicts {
        Predicts::LogOdds { factor: 1.0, class } => class,
        other => panic!("{other:?}"),
    };
    assert_eq!(class(ints("classlabels_int64s", &[0, 1])), None);
    assert_eq!(class(ints("classlabels_int64s", &[1, 2])), Some("2".into()));
    assert_eq!(class(words("classlabels_strings", &["bad", "good"])), Some("good".into()));
    assert_eq!(class(words("classlabels_strings", &["0", "1"])), None);
    assert_eq!(class(words("classlabels_strings", &["False", "True"])), None);
    assert_eq!(classifier(words("classlabels_strings", &["a"]), |_| ()).unwrap_err(), labels::TWO);
    let labels = || ints("classlabels_int64s", &[0, 1]);
    let said = classifier(labels(), |attribute| match attribute.name.as_str() {
        "post_transform" => attribute.text = b"NONE".to_vec(),
        "class_weights" => attribute.floats = vec![0.25, 0.75],
        _ => {}
    });
    assert!(said.unwrap_err().contains("its leaves are probabilities"), "of a random forest");
    let said = classifier(labels(), |attribute| {
        if attribute.name == "class_weights" {
            attribute.floats = vec![0.25, 0.75];
        }
    });
    assert!(said.unwrap_err().contains("its leaves are probabilities"), "on which runtimes of ONNX disagree");
    let said = classifier(labels(), |attribute| {
        if attribute.name == "post_transform" {
            attribute.text = b"NONE".to_vec();
        }
    });
    assert!(matches!(said.unwrap().predicts, Predicts::Value(_)));
    // CatBoost writes the margin of each class for each leaf.
    let both = classifier(labels(), |attribute| match attribute.name.as_str() {
        "class_ids" => attribute.ints = vec![0, 1, 0, 1],
        "class_treeids" => attribute.ints = vec![0; 4],
        "class_nodeids" => attribute.ints = vec![1, 1, 2, 2],
        "class_weights" => attribute.floats = vec![-0.25, 0.25, 0.5, -0.5],
        _ => {}
    });
    let values: Vec<f64> = both.unwrap().trees[0].leaves.iter().map(|leaf| leaf.value).collect();
    assert_eq!(values, [-0.5, 0.25]);
}

/// A model of these operators over one input of two columns, with constants.
fn layers(nodes: Vec<Operator>, constants: &[(&str, &[i64], &[f32])]) -> Result<NeuralNetwork, String> {
    let constant = |(name, sizes, floats): &(&str, &[i64], &[f32])| Tensor {
        name: (*name).into(),
        sizes: sizes.to_vec(),
        element: 1,
        floats: floats.to_vec(),
        ..Tensor::default()
    };
    let output = nodes.last().and_then(|node| node.outputs.last()).cloned().unwrap_or_default();
    let graph = Graph {
        constants: constants.iter().map(constant).collect(),
        inputs: vec![Input { name: "x".into(), holds: Some(tensor(1, 2)) }],
        outputs: vec![Input { name: output, holds: None }],
        nodes,
        sparse: Vec::new(),
    };
    match super::read(&graph, &["a", "b"])? {
        Trained::Network(network) => Ok(network),
        Trained::Forest(forest) => panic!("{forest:?}"),
    }
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

#[test]
fn layers_are_read_with_what_is_before_and_after_them() {
    let nodes = || {
        vec![
            operator("Scaler", "x", "s", vec![floats("offset", &[1.0, 2.0]), floats("scale", &[2.0])]),
            between("MatMul", &["s", "w"], "m"),
            between("Add", &["m", "b"], "n"),
            between("Relu", &["n"], "r"),
            between("MatMul", &["r", "v"], "o"),
            between("Sigmoid", &["o"], "p"),
            between("Sub", &["one", "p"], "q"),
            operator_of(between("Concat", &["q", "p"], "both"), vec![Attribute { int: 1, ..attribute("axis") }]),
        ]
    };
    let constants: [(&str, &[i64], &[f32]); 4] = [
        ("w", &[2, 2], &[1.0, 2.0, 3.0, 4.0]),
        ("b", &[2], &[0.5, -0.5]),
        ("v", &[2, 1], &[1.0, -1.0]),
        ("one", &[1], &[1.0]),
    ];
    let network = layers(nodes(), &constants).unwrap();
    assert_eq!((network.columns[1].factor, network.columns[1].offset), (2.0, -4.0));
    assert_eq!(network.layers[0].weights, [[1.0, 3.0], [2.0, 4.0]]);
    assert_eq!(network.layers[0].biases, [0.5, -0.5]);
    assert_eq!((network.layers[1].weights.as_slice(), network.layers[1].activation), (&[vec![1.0, -1.0]][..], 0));
    assert_eq!(network.predicts, Predicts::LOG_ODDS);
    let without = |name: &str| layers(nodes().into_iter().filter(|node| node.name != name).collect(), &constants);
    assert!(without("Sigmoid").is_err());
    let mut ended = nodes();
    ended.truncate(5);
    assert!(matches!(layers(ended, &constants).unwrap().predicts, Predicts::Value(_)));
    for (name, words) in [
        ("LeakyRelu", "train with Relu, Sigmoid or Tanh"),
        ("Attention", "it has the operator Attention where no model can have it"),
        ("SVMClassifier", "a support vector machine cannot be packed"),
    ] {
        let mut other = nodes();
        other[3].name = name.into();
        let said = layers(other, &constants).unwrap_err();
        assert!(said.contains(words), "{words}: {said}");
    }
    let said = layers(nodes(), &[("w", &[3, 2], &[0.0; 6]), constants[1], constants[2], constants[3]]).unwrap_err();
    assert!(said.contains("it has the operator MatMul"), "{said}");
    assert!(layers(Vec::new(), &constants).unwrap_err().contains("it computes nothing from its input"));
    let infinite: [(&str, &[i64], &[f32]); 4] =
        [("w", &[2, 2], &[f32::INFINITY; 4]), constants[1], constants[2], constants[3]];
    assert!(layers(nodes(), &infinite).unwrap_err().contains("not a finite number"));
}

#[test]
fn a_network_predicts_the_log_odds_of_the_second_label_of_its_file() {
    const TEXT: i32 = 8;
    let class = |element: i32, ints: &[i64], texts: &[&str]| {
        let whole =
            if element == 6 { ints.iter().map(|one| i32::try_from(*one).unwrap()).collect() } else { Vec::new() };
        let labels = Tensor {
            name: "classes".into(),
            sizes: vec![2],
            element,
            ints: if element == 7 { ints.to_vec() } else { Vec::new() },
            whole,
            texts: texts.iter().map(|text| text.as_bytes().to_vec()).collect(),
            ..Tensor::default()
        };
        let number = |name: &str, sizes: &[i64], floats: &[f32]| Tensor {
            name: name.into(),
            sizes: sizes.to_vec(),
            element: 1,
            floats: floats.to_vec(),
            ..Tensor::default()
        };
        let output = |name: &str, element| Input { name: name.into(), holds: Some(tensor(element, 2)) };
        let graph = Graph {
            nodes: vec![
                between("MatMul", &["x", "w"], "o"),
                between("Sigmoid", &["o"], "p"),
                between("Sub", &["one", "p"], "q"),
                operator_of(between("Concat", &["q", "p"], "both"), vec![Attribute { int: 1, ..attribute("axis") }]),
                operator_of(between("ArgMax", &["both"], "place"), vec![Attribute { int: 1, ..attribute("axis") }]),
                between("ArrayFeatureExtractor", &["classes", "place"], "label"),
            ],
            constants: vec![labels, number("w", &[2, 1], &[1.0, 2.0]), number("one", &[1], &[1.0])],
            inputs: vec![Input { name: "x".into(), holds: Some(tensor(1, 2)) }],
            outputs: vec![output("label", if texts.is_empty() { 7 } else { TEXT }), output("both", 1)],
            sparse: Vec::new(),
        };
        match super::read(&graph, &["a", "b"]).unwrap() {
            Trained::Network(NeuralNetwork { predicts: Predicts::LogOdds { class, .. }, .. }) => class,
            other => panic!("{other:?}"),
        }
    };
    for (element, ints, texts, second) in [
        (6, &[0, 1][..], &[][..], None),
        (7, &[0, 1], &[], None),
        (6, &[1, 2], &[], Some("2")),
        (7, &[-1, 1], &[], Some("1")),
        (TEXT, &[], &["0", "1"], None),
        (TEXT, &[], &["bad", "good"], Some("good")),
        (TEXT, &[], &["default", "repaid"], Some("repaid")),
    ] {
        assert_eq!(class(element, ints, texts).as_deref(), second, "{ints:?} {texts:?}");
    }
}

#[test]
fn one_hot_columns_need_whole_numbers_and_unknown_categories() {
    let encoder = |zeros: i64| {
        let attributes = vec![ints("cats_int64s", &[1, 4]), Attribute { int: zeros, ..attribute("zeros") }];
        let choice: Tensor =
            Tensor { name: "place".into(), sizes: vec![1], element: 7, ints: vec![1], ..Tensor::default() };
        let graph = Graph {
            sparse: Vec::new(),
            nodes: vec![
                between("ArrayFeatureExtractor", &["x", "place"], "c"),
                operator("Cast", "c", "w", vec![Attribute { int: 7, ..attribute("to") }]),
                operator("OneHotEncoder", "w", "h", attributes),
                operator("LinearRegressor", "h", "y", vec![floats("coefficients", &[2.0, -1.0])]),
            ],
            constants: vec![choice],
            inputs: vec![Input { name: "x".into(), holds: Some(tensor(1, 2)) }],
            outputs: vec![Input { name: "y".into(), holds: None }],
        };
        match super::read(&graph, &["a", "b"])? {
            Trained::Network(network) => Ok::<_, String>(network),
            Trained::Forest(forest) => panic!("{forest:?}"),
        }
    };
    let columns = encoder(1).unwrap().columns;
    let of = |figure: f64| columns.iter().map(|column| column.value(&[0.0, figure], true)).collect::<Vec<_>>();
    assert_eq!([of(1.0), of(4.0), of(3.0), of(f64::NAN)], [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]);
    assert!(encoder(0).unwrap_err().contains("fit it with handle_unknown=\"ignore\""));
}

/// What random graphs showed: each of these was read with a default, or a bound was lost.
#[test]
fn what_is_not_interpreted_is_refused_and_never_taken_for_a_default() {
    let one = |name: &str, attributes: Vec<Attribute>| {
        let first = operator(name, "x", "s", attributes);
        layers(vec![first, between("MatMul", &["s", "w"], "y")], &[("w", &[2, 1], &[1.0, 2.0])])
    };
    let int = |name: &str, int: i64| Attribute { int, ..attribute(name) };
    let float = |name: &str, float: f32| Attribute { float, ..attribute(name) };
    let fills = || floats("imputed_value_floats", &[7.0]);
    let nan = || float("replaced_value_float", f32::NAN);
    let clip = one("Clip", vec![float("min", -1.0), float("max", 2.0)]).unwrap();
    assert_eq!((clip.columns[0].low, clip.columns[0].high), (-1.0, 2.0), "as up to opset 10");
    assert_eq!(one("Imputer", vec![fills(), nan()]).unwrap().columns[1].fill, 7.0);
    for (name, attributes, words) in [
        ("Imputer", vec![fills()], "the operator Imputer"),
        (
            "Imputer",
            vec![fills(), nan(), ints("imputed_value_int64s", &[1])],
            "`imputed_value_int64s`, which is not read",
        ),
        ("Flatten", vec![int("axis", 0)], "`axis` of its operator Flatten"),
        ("Flatten", vec![int("axes", 1)], "`axes`, which is not read"),
        ("Relu", vec![float("alpha", 0.1)], "`alpha`, which is not read"),
        ("Reshape", vec![], "the operator Reshape"),
        ("Normalizer", vec![], "has no `norm`"),
        ("Clip", vec![float("min", 2.0), float("max", 1.0)], "the operator Clip"),
        ("Clip", vec![float("min", f32::NAN), float("max", 1.0)], "the operator Clip"),
        ("Cast", vec![int("to", 11)], "the operator Cast"),
    ] {
        let said = one(name, attributes).unwrap_err();
        assert!(said.contains(words), "{words}: {said}");
    }
    let foreign = Operator { domain: "com.microsoft".into(), ..operator("Relu", "x", "y", Vec::new()) };
    let said = layers(vec![foreign], &[]).unwrap_err();
    assert!(said.contains("of the domain \"com.microsoft\""), "{said}");
    // An imputer and an encoder after bounds.
    let after = |node: Operator| {
        let clip = operator("Clip", "x", "c", vec![float("min", -1.0)]);
        let nodes = vec![clip, Operator { inputs: vec!["c".into()], ..node }, between("MatMul", &["s", "w"], "y")];
        layers(nodes, &[("w", &[2, 1], &[1.0, 2.0])]).unwrap_err()
    };
    let said = after(operator("Imputer", "c", "s", vec![fills(), nan()]));
    assert!(said.contains("the operator Imputer"), "{said}");
    // A place from the end, and the third of two columns.
    let gather = |place: i64| {
        let places = Tensor { name: "p".into(), sizes: vec![1], element: 7, ints: vec![place], ..Tensor::default() };
        let weights =
            Tensor { name: "w".into(), sizes: vec![1, 1], element: 1, floats: vec![1.0], ..Tensor::default() };
        let chosen = Operator { attributes: vec![int("axis", 1)], ..between("Gather", &["x", "p"], "c") };
        let graph = Graph {
            nodes: vec![chosen, between("MatMul", &["c", "w"], "y")],
            constants: vec![places, weights],
            inputs: vec![Input { name: "x".into(), holds: Some(tensor(1, 2)) }],
            outputs: vec![Input { name: "y".into(), holds: None }],
            sparse: Vec::new(),
        };
        super::read(&graph, &["a", "b"])
    };
    let Ok(Trained::Network(last)) = gather(-1) else { panic!("a network") };
    assert_eq!(last.columns[0].feature, 1);
    assert!(gather(2).is_err() && gather(-3).is_err());
    // The output of two heads is not the first of them.
    let heads = Graph {
        nodes: vec![between("MatMul", &["x", "w"], "y"), between("MatMul", &["x", "v"], "z")],
        constants: ["w", "v"]
            .map(|name| Tensor {
                name: name.into(),
                sizes: vec![2, 1],
                element: 1,
                floats: vec![1.0, if name == "w" { 2.0 } else { 3.0 }],
                ..Tensor::default()
            })
            .into(),
        inputs: vec![Input { name: "x".into(), holds: Some(tensor(1, 2)) }],
        outputs: ["y", "z"].map(|name| Input { name: name.into(), holds: None }).into(),
        sparse: Vec::new(),
    };
    let said = super::read(&heads, &["a", "b"]).unwrap_err();
    assert!(said.contains("several outputs of figures"), "{said}");
}
