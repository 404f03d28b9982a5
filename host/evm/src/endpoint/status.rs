//! The status of an endpoint, for operators.

use super::Endpoint;
use crate::{fault::Fault, request::Block};

/// The status of an endpoint. It shows only the host, because the URL may contain a credential.
#[derive(Debug, Clone)]
pub struct EndpointStatus {
    pub host: String,
    /// Whether it answered the last request of its chain.
    pub is_current: bool,
    /// `unused` before its first use, `ready`, or `rests` after a failure.
    pub state: &'static str,
    /// The failure after which it rests.
    pub fault: Option<Fault>,
    /// Answers and failures since the start; requests that fail together count once.
    pub answers: u64,
    pub failures: u64,
    /// `None` without a known limit.
    pub pace: Option<EndpointPace>,
    /// The widest span of blocks for which it answers logs; `None` without a known limit.
    pub log_range: Option<u64>,
    /// The last head that it returned.
    pub head: Option<Block>,
}

/// How fast an endpoint may be asked, configured or learned from its refusals.
#[derive(Debug, Clone, Copy)]
pub struct EndpointPace {
    pub per_second: f64,
    /// Whether each call of a batch counts.
    pub counts_calls: bool,
}

impl Endpoint {
    pub(crate) fn status(&self, is_current: bool, head: Option<Block>) -> EndpointStatus {
        let (state, fault) = self.standing();
        let pace = |per_second, counts_calls| EndpointPace { per_second, counts_calls };
        EndpointStatus {
            host: self.host.clone(),
            is_current,
            state,
            fault,
            answers: self.answered(),
            failures: self.failed(),
            pace: self.call_rate().map(|rate| pace(rate, true)).or_else(|| self.rate().map(|rate| pace(rate, false))),
            log_range: Some(self.log_ceiling()).filter(|width| *width < u64::MAX),
            head,
        }
    }
}
