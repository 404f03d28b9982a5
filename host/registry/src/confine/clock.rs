//! How the time of a call is measured: in epochs of the engines, and in processor time.

use std::{
    fs,
    time::{Duration, Instant},
};

/// The time between two epochs.
pub(crate) const TICK: Duration = Duration::from_millis(1);

/// The number of epochs that take at least `time`.
pub(crate) fn ticks(time: Duration) -> u64 {
    // One more, because the current epoch is partly over.
    u64::try_from(time.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u64::MAX - 1).saturating_add(1)
}

/// The processor time of this thread; `None` if the system does not report it.
pub(crate) fn processor_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Measures the processor time that this thread uses, so that a busy machine does not count against a model. Where the
/// system does not report it, measures elapsed time.
pub(crate) struct UsedTime {
    began: Instant,
    processor: Option<Duration>,
}

impl UsedTime {
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), processor: processor_time() }
    }

    pub(crate) fn time(&self) -> Duration {
        let used = processor_time().zip(self.processor).map(|(now, then)| now.saturating_sub(then));
        used.unwrap_or_else(|| self.began.elapsed())
    }
}
