//! Answers in the types of the newest interface, unchecked.

pub(crate) use super::newest::{
    assay::model::types::{Claims, Coverage, Factor, Kind, ModelInfo, Rate, Rating, Refusal},
    exports::assay::model::sandbox::{
        Behaviour, ChainValue, MockReport, Nft, PaymentRefusal, Phase, Pool, Position, Scenario, Subject, Token,
    },
};

/// The numbers of a credit score, with the words if the interface returns them in the same answer.
pub(crate) struct Verdict {
    pub score: u32,
    pub decile: u8,
    pub factors: Factors,
}

/// The same for a sybil risk.
pub(crate) struct RiskVerdict {
    pub risk: u32,
    pub factors: Factors,
}

/// The factors of an answer.
pub(crate) enum Factors {
    Words(Vec<Factor>),
    /// In the order of the labels from `explain`.
    Points(Vec<i32>),
}
