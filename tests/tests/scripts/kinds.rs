//! Boost and sybil models.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use assay_author::{Language, Script};
use assay_domain::{Address, ModelKind, Score, Words};
use assay_model::v2::{BoostModel as _, OffChain, SandboxModel as _, SybilModel as _};
use assay_registry::{Question, Trials};
use assay_tests::{features, native, packages, python};

use super::{build, fused, limits, mistaken, passes, rust_boost, rust_sandbox, rust_sybil, template};

/// The answers of a sybil model beside Rust, and the line of a mistake.
fn judges(script: Script, apart: &[u8], place: &str) {
    let trials = Trials::load(&fused(script, apart, &BTreeSet::new()), &limits()).expect("a model");
    for wallet in features::generate_v2(19, 300) {
        let features = || native::features_v2(&wallet);
        let (expected, words) = (rust_sybil::Model::risk(features()), rust_sybil::Model::explain(features()));
        let answer = trials.ask(&Question::Wallet(wallet.clone())).answer.expect("a risk");
        let Words { description, .. } = answer.factors[0].words.as_ref().expect("words");
        assert_eq!((answer.figure, description), (expected.risk, &words[0].description));
    }
    let (error, printed) = mistaken(&trials, 0);
    assert!(error.to_string().contains(place) && printed == "before\n", "{error}, not {place}: {printed}");
    let (error, _) = mistaken(&trials, 1);
    assert!(error.to_string().contains("risk is 50.5"), "{error}");
}

/// The answers of a boost model beside Rust, and the line of a mistake at the score 639.
fn raises(script: Script, component: &[u8], place: &str) {
    let trials = Trials::load(component, &limits()).expect("a model");
    let boosted = |score: u32, total_asset_usd: f64| {
        let score = Score::new(score).expect("a score");
        trials.ask(&Question::Boost { score, total_asset_usd }).answer
    };
    for (score, usd) in (300..=1000).step_by(7).zip((0_i32..).map(|step| f64::from(step * step) * 7.3)) {
        let expected = rust_boost::Model::boost(score, OffChain { total_asset_usd: usd });
        assert_eq!(boosted(score, usd).expect("a score").figure, expected, "{script:?}: {score} with {usd}");
    }
    let error = boosted(639, 0.0).expect_err("a mistake").to_string();
    assert!(error.contains(place), "{error}, not {place}");
}

/// Gives the function of a template another name, and puts `mistakes` after it. Returns the lines before these.
fn changed(script: Script, folder: &Path, function: (&str, &str), mistakes: &str) -> usize {
    let source = folder.join(script.source());
    let text = fs::read_to_string(&source).expect("the model").replacen(function.0, function.1, 1);
    fs::write(source, format!("{text}{mistakes}")).expect("the model");
    text.lines().count()
}

/// `tsc` accepts each template, and names a field that does not exist.
#[test]
fn templates_in_javascript_have_types() {
    let compiler = packages::client_packages().expect("TypeScript").join(".bin/tsc");
    let misspelt = [
        (ModelKind::Credit, "feedsScore"),
        (ModelKind::Boost, "totalAssetUsd"),
        (ModelKind::Sybil, "identity"),
        (ModelKind::Sandbox, "totalAssetUsd"),
    ];
    for (kind, field) in misspelt {
        let (_place, folder) = template(Language::JavaScript, kind, Script::JavaScript, "");
        passes(Command::new(&compiler).args(["-p", "jsconfig.json"]).current_dir(&folder));
        let source = folder.join("model.js");
        let text = fs::read_to_string(&source).expect("the model");
        fs::write(&source, text.replace(&format!(".{field}"), &format!(".{field}s"))).expect("the model");
        let refused = Command::new(&compiler).args(["-p", "jsconfig.json"]).current_dir(&folder).output().expect("tsc");
        let said = String::from_utf8_lossy(&refused.stdout);
        assert!(!refused.status.success() && said.contains(&format!("Property '{field}s' does not exist")), "{said}");
    }
}

#[test]
fn boost_and_sybil_models_in_javascript_answer_as_those_in_rust() {
    let packages = packages::author_packages().expect("the toolchain");
    let made = |kind, function, mistakes| {
        let (place, folder) = template(Language::JavaScript, kind, Script::JavaScript, "");
        passes(Command::new("node").arg("--test").current_dir(&folder));
        std::os::unix::fs::symlink(&packages, folder.join("node_modules")).expect("a link");
        let lines = changed(Script::JavaScript, &folder, function, mistakes);
        (build(Script::JavaScript, &folder), lines, place)
    };
    let mistakes = "export function risk(features) {
  if (features.asOf === 1000) console.log('before');
  if (features.asOf === 1000) return features.nothing.length;
  if (features.asOf === 1001) return { risk: 50.5, points: [0] };
  return right(features);
}
";
    let (apart, lines, _place) = made(ModelKind::Sybil, ("export function risk", "function right"), mistakes);
    judges(Script::JavaScript, &apart, &format!("panicked at model.js:{}:", lines + 3));

    let mistakes = "export function boost(score, offChain) {
  return score === 639 ? offChain.nothing.length : right(score, offChain);
}
";
    let (apart, lines, _place) = made(ModelKind::Boost, ("export function boost", "function right"), mistakes);
    let (component, place) =
        (fused(Script::JavaScript, &apart, &BTreeSet::new()), format!("panicked at model.js:{}:", lines + 2));
    raises(Script::JavaScript, &component, &place);
    let report = assay_registry::check(&component, &limits()).expect("it can be checked");
    assert!(!report.ok && report.to_string().contains(&place), "{report}");
}

