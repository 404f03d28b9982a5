//! The component: the functions of `wit/v1`, and the features of a call as the source of expressions.

use crate::{
    Data, Part, answer,
    data::{AUTHORS, READS, TITLE, VERSION},
    decile, memory,
};

mod bindings {
    wit_bindgen::generate!({ path: "../../wit/v1", world: "credit-model" });
}

use bindings::{
    assay::model::types::{
        AssetClass, Attestation, ChainFeatures, Coverage, Factor, Features, Holding, Kind, MarketFeatures, ModelInfo,
        Rating, Refusal,
    },
    exports::assay::model::credit::{Assessment, Guest},
};

struct Component;

impl Guest for Component {
    fn describe() -> ModelInfo {
        let data = packed();
        let lines = |at| data.plain(at).split('\n').filter(|line| !line.is_empty()).map(Into::into).collect();
        ModelInfo {
            kind: Kind::Credit,
            version: data.plain(VERSION).into(),
            title: data.plain(TITLE).into(),
            authors: lines(AUTHORS),
            reads: lines(READS),
        }
    }

    fn score(features: Features) -> Result<Assessment, Refusal> {
        let data = packed();
        let Some(found) = answer(data, &Wallet(&features)) else {
            return Err(Refusal::Missing("a chain or market that could be read".into()));
        };
        let factors = found.parts.into_iter().map(factor).collect();
        Ok(Assessment { score: found.score, decile: decile(data, found.score), factors })
    }

    fn decile(score: u32) -> u8 {
        decile(packed(), score)
    }
}

bindings::export!(Component with_types_in bindings);

/// Without data every call stops.
fn packed() -> Data<'static> {
    match Data::new(memory::data()) {
        Some(data) => data,
        None => std::process::abort(),
    }
}

fn factor(part: Part<'_>) -> Factor {
    let rating = match part.rating {
        0 => Rating::Low,
        1 => Rating::Fair,
        2 => Rating::Good,
        3 => Rating::VeryGood,
        _ => Rating::Excellent,
    };
    let Part { label, description, points, possible, .. } = part;
    Factor { label: label.into(), rating, description, points, possible }
}

/// The place of the word in the WIT enum.
fn coverage(coverage: Coverage) -> f64 {
    f64::from(coverage as u8)
}

fn class(class: AssetClass) -> f64 {
    f64::from(class as u8)
}

crate::wallet!();
