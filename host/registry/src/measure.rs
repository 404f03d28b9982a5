//! What a benchmark needs and a server does not: one model on engines set up differently, and an instance used again.

use crate::{
    Limits, Model, ScoreError,
    abi::Abi,
    answer,
    call::Call,
    engine::Purpose,
    lone::{self, LoneError},
    samples,
};
use assay_domain::{Assessment, features::Features};

/// How the engine under a measurement is set up.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub pool: bool,
    pub epoch: bool,
    pub fuel: bool,
}

impl Setup {
    /// As a server serves.
    pub const SERVED: Self = Self { pool: true, epoch: true, fuel: false };
}

/// The model in `bytes` on an engine of its own.
///
/// # Errors
/// The first thing that is wrong with the file, or with the machine.
pub fn model(bytes: &[u8], setup: Setup) -> Result<Model, LoneError> {
    let Setup { pool, epoch, fuel } = setup;
    lone::load(bytes, &Limits::default(), Purpose { pool, epoch, fuel })
}

/// An ordinary wallet: two chains, three markets, three classes of asset, one attestation.
pub fn typical() -> Features {
    samples::typical()
}

/// One instance of a credit model that answers every question, with all that it remembers. Only the floor of a
/// measurement: served calls have an instance each.
pub struct Reused<'a> {
    model: &'a Model,
    call: Call<'a>,
    abi: &'a dyn Abi,
}

impl<'a> Reused<'a> {
    /// # Errors
    /// Where the instance does not start.
    pub fn new(model: &'a Model) -> Result<Self, ScoreError> {
        let (call, abi) = model.start()?;
        Ok(Self { model, call, abi })
    }

    /// As [`Model::score`], in the one instance.
    ///
    /// # Errors
    /// As [`Model::score`].
    pub fn score(&mut self, features: &Features) -> Result<Assessment, ScoreError> {
        self.call.rewind();
        let raw = self.abi.score(&mut self.call, features);
        let raw = raw.map_err(|error| self.call.failure(&error))?;
        answer::assessment(raw, |score| self.model.decile(score))
    }
}
