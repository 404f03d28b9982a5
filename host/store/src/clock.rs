//! The clock of the embedded backend, for expiry. A Redis server uses its own.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Milliseconds since the Unix epoch, from the system or from a test.
#[derive(Clone)]
pub(super) struct StoreClock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl StoreClock {
    pub(super) fn system() -> Self {
        Self(Arc::new(|| millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())))
    }

    #[cfg(test)]
    pub(super) fn manual(millis: Arc<std::sync::atomic::AtomicU64>) -> Self {
        Self(Arc::new(move || millis.load(std::sync::atomic::Ordering::SeqCst)))
    }

    pub(super) fn now(&self) -> u64 {
        (self.0)()
    }
}

/// Whole milliseconds, rounded up: no lifetime is shorter than requested.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
