//! The wallets that this host scored last, with their features: a candidate is tried on them before it is promoted.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Scored, scored::Basis};
use assay_domain::{Address, features::Features};
use assay_registry::{CreditModel, Registry};

/// Wallets that are kept.
const MOST: usize = 200;

#[derive(Default)]
pub(super) struct Recent {
    /// The newest last.
    wallets: Mutex<VecDeque<(Address, Arc<Features>)>>,
}

/// The answers of a candidate about the wallets that were scored last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Trial {
    pub wallets: u64,
    pub refused: u64,
    pub failed: u64,
}

impl Recent {
    pub(super) fn see(&self, scored: &Scored, features: &Arc<Features>) {
        if !matches!(scored.basis, Basis::Wallet(_)) {
            return;
        }
        let mut wallets = self.wallets.lock().unwrap_or_else(PoisonError::into_inner);
        wallets.retain(|(address, _)| *address != scored.address);
        if wallets.len() == MOST {
            wallets.pop_front();
        }
        wallets.push_back((scored.address, Arc::clone(features)));
    }

    /// The number of wallets, [`MOST`] at most.
    pub(super) fn count(&self) -> u64 {
        self.wallets.lock().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    /// Asks `model` about every wallet, on the engine of the shadow. Its failures count nowhere else. Compiles the
    /// model if needed, so must not run on an async thread.
    ///
    /// # Errors
    /// Why it cannot be called.
    pub(super) fn try_on(&self, registry: &Registry, model: &CreditModel) -> Result<Trial, String> {
        let wallets: Vec<_> = {
            let wallets = self.wallets.lock().unwrap_or_else(PoisonError::into_inner);
            wallets.iter().map(|(_, features)| Arc::clone(features)).collect()
        };
        let mut trial = Trial::default();
        if wallets.is_empty() {
            return Ok(trial);
        }
        let copy = registry.shadow_copy(model)?;
        for features in wallets {
            trial.wallets += 1;
            match copy.score_uncounted(&features).0 {
                Ok(_) => {}
                Err(error) if error.is_fault() => trial.failed += 1,
                Err(_) => trial.refused += 1,
            }
        }
        Ok(trial)
    }
}
