//! Answers in the types of the newest interface, unchecked.

pub(crate) use super::v2::wit_answers::{
    Behaviour, ChainValue, Claims, Coverage, Factor, Kind, MockReport, ModelInfo, Nft, PaymentRefusal, Phase, Pool,
    Position, Rate, Rating, Refusal, Scenario, Subject, Token,
};

/// The numbers of a credit score, with the words where the interface gives them in the same answer.
pub(crate) struct Verdict {
    pub score: u32,
    pub decile: u8,
    pub factors: Factors,
}

/// The same of a sybil risk.
pub(crate) struct RiskVerdict {
    pub risk: u32,
    pub factors: Factors,
}

/// The factors of an answer.
pub(crate) enum Factors {
    Words(Vec<Factor>),
    /// In the order of the labels that `explain` gives.
    Points(Vec<i32>),
}
