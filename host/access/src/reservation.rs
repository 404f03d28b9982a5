//! Units reserved for one call.
//!
//! They are taken from the key durably before the work begins, so that neither a crash nor another host can spend them
//! twice. A dropped reservation refunds them in the background. If the process dies before that, they stay spent: a
//! crash costs a caller at most the units of the calls in flight.

use std::sync::{Arc, Mutex, PoisonError};

use super::AccessError;
use assay_store::{Key, Store};
use assay_tasks::Tracker;

/// [`commit`](Self::commit) spends the units; a drop refunds them.
#[must_use = "a dropped reservation refunds its units"]
pub struct Reservation {
    /// `None` for a free call, and after the commit.
    taken: Option<Spending>,
}

/// Units that were reserved, or refused, before the handler of a request runs. Clones share them, and the first that
/// needs them has them; if none does, they are refunded.
#[derive(Clone)]
pub struct Prepaid {
    units: u64,
    reserved: Arc<Mutex<Option<Result<Reservation, AccessError>>>>,
}

impl Prepaid {
    pub(super) fn new(units: u64, reserved: Result<Reservation, AccessError>) -> Self {
        Self { units, reserved: Arc::new(Mutex::new(Some(reserved))) }
    }

    /// The reservation, if it is of this number of units.
    pub fn take(&self, units: u64) -> Option<Result<Reservation, AccessError>> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).take().filter(|_| self.units == units)
    }
}

struct Spending {
    store: Store,
    meter: Key<u64>,
    units: u64,
    left: u64,
    pending: Tracker,
}

impl Reservation {
    pub(super) fn free() -> Self {
        Self { taken: None }
    }

    pub(super) fn metered(store: Store, meter: Key<u64>, units: u64, left: u64, pending: Tracker) -> Self {
        Self { taken: Some(Spending { store, meter, units, left, pending }) }
    }

    /// Units left after this call; `None` for an unmetered key.
    pub fn left(&self) -> Option<u64> {
        self.taken.as_ref().map(|taken| taken.left)
    }

    /// Spends the units.
    pub fn commit(mut self) {
        self.taken = None;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let Some(Spending { store, meter, units, pending, .. }) = self.taken.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            tracing::error!(?meter, units, "a reservation ended outside the runtime; its units stay spent");
            return;
        };
        pending.spawn_on(&runtime, "refund", async move {
            if let Err(error) = store.refund(&meter, units).await {
                tracing::error!(?meter, units, %error, "units were not given back");
            }
        });
    }
}
