//! Counts the requests that wait for a permit or for their turn: `assay_rpc_requests_waiting`.

use metrics::Gauge;

/// Counts a waiting request until it proceeds or is dropped.
pub(super) struct WaitingCallers<'a>(&'a Gauge);

impl<'a> WaitingCallers<'a> {
    pub(super) fn count(gauge: &'a Gauge) -> Self {
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for WaitingCallers<'_> {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}
