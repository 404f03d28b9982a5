//! The endpoints to which a request may be sent, in order.

use std::{sync::Arc, time::Duration};

use crate::{
    endpoint::{Endpoint, Readiness},
    fault::Fault,
    pauses,
};

/// An endpoint to which a request may be sent.
pub(super) struct EndpointAttempt<'a> {
    pub index: usize,
    pub endpoint: &'a Arc<Endpoint>,
    /// Whether it failed, or its head is not trusted; it is asked only if no other endpoint answers.
    pub rests: bool,
    /// Whether no ready endpoint follows.
    pub is_last: bool,
    pub retries: u32,
    /// Maximum time for the request's turn.
    pub patience: Duration,
}

/// The `endpoints` that may be asked, or why there are none. Resting endpoints follow ready ones; endpoints whose head
/// `is_off` come last.
pub(super) fn attempts(
    endpoints: &[Arc<Endpoint>],
    left_out: Option<usize>,
    retries: u32,
    is_off: impl Fn(usize) -> bool,
) -> (Vec<EndpointAttempt<'_>>, Fault) {
    let mut fault = Fault::Unreachable("no endpoint is configured".into());
    let (mut ready, mut resting, mut off) = (Vec::new(), Vec::new(), Vec::new());
    for (index, endpoint) in endpoints.iter().enumerate().filter(|(index, _)| left_out != Some(*index)) {
        let attempt = EndpointAttempt {
            index,
            endpoint,
            rests: false,
            is_last: true,
            retries,
            patience: pauses::LAST_ENDPOINT_PATIENCE,
        };
        match endpoint.readiness() {
            Readiness::Ready if is_off(index) => off.push(EndpointAttempt { rests: true, ..attempt }),
            Readiness::Ready => ready.push(attempt),
            Readiness::Rests => resting.push(EndpointAttempt { rests: true, retries: 0, ..attempt }),
            Readiness::Unusable(why) => fault = why,
        }
    }
    let last = ready.len().saturating_sub(1);
    for attempt in ready.iter_mut().take(last) {
        (attempt.is_last, attempt.patience) = (false, pauses::ENDPOINT_PATIENCE);
        if attempt.endpoint.is_doubtful() {
            attempt.retries = 0;
        }
    }
    ready.append(&mut resting);
    ready.append(&mut off);
    (ready, fault)
}
