//! Rates that all hosts share, counted by the server. If the server does not answer in time, the host counts alone and
//! pauses the requests to the server for a moment.

use std::{
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{Redis, parse, unread};
use crate::{Admission, StoreError, keys::Name};

/// The pause after a request without an answer.
const PAUSE: Duration = Duration::from_secs(1);

/// The end of the pause, where there is one.
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
                *until = Some(now + PAUSE);
                true
            }
            None => true,
        }
    }

    fn begin(&self, reason: &str) {
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if until.replace(Instant::now() + PAUSE).is_none() {
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
    /// `None` where the servers do not answer within `store.count_timeout_ms`.
    pub(crate) async fn admit(&self, key: &Name, rate: NonZeroU32, window: Duration) -> Option<Admission> {
        let counted = self.counted(key, rate, window).await;
        if counted.is_none() {
            metrics::counter!("assay_rates_alone_total").increment(1);
        }
        counted
    }

    async fn counted(&self, key: &Name, rate: NonZeroU32, window: Duration) -> Option<Admission> {
        let pause = &self.inner.pause;
        if self.is_failing() || !pause.is_over() {
            return None;
        }
        let (this, key, soon) = (self.clone(), self.inner.naming.of(key), self.inner.link.waits().count);
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
                // The request continues, so that a dead connection is detected.
                tokio::spawn(asked);
                None
            }
        }
    }

    async fn ask(&self, key: String, rate: NonZeroU32, window: Duration) -> Result<Admission, StoreError> {
        // Whole microseconds, because numbers of the script are exact only up to 2^53.
        let each = (window.as_micros() / u128::from(rate.get())).max(1);
        let (script, keys) = (&self.inner.scripts.rate, [key]);
        let answer = script.run(&self.inner.link, Duration::ZERO, &keys, |command| {
            command.arg(each.to_string()).arg(rate.get());
        });
        let (left, wait) = parse::<(i64, u64)>(answer.await.map_err(unread)?)?;
        Ok(u32::try_from(left)
            .map_or(Admission::Refused { wait: Duration::from_micros(wait) }, |left| Admission::Allowed { left }))
    }
}
