//! Sybil models without code: their risk is 100 times the probability of a bot.

use std::{fs, path::Path};

use assay_author::{Unit, pack};
use assay_domain::ModelKind;
use assay_registry::{OfKind as _, SybilModel, standalone, to_component};
use assay_tests::features;

use super::{declarations, limits, numbers, train};

/// The declaration of trees as one of a sybil model.
fn declaration(folder: &Path) -> std::path::PathBuf {
    let text = fs::read_to_string(declarations().join("model.toml")).expect("the declaration");
    let of_credit = ["margin =", "points_to_double", "anchor_", "deciles", "monotone"];
    let kept = text.lines().filter(|line| !of_credit.iter().any(|begins| line.starts_with(begins)));
    let text = kept.collect::<Vec<_>>().join("\n").replace("[score]", "[risk]\nmargin = \"log-odds-of-bot\"");
    let path = folder.join("model.toml");
    fs::write(&path, format!("kind = \"sybil\"\ntrained = \"lightgbm.txt\"\ntable = \"matrix.csv\"\n{text}"))
        .expect("a file");
    path
}

#[test]
fn trees_of_a_sybil_model_answer_the_probability_of_a_bot() {
    let folder = tempfile::tempdir().expect("a folder");
    let wallets = features::generate_v2(7, 2000);
    train("train.py", folder.path(), &wallets, ["10", "10"]);
    let packed = pack(&declaration(folder.path())).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(packed.kind, ModelKind::Sybil);
    let component = to_component(&packed.core).expect("a component");
    let loaded = standalone(&component, &limits()).expect("a model");
    let model = SybilModel::of(&loaded).expect("a sybil model");
    let margins = numbers(&folder.path().join("lightgbm.csv"));
    let mut risks = std::collections::BTreeSet::new();
    for (at, (wallet, margin)) in wallets.iter().zip(margins).enumerate() {
        let probability = 1.0 / (1.0 + (-margin).exp());
        let own = packed.predicts(Unit::Probability, wallet).expect("a probability");
        assert!(own.agrees(probability), "{own:?} and {probability}");
        let risk = (100.0 * probability + 0.5).floor() as u32;
        assert_eq!(packed.score(wallet), Some(risk));
        if at < 200 {
            let served = model.risk(wallet).expect("an answer");
            assert_eq!(u32::from(served.risk), risk);
            let explained = model.explain(wallet, &served).expect("words");
            assert_eq!(explained.factors.len(), served.factors.len());
        }
        risks.insert(risk);
    }
    println!("{}: {} risks from {:?} to {:?}", packed.summary, risks.len(), risks.first(), risks.last());
    assert!(risks.len() > 10, "{risks:?}");
}
