//! Simulated endpoints. Times are milliseconds.

use std::time::Duration;

use crate::endpoint::pace::window::LoadUnit;

pub const SECOND: u64 = 1_000;

/// How an endpoint counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Over the last second.
    Sliding,
    /// Over the seconds of a clock that is this far ahead.
    Clock(u64),
    /// A bucket that holds one second's refill.
    Bucket,
}

/// An endpoint with a limit.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub limit: usize,
    pub unit: LoadUnit,
    pub counting: Counting,
    /// Whether refused requests count too.
    pub counts_refused: bool,
    pub says_when: bool,
    /// Time from a request to its answer.
    pub takes: u64,
    pub counted: Vec<(u64, usize)>,
}

impl Endpoint {
    pub fn answers(&mut self, calls: usize, now: u64) -> bool {
        let amount = if self.unit == LoadUnit::Calls { calls } else { 1 };
        if self.counting == Counting::Bucket {
            return self.answers_from_bucket(amount, now);
        }
        let since = match self.counting {
            Counting::Clock(ahead) => ((now + ahead) / SECOND * SECOND).saturating_sub(ahead),
            _ => (now + 1).saturating_sub(SECOND),
        };
        self.counted.retain(|(at, _)| *at >= since);
        let answers = self.counted.iter().map(|(_, amount)| amount).sum::<usize>() + amount <= self.limit;
        if answers || self.counts_refused {
            self.counted.push((now, amount));
        }
        answers
    }

    /// `counted` has one entry: a time, and the thousandths that were missing from a full bucket then.
    fn answers_from_bucket(&mut self, amount: usize, now: u64) -> bool {
        let (at, lacked) = self.counted.pop().unwrap_or((now, 0));
        let lacks = lacked.saturating_sub(self.limit.saturating_mul((now - at) as usize));
        let wanted = lacks.saturating_add(amount.saturating_mul(1_000));
        let answers = wanted <= self.limit.saturating_mul(1_000);
        self.counted.push((now, if answers { wanted } else { lacks }));
        answers
    }

    pub fn until_next(&self, now: u64) -> Duration {
        let is_soon = matches!(self.counting, Counting::Clock(ahead) if (now + ahead) % SECOND > 900);
        Duration::from_secs(if is_soon { 0 } else { 1 })
    }
}
