//! Scripts of wit/v1, from the templates before wit/v2, still build and give the same answers.

use std::{collections::BTreeSet, fs, path::Path};

use assay_author::{Language, Script};
use assay_domain::{ModelKind, Score, features::Features};
use assay_registry::{Question, Trials};
use assay_tests::{features, packages, python};

use super::{build, fused, limits, served, template};

/// The model of wit/v1 in the folder of a template, with its toolchain, built.
fn built(script: Script, kind: ModelKind, text: &str, toolchain: &Path) -> Vec<u8> {
    let language = if script == Script::Python { Language::Python } else { Language::JavaScript };
    let (_place, folder) = template(language, kind, script, "");
    fs::write(folder.join(script.source()), text).expect("the model");
    let name = if script == Script::Python { ".venv" } else { "node_modules" };
    std::os::unix::fs::symlink(toolchain, folder.join(name)).expect("a link");
    build(script, &folder)
}

/// The score, points and words that the template gives for a wallet.
fn expected(wallet: &Features) -> (u32, i32, String) {
    let read = wallet.markets.iter().filter(|one| one.feeds_score && one.coverage.as_str() != "failed");
    let sum = |counts: Vec<Option<u64>>| counts.into_iter().flatten().fold(0_u64, u64::saturating_add).min(1_000_000);
    let (repaid, liquidated) =
        (sum(read.clone().map(|one| one.repay).collect()), sum(read.map(|one| one.liquidation).collect()));
    let points = u32::try_from((repaid * 50).saturating_sub(liquidated * 200).min(700)).expect("at most 700");
    (300 + points, points.cast_signed(), format!("You repaid {repaid} times and were liquidated {liquidated} times."))
}

fn scores(script: Script, apart: &[u8]) {
    let trials = Trials::load(&served(script, apart), &limits()).expect("a model");
    assert!(trials.info().claims.is_none());
    for wallet in features::generate_v2(23, 200) {
        let answer = trials.ask(&Question::Wallet(wallet.clone())).answer.expect("a score");
        let words = answer.factors[0].words.as_ref().expect("words");
        assert_eq!((answer.figure, answer.factors[0].points, words.description.clone()), expected(&wallet));
    }
}

#[test]
fn scripts_of_the_first_version_in_javascript_are_built_as_ever() {
    let toolchain = packages::author_packages().expect("the toolchain");
    let of = |kind, text| built(Script::JavaScript, kind, text, &toolchain);
    scores(Script::JavaScript, &of(ModelKind::Credit, include_str!("v1/credit.js")));
    let sybil = fused(Script::JavaScript, &of(ModelKind::Sybil, include_str!("v1/sybil.js")), &BTreeSet::new());
    let answer = Trials::load(&sybil, &limits()).expect("a model").ask(&Question::Wallet(Features::default()));
    assert_eq!(answer.answer.expect("a risk").figure, 50);
    let boost = fused(Script::JavaScript, &of(ModelKind::Boost, include_str!("v1/boost.js")), &BTreeSet::new());
    let question = Question::Boost { score: Score::new(700).expect("a score"), total_asset_usd: 50_000.0 };
    let answer = Trials::load(&boost, &limits()).expect("a model").ask(&question);
    assert_eq!(answer.answer.expect("a score").figure, 730);
}

#[test]
fn a_script_of_the_first_version_in_python_is_built_as_ever() {
    let interpreter = python::interpreter().expect("Python");
    let environment = interpreter.parent().and_then(Path::parent).expect("an environment");
    scores(Script::Python, &built(Script::Python, ModelKind::Credit, include_str!("v1/credit.py"), environment));
}