#[test]
fn a_sandbox_generator_in_javascript_answers_as_the_one_in_rust() {
    let packages = packages::author_packages().expect("the toolchain");
    let (_place, folder) = template(Language::JavaScript, ModelKind::Sandbox, Script::JavaScript, "");
    passes(Command::new("node").arg("--test").current_dir(&folder));
    std::os::unix::fs::symlink(&packages, folder.join("node_modules")).expect("a link");
    let component = fused(Script::JavaScript, &build(Script::JavaScript, &folder), &BTreeSet::new());
    let report = assay_registry::check(&component, &limits()).expect("it can be checked");
    assert!(report.ok, "{report}");
    let trials = Trials::load(&component, &limits()).expect("a model");
    for last in (0..=u16::MAX).step_by(601) {
        let mut bytes = [0; 20];
        bytes[18..].copy_from_slice(&last.to_be_bytes());
        let answer = trials.ask(&Question::Address(Address(bytes.into()))).answer.expect("a score");
        let factors = rust_sandbox::Model::factors(bytes.to_vec());
        assert_eq!(answer.figure, rust_sandbox::Model::score(bytes.to_vec()));
        let Words { description, .. } = answer.factors[0].words.as_ref().expect("words");
        assert_eq!((answer.factors[0].points, description), (factors[0].points, &factors[0].description));
    }
}

#[test]
fn boost_and_sybil_models_in_python_answer_as_those_in_rust() {
    let interpreter = python::interpreter().expect("Python");
    let environment = interpreter.parent().and_then(Path::parent).expect("an environment");
    let made = |kind, function, mistakes| {
        let (place, folder) = template(Language::Python, kind, Script::Python, "");
        passes(Command::new(&interpreter).args(["-m", "unittest"]).current_dir(&folder));
        std::os::unix::fs::symlink(environment, folder.join(".venv")).expect("a link");
        let lines = changed(Script::Python, &folder, function, mistakes);
        (folder, lines, place)
    };
    let mistakes = "

def risk(features):
    if features.as_of == 1000:
        print('before')
        return features.nothing
    if features.as_of == 1001:
        return RiskVerdict(50.5, [0])
    return right(features)
";
    let (folder, lines, _place) = made(ModelKind::Sybil, ("def risk", "def right"), mistakes);
    let apart = build(Script::Python, &folder);
    judges(Script::Python, &apart, &format!("panicked at model.py:{} in risk: AttributeError", lines + 6));

    let mistakes = "

def boost(score, off_chain):
    return right(score, off_chain) // (score != 639)
";
    let (folder, lines, _place) = made(ModelKind::Boost, ("def boost", "def right"), mistakes);
    // Python takes half a minute to build and compile, and what is new here was seen in the sybil model.
    if std::env::var_os("ASSAY_SOAK").is_some() {
        let component = fused(Script::Python, &build(Script::Python, &folder), &BTreeSet::new());
        let place = format!("panicked at model.py:{} in boost: ZeroDivisionError", lines + 4);
        raises(Script::Python, &component, &place);
    }
}

#[test]
fn a_script_without_the_function_of_its_kind_says_which_one() {
    let packages = packages::author_packages().expect("the toolchain");
    let (_place, folder) = template(Language::JavaScript, ModelKind::Sybil, Script::JavaScript, "");
    std::os::unix::fs::symlink(packages, folder.join("node_modules")).expect("a link");
    changed(Script::JavaScript, &folder, ("export function risk", "function risk"), "");
    assert!(!Script::JavaScript.prepare(&folder).expect("a toolchain").status().expect("it starts").success());
    let report = Script::JavaScript.report(&folder);
    assert!(
        report.contains("model.js exports no function risk. A sybil model has describe, risk, explain"),
        "{report}"
    );
    changed(Script::JavaScript, &folder, ("claims: null,", ""), "");
    changed(Script::JavaScript, &folder, ("kind: 'sybil'", "kind: 'sandbox'"), "");
    let refused = Script::JavaScript.prepare(&folder).expect_err("no script");
    assert!(refused.contains("without `claims`"), "{refused}");
}
