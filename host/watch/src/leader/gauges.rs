//! What the metrics say of all watches, once a second.

use chrono::{TimeDelta, Utc};

use super::{Entry, Leader};
use crate::{records::Stopped, watches::Watch};

impl Leader {
    pub(super) fn measure(&mut self) {
        let now = Utc::now();
        if self.measured_at.is_some_and(|at| now - at < TimeDelta::seconds(1)) {
            return;
        }
        self.measured_at = Some(now);
        let [mut active, mut paused, mut suspended, mut stale, mut stopped] = [0_u32; 5];
        let mut overdue = 0_i64;
        for Entry { watch, due, suspended: lapse, .. } in self.entries.values() {
            let Watch { record, state, delivery, .. } = watch;
            stopped += u32::from(matches!(delivery.stopped, Some(Stopped::Failing | Stopped::Gone)));
            if record.is_group() {
                continue;
            }
            match (state.ended_at, record.paused, lapse) {
                (Some(_), ..) => {}
                (None, true, _) => paused += 1,
                (None, false, Some(_)) => suspended += 1,
                (None, false, None) => {
                    active += 1;
                    overdue = overdue.max((now - *due).num_seconds());
                }
            }
            let is_stale = watch.trigger_states().iter().any(|trigger| trigger.is_stale);
            stale += u32::from(state.ended_at.is_none() && is_stale);
        }
        metrics::gauge!("assay_watches", "state" => "active").set(active);
        metrics::gauge!("assay_watches", "state" => "paused").set(paused);
        metrics::gauge!("assay_watches", "state" => "suspended").set(suspended);
        metrics::gauge!("assay_watches", "state" => "stale").set(stale);
        metrics::gauge!("assay_watch_deliveries_stopped").set(stopped);
        metrics::gauge!("assay_watch_overdue_seconds").set(overdue as f64);
    }
}
