//! For benchmarks only: one model on engines with different features, and an instance that is used more than once.

use super::standalone;
use crate::{
    CreditModel, Limits, ScoreError, StandaloneError,
    call::{ModelCall, abi::Abi, samples},
    confine::engine::Purpose,
};
use assay_domain::{Assessment, features::Features};

/// The features of the engine.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub pool: bool,
    pub scan: bool,
    pub epoch: bool,
    pub fuel: bool,
}

impl Setup {
    /// The features on a server.
    pub const SERVED: Self = Self { pool: true, scan: true, epoch: true, fuel: false };
}

/// Loads the credit model in `bytes` on its own engine.
///
/// # Errors
/// Those of [`crate::metered`].
pub fn model(bytes: &[u8], setup: Setup) -> Result<CreditModel, StandaloneError> {
    let Setup { pool, scan, epoch, fuel } = setup;
    // Allows a model of any class, on as many lanes as the class may have.
    let limits = Limits { large_lanes: 2, ..Limits::default() };
    standalone::load_credit(bytes, &limits, Purpose { pool, scan, epoch, fuel, dump: false })
}

/// An ordinary wallet: two chains, three markets, three asset classes, one attestation.
pub fn typical() -> Features {
    samples::typical()
}

/// One instance that answers every call of a measurement, for a lower bound of the time. A server uses a fresh instance
/// for each call.
pub struct Reused<'a> {
    model: &'a CreditModel,
    call: ModelCall<'a>,
    abi: &'a dyn Abi,
}

impl<'a> Reused<'a> {
    /// # Errors
    /// If the instance does not start.
    pub fn new(model: &'a CreditModel) -> Result<Self, ScoreError> {
        let (call, abi) = model.start()?;
        Ok(Self { model, call, abi })
    }

    /// Like [`CreditModel::score`], in this one instance.
    ///
    /// # Errors
    /// Those of [`CreditModel::score`].
    pub fn score(&mut self, features: &Features) -> Result<Assessment, ScoreError> {
        self.call.rewind();
        let raw = self.abi.score(&mut self.call, features);
        let raw = raw.map_err(|error| self.call.failure(&error))?;
        self.model.checked(raw)
    }
}
