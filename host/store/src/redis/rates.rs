//! Rates that all hosts share, counted by the server. If the server does not answer in time, the host counts by itself
//! and pauses its requests to the server for a moment.

use std::{
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{Redis, failed, parse, unread};
use crate::{Admission, StoreError, keys::KeyName, pauses};

/// The end of the pause, if there is one.
#[derive(Default)]
pub(super) struct Pause(Mutex<Option<Instant>>);

impl Pause {
    /// Whether to send a request now. After a pause, only the first caller does.
    fn is_over(&self) -> bool {
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match *until {
            Some(end) if now < end => false,
            Some(_) => {
                *until = Some(now + pauses::RATES_RETRY);
                true
            }
            None => true,
        }
    }

    fn begin(&self, reason: &str) {
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if until.replace(Instant::now() + pauses::RATES_RETRY).is_none() {
            tracing::warn!(reason, "rates are counted only by this host until the store answers");
        }
    }

    fn end(&self) {
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if until.take().is_some() {
            tracing::info!("rates are counted by all hosts together again");
        }
    }
}

impl Redis {
    /// `None` if the servers do not answer within `store.count_timeout_ms`.
    pub(crate) async fn admit(&self, key: &KeyName, rate: NonZeroU32, window: Duration) -> Option<Admission> {
        let counted = self.counted(key, rate, window).await;
        if counted.is_none() {
            metrics::counter!("assay_rates_alone_total").increment(1);
        }
        counted
    }

    async fn counted(&self, key: &KeyName, rate: NonZeroU32, window: Duration) -> Option<Admission> {
        let pause = &self.inner.pause;
        if !self.inner.link.is_up() || !pause.is_over() {
            return None;
        }
        let (this, name, soon) = (self.clone(), self.inner.naming.of(key), self.inner.link.waits().count);
        let ask = move |callers: Vec<()>| {
            let (this, name) = (this.clone(), name.clone());
            async move { this.ask(name, rate, window, callers.len()).await }
        };
        let together = format!("{} {rate} {}", key.text, window.as_micros());
        let asked = self.inner.counts.ask(together, (), ask);
        // A request that takes longer continues, which detects a dead connection.
        let counted = tokio::time::timeout(soon, asked).await;
        let counted = counted.map(|counted| counted.unwrap_or_else(|| Err(failed("the task that counts panicked"))));
        match counted {
            Ok(Ok(draw)) => {
                pause.end();
                Some(draw)
            }
            Ok(Err(error)) => {
                pause.begin(&error.to_string());
                None
            }
            Err(_) => {
                pause.begin("it takes too long to answer");
                None
            }
        }
    }

    /// Counts one request for each of `callers`.
    pub(super) async fn ask(
        &self,
        key: String,
        rate: NonZeroU32,
        window: Duration,
        callers: usize,
    ) -> Vec<Result<Admission, StoreError>> {
        let each = each(rate, window);
        let (script, keys) = (&self.inner.scripts.rate, [key]);
        let answer = script.run(&self.inner.link, Duration::ZERO, &keys, |command| {
            command.arg(each.to_string()).arg(rate.get()).arg(callers);
        });
        match answer.await.map_err(unread).and_then(parse::<(usize, u32, u64)>) {
            Err(error) => vec![Err(error); callers],
            Ok((allowed, left, wait)) => {
                let counted = RateCount { allowed, left, wait: Duration::from_micros(wait) };
                (0..callers).map(|at| Ok(counted.admission(at))).collect()
            }
        }
    }
}

/// The microseconds in which one request returns, rounded down: numbers of the script are exact only up to 2^53.
pub(super) fn each(rate: NonZeroU32, window: Duration) -> u128 {
    (window.as_micros() / u128::from(rate.get())).max(1)
}

/// The answer of the script that counts the requests of some callers.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateCount {
    /// The number of callers that are allowed.
    pub allowed: usize,
    /// Requests that are left after those.
    pub left: u32,
    /// Time until the next one is allowed.
    pub wait: Duration,
}

impl RateCount {
    /// From the numbers as text; the wait is in microseconds.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ');
        let (allowed, left) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
        Some(Self { allowed, left, wait: Duration::from_micros(numbers.next()?.parse().ok()?) })
    }

    /// The admission of the caller at this place.
    pub(super) fn admission(self, at: usize) -> Admission {
        match self.allowed.checked_sub(at + 1) {
            // Earlier callers have more left.
            Some(after) => {
                Admission::Allowed { left: u32::try_from(after).unwrap_or(u32::MAX).saturating_add(self.left) }
            }
            None => Admission::Refused { wait: self.wait },
        }
    }
}
