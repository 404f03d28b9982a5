//! The host's self-test as native code, for a `#[test]`: one function for each kind of model.
//!
//! Each asks the model about the host's [`samples`], and `credit` and `sybil` also about wallets of yours, such as
//! those of [`Wallet::read_all`](crate::Wallet::read_all). It panics with everything that is wrong. What only the host
//! can try is left to `assay model check`: time, memory and the component itself.
//!
//! ```
//! # use assay_model::{testing, Features, Kind, ModelInfo, RiskAssessment, SybilModel, Wallet};
//! # struct NewcomersAreBots;
//! # impl SybilModel for NewcomersAreBots {
//! #     fn describe() -> ModelInfo {
//! #         let title = "New wallets are bots".into();
//! #         ModelInfo { kind: Kind::Sybil, version: "1.0".into(), title, authors: vec![], reads: vec![] }
//! #     }
//! #     fn risk(features: Features) -> RiskAssessment {
//! #         let old = features.chains.iter().any(|chain| chain.first_transaction.is_some());
//! #         RiskAssessment { risk: if old { 0 } else { 100 }, factors: vec![] }
//! #     }
//! # }
//! let wallets = Wallet::read_all(r#"{"as_of":1748736000,"id":"a wallet with nothing"}"#).unwrap();
//! testing::sybil::<NewcomersAreBots>(&wallets);
//! assert_eq!(NewcomersAreBots::risk(testing::ordinary()).risk, 0);
//! ```

pub(crate) mod bounds;
mod samples;

use std::fmt::Debug;

pub(crate) use samples::addresses;
pub use samples::{Sample, ordinary, samples};

use crate::{BoostModel, CreditModel, Kind, ModelInfo, OffChain, Refusal, SandboxModel, SybilModel, Wallet};

/// What a credit model must show: scores of 300 to 1000, a decile that never falls as the score rises, texts within
/// their lengths, an answer for a wallet with a history, and the same answer to the same question.
pub fn credit<M: CreditModel>(wallets: &[Wallet]) {
    let mut problems = Problems::of(M::describe, Kind::Credit);
    let mut last = 1;
    for score in 300..=1000 {
        let decile = M::decile(score);
        problems.note(&format!("decile({score})"), bounds::decile(decile, last));
        last = last.max(decile);
    }
    for Sample { name, features, must_answer } in with_samples(wallets) {
        match problems.twice(&name, || M::score(features.clone())) {
            Ok(answer) => problems.note(&name, bounds::assessment(&answer, M::decile)),
            Err(why) if must_answer => {
                let why = match why {
                    Refusal::NoActivity => "no activity".to_owned(),
                    Refusal::Missing(what) => format!("missing: {what}"),
                };
                problems.note(&name, Err(format!("it must be judged, and the model refuses it: {why}")));
            }
            Err(_) => {}
        }
    }
    problems.report();
}

/// What a sybil model must show: a risk of 0 to 100, texts within their lengths, and the same answer to the same
/// question.
pub fn sybil<M: SybilModel>(wallets: &[Wallet]) {
    let mut problems = Problems::of(M::describe, Kind::Sybil);
    for Sample { name, features, .. } in with_samples(wallets) {
        let answer = problems.twice(&name, || M::risk(features.clone()));
        problems.note(&name, bounds::risk(&answer));
    }
    problems.report();
}

/// What a boost must show: at least the score that it is given, at most 1000, and the same answer to the same question.
pub fn boost<M: BoostModel>() {
    let mut problems = Problems::of(M::describe, Kind::Boost);
    for score in [300, 639, 640, 700, 999, 1000] {
        for total_asset_usd in [0.0, 1.0, 50_000.0, 1e6, 1e18] {
            let input = format!("boost({score}, {total_asset_usd} dollars)");
            let boosted = problems.twice(&input, || M::boost(score, OffChain { total_asset_usd }));
            problems.note(&input, bounds::boosted(boosted, score));
        }
    }
    problems.report();
}

/// What a sandbox must show: answers within their bounds that agree with one another, and the same for the same
/// address.
pub fn sandbox<M: SandboxModel>() {
    let mut problems = Problems::of(M::describe, Kind::Sandbox);
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
        problems.note(&at("factors"), bounds::factors(&factors));
        let portfolio = problems.twice(&at("portfolio"), || M::portfolio(address.clone()));
        problems.note(&at("portfolio"), bounds::portfolio(&portfolio));
        let report = problems.twice(&at("report"), || M::report(address.clone()));
        problems.note(&at("report"), bounds::report(&report, score));
    }
    problems.report();
}

fn with_samples(wallets: &[Wallet]) -> Vec<Sample> {
    let named = |(at, wallet): (usize, &Wallet)| Sample {
        name: wallet.id.clone().unwrap_or_else(|| format!("wallet {}", at + 1)),
        features: wallet.features.clone(),
        must_answer: false,
    };
    samples().into_iter().chain(wallets.iter().enumerate().map(named)).collect()
}

#[derive(Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    fn of(describe: impl Fn() -> ModelInfo, kind: Kind) -> Self {
        let mut problems = Self::default();
        let info = problems.twice("describe", describe);
        problems.note("describe", bounds::info(&info, kind));
        problems
    }

    pub(crate) fn note(&mut self, input: &str, found: Result<(), String>) {
        self.0.extend(found.err().map(|problem| format!("{input}: {problem}")));
    }

    pub(crate) fn twice<T: PartialEq + Debug>(&mut self, input: &str, ask: impl Fn() -> T) -> T {
        let (first, second) = (ask(), ask());
        if first != second {
            let problem = "two calls give different answers: a model depends on nothing but its input";
            self.note(input, Err(problem.to_owned()));
        }
        first
    }

    #[expect(clippy::panic, reason = "a panic is how a test fails")]
    pub(crate) fn report(self) {
        if !self.0.is_empty() {
            panic!("{} problems:\n{}", self.0.len(), self.0.join("\n"));
        }
    }
}
