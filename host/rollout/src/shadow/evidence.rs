//! What the shadow measured over a window, of all hosts together.

use std::collections::BTreeMap;

use super::hours::current_hour;
use crate::{
    Rollout,
    records::{PairRecord, SHADOWS},
};
use assay_domain::{
    Digest, ModelKind,
    stats::{Edges, Histogram, Joint, Sketch, psi},
};
use assay_store::StoreError;

/// Bins of the stability index, each with a tenth of the champion's scores.
const BINS: u32 = 10;

/// One challenger compared with one champion.
#[derive(Debug, Clone)]
pub struct ShadowPair {
    pub record: PairRecord,
    /// Scores of wallets that both scored, each wallet once; of a sample if there are very many.
    pub scores: Joint,
    pub champion_scores: Histogram,
    pub challenger_scores: Histogram,
    /// In bins of the champion's tenths; `None` if no wallet was scored by both.
    pub psi: Option<f64>,
    /// Share of wallets in another range.
    pub migration: Option<f64>,
}

/// The figures of a pair that have bounds in the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct ShadowEvidence {
    /// Calls, failed ones included.
    pub calls: u64,
    /// The wallets that they were about.
    pub wallets: u64,
    /// Share of the calls that failed.
    pub failures: f64,
    /// `None` if no wallet was scored by both.
    pub psi: Option<f64>,
    /// Share of wallets in another range.
    pub migration: Option<f64>,
    /// Median time of a call over the champion's.
    pub latency_ratio: Option<f64>,
}

/// The median and the 99th percentile of a cost.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub p50: Option<f64>,
    pub p99: Option<f64>,
}

impl Spread {
    pub fn of(sketch: &Sketch) -> Self {
        Self { p50: sketch.quantile(0.5), p99: sketch.quantile(0.99) }
    }
}

impl ShadowPair {
    fn of(record: PairRecord) -> Self {
        // The oldest records have only calls.
        let scores = if record.wallets.is_empty() { record.scores.clone() } else { record.wallets.scores() };
        let (champion_scores, challenger_scores) = (scores.first(), scores.second());
        let edges = Edges::quantiles(&champion_scores, BINS);
        let scored = scores.count();
        Self {
            psi: psi(&edges.counts(&champion_scores), &edges.counts(&challenger_scores)),
            migration: (scored > 0).then(|| (scored - scores.same_range()) as f64 / scored as f64),
            record,
            scores,
            champion_scores,
            challenger_scores,
        }
    }

    pub fn evidence(&self) -> ShadowEvidence {
        let failed = self.record.failed();
        let calls = self.record.scores.count() + self.record.counts.refused + failed;
        let median = |sketch: &Sketch| sketch.quantile(0.5).filter(|median| *median > 0.0);
        let latency =
            median(&self.record.challenger_cost.latency_us).zip(median(&self.record.champion_cost.latency_us));
        ShadowEvidence {
            calls,
            wallets: self.record.wallets.count(),
            failures: failed as f64 / calls.max(1) as f64,
            psi: self.psi,
            migration: self.migration,
            latency_ratio: latency.map(|(challenger, champion)| challenger / champion),
        }
    }
}

impl Rollout {
    /// Every pair of champion and challenger of the last `hours`; none for kinds without a shadow.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn shadow_pairs(&self, kind: ModelKind, hours: u64) -> Result<Vec<ShadowPair>, StoreError> {
        if kind != ModelKind::Credit {
            return Ok(Vec::new());
        }
        self.flush_shadow().await?;
        let from = current_hour().saturating_sub(i64::try_from(hours).unwrap_or(i64::MAX)).saturating_add(1);
        let mut merged = BTreeMap::<(Digest, Digest), PairRecord>::new();
        for (key, record) in self.inner.store.list(&SHADOWS).await? {
            let hour = key.split_once('/').and_then(|(hour, _)| hour.parse::<i64>().ok());
            if hour.is_none_or(|hour| hour < from) {
                continue;
            }
            for pair in record.pairs {
                let models = (pair.champion.digest, pair.challenger.digest);
                match merged.get_mut(&models) {
                    Some(known) => known.merge(&pair),
                    None => drop(merged.insert(models, pair)),
                }
            }
        }
        Ok(merged.into_values().map(ShadowPair::of).collect())
    }

    /// The default window of a report, in hours.
    pub fn window(&self) -> u64 {
        self.inner.promotion.window_hours()
    }

    /// Share of computed scores that challengers also compute.
    pub fn shadow_share(&self) -> f64 {
        self.inner.shadow.share
    }
}
