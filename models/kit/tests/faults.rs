//! The kit's tests name everything that the host would refuse a model for.

use std::{
    panic::catch_unwind,
    sync::atomic::{AtomicU32, Ordering},
};

use assay_model::{
    Assessment, BoostModel, CreditModel, Factor, Features, Kind, ModelInfo, OffChain, Rating, Refusal, Wallet, testing,
};

/// What a failing check says; nothing where it passes.
fn complaint(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
    catch_unwind(check).err().and_then(|panic| panic.downcast::<String>().ok()).map_or_else(String::new, |text| *text)
}

fn info(kind: Kind, version: &str) -> ModelInfo {
    ModelInfo { kind, version: version.into(), title: "A model".into(), authors: vec![], reads: vec![] }
}

struct Wrong;

impl CreditModel for Wrong {
    fn describe() -> ModelInfo {
        info(Kind::Sybil, "one")
    }

    fn score(features: Features) -> Result<Assessment, Refusal> {
        if features.chains.len() == 2 {
            return Err(Refusal::NoActivity);
        }
        let factor = Factor {
            label: "x".repeat(81),
            rating: Rating::Low,
            description: "A sentence.".into(),
            points: 1,
            possible: 1,
        };
        let score = if features.markets.is_empty() { 299 } else { 300 };
        Ok(Assessment { score, decile: 1, factors: vec![factor] })
    }

    fn decile(score: u32) -> u8 {
        if score == 700 { 0 } else { 1 }
    }
}

#[test]
fn every_fault_of_a_credit_model_is_named() {
    let mine = Wallet::read(r#"{"as_of":1,"id":"mine"}"#).unwrap();
    let complaint = complaint(|| testing::credit::<Wrong>(&[mine]));
    for part in [
        "describe: the kind is Kind::Sybil, not Kind::Credit",
        "decile(700): the decile is 0, not 1 to 10",
        "empty features: the score is 299, not 300 to 1000",
        "an ordinary wallet: it must be judged, and the model refuses it: no activity",
        "the largest numbers: a factor label of 81 characters; at most 80 are allowed",
        "mine: the score is 299",
    ] {
        assert!(complaint.contains(part), "{part:?} is not in:\n{complaint}");
    }
}

struct Moody;

impl BoostModel for Moody {
    fn describe() -> ModelInfo {
        info(Kind::Boost, "1")
    }

    fn boost(_: u32, _: OffChain) -> u32 {
        static CALLS: AtomicU32 = AtomicU32::new(300);
        CALLS.fetch_add(1, Ordering::Relaxed)
    }
}

#[test]
fn every_fault_of_a_boost_is_named() {
    let complaint = complaint(testing::boost::<Moody>);
    for part in [
        r#"describe: version "1" is not two to four numbers"#,
        "boost(300, 0 dollars): two calls give different answers",
        "boost(1000, 0 dollars): the boosted score is",
    ] {
        assert!(complaint.contains(part), "{part:?} is not in:\n{complaint}");
    }
}

#[test]
fn a_bad_line_of_a_features_file_is_named() {
    let complaint = Wallet::read_all("{\"as_of\":1}\n\n{\"as_of\":1,\"outcom\":true}").unwrap_err();
    assert!(complaint.starts_with("line 3: unknown field `outcom`"), "{complaint}");
}
