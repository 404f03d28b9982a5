//! Counts the requests that wait for a permit or for their turn: `assay_rpc_requests_waiting`.

use metrics::Gauge;

/// Counts a waiting request until it proceeds or is dropped.
pub(super) struct Waiting<'a>(&'a Gauge);

impl<'a> Waiting<'a> {
    pub(super) fn count(gauge: &'a Gauge) -> Self {
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}
