//! Credit models.

use std::{fs, path::Path, process::Command, thread};

use assay_author::{Language, Script};
use assay_domain::{Assessment, ModelKind, features::Features};
use assay_model::v2::CreditModel as _;
use assay_registry::{CreditModel, OfKind as _, Refusal, ScoreError, Trials, standalone};
use assay_tests::{features, native, packages, python};

use super::{build, limits, mistaken, passes, rust, served, template};

fn model(component: &[u8]) -> CreditModel {
    CreditModel::of(&standalone(component, &limits()).expect("a model")).expect("a credit model")
}

/// What Rust answers, in the host's types.
fn agrees(answer: &Assessment, wallet: &Features) {
    let features = || native::features_v2(wallet);
    let expected = rust::Model::score(features()).expect("it refuses nobody");
    let factors = rust::Model::explain(features()).expect("it refuses nobody");
    let points: Vec<i32> = factors.iter().map(|factor| factor.points).collect();
    assert_eq!(points, expected.points, "{wallet:?}");
    assert_eq!((answer.score.get(), answer.decile.get()), (expected.score, expected.decile), "{wallet:?}");
    for (found, expected) in answer.factors.iter().zip(&factors) {
        let words = found.words.as_ref().expect("words");
        assert_eq!((&found.label, found.points), (&expected.label, expected.points));
        assert_eq!((&words.description, words.possible), (&expected.description, expected.possible));
    }
    assert_eq!(answer.factors.len(), factors.len());
}

/// The served model against Rust; its modules apart against both; and `mistakes`: what each says, and what it printed.
fn holds(script: Script, apart: &[u8], mistakes: &[(&str, &str)]) {
    let fused = served(script, apart);
    assert!(fused.len() < apart.len(), "{} of {}", fused.len(), apart.len());
    let wallets = features::generate_v2(17, 2000);
    thread::scope(|scope| {
        let served = scope.spawn(|| model(&fused));
        let unfused = scope.spawn(|| model(apart));
        let trials = Trials::load(&fused, &limits()).expect("a model");
        assert!(!trials.prints_unseen(), "what a script prints is shown");
        for (number, (said, printed)) in mistakes.iter().enumerate() {
            let (error, text) = mistaken(&trials, number as u64);
            assert!(error.to_string().contains(said), "{script:?} {number}: {error}, not {said}");
            assert_eq!(text, *printed, "{script:?} {number}: {error}");
        }
        let (served, unfused) = (served.join().expect("a model"), unfused.join().expect("a model"));
        assert_eq!(served.info().title, unfused.info().title);
        for (number, wallet) in wallets.iter().enumerate() {
            let answer = served.explained(wallet).unwrap_or_else(|error| panic!("{error}: {wallet:?}"));
            agrees(&answer, wallet);
            if number < 400 {
                assert_eq!(unfused.explained(wallet).expect("a score"), answer, "{wallet:?}");
            }
        }
        let refused = |as_of| served.score(&Features { as_of, ..Features::default() }).expect_err("a refusal");
        assert_eq!(refused(900), ScoreError::Refused(Refusal::NoActivity));
        assert_eq!(refused(901), ScoreError::Refused(Refusal::Missing("a chain".into())));
    });
}

