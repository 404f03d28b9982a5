use super::*;

fn read(bytes: &[u8], names: &[&str]) -> Result<Forest, String> {
    match super::read(bytes, names)? {
        Trained::Forest(forest) => Ok(forest),
        Trained::Network(network) => panic!("{network:?}"),
    }
}

/// One split of feature `a` at 1.5, in the form of LightGBM.
const LIGHTGBM: &str = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nobjective=binary sigmoid:1\n\
    feature_names=a b\n\nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold=1.5\ndecision_type=10\n\
    left_child=-1\nright_child=-2\nleaf_value=-0.25 0.5\nleaf_count=30 10\nis_linear=0\n\n\nend of trees\n";

/// The same in the form of XGBoost.
const XGBOOST: &str = r#"{"learner":{"feature_names":["a","b"],"gradient_booster":{"name":"gbtree","model":{"trees":[{
    "left_children":[1,-1,-1],"right_children":[2,-1,-1],"split_indices":[0,0,0],"split_conditions":[1.5,-0.25,0.5],
    "default_left":[1,0,0],"sum_hessian":[40.0,30.0,10.0]}]}},"learner_model_param":{"base_score":"5E-1",
    "num_class":"0","num_feature":"2"},"objective":{"name":"binary:logistic"}}}"#;

#[test]
fn both_forms_say_the_same_tree() {
    let light = read(LIGHTGBM.as_bytes(), &["a", "b"]).unwrap();
    let extreme = read(XGBOOST.as_bytes(), &["a", "b"]).unwrap();
    assert_eq!(light.trees, extreme.trees);
    assert_eq!(light.trees[0].means(), [-0.0625]);
    assert!(!light.strict && !light.single && extreme.strict && extreme.single);
    assert_eq!((light.start, extreme.start), (0.0, 0.0));
    assert_eq!((light.predicts, extreme.predicts), (Predicts::LOG_ODDS, Predicts::LOG_ODDS));
}

