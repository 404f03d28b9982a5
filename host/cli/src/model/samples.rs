//! A trained model for tests.

use assay_author::Language;
use assay_domain::ModelKind;
use tempfile::TempDir;

/// Every wallet of the template reaches the left leaf.
pub(super) const TREE: &str = "tree\nnum_class=1\nnum_tree_per_iteration=1\nobjective=binary sigmoid:1\n\
    feature_names=age repays liquidations assets\n\nTree=0\nnum_cat=0\nsplit_feature=1\nthreshold=1000000\n\
    decision_type=10\nleft_child=-1\nright_child=-2\nleaf_value=-0.25 0.5\nleaf_count=30 10\n\n\nend of trees\n";

/// The template of trees with `tree`, as a model of `kind` with more lines under its scale.
pub(super) fn folder(kind: ModelKind, tree: &str, more: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, text) in assay_author::template(Language::Trees, ModelKind::Credit, "t", "0.1", "").unwrap() {
        std::fs::write(path(name), text).unwrap();
    }
    let text = std::fs::read_to_string(path("model.toml")).unwrap();
    let text = text.replacen("\n[[factor]]", &format!("\n{more}\n[[factor]]"), 1);
    let text = match kind {
        ModelKind::Sybil => {
            let risk = text.replace("[score]", "[risk]").replace("\"log-odds-of-bad\"", "\"log-odds-of-bot\"");
            format!("kind = \"sybil\"\n{}", risk.replace("monotone = \"falling\"", ""))
        }
        _ => text,
    };
    std::fs::write(path("model.toml"), text).unwrap();
    std::fs::write(path("model.txt"), tree).unwrap();
    let rows = "age,repays,liquidations,assets\n1,2,0,4\n1,2000000,3,4\n";
    std::fs::write(path("matrix.csv"), rows).unwrap();
    folder
}