#[test]
fn a_model_in_javascript_answers_as_the_one_in_rust() {
    let packages = packages::author_packages().expect("the toolchain");
    let mistakes = "
import { ratio } from './ratio.js';
const right = score;
function wrong(features) {
  switch (features.asOf) {
    case 900: return { refused: 'no-activity' };
    case 901: return { missing: 'a chain' };
    case 1000: console.log('before', { a: [1n] }); return ratio(features);
    case 1001: return new Date();
    case 1002: return Math.random();
    case 1003: return { score: 500.5, decile: 1, points: [0] };
    case 1004: return { score: 300, decile: 1, points: [0] };
    case 1005: return wrong(features);
    case 1006: return ratio(features);
    case 1007: return features.markets[0].event;
    case 1008: return features.markets[0].events[0].kinds;
    case 1009: return features.markets[0].position.healthfactor;
    case 1010: return features.markets[0].position.debt[0].dollars;
    case 1011: return features.markets[0].dollars.repaid;
    case 1012: return { score: 500, decile: 1, factors: [] };
    default: return right(features);
  }
}
const words = explain;
function worded(features) {
  if (features.asOf === 1004) console.log('worded');
  return features.asOf === 1004 ? [{ label: 'Age', rating: 'great' }] : words(features);
}
export { wrong as score, worded as explain };
";
    let (_place, folder) = template(Language::JavaScript, ModelKind::Credit, Script::JavaScript, "");
    passes(Command::new("node").arg("--test").current_dir(&folder));
    std::os::unix::fs::symlink(packages, folder.join("node_modules")).expect("a link");
    let text = fs::read_to_string(folder.join("model.js")).expect("the model");
    let text =
        text.replace("export function score", "function score").replace("export function explain", "function explain");
    fs::write(folder.join("model.js"), format!("{text}{mistakes}")).expect("the model");
    let ratio = "// Divides.\nexport function ratio(features) {\n  return features.nothing.length;\n}\n";
    fs::write(folder.join("ratio.js"), ratio).expect("a file");
    let apart = build(Script::JavaScript, &folder);
    let said = [
        ("panicked at ratio.js:3:", "before {\"a\":[\"1\"]}\n"),
        ("new Date(): a model has no clock. Use features.asOf", ""),
        ("Math.random(): a model has no randomness", ""),
        ("score is 500.5: a whole number is needed", ""),
        ("the rating of the factor Age is great: there are low, fair", "worded\n"),
        ("stack", ""),
        ("features has no field nothing: it has asOf, chains, markets, holdings, identity", ""),
        ("markets has no field event: it has chainId, protocol, ", ""),
        ("events has no field kinds: it has time, kind, usd, class", ""),
        ("position has no field healthfactor: it has coverage, collateral, debt, liquidationThreshold", ""),
        ("an exposure has no field dollars: it has class, usd", ""),
        ("dollars has no field repaid: it has supply, withdraw, borrow, repay, liquidation", ""),
        ("the answer has factors, which `explain` gives in wit/v2", ""),
    ];
    holds(Script::JavaScript, &apart, &said);

    let wrong = format!("{text}\nexport {{ explain, score }};\nlet x = ;\n");
    fs::write(folder.join("model.js"), wrong).expect("the model");
    assert!(!Script::JavaScript.prepare(&folder).expect("a toolchain").status().expect("it starts").success());
    let line = text.lines().count() + 3;
    let report = Script::JavaScript.report(&folder);
    assert!(report.contains(&format!("model.js:{line}")), "{report}");
}

#[test]
fn a_model_in_python_answers_as_the_one_in_rust() {
    let interpreter = python::interpreter().expect("Python");
    let mistakes = "
import random, sys, time
from datetime import datetime
from assay import Missing, NoActivity

right = score


def ratio(features):
    return len(features.markets) / 0


def score(features):
    match features.as_of:
        case 900:
            raise NoActivity()
        case 901:
            raise Missing('a chain')
        case 1000:
            print('before', features.chains)
            return ratio(features)
        case 1001:
            return time.time()
        case 1002:
            return random.random()
        case 1003:
            return datetime.now()
        case 1004:
            return Verdict(500.5, 1, [0])
        case 1005:
            return score(features)
        case 1006:
            return time.gmtime()
        case 1007:
            return open('coefficients.json')
        case 1008:
            return features.markets[0].event
        case 1009:
            return features.markets[0].events[0].kinds
        case 1010:
            return features.markets[0].position.healthfactor
        case 1011:
            return Verdict(500, 1, [0.5])
        case 1013:
            sys.exit('no more')
    return right(features)


words = explain


def explain(features):
    if features.as_of == 1012:
        print('worded')
    return [Factor('Age', 'great', '', 0, 0)] if features.as_of == 1012 else words(features)
";
    let (_place, folder) = template(Language::Python, ModelKind::Credit, Script::Python, mistakes);
    passes(Command::new(&interpreter).args(["-m", "unittest"]).current_dir(&folder));
    let environment = interpreter.parent().and_then(Path::parent).expect("an environment");
    std::os::unix::fs::symlink(environment, folder.join(".venv")).expect("a link");
    let apart = build(Script::Python, &folder);
    let said = [
        ("in ratio: ZeroDivisionError: division by zero, called at model.py:", "before []\n"),
        ("time.time(): a model has no clock. Use features.as_of", ""),
        ("random.random(): a model has no randomness", ""),
        ("datetime.now(): a model has no clock", ""),
        ("score is 500.5: it must be int", ""),
        ("RecursionError", ""),
        ("it called wasi:clocks/wall-clock", ""),
        ("builtins.open(): a model has no files", ""),
        ("AttributeError: 'MarketFeatures' object has no attribute 'event'", ""),
        ("AttributeError: 'LendingEvent' object has no attribute 'kinds'", ""),
        ("AttributeError: 'Position' object has no attribute 'healthfactor'", ""),
        ("the points of a factor is 0.5: it must be int", ""),
        ("the rating of the factor Age is 'great': it must be Rating", "worded\n"),
        ("in score: SystemExit: no more", ""),
    ];
    holds(Script::Python, &apart, &said);
}