#[test]
fn what_is_no_tree_is_refused_in_words() {
    let light = |from: &str, to: &str| read(LIGHTGBM.replace(from, to).as_bytes(), &["a", "b"]).unwrap_err();
    let extreme = |from: &str, to: &str| read(XGBOOST.replace(from, to).as_bytes(), &["a", "b"]).unwrap_err();
    for (said, words) in [
        (light("right_child=-2", "right_child=0"), "tree 0: node 0 is reached twice"),
        (light("right_child=-2", "right_child=-1"), "is reached twice"),
        (light("right_child=-2", "right_child=-9"), "tree 0: it has no node 9"),
        (light("right_child=-2", "right_child="), "its lists are shorter than 1"),
        (light("threshold=1.5", "threshold=nan"), "the threshold of node 0 is not a number"),
        (light("threshold=1.5", "threshold=x"), "`x` in `threshold=` is not a number"),
        (light("leaf_value=-0.25 0.5", "leaf_value=inf 0.5"), "the leaf of node 1 has the value inf"),
        (light("split_feature=0", "split_feature=7"), "asks for feature 7, and there are 2"),
        (light("decision_type=10", "decision_type=1"), "no set of categories"),
        (light("decision_type=10", "decision_type=14"), "unknown decision_type 14"),
        (light("num_class=1", "num_class=3"), "several classes"),
        (light("is_linear=0", "is_linear=1"), "linear"),
        (light("version=v4", "average_output"), "random forest"),
        (light("end of trees", ""), "cut short"),
        (light("feature_names=a b", "feature_names=b a"), "feature 1 is `a` here and `b` there"),
        (extreme("[1,-1,-1]", "[0,-1,-1]"), "is reached twice"),
        (extreme("[2,-1,-1]", "[-3,-1,-1]"), "it has no node"),
        (extreme("1.5", "NaN"), "it is not JSON of XGBoost"),
        (extreme("gbtree", "dart"), "its booster is dart"),
        (
            extreme(r#""name":"gbtree","model":{"trees""#, r#""name":"gblinear","model":{"weights":[],"t""#),
            "has weights and no trees",
        ),
        (read(br#"{"name": "tree", "tree_info": []}"#, &["a"]).unwrap_err(), "what `dump_model` of LightGBM gives"),
        (extreme("binary:logistic", "survival:cox"), "its objective is survival:cox"),
        (extreme("5E-1", "0E0"), "its base_score is 0"),
        (extreme("\"0\",", "\"3\","), "several classes"),
        (read(b"<xml>", &["a"]).unwrap_err(), "neither LightGBM text"),
        (read(b"\x80\x04\x95", &["a"]).unwrap_err(), "it is a pickle of Python"),
        (read(b"{L\0\0", &["a"]).unwrap_err(), "it is UBJSON of XGBoost"),
        (read(b"CBM1\0", &["a"]).unwrap_err(), "it is CatBoost's own format"),
        (read(br#"{"features_info":{}}"#, &["a"]).unwrap_err(), "it is JSON of CatBoost"),
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn categories_of_pandas_are_refused() {
    let with = |line: &str| read(format!("{LIGHTGBM}\npandas_categorical:{line}\n").as_bytes(), &["a", "b"]);
    assert!(with("null").is_ok() && with("[]").is_ok());
    let said = with(r#"[["low", "high"]]"#).unwrap_err();
    assert!(said.contains(r#"in [["low", "high"]]"#) && said.contains("`frame.astype(float)`"), "{said}");
}

/// Two rounds of two trees, of which early stopping chose the first.
fn stopped_early(attributes: &str) -> Result<Forest, String> {
    let (head, rest) = XGBOOST.split_once(r#"{"trees":[{"#).unwrap();
    let (tree, tail) = rest.split_once("}]}}").unwrap();
    let trees = [format!("{{{tree}}}"), format!("{{{tree}}}"), format!("{{{tree}}}"), format!("{{{tree}}}")].join(",");
    let model = format!(r#"{{"gbtree_model_param":{{"num_parallel_tree":"2"}},"trees":[{trees}]}}}}"#);
    let text = format!("{head}{model}{tail}").replacen(
        r#"{"learner":{"#,
        &format!(r#"{{"learner":{{"attributes":{{{attributes}}},"#),
        1,
    );
    read(text.as_bytes(), &["a", "b"])
}

#[test]
fn trees_after_the_best_iteration_are_used_as_predict_uses_them() {
    let all = stopped_early("").unwrap();
    assert_eq!((all.trees.len(), all.unused), (4, 0));
    let estimator = stopped_early(r#""best_iteration":"0","scikit_learn":"{}""#).unwrap();
    assert_eq!((estimator.trees.len(), estimator.unused), (2, 2));
    let booster = stopped_early(r#""best_iteration":"0""#).unwrap_err();
    assert!(booster.contains("chose 2 of its 4 trees, and `Booster.predict` uses all"), "{booster}");
    assert_eq!(stopped_early(r#""best_iteration":"1""#).unwrap().trees.len(), 4);
}

#[test]
fn the_objective_says_what_the_sum_means() {
    let light = |objective: &str| {
        read(LIGHTGBM.replace("objective=binary sigmoid:1", objective).as_bytes(), &["a", "b"])
            .map(|forest| forest.predicts)
    };
    assert_eq!(light("objective=binary sigmoid:2"), Ok(Predicts::LogOdds { factor: 2.0, class: None }));
    assert_eq!(light("objective=cross_entropy"), Ok(Predicts::LOG_ODDS));
    assert_eq!(light("objective=regression"), Ok(Predicts::Value("its objective is regression".into())));
    assert_eq!(light("other=1"), Ok(Predicts::Value("its objective is a function of its author".into())));
    for other in ["poisson", "lambdarank", "rank_xendcg", "tweedie", "cross_entropy_lambda", "regression sqrt", "gamma"]
    {
        let said = light(&format!("objective={other}")).unwrap_err();
        assert!(said.contains(&format!("its objective is {other}: the sum of its trees is neither")), "{said}");
    }
    let extreme = |objective: &str| {
        read(XGBOOST.replace("binary:logistic", objective).as_bytes(), &["a", "b"]).map(|forest| forest.predicts)
    };
    assert_eq!(extreme("reg:squarederror"), Ok(Predicts::Value("its objective is reg:squarederror".into())));
    assert_eq!(extreme("binary:logitraw"), Ok(Predicts::LOG_ODDS));
    for other in ["rank:pairwise", "rank:ndcg", "count:poisson", "binary:hinge"] {
        let said = extreme(other).unwrap_err();
        assert!(said.contains(&format!("its objective is {other}: the sum of its trees is neither")), "{said}");
    }
}

#[test]
fn leaves_are_counted_on_the_table() {
    let mut forest = read(LIGHTGBM.replace("leaf_count=30 10", "other=1").as_bytes(), &["a", "b"]).unwrap();
    assert!(!forest.has_covers());
    let rows = [[1.5, 0.0], [1.6, 0.0], [f64::NAN, 0.0], [-3.0, 0.0]].map(Vec::from);
    count(&mut forest, &rows);
    let weights: Vec<f64> = forest.trees[0].leaves.iter().map(|leaf| leaf.weight).collect();
    assert_eq!(weights, [3.0, 1.0], "a figure at the threshold and an absent one go left");
    assert!(forest.has_covers());
}

/// As its `predict` does, which drops figures near zero from a row. Found by comparing odd rows.
#[test]
fn lightgbm_compares_figures_near_zero_as_zero() {
    let threshold = |written: &str| {
        let text = LIGHTGBM.replace("threshold=1.5", &format!("threshold={written}"));
        read(text.as_bytes(), &["a", "b"]).unwrap().trees[0].splits[0].test.clone()
    };
    let near = f64::from(1e-35_f32);
    assert_eq!(threshold("-1.0000000180025095e-35"), Test::Threshold((-near).next_down()));
    assert_eq!(threshold("0"), Test::Threshold(near));
    assert_eq!(threshold("1.0000000180025095e-35"), Test::Threshold(near));
    assert_eq!(threshold("-2e-35"), Test::Threshold(-2e-35));
}
