//! The packer refuses files that no author writes on purpose, with a clear message and little memory.

use std::{fs, path::Path};

use assay_author::{Matrix, pack};
use assay_domain::features::Features;

const DECLARED: &str = r#"
version = "1.0"
title = "t"
trees = "model.txt"
[score]
margin = "log-odds-of-bad"
points_to_double = 60
anchor_score = 700
anchor_odds = 4
deciles = [310, 320, 330, 340, 350, 360, 370, 380, 390]
[[factor]]
label = "F"
text = "{a}"
[[feature]]
name = "a"
is = "count(chains)"
factor = "F"
monotone = "falling"
"#;
const TREE: &str = "tree\nnum_class=1\nnum_tree_per_iteration=1\nobjective=binary sigmoid:1\nfeature_names=a\n\n\
    Tree=0\nnum_cat=0\nsplit_feature=0\nthreshold=1.5\ndecision_type=10\nleft_child=-1\nright_child=-2\n\
    leaf_value=-0.25 0.5\nleaf_count=30 10\n\n\nend of trees\n";

/// Packs this declaration and these trees. Returns the summary or the problem.
#[expect(clippy::unwrap_used, reason = "a test without its files has failed")]
fn said(folder: &Path, declared: &str, trees: &str) -> String {
    fs::write(folder.join("model.toml"), declared).unwrap();
    fs::write(folder.join("model.txt"), trees).unwrap();
    pack(&folder.join("model.toml")).map_or_else(|fault| fault.to_string(), |packed| packed.summary)
}

