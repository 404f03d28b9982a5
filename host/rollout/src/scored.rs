//! A computed score, as scoring hands it to provenance and to the shadow.

use std::sync::Arc;

use uuid::Uuid;

use assay_domain::{Address, Assessment, Coverage, Freshness, ModelRef, Origins, Standing, Time};
use assay_registry::Chosen;

/// A score with its provenance.
#[derive(Debug, Clone)]
pub struct Scored {
    pub address: Address,
    pub assessment: Assessment,
    pub model: ModelRef,
    /// Why this model answered.
    pub chosen: Chosen,
    /// When the score was calculated.
    pub at: Time,
    /// How completely the lending events behind it had been read.
    pub coverage: Coverage,
    /// Of the reading behind it.
    pub fresh: Freshness,
    /// The id of its record; `None` if provenance is switched off or the queue was full.
    pub record: Option<Uuid>,
    pub basis: Basis,
    /// The blocks behind it; empty for a mock answer.
    pub origins: Arc<Origins>,
}

/// The subject of a score, for the claims of its model.
#[derive(Debug, Clone, Copy)]
pub enum Basis {
    /// A wallet as the chains show it.
    Wallet(Standing),
    /// A wallet with off-chain assets.
    Boosted,
    /// A mock answer, or a record of an earlier score.
    Unknown,
}
