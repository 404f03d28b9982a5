//! Linear models and networks.

use super::*;
use crate::{network::NeuralNetwork, origin::onnx};

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
    match onnx::read(&graph, &["a", "b"])? {
        Trained::Network(network) => Ok(network),
        Trained::Forest(forest) => panic!("{forest:?}"),
    }
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
        match onnx::read(&graph, &["a", "b"]).unwrap() {
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
        match onnx::read(&graph, &["a", "b"])? {
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
        onnx::read(&graph, &["a", "b"])
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
    let said = onnx::read(&heads, &["a", "b"]).unwrap_err();
    assert!(said.contains("several outputs of figures"), "{said}");
}
