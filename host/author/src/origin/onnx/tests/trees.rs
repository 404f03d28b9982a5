//! Ensembles of trees.

use super::*;

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
