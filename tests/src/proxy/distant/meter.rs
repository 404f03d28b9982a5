//! Traffic through endpoints: requests, calls, bytes, and how many requests depend on one another.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::{Duration, Instant, sleep};

/// Counts for any number of endpoints. Cheap to clone.
#[derive(Clone, Default)]
pub struct Meter {
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    open: usize,
    passed: Vec<Passed>,
}

/// One request.
struct Passed {
    calls: usize,
    received: usize,
    sent: usize,
    refused: bool,
    started: Instant,
    ended: Instant,
}

/// A request in progress. It is counted when this is dropped, also if the client disconnects.
pub(super) struct Passing {
    meter: Meter,
    calls: usize,
    received: usize,
    started: Instant,
    /// Bytes of the response.
    pub sent: usize,
    /// Whether the response is a refusal.
    pub refused: bool,
}

/// The requests that ended in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    pub requests: usize,
    pub calls: usize,
    /// Bytes of requests.
    pub received: usize,
    /// Bytes of responses.
    pub sent: usize,
    pub refused: usize,
    /// Those of the refused that were sent before the first refusal was answered: nothing told the client.
    pub unforeseen: usize,
    /// Length of the longest sequence of requests in which each started after the previous one ended.
    pub depth: usize,
}

impl Meter {
    pub(super) fn enter(&self, calls: usize, received: usize) -> Passing {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
        Passing { meter: self.clone(), calls, received, started: Instant::now(), sent: 0, refused: false }
    }

    /// Returns the requests that ended since the last `take`.
    pub fn take(&self) -> Traffic {
        Traffic::of(&std::mem::take(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner).passed))
    }

    /// Waits until no request has been in progress for `pause`.
    pub async fn quiet(&self, pause: Duration) {
        let mut since = Instant::now();
        while since.elapsed() < pause {
            sleep(pause / 10).await;
            let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let last = counts.passed.last().map_or(since, |passed| passed.ended.max(since));
            since = if counts.open > 0 { Instant::now() } else { last };
        }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let Self { calls, received, started, sent, refused, .. } = *self;
        let mut counts = self.meter.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.open -= 1;
        counts.passed.push(Passed { calls, received, sent, refused, started, ended: Instant::now() });
    }
}

impl Traffic {
    fn of(passed: &[Passed]) -> Self {
        let told = passed.iter().filter(|one| one.refused).map(|one| one.ended).min();
        let unforeseen = |one: &Passed| one.refused && told.is_some_and(|told| one.started <= told);
        Self {
            requests: passed.len(),
            calls: passed.iter().map(|one| one.calls).sum(),
            received: passed.iter().map(|one| one.received).sum(),
            sent: passed.iter().map(|one| one.sent).sum(),
            refused: passed.iter().filter(|one| one.refused).count(),
            unforeseen: passed.iter().filter(|one| unforeseen(one)).count(),
            depth: depth(passed.iter().map(|one| (one.started, one.ended)).collect()),
        }
    }
}

/// Returns the length of the longest sequence of `spans` in which each starts after the previous one ended.
fn depth<T: Ord + Copy>(mut spans: Vec<(T, T)>) -> usize {
    // Always taking the span that ends first gives the longest sequence.
    spans.sort_by_key(|(_, ended)| *ended);
    let (mut depth, mut last) = (0, None);
    for (started, ended) in spans {
        if last.is_none_or(|last| started >= last) {
            (depth, last) = (depth + 1, Some(ended));
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_what_follows_and_not_what_runs_beside() {
        assert_eq!(depth::<u32>(Vec::new()), 0);
        assert_eq!(depth(vec![(0, 10), (1, 11), (2, 12)]), 1);
        assert_eq!(depth(vec![(0, 10), (1, 30), (11, 20), (12, 21), (22, 40)]), 3);
        assert_eq!(depth(vec![(22, 40), (0, 10), (10, 20)]), 3);
    }

    #[test]
    fn a_request_that_its_client_leaves_has_passed() {
        let meter = Meter::default();
        let first = meter.enter(3, 100);
        let mut second = meter.enter(1, 50);
        drop(first);
        assert_eq!(
            meter.take(),
            Traffic { requests: 1, calls: 3, received: 100, sent: 0, refused: 0, unforeseen: 0, depth: 1 }
        );
        (second.sent, second.refused) = (7, true);
        drop(second);
        assert_eq!(
            meter.take(),
            Traffic { requests: 1, calls: 1, received: 50, sent: 7, refused: 1, unforeseen: 1, depth: 1 }
        );
    }
}
