//! The request rate of an endpoint. No standard states its limit, so it is learned: refusals lower the pace, and a
//! second that uses up the pace raises it slightly. A pure state machine, driven by the endpoint's queue.

mod window;

use std::time::Duration;

use tokio::time::Instant;

use window::{Amount, LoadUnit, LoadWindow, RefusedLoad};

use crate::pauses;

/// The load that every endpoint is expected to handle per second. One that refuses this few requests counts calls.
const EXPECTED: Amount = Amount { requests: 8, calls: 100 };
/// Without a known limit, a second may exceed the highest load answered so far by this factor, to keep refusals rare.
const UNTRIED: f64 = 1.25;
/// The new pace, as a fraction of the refused one.
const LOWER: f64 = 0.8;
/// Factors for the pace after a second that used it up; [`CAREFUL`] applies near the pace that was refused last.
/// Far below that pace, [`UNTRIED`] applies.
const RAISE: f64 = 1.03;
const CAREFUL: f64 = 1.005;
const NEAR: f64 = 0.9;
const FAR: f64 = 0.5;
/// If calls are counted, a second has room for this many batches of maximum size: the smaller they are, the less of a
/// second is unused.
const BATCHES: f64 = 3.0;
/// A limit that refused nothing for this long may be gone.
const FORGET: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
struct Limit {
    unit: LoadUnit,
    /// Per [`pauses::RATE_WINDOW`].
    rate: f64,
    /// A rate that was refused.
    too_much: f64,
    raised: Instant,
    /// The time of the last refusal.
    refused: Instant,
}

/// After a refusal, a single request is sent, and the others follow once it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PaceTrial {
    None,
    Due,
    Sent(Instant),
}

/// A request that was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentRequest {
    at: Instant,
    calls: usize,
    /// Everything sent in the window that ends with this request.
    load: Amount,
}

#[derive(Debug)]
pub(super) struct Pace {
    /// Calls per window that the configuration allows.
    bound: f64,
    limit: Option<Limit>,
    sent: LoadWindow,
    answered: LoadWindow,
    /// The highest load answered in one window.
    best: Amount,
    held_until: Option<Instant>,
    /// Refusals since the last answered trial.
    refusals: u32,
    trial: PaceTrial,
    /// Whether a request waited since the pace was raised.
    is_used_up: bool,
    refused: RefusedLoad,
    /// The limit before the refusals in `refused`.
    earlier: Option<Limit>,
    /// The last request sent.
    latest: Option<SentRequest>,
}

impl Pace {
    /// Without a limit, or with at most `bound` calls per second.
    pub(crate) fn new(bound: Option<u32>) -> Self {
        Self {
            bound: bound.map_or(f64::INFINITY, f64::from),
            limit: None,
            sent: LoadWindow::default(),
            answered: LoadWindow::default(),
            best: Amount::default(),
            held_until: None,
            refusals: 0,
            trial: PaceTrial::None,
            is_used_up: false,
            refused: RefusedLoad::default(),
            earlier: None,
            latest: None,
        }
    }

