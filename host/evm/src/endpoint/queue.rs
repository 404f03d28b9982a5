//! The queue of one endpoint: sends at its pace, by rank, and first come, first served within a rank. A dropped request
//! leaves the queue.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use metrics::Gauge;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use super::pace::{Pace, SentRequest};

use crate::pauses;

/// The priority of a waiting request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Every other request depends on it.
    First,
    /// A caller may be waiting for it.
    Usual,
    /// Like [`Usual`](Self::Usual), but its cost depends on contracts that strangers chose: few at once, with a bound
    /// on the answer, and its failures say nothing about the endpoint.
    Stranger,
    /// No caller is waiting for it.
    Last,
}

#[derive(Default)]
struct QueueLine {
    /// The holder is the next of its rank; others wait for the lock in order of arrival.
    next: tokio::sync::Mutex<()>,
    waiting: AtomicUsize,
}

pub(super) struct RequestQueue {
    pace: Mutex<Pace>,
    /// The first, the usual and the last.
    lines: [QueueLine; 3],
    /// Signals that an answer or a refusal changed the pace, or a request of a higher rank was sent.
    changed: Notify,
    learned: Gauge,
}

/// A request whose turn has come. It must report its outcome.
pub(super) struct RequestTurn<'a> {
    queue: &'a RequestQueue,
    sent: SentRequest,
}

/// The batch has more calls than the endpoint accepts at its pace.
pub(super) struct TooManyCalls {
    pub most: usize,
}

impl RequestQueue {
    /// The queue of an endpoint that accepts at most `bound` calls per second, if any. `learned` shows the pace.
    pub(crate) fn new(bound: Option<u32>, learned: Gauge) -> Self {
        Self { pace: Mutex::new(Pace::new(bound)), lines: Default::default(), changed: Notify::new(), learned }
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.pace().is_limited()
    }

    /// The requests or calls per second that the endpoint accepts; `None` without a limit.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.pace().rate()
    }

    /// The calls per second that the endpoint accepts; `None` if no limit of calls is known.
    pub(crate) fn call_rate(&self) -> Option<f64> {
        self.pace().call_rate()
    }

    /// Calls of the largest batch that fits the pace.
    pub(crate) fn ceiling(&self) -> usize {
        self.pace().ceiling()
    }

    /// Waits until a request of `calls` calls may be sent.
    ///
    /// # Errors
    /// [`TooManyCalls`] if it must be split, because calls are counted.
    pub(crate) async fn turn(&self, calls: usize, rank: Rank) -> Result<RequestTurn<'_>, TooManyCalls> {
        let [first, usual, last] = &self.lines;
        let (line, above): (_, &[QueueLine]) = match rank {
            Rank::First => (first, &[]),
            Rank::Usual | Rank::Stranger => (usual, std::slice::from_ref(first)),
            Rank::Last => (last, self.lines.get(..2).unwrap_or_default()),
        };
        let _waiting = QueuedRequest::of(self, line);
        let _next = line.next.lock().await;
        loop {
            let changed = self.changed.notified();
            let wait = match self.attempt(calls, above)? {
                Ok(turn) => return Ok(turn),
                Err(wait) => wait,
            };
            // Whichever comes first; the next attempt decides.
            let _ = timeout(wait, changed).await;
        }
    }

    /// The turn, or how long to wait before the next attempt.
    fn attempt(&self, calls: usize, above: &[QueueLine]) -> Result<Result<RequestTurn<'_>, Duration>, TooManyCalls> {
        let (mut pace, now) = (self.pace(), Instant::now());
        let most = pace.ceiling();
        if calls > most {
            return Err(TooManyCalls { most });
        }
        let delay = pace.delay(calls, now);
        if above.iter().any(|line| line.waiting.load(Ordering::SeqCst) > 0) {
            return Ok(Err(delay.max(pauses::QUEUE_YIELD)));
        }
        Ok(if delay.is_zero() { Ok(RequestTurn { queue: self, sent: pace.on_sent(calls, now) }) } else { Err(delay) })
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestTurn<'_> {
    pub(crate) fn answered(&self) {
        self.tell(|pace| pace.on_answered(&self.sent, Instant::now()));
    }

    /// Reports a refusal. `after` is the pause that the endpoint requests. Returns whether this is the first sign of a
    /// limit.
    pub(crate) fn refused(&self, after: Option<Duration>) -> bool {
        self.tell(|pace| {
            let was_limited = pace.is_limited();
            pace.on_refused(&self.sent, after, Instant::now());
            !was_limited
        })
    }

    fn tell<T>(&self, what: impl FnOnce(&mut Pace) -> T) -> T {
        let (told, learned) = {
            let mut pace = self.queue.pace();
            (what(&mut pace), pace.learned())
        };
        self.queue.learned.set(learned.unwrap_or_default());
        self.queue.changed.notify_waiters();
        told
    }
}

/// Counts a request in its line until it is sent or dropped.
struct QueuedRequest<'a>(&'a RequestQueue, &'a QueueLine);

impl<'a> QueuedRequest<'a> {
    fn of(queue: &'a RequestQueue, line: &'a QueueLine) -> Self {
        line.waiting.fetch_add(1, Ordering::SeqCst);
        Self(queue, line)
    }
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        self.1.waiting.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
