//! The host's self-test of models of `wit/v2` as native code, for a `#[test]`: one function for each kind of model, as in
//! [`crate::testing`].

mod samples;

use std::collections::BTreeSet;

pub use samples::{Sample, detailed, ordinary, samples};

use super::{BoostModel, CreditModel, Factor, Kind, ModelInfo, OffChain, SandboxModel, Subject, SybilModel, Wallet};
use crate::testing::{Problems, addresses, bounds};

/// What a credit model must show: scores of 300 to 1000, a decile that never falls as the score rises, texts within
/// their lengths, words that agree with the points, factors in one order for every wallet, an answer for a wallet with a
/// history, and the same answer to the same question.
pub fn credit<M: CreditModel>(wallets: &[Wallet]) {
    let mut problems = described(M::describe, Kind::Credit);
    let mut last = 1;
    for score in 300..=1000 {
        let decile = M::decile(score);
        problems.note(&format!("decile({score})"), bounds::decile(decile, last));
        last = last.max(decile);
    }
    let labels = M::explain(detailed()).map(|factors| labels(&factors)).unwrap_or_default();
    for Sample { name, features, must_answer } in with_samples(wallets) {
        let explained = problems.twice(&name, || M::explain(features.clone()));
        match problems.twice(&name, || M::score(features.clone())) {
            Ok(answer) => {
                problems.note(&name, bounds::score(answer.score));
                let expected = M::decile(answer.score);
                let decile = format!("the decile is {}, and decile({}) is {expected}", answer.decile, answer.score);
                problems.note(&name, if answer.decile == expected { Ok(()) } else { Err(decile) });
                let explained = explained.map_err(|_| "`explain` refuses what `score` answers".to_owned());
                problems.note(&name, explained.and_then(|factors| agree(&factors, &labels, &answer.points)));
            }
            Err(why) if must_answer => {
                problems.note(&name, Err(format!("it must be judged, and the model refuses it: {why:?}")));
            }
            Err(_) => {}
        }
    }
    problems.report();
}

/// What a sybil model must show: a risk of 0 to 100, and the rest as [`credit`].
pub fn sybil<M: SybilModel>(wallets: &[Wallet]) {
    let mut problems = described(M::describe, Kind::Sybil);
    let labels = labels(&M::explain(detailed()));
    for Sample { name, features, .. } in with_samples(wallets) {
        let answer = problems.twice(&name, || M::risk(features.clone()));
        let risk = format!("the risk is {}, not 0 to 100", answer.risk);
        problems.note(&name, if answer.risk <= 100 { Ok(()) } else { Err(risk) });
        let explained = problems.twice(&name, || M::explain(features.clone()));
        problems.note(&name, agree(&explained, &labels, &answer.points));
    }
    problems.report();
}

/// As [`crate::testing::boost`].
pub fn boost<M: BoostModel>() {
    let mut problems = described(M::describe, Kind::Boost);
    for score in [300, 639, 640, 700, 999, 1000] {
        for total_asset_usd in [0.0, 1.0, 50_000.0, 1e6, 1e18] {
            let input = format!("boost({score}, {total_asset_usd} dollars)");
            let boosted = problems.twice(&input, || M::boost(score, OffChain { total_asset_usd }));
            problems.note(&input, bounds::boosted(boosted, score));
        }
    }
    problems.report();
}

/// What a sandbox must show: scores within bounds that agree with the report, and scenarios with distinct ids whose
/// subjects behave in some way.
pub fn sandbox<M: SandboxModel>() {
    let mut problems = described(M::describe, Kind::Sandbox);
    for address in addresses() {
        let at = |function: &str| format!("{function}({address:02x?})");
        let score = problems.twice(&at("score"), || M::score(address.clone()));
        problems.note(&at("score"), bounds::score(score));
        for total_asset_usd in [0.0, 50_000.0, 1e9] {
            let ask = || M::boosted_score(address.clone(), OffChain { total_asset_usd });
            let boosted = problems.twice(&at("boosted-score"), ask);
            problems.note(&at("boosted-score"), bounds::boosted(boosted, score));
        }
        let factors = problems.twice(&at("factors"), || M::factors(address.clone()));
        problems.note(&at("factors"), checked(&factors));
        problems.twice(&at("portfolio"), || M::portfolio(address.clone()));
        problems.twice(&at("behaviour-of"), || M::behaviour_of(Subject::Address(address.clone())));
        let report = problems.twice(&at("report"), || M::report(address.clone()));
        let differs = format!("the score is {}, and score() is {score}", report.score);
        problems.note(&at("report"), if report.score == score { Ok(()) } else { Err(differs) });
    }
    let mut ids = BTreeSet::new();
    for scenario in problems.twice("scenarios", M::scenarios) {
        let at = format!("scenario {:?}", scenario.id);
        let plain = M::behaviour_of(scenario.subject).is_none();
        problems.note(&at, if plain { Err("its subject has no behaviour".to_owned()) } else { Ok(()) });
        problems.note(&at, if ids.insert(scenario.id) { Ok(()) } else { Err("its id is there twice".to_owned()) });
    }
    problems.report();
}

fn described(describe: fn() -> ModelInfo, kind: Kind) -> Problems {
    let mut problems = Problems::default();
    let info = problems.twice("describe", describe);
    if info.kind != kind {
        problems.note("describe", Err(format!("the kind is {:?}, not {kind:?}", info.kind)));
    }
    let ModelInfo { version, title, authors, reads, claims, .. } = info;
    problems.note("describe", bounds::description(&version, &title, &authors, &reads));
    for rate in claims.iter().flat_map(|claims| &claims.rates) {
        let ordered = 0.0 <= rate.low && rate.low <= rate.estimate && rate.estimate <= rate.high && rate.high <= 1.0;
        let problem = format!("the claimed rate of {:?} is no share within its interval", rate.range);
        problems.note("describe", if ordered { Ok(()) } else { Err(problem) });
    }
    problems
}

fn labels(factors: &[Factor]) -> Vec<String> {
    factors.iter().map(|factor| factor.label.clone()).collect()
}

/// Whether words have the `labels` of every wallet, and the `points` of the answer.
fn agree(factors: &[Factor], expected: &[String], points: &[i32]) -> Result<(), String> {
    checked(factors)?;
    let found = labels(factors);
    if found != expected {
        return Err(format!("the factors are {found:?}, and {expected:?} for another wallet"));
    }
    let of_words: Vec<i32> = factors.iter().map(|factor| factor.points).collect();
    if of_words == points { Ok(()) } else { Err(format!("the points are {points:?}, and {of_words:?} in words")) }
}

fn checked(factors: &[Factor]) -> Result<(), String> {
    bounds::factors(&factors.iter().cloned().map(Into::into).collect::<Vec<_>>())
}

fn with_samples(wallets: &[Wallet]) -> Vec<Sample> {
    let named = |(at, wallet): (usize, &Wallet)| Sample {
        name: wallet.id.clone().unwrap_or_else(|| format!("wallet {}", at + 1)),
        features: wallet.features.clone(),
        must_answer: false,
    };
    samples().into_iter().chain(wallets.iter().enumerate().map(named)).collect()
}
