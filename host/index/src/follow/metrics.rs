//! Reports the progress of a chain's index: in the log at its start, after each tenth of the blocks or each minute, and
//! once it is in step; and in metrics.

use std::time::{Duration, Instant};

use crate::{IndexProgress, OnDisk};
use assay_domain::ChainId;

/// Longest time between two lines of a reading.
const MINUTE: Duration = Duration::from_secs(60);
/// A reading of fewer blocks is not announced.
const FEW: u64 = 1_000;

pub(super) struct FollowReport {
    chain: ChainId,
    since: Instant,
    appended: Option<Instant>,
    /// When the files were last looked at.
    weighed: Option<Instant>,
    /// The reading that was announced and is not yet at its end.
    reading: Option<IndexReading>,
}

struct IndexReading {
    began: Instant,
    from: u64,
    /// The last line: when, and the tenths that were done.
    said: (Instant, u64),
}

impl FollowReport {
    pub(crate) fn new(chain: ChainId) -> Self {
        Self { chain, since: Instant::now(), appended: None, weighed: None, reading: None }
    }

    /// Since when the index is read.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// The time since the last blocks were appended; long if none were.
    pub(crate) fn idle(&self) -> Duration {
        self.appended.map_or(Duration::MAX, |appended| appended.elapsed())
    }

    /// Shows in the metrics whether the index goes on.
    pub(crate) fn goes_on(&self, goes_on: bool) {
        let stopped = if goes_on { 0.0 } else { 1.0 };
        metrics::gauge!("assay_index_stopped", "chain" => self.chain.to_string()).set(stopped);
    }

    /// Whether it is time to look at the files again.
    pub(crate) fn is_to_weigh(&mut self) -> bool {
        let is_due = self.weighed.is_none_or(|weighed| weighed.elapsed() >= MINUTE);
        if is_due {
            self.weighed = Some(Instant::now());
        }
        is_due
    }

    /// Shows in the metrics what the index of all chains takes.
    pub(crate) fn weighed(&self, found: OnDisk) {
        metrics::gauge!("assay_index_bytes").set(found.bytes as f64);
        metrics::gauge!("assay_index_set_aside").set(found.set_aside as f64);
    }

    /// A reading of the blocks after `progress` through `to` begins.
    pub(crate) fn begin(&mut self, progress: &IndexProgress, to: u64, queries: usize) {
        let from = progress.next();
        if self.reading.is_some() || to.saturating_sub(from) < FEW {
            return;
        }
        let now = Instant::now();
        self.reading = Some(IndexReading { began: now, from, said: (now, 0) });
        tracing::info!(chain = self.chain, from, to, queries, "the markets are read for all wallets");
    }

    /// Shows in the metrics how far `progress` is, of the blocks through `to`.
    pub(crate) fn show(&self, progress: &IndexProgress, to: u64) {
        let Some(through) = progress.through() else { return };
        let chain = self.chain.to_string();
        let gauge = |name: &'static str, value: u64| metrics::gauge!(name, "chain" => chain.clone()).set(value as f64);
        gauge("assay_index_through_block", through.number);
        gauge("assay_index_behind_blocks", to.saturating_sub(through.number));
        gauge("assay_index_events", progress.events);
    }

    /// The blocks of `progress` were appended, of those through `to`.
    pub(crate) fn reached(&mut self, progress: &IndexProgress, to: u64) {
        let Some(through) = progress.through() else { return };
        let (now, chain, through) = (Instant::now(), self.chain, through.number);
        self.appended = Some(now);
        self.show(progress, to);
        let Some(reading) = &mut self.reading else { return };
        let (done, all) = (through.saturating_sub(reading.from) + 1, to.saturating_sub(reading.from) + 1);
        let tenths = done.saturating_mul(10) / all.max(1);
        if through >= to {
            let seconds = reading.began.elapsed().as_secs();
            tracing::info!(chain, through, events = progress.events, seconds, "the market index is in step");
            self.reading = None;
        } else if tenths > reading.said.1 || now >= reading.said.0 + MINUTE {
            let left = reading.began.elapsed().as_secs_f64() * (all - done) as f64 / done as f64;
            reading.said = (now, tenths);
            let percent = done.saturating_mul(100) / all.max(1);
            tracing::info!(
                chain,
                through,
                to,
                percent,
                seconds_left = left as u64,
                "the markets are read for all wallets"
            );
        }
    }
}
