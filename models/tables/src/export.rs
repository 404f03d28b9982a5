//! The component: the functions of `wit/v2`, and the features of a call as the source of expressions. With the feature
//! `sybil` it is a sybil model, otherwise a credit model.

use crate::{
    Answer, Data, Part,
    data::{AUTHORS, OUTCOME, POPULATION, RATE, READS, Section, TITLE, VERSION, double},
    memory,
};

#[cfg(not(feature = "sybil"))]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/v2", world: "credit-model" });
}

#[cfg(feature = "sybil")]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/v2", world: "sybil-model" });
}

use bindings::assay::model::types::{
    AssetClass, Attestation, ChainFeatures, Claims, Coverage, Dollars, EventKind, Exposure, ExposureClass, Factor,
    Features, Holding, Kind, LendingEvent, MarketFeatures, ModelInfo, Position, Rate, Rating,
};
#[cfg(feature = "sybil")]
use bindings::exports::assay::model::sybil::{Guest, Verdict};
#[cfg(not(feature = "sybil"))]
use bindings::{
    assay::model::types::Refusal,
    exports::assay::model::credit::{Guest, Verdict},
};

struct Component;

#[cfg(not(feature = "sybil"))]
impl Guest for Component {
    fn describe() -> ModelInfo {
        described(Kind::Credit)
    }

    fn score(features: Features) -> Result<Verdict, Refusal> {
        let (data, answer) = answered(&features)?;
        let score = answer.score();
        Ok(Verdict { score, decile: crate::decile(data, score), points: answer.points })
    }

    fn explain(features: Features) -> Result<Vec<Factor>, Refusal> {
        let (data, answer) = answered(&features)?;
        Ok(answer.parts(data).into_iter().map(factor).collect())
    }

    fn decile(score: u32) -> u8 {
        crate::decile(packed(), score)
    }
}

#[cfg(feature = "sybil")]
impl Guest for Component {
    fn describe() -> ModelInfo {
        described(Kind::Sybil)
    }

    fn risk(features: Features) -> Verdict {
        let answer = judged(&features).1;
        Verdict { risk: answer.risk(), points: answer.points }
    }

    fn explain(features: Features) -> Vec<Factor> {
        let (data, answer) = judged(&features);
        // The fewest points of risk are the best.
        let reversed = |part: Part<'_>| factor(Part { rating: 4 - part.rating.min(4), ..part });
        answer.parts(data).into_iter().map(reversed).collect()
    }
}

bindings::export!(Component with_types_in bindings);

fn described(kind: Kind) -> ModelInfo {
    let data = packed();
    let lines = |at| data.plain(at).split('\n').filter(|line| !line.is_empty()).map(Into::into).collect();
    ModelInfo {
        kind,
        version: data.plain(VERSION).into(),
        title: data.plain(TITLE).into(),
        authors: lines(AUTHORS),
        reads: lines(READS),
        claims: claims(data),
    }
}

/// Without data every call stops.
fn packed() -> Data<'static> {
    match Data::new(memory::data()) {
        Some(data) => data,
        None => std::process::abort(),
    }
}

#[cfg(feature = "sybil")]
fn judged(features: &Features) -> (Data<'static>, Answer) {
    let data = packed();
    (data, crate::judged(data, &Wallet::new(features)))
}

#[cfg(not(feature = "sybil"))]
fn answered(features: &Features) -> Result<(Data<'static>, Answer), Refusal> {
    let data = packed();
    match crate::answer(data, &Wallet::new(features)) {
        Some(answer) => Ok((data, answer)),
        None => Err(Refusal::Missing("a chain or market that could be read".into())),
    }
}

fn claims(data: Data<'_>) -> Option<Claims> {
    let numbers = data.section(Section::Claims);
    let rates = (numbers.len() / 8).checked_sub(1)? / RATE;
    let rate = |at: usize| {
        let number = |place: usize| double(numbers, 1 + RATE * at + place);
        Rate { range: rating(number(0) as u8), low: number(1), estimate: number(2), high: number(3) }
    };
    Some(Claims {
        outcome: data.plain(OUTCOME).into(),
        horizon_days: double(numbers, 0) as u32,
        population: data.plain(POPULATION).into(),
        rates: (0..rates).map(rate).collect(),
    })
}

fn factor(part: Part<'_>) -> Factor {
    let Part { label, description, points, possible, rating: range } = part;
    Factor { label: label.into(), rating: rating(range), description, points, possible }
}

fn rating(range: u8) -> Rating {
    match range {
        0 => Rating::Low,
        1 => Rating::Fair,
        2 => Rating::Good,
        3 => Rating::VeryGood,
        _ => Rating::Excellent,
    }
}

/// The place of the word in the WIT enum.
fn coverage(coverage: Coverage) -> f64 {
    f64::from(coverage as u8)
}

fn class(class: AssetClass) -> f64 {
    f64::from(class as u8)
}

fn kind(kind: EventKind) -> f64 {
    f64::from(kind as u8)
}

fn exposed(class: ExposureClass) -> f64 {
    f64::from(class as u8)
}

crate::wallet!();