#[test]
fn each_mistake_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let said = |from: &str, to: &str| said(folder.path(), &DECLARED.replacen(from, to, 1), TREE);
    for (said, words) in [
        (said("", ""), "1 trees with 2 leaves over 1 features"),
        (said("count(chains)", "count(chain)"), "model.toml:16:13: feature a: there is no list `chain`"),
        (said("count(chains)", "sum(chains.\\u0061ssets)"), "model.toml:16:"),
        (said("version = \"1.0\"", "version = \"one\""), "model.toml:2:11: version \"one\" is not two to four"),
        (said("deciles = [310", "deciles = [290"), "model.toml:10:11: deciles are nine scores"),
        (said("anchor_odds = 4", "anchor_odds = 0"), "[score]: a margin in log-odds needs"),
        (said("anchor_odds = 4", "anchor_odds = nan"), "[score]: a margin in log-odds needs"),
        (said("\"F\"\nmono", "\"G\"\nmono"), "model.toml:17:10: there is no factor \"G\": there are \"F\""),
        (said("{a}", "{b}"), "model.toml:13:8: `{b}` names no feature"),
        (said("{a}", "{a"), "a `{` is not closed"),
        (said("name = \"a\"", "name = \"a b\""), "model.toml:15:8: a name has letters"),
        (
            said("name = \"a\"", "name = \"outcome\""),
            "model.toml:15:8: `outcome` is a column of `assay features table`",
        ),
        (said("falling", "rising"), "model.toml:18:12: the score is not rising in a: tree 0 breaks it"),
        (said("falling", "up"), "model.toml:18:12: unknown variant `up`"),
        (said("factor = \"F\"", "factor = \"F\"\nedges = [1]"), "with `trained` a feature has no bins and no weight"),
        (said("trees = \"model.txt\"", "trees = \"other.txt\""), "model.toml:4:9: there is no file other.txt"),
        (said("title", "titel"), "unknown field `titel`"),
        (said("trees = ", "explain = \"treeshap\"\ntrees = "), "1 trees with 2 leaves"),
        (said("trees = ", "explain = \"shap\"\ntrees = "), "model.toml:4:11: unknown variant `shap`"),
        (said("trees = \"model.txt\"", "explain = \"saabas\""), "model.toml:4:11: a scorecard needs no `explain`"),
        (said("trees = ", "table = \"m.csv\"\ntrees = "), "model.toml:4:9: there is no file m.csv: write it with"),
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// A declaration of a linear model with one weight.
fn linear(feature: &str, score: &str) -> String {
    DECLARED
        .replace("trees = \"model.txt\"\n", "")
        .replace("factor = \"F\"\n", &format!("factor = \"F\"\n{feature}\n"))
        .replace("[score]\n", &format!("[score]\n{score}\n"))
}

#[test]
fn linear_terms_and_calibrations_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let of = |feature: &str, score: &str| said(folder.path(), &linear(feature, score), TREE);
    let calibration = |lines: &str| format!("calibration = {{ {lines} }}");
    for (said, words) in [
        (of("weight = 0.5", ""), "a linear model of 1 features"),
        (of("weight = -0.5", ""), "the score is not falling in a: its bins or weights are not in that order"),
        (of("weight = inf", ""), "or only `weight`, a finite number, for a linear term"),
        (of("", ""), "without `trained` the model is a scorecard"),
        (of("weight = 0.5\nabsent = 1", ""), "a linear model of 1 features"),
        (of("weight = 0.5\nabsent = nan", ""), "remove `absent`, which is a finite number"),
        (of("weight = 0.5", "predicts = \"log-odds\""), "it belongs to `trained`, and a scorecard has none"),
        (of("weight = 0.5", &calibration("method = \"platt\", of = \"margin\", a = -2.0, b = 0.5")), "a linear model"),
        (
            of("weight = 0.5", &calibration("method = \"platt\", of = \"margin\", a = 2.0, b = 0.5")),
            "scikit-learn has `a_` below 0",
        ),
        (of("weight = 0.5", &calibration("method = \"platt\", of = \"margin\"")), "`platt` needs `a` and `b`"),
        (of("weight = 0.5", &calibration("method = \"platt\"")), "missing field `of`"),
        (
            of("weight = 0.5", &calibration("method = \"isotonic\", of = \"probability\", x = [0.1, 0.9], y = [0, 1]")),
            "a linear model",
        ),
        (
            of("weight = 0.5", &calibration("method = \"isotonic\", of = \"margin\", x = [0.9, 0.1], y = [0.0, 1.0]")),
            "`isotonic` needs as many numbers",
        ),
        (of("weight = 0.5", &calibration("method = \"isotonic\", of = \"margin\"")), "`isotonic` needs `x` and `y`"),
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let absent = linear("weight = 0.5", "").replace("count(chains)", "max(chains.transfers)");
    let said = said(folder.path(), &absent, TREE);
    assert!(said.contains("`a` can be absent, and a linear model or network needs a number"), "{said}");
}

#[test]
fn a_sybil_model_has_a_risk_and_no_deciles() {
    let folder = tempfile::tempdir().unwrap();
    let risk = "kind = \"sybil\"\nversion = \"1.0\"\ntitle = \"t\"\n[risk]\nmargin = \"log-odds-of-bot\"\n[[factor]]\n\
                label = \"F\"\ntext = \"{a}\"\n[[feature]]\nname = \"a\"\nis = \"count(chains)\"\nfactor = \
                \"F\"\nweight = 0.5\n";
    let said = |from: &str, to: &str| said(folder.path(), &risk.replace(from, to), TREE);
    for (said, words) in [
        (said("", ""), "a linear model of 1 features"),
        (said("log-odds-of-bot", "log-odds-of-bad"), "a sybil model \"log-odds-of-bot\""),
        (said("[[factor]]", "deciles = [1]\n[[factor]]"), "a sybil model has no deciles"),
        (said("[[factor]]", "anchor_odds = 4\n[[factor]]"), "has no `base` and no odds"),
        (said("kind = \"sybil\"\n", ""), "a credit model has \"log-odds-of-bad\""),
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    fs::write(folder.path().join("model.toml"), risk).unwrap();
    // Without a chain the margin is 0 and the probability 0.5.
    assert_eq!(pack(&folder.path().join("model.toml")).unwrap().score(&Features::default()), Some(50));
}

#[test]
fn expressions_choose_and_compare() {
    let folder = tempfile::tempdir().unwrap();
    let chain = |transfers: Option<u64>, transactions: u64| {
        let figures = serde_json::json!({
            "chain_id": 1, "coverage": "complete", "transactions": transactions, "transfers": transfers,
            "assets_usd": 0.0, "supplied_usd": 0.0, "borrowed_usd": 0.0,
        });
        serde_json::from_value(figures).unwrap()
    };
    let features =
        Features { chains: vec![chain(Some(9), 4), chain(None, 100), chain(Some(2), 1)], ..Features::default() };
    for (text, value) in [
        ("sum(chains.transactions where transfers > 5 or transactions > 50)", 104.0),
        ("count(chains where (transfers > 5 or transfers < 3) and transactions < 4)", 1.0),
        ("count(chains where transfers > 5 or transfers < 3 and transactions > 3)", 1.0),
        ("if(sum(chains.transactions) > 104, 1, 2) + if(1 == 2 or 2 < 1, 10, 20)", 21.0),
        ("if((1 < 2 or 1 > 2) and 2 != 2, 1, 0)", 0.0),
        // An absent number is equal to nothing and beyond nothing.
        ("if(max(chains.transfers where transactions > 999) > 0, 1, 0)", 0.0),
        ("if(max(chains.transfers where transactions > 999) != 0, 1, 0)", 0.0),
        ("if(1 < 2, 3, max(chains.transfers where transactions > 999))", 3.0),
        ("log(1) + sqrt(9)", 3.0),
        ("or_else(log(0), 5) + or_else(sqrt(-1), 6) + or_else(log(-1), 7)", 18.0),
        ("max(log(0), 4)", f64::NAN),
    ] {
        let declared = DECLARED.replace("\"count(chains)\"", &format!("\"{text}\""));
        fs::write(folder.path().join("model.toml"), declared).unwrap();
        let row =
            Matrix::of(&folder.path().join("model.toml")).unwrap_or_else(|why| panic!("{text}: {why}")).row(&features);
        assert!(row[0] == value || (row[0].is_nan() && value.is_nan()), "{text}: {row:?}");
    }
}

#[test]
fn a_margin_means_what_the_trees_predict() {
    let folder = tempfile::tempdir().unwrap();
    let with = |margin: &str, objective: &str| {
        let points = "margin = \"points\"\ndeciles";
        let declared = match margin {
            "points" => {
                let (head, rest) = DECLARED.split_once("margin =").unwrap();
                format!("{head}{points}{}", rest.split_once("deciles").unwrap().1).replace("falling", "rising")
            }
            other => {
                DECLARED.replace("margin = \"log-odds-of-bad\"", &format!("margin = \"log-odds-of-bad\"\n{other}"))
            }
        };
        said(folder.path(), &declared, &TREE.replace("objective=binary sigmoid:1", objective))
    };
    let packed = "1 trees with 2 leaves over 1 features";
    let by_hand = "trees_predict = \"log-odds\"";
    for (said, words) in [
        (with("", "objective=binary sigmoid:1"), packed),
        (
            with("", "objective=regression"),
            "model.toml:6:10: the trees may not predict log-odds: its objective is regression",
        ),
        (with(by_hand, "objective=regression"), packed),
        (with("", "x=1"), "its objective is a function of its author. Train a binary objective"),
        (with(by_hand, "x=1"), packed),
        (
            with(by_hand, "objective=lambdarank"),
            "model.txt: its objective is lambdarank: the sum of its trees is neither",
        ),
        (with("points", "objective=regression"), packed),
        (with("points", "objective=binary sigmoid:1"), "model.toml:6:10: the trees predict log-odds and not points"),
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn the_sigmoid_of_the_file_is_part_of_the_scale() {
    let folder = tempfile::tempdir().unwrap();
    let score = |sigmoid: &str| {
        fs::write(folder.path().join("model.toml"), DECLARED).unwrap();
        fs::write(folder.path().join("model.txt"), TREE.replace("sigmoid:1", sigmoid)).unwrap();
        pack(&folder.path().join("model.toml")).unwrap().score(&Features::default())
    };
    // Odds of 4 to 1 score 700; the margin of -0.25 moves that by 60 points for each doubling of the odds.
    let expected = |factor: f64| (700.0 - 120.0 + 0.25 * factor * 60.0 / std::f64::consts::LN_2).round() as u32;
    assert_eq!((score("sigmoid:1"), score("sigmoid:2")), (Some(expected(1.0)), Some(expected(2.0))));
}

#[test]
fn trees_without_covers_need_the_table_of_the_training() {
    let folder = tempfile::tempdir().unwrap();
    let trees = TREE.replace("leaf_count=30 10\n", "");
    let without = said(folder.path(), DECLARED, &trees);
    assert!(without.contains("model.toml:4:9: model.txt does not say how much of the training data"), "{without}");
    let declared = DECLARED.replace("trees =", "table = \"matrix.csv\"\ntrees =");
    assert!(said(folder.path(), &declared, &trees).contains("there is no file matrix.csv"));
    fs::write(folder.path().join("matrix.csv"), "outcome,a\n1,\n0,3\n").unwrap();
    let rated = "1 trees with 2 leaves over 1 features; factors rated by fifths of 2 wallets";
    assert_eq!(said(folder.path(), &declared, &trees), rated);
    // Of a file with covers, only the figures are read.
    assert_eq!(said(folder.path(), &declared, TREE), rated);
    fs::write(folder.path().join("matrix.csv"), "a\n").unwrap();
    assert!(said(folder.path(), &declared, &trees).contains("matrix.csv: it has no rows"));
}

#[test]
fn claims_that_no_host_accepts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let said = |claims: &str| {
        let claims = format!("[claims]\noutcome = \"liquidated\"\npopulation = \"borrowers\"\n{claims}\n[score]");
        said(folder.path(), &DECLARED.replacen("[score]", &claims, 1), TREE)
    };
    let rate = |range: &str, low: f64| format!("{{ range = \"{range}\", low = {low}, estimate = 0.2, high = 0.3 }}");
    let rates = |rates: &[String]| format!("horizon_days = 90\nrates = [{}]", rates.join(", "));
    let (fair, good) = (rate("fair", 0.1), rate("good", 0.1));
    for (said, words) in [
        (said(&rates(&[fair.clone(), good.clone()])), "1 trees with 2 leaves"),
        (said("horizon_days = 0"), "model.toml:8:16: a horizon has 1 to 3650 days"),
        (said(&rates(&[good.clone(), fair])), "model.toml:9:79: the rates go from the lowest range to the highest"),
        (said(&rates(&[good.clone(), good])), "each at most once"),
        (
            said(&rates(&[rate("grand", 0.1)])),
            "there is no range \"grand\": there are low, fair, good, very good, excellent",
        ),
        (said(&rates(&[rate("low", 0.25)])), "model.toml:9:20: a rate is a share: 0 <= low <= estimate <= high <= 1"),
        (said(&rates(&[rate("low", f64::NAN).replace("NaN", "nan")])), "a rate is a share"),
        (said("horizon_days = 90\nrate = 1"), "unknown field `rate`"),
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_file_of_a_gigabyte_is_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    said(folder.path(), DECLARED, TREE);
    let trees = fs::OpenOptions::new().write(true).open(folder.path().join("model.txt")).unwrap();
    trees.set_len(1 << 30).unwrap();
    let declaration = folder.path().join("model.toml");
    let fault = pack(&declaration).unwrap_err().to_string();
    assert!(fault.contains("model.txt: it has 1073741824 bytes and may have"), "{fault}");
    // An expression of 10 MB.
    fs::write(&declaration, DECLARED.replace("count(chains)", &"1+".repeat(5 << 20))).unwrap();
    let fault = Matrix::of(&declaration).err().unwrap().to_string();
    assert!(fault.contains("bytes and may have 1048576"), "{fault}");
    fs::write(&declaration, DECLARED.replace("count(chains)", &"1+".repeat(3000))).unwrap();
    let fault = Matrix::of(&declaration).err().unwrap().to_string();
    assert!(fault.contains("the expression has 6000 bytes and may have 4096"), "{fault}");
}

#[test]
fn too_much_data_for_a_call_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (head, rest) = TREE.split_once("\nTree=0").unwrap();
    let tree = format!("\nTree=0{}", rest.split("\nend of trees").next().unwrap());
    let many = |trees: usize| format!("{head}{}\nend of trees\n", tree.repeat(trees));
    let packed = said(folder.path(), DECLARED, &many(1000));
    assert!(
        packed.starts_with("1000 trees with 2000 leaves over 1 features; factors rated by their share"),
        "{packed}"
    );
    let fault = said(folder.path(), DECLARED, &many(20_001));
    assert!(fault.contains("20001 trees and may have 20000"), "{fault}");
}
