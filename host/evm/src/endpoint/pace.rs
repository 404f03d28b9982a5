//! How fast an endpoint may be asked. No standard names its limit, so its refusals teach it: they lower the pace, and
//! seconds in which the pace is used up raise it slowly. A pure state machine; the queue of the endpoint asks it.

mod window;

use std::time::Duration;

use tokio::time::Instant;

use window::{Amount, MARGIN, Refused, Unit, WINDOW, Window};

/// What every endpoint is expected to answer in one second. One that refuses so few requests refuses their calls.
const EXPECTED: Amount = Amount { requests: 8, calls: 100 };
/// Without a known limit, the most that an endpoint answered in one second is exceeded by this factor, so that the
/// first refusal is one of few.
const UNTRIED: f64 = 1.25;
/// The new pace, as a part of the one that was refused.
const LOWER: f64 = 0.8;
/// The next pace after a second in which the pace was used up; the second one near the pace that was refused last. Far
/// below that one, it grows as if nothing was refused.
const RAISE: f64 = 1.03;
const CAREFUL: f64 = 1.005;
const NEAR: f64 = 0.9;
const FAR: f64 = 0.5;
/// If calls are counted, a second has room for this many of the largest batches: the smaller they are, the less of
/// the second stays empty.
const BATCHES: f64 = 3.0;
/// Wait after a refusal without `Retry-After`; doubled with each further one.
const HOLD: Duration = WINDOW;
const MAX_HOLD: Duration = Duration::from_secs(8);
/// A limit that refused nothing for so long may be gone.
const FORGET: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy)]
struct Limit {
    unit: Unit,
    /// In one [`WINDOW`].
    rate: f64,
    /// A rate that was refused.
    too_much: f64,
    raised: Instant,
    /// The last refusal.
    refused: Instant,
}

/// After a refusal, one request goes alone, and the others follow when it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    None,
    Due,
    Sent(Instant),
}

/// A request that was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    at: Instant,
    calls: usize,
    /// Everything that was sent in the window that ends with it.
    load: Amount,
}

#[derive(Debug)]
pub(super) struct Pace {
    /// Calls in one window that the configuration allows.
    bound: f64,
    limit: Option<Limit>,
    sent: Window,
    answered: Window,
    /// The most that was answered in one window.
    best: Amount,
    held_until: Option<Instant>,
    /// Refusals since the last trial that was answered.
    refusals: u32,
    trial: Trial,
    /// A request waited since the pace was raised.
    is_used_up: bool,
    refused: Refused,
    /// The limit before these.
    earlier: Option<Limit>,
    /// The last request that was sent.
    latest: Option<Sent>,
}

impl Pace {
    /// Without a limit, or with at most `bound` calls a second.
    pub(crate) fn new(bound: Option<u32>) -> Self {
        Self {
            bound: bound.map_or(f64::INFINITY, f64::from),
            limit: None,
            sent: Window::default(),
            answered: Window::default(),
            best: Amount::default(),
            held_until: None,
            refusals: 0,
            trial: Trial::None,
            is_used_up: false,
            refused: Refused::default(),
            earlier: None,
            latest: None,
        }
    }

    /// Whether the endpoint has a limit, as far as known.
    pub(crate) fn is_limited(&self) -> bool {
        self.bound.is_finite() || self.limit.is_some() || self.refusals > 0
    }

    /// The requests or calls a second that the endpoint takes, learned or configured; `None` without a limit.
    pub(crate) fn rate(&self) -> Option<f64> {
        let learned = self.limit.map_or(f64::INFINITY, |limit| limit.rate);
        Some(learned.min(self.bound)).filter(|rate| rate.is_finite())
    }

    /// The calls a second that the endpoint takes, if each call of a batch counts; `None` if it does not, or as
    /// far as known.
    pub(crate) fn call_rate(&self) -> Option<f64> {
        let learned = self.limit.filter(|limit| matches!(limit.unit, Unit::Calls)).map_or(f64::INFINITY, |l| l.rate);
        Some(learned.min(self.bound)).filter(|rate| rate.is_finite())
    }

    /// The learned requests or calls a second; `None` without a refusal.
    pub(crate) fn learned(&self) -> Option<f64> {
        self.limit.map(|limit| limit.rate)
    }

    /// Calls of the largest batch that fits the pace.
    pub(crate) fn ceiling(&self) -> usize {
        let learned = self.limit.filter(|limit| limit.unit == Unit::Calls).map_or(f64::INFINITY, |limit| limit.rate);
        (learned.min(self.bound) / BATCHES).max(1.0) as usize
    }

