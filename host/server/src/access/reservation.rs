//! Units set aside for one call.
//!
//! They are taken from the key durably before the work begins, so that no crash and no second host can spend them
//! twice. A reservation that is dropped gives them back in the background. If the process dies before that, they stay
//! spent: a crash costs a caller at most the units of the calls that were under way.

use tokio_util::task::TaskTracker;

use assay_store::{Key, Store};

/// Ends by [`commit`](Self::commit) when the caller got what they pay for, or by being dropped.
#[must_use = "a dropped reservation gives its units back"]
pub struct Reservation {
    /// `None` for what costs nothing, and once it has ended.
    taken: Option<Taken>,
}

struct Taken {
    store: Store,
    meter: Key<u64>,
    units: u64,
    left: u64,
    moving: TaskTracker,
}

impl Reservation {
    pub(super) fn free() -> Self {
        Self { taken: None }
    }

    pub(super) fn metered(store: Store, meter: Key<u64>, units: u64, left: u64, moving: TaskTracker) -> Self {
        Self { taken: Some(Taken { store, meter, units, left, moving }) }
    }

    /// Units left to the caller after this call; `None` where it was not metered.
    pub fn left(&self) -> Option<u64> {
        self.taken.as_ref().map(|taken| taken.left)
    }

    /// The units are spent.
    pub fn commit(mut self) {
        self.taken = None;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let Some(Taken { store, meter, units, moving, .. }) = self.taken.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            tracing::error!(?meter, units, "a reservation ended outside the runtime; its units stay spent");
            return;
        };
        moving.spawn_on(
            async move {
                if let Err(error) = store.refund(&meter, units).await {
                    tracing::error!(?meter, units, %error, "units were not given back");
                }
            },
            &runtime,
        );
    }
}