    /// Whether the endpoint has a known limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.bound.is_finite() || self.limit.is_some() || self.refusals > 0
    }

    /// The requests or calls per second that the endpoint accepts, learned or configured; `None` without a limit.
    pub(crate) fn rate(&self) -> Option<f64> {
        let learned = self.limit.map_or(f64::INFINITY, |limit| limit.rate);
        Some(learned.min(self.bound)).filter(|rate| rate.is_finite())
    }

    /// The calls per second that the endpoint accepts, if each call of a batch counts; `None` if it does not, or this
    /// is unknown.
    pub(crate) fn call_rate(&self) -> Option<f64> {
        let learned =
            self.limit.filter(|limit| matches!(limit.unit, LoadUnit::Calls)).map_or(f64::INFINITY, |l| l.rate);
        Some(learned.min(self.bound)).filter(|rate| rate.is_finite())
    }

    /// The learned requests or calls per second; `None` without a refusal.
    pub(crate) fn learned(&self) -> Option<f64> {
        self.limit.map(|limit| limit.rate)
    }

    /// Maximum number of calls in one batch at this pace.
    pub(crate) fn ceiling(&self) -> usize {
        let learned =
            self.limit.filter(|limit| limit.unit == LoadUnit::Calls).map_or(f64::INFINITY, |limit| limit.rate);
        (learned.min(self.bound) / BATCHES).max(1.0) as usize
    }

    /// How long a request of `calls` calls must wait; zero if it may be sent now. Callers ask again after that time, or
    /// once another request is answered or refused.
    pub(crate) fn delay(&mut self, calls: usize, now: Instant) -> Duration {
        self.sent.drop_old(now);
        self.limit = self.limit.filter(|limit| now < limit.refused + FORGET);
        let held = self.held_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        if !held.is_zero() {
            return held;
        }
        if let PaceTrial::Sent(at) = self.trial {
            // Refusals arrive quickly; an answer may take long.
            let left = (at + pauses::RATE_HOLD).saturating_duration_since(now);
            if !left.is_zero() {
                return left;
            }
            self.trial = PaceTrial::None;
        }
        if self.fits(calls) {
            return Duration::ZERO;
        }
        self.is_used_up = true;
        self.sent.until_oldest_leaves(now)
    }

    /// Whether a request of `calls` calls fits into the window. An empty window fits any request.
    fn fits(&self, calls: usize) -> bool {
        let sent = self.sent.amount();
        let load = Amount { requests: sent.requests + 1, calls: sent.calls + calls };
        let within = |unit, rate| load.of(unit) <= rate;
        let learned = match self.limit {
            Some(limit) => within(limit.unit, limit.rate),
            // The size of the batch does not count: a large batch may exceed this in any window.
            None => [LoadUnit::Requests, LoadUnit::Calls]
                .iter()
                .all(|unit| sent.of(*unit) + 1.0 <= UNTRIED * self.best.of(*unit).max(EXPECTED.of(*unit))),
        };
        sent.requests == 0 || (learned && within(LoadUnit::Calls, self.bound))
    }

    pub(crate) fn on_sent(&mut self, calls: usize, now: Instant) -> SentRequest {
        self.sent.add(calls, now);
        if self.trial == PaceTrial::Due {
            self.trial = PaceTrial::Sent(now);
        }
        if let Some(limit) =
            self.limit.as_mut().filter(|limit| self.is_used_up && now >= limit.raised + pauses::RATE_WINDOW)
        {
            limit.rate *= match limit.rate / limit.too_much {
                ..FAR => UNTRIED,
                NEAR..1.0 => CAREFUL,
                _ => RAISE,
            };
            limit.raised = now;
            self.is_used_up = false;
        }
        *self.latest.insert(SentRequest { at: now, calls, load: self.sent.amount() })
    }

    pub(crate) fn on_answered(&mut self, sent: &SentRequest, now: Instant) {
        self.answered.add(sent.calls, now);
        let answered = self.answered.amount();
        self.best.requests = self.best.requests.max(answered.requests);
        self.best.calls = self.best.calls.max(answered.calls);
        if self.trial == PaceTrial::Sent(sent.at) {
            self.trial = PaceTrial::None;
            self.refusals = 0;
        }
    }

    /// `after` is the pause that the endpoint requests.
    pub(crate) fn on_refused(&mut self, sent: &SentRequest, after: Option<Duration>, now: Instant) {
        // Requests that were in progress at the first refusal are often refused too.
        let hold = if self.held_until.is_none_or(|until| sent.at >= until) {
            self.refusals = self.refusals.saturating_add(1);
            self.trial = PaceTrial::Due;
            let latest = self.latest.filter(|latest| latest.at < sent.at + pauses::RATE_WINDOW).unwrap_or(*sent);
            self.refused = RefusedLoad::of(latest.load, sent.load);
            self.earlier = self.limit;
            self.hold(after)
        } else {
            after.unwrap_or_default()
        };
        self.held_until = self.held_until.max(Some(now + hold));
        self.lower(sent, now);
    }

    /// The endpoint's own pause counts, unless it proved too short.
    fn hold(&self, after: Option<Duration>) -> Duration {
        let own = |refusals: u32| pauses::RATE_HOLD.saturating_mul(1 << refusals.min(8)).min(pauses::MAX_RATE_HOLD);
        match (after, self.refusals.saturating_sub(1)) {
            (Some(after), 0) => after + pauses::RATE_MARGIN,
            (Some(after), earlier) => (after + pauses::RATE_MARGIN).max(own(earlier - 1)),
            (None, earlier) => own(earlier),
        }
    }

    /// Lowers the pace below the load at which the endpoint began to refuse.
    fn lower(&mut self, sent: &SentRequest, now: Instant) {
        let own = Amount { requests: 1, calls: sent.calls };
        self.refused.add(own, sent.load);
        let load = self.refused.load;
        if load.calls == 1 {
            // The pause was too short; the pace cannot be too fast.
            return;
        }
        let were_counted = self.earlier.is_some_and(|limit| limit.unit == LoadUnit::Calls);
        let are_counted = load.requests <= EXPECTED.requests && load.calls > load.requests;
        let unit = if were_counted || are_counted { LoadUnit::Calls } else { LoadUnit::Requests };
        let too_much = self.refused.too_much(own, unit);
        let earlier = self.earlier.filter(|limit| limit.unit == unit).map_or(f64::INFINITY, |limit| limit.rate);
        let proven = self.best.of(unit).max(EXPECTED.of(LoadUnit::Requests));
        let rate = (LOWER * too_much).min(UNTRIED * proven).max(1.0).min(earlier);
        self.limit = Some(Limit { unit, rate, too_much, raised: now, refused: now });
        self.is_used_up = false;
    }
}

#[cfg(test)]
mod tests;