    /// How long a request of `calls` calls has to wait; zero if it may go now. It is to ask again after that time, or
    /// once another request is answered or refused.
    pub(crate) fn delay(&mut self, calls: usize, now: Instant) -> Duration {
        self.sent.drop_old(now);
        self.limit = self.limit.filter(|limit| now < limit.refused + FORGET);
        let held = self.held_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        if !held.is_zero() {
            return held;
        }
        if let Trial::Sent(at) = self.trial {
            // Refusals come at once; an answer may take long.
            let left = (at + HOLD).saturating_duration_since(now);
            if !left.is_zero() {
                return left;
            }
            self.trial = Trial::None;
        }
        if self.fits(calls) {
            return Duration::ZERO;
        }
        self.is_used_up = true;
        self.sent.until_oldest_leaves(now)
    }

    /// Whether a request of `calls` calls still fits into the window. One always fits into an empty one.
    fn fits(&self, calls: usize) -> bool {
        let sent = self.sent.amount();
        let load = Amount { requests: sent.requests + 1, calls: sent.calls + calls };
        let within = |unit, rate| load.of(unit) <= rate;
        let learned = match self.limit {
            Some(limit) => within(limit.unit, limit.rate),
            // A large batch may exceed it: the next such one would too.
            None => [Unit::Requests, Unit::Calls]
                .iter()
                .all(|unit| sent.of(*unit) + 1.0 <= UNTRIED * self.best.of(*unit).max(EXPECTED.of(*unit))),
        };
        sent.requests == 0 || (learned && within(Unit::Calls, self.bound))
    }

    pub(crate) fn on_sent(&mut self, calls: usize, now: Instant) -> Sent {
        self.sent.add(calls, now);
        if self.trial == Trial::Due {
            self.trial = Trial::Sent(now);
        }
        if let Some(limit) = self.limit.as_mut().filter(|limit| self.is_used_up && now >= limit.raised + WINDOW) {
            limit.rate *= match limit.rate / limit.too_much {
                ..FAR => UNTRIED,
                NEAR..1.0 => CAREFUL,
                _ => RAISE,
            };
            limit.raised = now;
            self.is_used_up = false;
        }
        *self.latest.insert(Sent { at: now, calls, load: self.sent.amount() })
    }

    pub(crate) fn on_answered(&mut self, sent: &Sent, now: Instant) {
        self.answered.add(sent.calls, now);
        let answered = self.answered.amount();
        self.best.requests = self.best.requests.max(answered.requests);
        self.best.calls = self.best.calls.max(answered.calls);
        if self.trial == Trial::Sent(sent.at) {
            self.trial = Trial::None;
            self.refusals = 0;
        }
    }

    /// `after` is how long the endpoint wants to be left alone.
    pub(crate) fn on_refused(&mut self, sent: &Sent, after: Option<Duration>, now: Instant) {
        // Requests that were in progress at the first refusal are often refused too.
        let hold = if self.held_until.is_none_or(|until| sent.at >= until) {
            self.refusals = self.refusals.saturating_add(1);
            self.trial = Trial::Due;
            let latest = self.latest.filter(|latest| latest.at < sent.at + WINDOW).unwrap_or(*sent);
            self.refused = Refused::of(latest.load, sent.load);
            self.earlier = self.limit;
            self.hold(after)
        } else {
            after.unwrap_or_default()
        };
        self.held_until = self.held_until.max(Some(now + hold));
        self.lower(sent, now);
    }

    /// The endpoint's own word counts, unless it has proved too short.
    fn hold(&self, after: Option<Duration>) -> Duration {
        let own = |refusals: u32| HOLD.saturating_mul(1 << refusals.min(8)).min(MAX_HOLD);
        match (after, self.refusals.saturating_sub(1)) {
            (Some(after), 0) => after + MARGIN,
            (Some(after), earlier) => (after + MARGIN).max(own(earlier - 1)),
            (None, earlier) => own(earlier),
        }
    }

    /// Lowers the pace below what the endpoint answered of the requests that went together.
    fn lower(&mut self, sent: &Sent, now: Instant) {
        let own = Amount { requests: 1, calls: sent.calls };
        self.refused.add(own, sent.load);
        let load = self.refused.load;
        if load.calls == 1 {
            // The wait was too short; the pace cannot be too fast.
            return;
        }
        let were_counted = self.earlier.is_some_and(|limit| limit.unit == Unit::Calls);
        let are_counted = load.requests <= EXPECTED.requests && load.calls > load.requests;
        let unit = if were_counted || are_counted { Unit::Calls } else { Unit::Requests };
        let too_much = self.refused.too_much(own, unit);
        let earlier = self.earlier.filter(|limit| limit.unit == unit).map_or(f64::INFINITY, |limit| limit.rate);
        let proven = self.best.of(unit).max(EXPECTED.of(Unit::Requests));
        let rate = (LOWER * too_much).min(UNTRIED * proven).max(1.0).min(earlier);
        self.limit = Some(Limit { unit, rate, too_much, raised: now, refused: now });
        self.is_used_up = false;
    }
}

#[cfg(test)]
mod tests;
