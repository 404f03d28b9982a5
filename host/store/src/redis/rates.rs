//! Rates that hosts share, counted by the server of the caller. A count is no record: where it is not to be had soon,
//! the request goes on without, and for a moment no other one asks.

use std::{
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{Redis, parse, unread};
use crate::{Draw, StoreError, keys::Name};

/// How long nobody asks after the servers did not answer in that time.
const MOMENT: Duration = Duration::from_secs(1);

/// When the servers may be asked again, where they did not answer.
#[derive(Default)]
pub(super) struct Pause(Mutex<Option<Instant>>);

impl Pause {
    /// Whether to ask now. Where it is time again, the first one tries alone.
    fn is_over(&self) -> bool {
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match *until {
            Some(end) if now < end => false,
            Some(_) => {
                *until = Some(now + MOMENT);
                true
            }
            None => true,
        }
    }

    fn begin(&self, reason: &str) {
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if until.replace(Instant::now() + MOMENT).is_none() {
            tracing::warn!(reason, "rates are counted by this host alone until the store answers");
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
    /// `None` where the servers do not tell within `store.count_timeout_ms`.
    pub(crate) async fn draw(&self, key: &Name, rate: NonZeroU32, window: Duration) -> Option<Draw> {
        let counted = self.counted(key, rate, window).await;
        if counted.is_none() {
            metrics::counter!("assay_rates_alone_total").increment(1);
        }
        counted
    }

    async fn counted(&self, key: &Name, rate: NonZeroU32, window: Duration) -> Option<Draw> {
        let pause = &self.inner.pause;
        if self.is_failing() || !pause.is_over() {
            return None;
        }
        let (this, key, soon) = (self.clone(), self.inner.places.of(key), self.inner.link.waits().count);
        let mut asked = Box::pin(async move { this.ask(key, rate, window).await });
        match tokio::time::timeout(soon, &mut asked).await {
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
                // A connection that is dead is found out by who waits for it to the end.
                tokio::spawn(asked);
                None
            }
        }
    }

    async fn ask(&self, key: String, rate: NonZeroU32, window: Duration) -> Result<Draw, StoreError> {
        // Whole microseconds, so that the script has only numbers that are exact: what comes back is at most that much
        // sooner.
        let each = (window.as_micros() / u128::from(rate.get())).max(1);
        let (script, keys) = (&self.inner.scripts.rate, [key]);
        let answer = script.run(&self.inner.link, Duration::ZERO, &keys, |command| {
            command.arg(each.to_string()).arg(rate.get());
        });
        let (left, wait) = parse::<(i64, u64)>(answer.await.map_err(unread)?)?;
        Ok(u32::try_from(left)
            .map_or(Draw::Refused { wait: Duration::from_micros(wait) }, |left| Draw::Allowed { left }))
    }
}
