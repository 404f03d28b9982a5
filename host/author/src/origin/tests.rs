use super::*;

/// One split of feature `a` at 1.5, in the form of LightGBM.
const LIGHTGBM: &str = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nfeature_names=a b\n\nTree=0\n\
    num_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold=1.5\ndecision_type=10\nleft_child=-1\nright_child=-2\n\
    leaf_value=-0.25 0.5\nleaf_count=30 10\nis_linear=0\n\n\nend of trees\n";

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
        (extreme("binary:logistic", "survival:cox"), "its objective is survival:cox"),
        (extreme("5E-1", "0E0"), "its base_score is 0"),
        (extreme("\"0\",", "\"3\","), "several classes"),
        (read(b"<xml>", &["a"]).unwrap_err(), "neither LightGBM text"),
    ] {
        assert!(said.contains(words), "{said}");
    }
}
