//! What the shadow saw over a window, of all hosts together.

use crate::rollout::records::{PairRecord, SHADOWS};
use std::collections::BTreeMap;

use super::keep::hour;
use crate::scoring::{Scoring, promotion::Evidence};
use assay_domain::{
    Digest, ModelKind,
    stats::{Edges, Histogram, Sketch, psi},
};
use assay_store::StoreError;

/// Bins of the stability index, each with a tenth of the champion's scores.
const BINS: u32 = 10;

/// How one challenger stands beside one champion.
#[derive(Debug, Clone)]
pub struct Standing {
    pub record: PairRecord,
    pub champion_scores: Histogram,
    pub challenger_scores: Histogram,
    /// In bins of the champion's tenths; `None` where nothing was scored by both.
    pub psi: Option<f64>,
    /// Share of subjects in another range.
    pub migration: Option<f64>,
}

/// The middle and the far end of a cost.
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

impl Standing {
    fn of(record: PairRecord) -> Self {
        let (champion_scores, challenger_scores) = (record.scores.first(), record.scores.second());
        let edges = Edges::quantiles(&champion_scores, BINS);
        let scored = record.scores.count();
        Self {
            psi: psi(&edges.counts(&champion_scores), &edges.counts(&challenger_scores)),
            migration: (scored > 0).then(|| (scored - record.scores.same_range()) as f64 / scored as f64),
            record,
            champion_scores,
            challenger_scores,
        }
    }

    pub(in crate::scoring) fn evidence(&self) -> Evidence {
        let failed = self.record.failed();
        let calls = self.record.scores.count() + self.record.counts.refused + failed;
        let median = |sketch: &Sketch| sketch.quantile(0.5).filter(|median| *median > 0.0);
        let latency =
            median(&self.record.challenger_cost.latency_us).zip(median(&self.record.champion_cost.latency_us));
        Evidence {
            calls,
            failures: failed as f64 / calls.max(1) as f64,
            psi: self.psi,
            migration: self.migration,
            latency_ratio: latency.map(|(challenger, champion)| challenger / champion),
        }
    }
}

impl Scoring {
    /// How every challenger of the last `hours` stood, by champion; nothing for a kind that has no shadow.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn standings(&self, kind: ModelKind, hours: u64) -> Result<Vec<Standing>, StoreError> {
        if kind != ModelKind::Credit {
            return Ok(Vec::new());
        }
        self.flush_shadow().await?;
        let from = hour().saturating_sub(i64::try_from(hours).unwrap_or(i64::MAX)).saturating_add(1);
        let mut merged = BTreeMap::<(Digest, Digest), PairRecord>::new();
        for (key, part) in self.inner.store.list(&SHADOWS).await? {
            let within =
                key.split_once('/').and_then(|(hour, _)| hour.parse::<i64>().ok()).is_some_and(|hour| hour >= from);
            for pair in part.pairs.into_iter().filter(|_| within) {
                let of = (pair.champion.digest, pair.challenger.digest);
                match merged.get_mut(&of) {
                    Some(known) => known.merge(&pair),
                    None => drop(merged.insert(of, pair)),
                }
            }
        }
        Ok(merged.into_values().map(Standing::of).collect())
    }

    /// The window that is looked at where none is asked for, in hours.
    pub fn window(&self) -> u64 {
        self.inner.promotion.window_hours()
    }

    /// Share of computed scores that challengers see.
    pub fn shadow_share(&self) -> f64 {
        self.inner.shadow.share
    }
}
