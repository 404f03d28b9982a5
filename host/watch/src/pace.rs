//! How long a watch can wait for its next evaluation, if the configuration says how fast prices move: as long as they
//! need to bring a value to its bound.

use std::time::Duration;

use crate::{
    config,
    records::{StateRecord, WatchRecord},
    series::Series,
    trigger::{Limit, Measure, Trigger},
};

impl config::Watches {
    /// The time in which no price can bring `watch` to a bound, if that is longer than its owner asked to wait. `None`
    /// if the configuration does not say how fast prices move, or the watch also depends on something else.
    pub(crate) fn pace(&self, watch: &WatchRecord, state: &StateRecord) -> Option<Duration> {
        let rate = -(1.0 - self.allowed_move_percent? / 100.0).ln();
        let seconds = distance(watch, state)? / rate * 60.0;
        let longest = self.slowest.as_secs_f64();
        Some(Duration::from_secs_f64(seconds.min(longest).max(0.0).floor())).filter(|wait| *wait > watch.every)
    }

    /// How long `watch` may have no value before it is stale: at least the time of two evaluations.
    pub(crate) fn stale_after(&self, watch: &WatchRecord) -> Duration {
        let longest = if self.allowed_move_percent.is_some() { self.slowest } else { Duration::ZERO };
        self.stale_after.max(watch.every.max(longest) * 2)
    }
}

/// The logarithm of the ratio by which prices must move until the first trigger turns. `None` if one of them depends on
/// more than prices, was not read, or has an event whose block is not final.
fn distance(watch: &WatchRecord, state: &StateRecord) -> Option<f64> {
    if !state.past.is_empty() {
        return None;
    }
    let mut least = f64::INFINITY;
    for (trigger, of) in watch.triggers.iter().zip(&state.triggers) {
        if !of.unread.is_empty() || of.series.is_empty() || of.open_blocks().next().is_some() {
            return None;
        }
        for (name, series) in &of.series {
            let distance = match (trigger.measure, trigger.limit) {
                (Measure::HealthFactor | Measure::DebtUsd, Some(limit)) => to_bound(limit, series),
                // Nobody is liquidated whose health factor is 1 or above.
                (Measure::Liquidation, _) => match health(watch, state, name)? {
                    Some(factor) if factor <= 1.0 => 0.0,
                    factor => to_value(factor, 1.0),
                },
                _ => return None,
            };
            least = least.min(distance);
        }
    }
    Some(least)
}

fn to_bound(limit: Limit, series: &Series) -> f64 {
    let (at, clear) = limit.bounds();
    to_value(series.last.value, if series.fired { clear } else { at })
}

/// A value without a number, and none at all, are not moved by prices.
fn to_value(value: Option<f64>, bound: f64) -> f64 {
    match value {
        Some(value) if value > 0.0 && bound > 0.0 => (bound / value).ln().abs(),
        _ => f64::INFINITY,
    }
}

/// The health factor in this market, if a trigger reads it; it may have none.
fn health(watch: &WatchRecord, state: &StateRecord, market: &str) -> Option<Option<f64>> {
    let is_health = |trigger: &Trigger| trigger.measure == Measure::HealthFactor;
    let mut of = watch.triggers.iter().zip(&state.triggers).filter(|(trigger, _)| is_health(trigger));
    of.find_map(|(_, state)| state.series.get(market)).map(|series| series.last.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        reading::{Reading, Readings, Sample},
        records::Role,
        series::{ChainFacts, Round, TriggerState},
        watches::NewWatch,
    };
    use assay_domain::time_from_unix;
    use chrono::TimeDelta;

    fn settings(percent: Option<f64>) -> config::Watches {
        config::Watches {
            max: 1,
            max_per_key: 1,
            min_every: Duration::from_secs(1),
            stale_after: Duration::from_secs(600),
            allowed_move_percent: percent,
            slowest: Duration::from_secs(1_800),
            batch: 1,
            keep: Duration::from_secs(86_400),
            origin: "assay".into(),
            delivery_timeout: Duration::from_secs(1),
        }
    }

    /// The seconds to wait with this health factor, and with another trigger.
    fn wait(percent: Option<f64>, reading: Reading, other: Option<Measure>) -> Option<u64> {
        let trigger =
            |measure, limit| Trigger { measure, market: None, model_version: None, horizon_days: None, limit };
        let health = trigger(Measure::HealthFactor, Some(Limit::Below { at: 1.3, clear: 1.4 }));
        let others = other.into_iter().map(|measure| trigger(measure, None));
        let triggers: Vec<_> = std::iter::once(health).chain(others).collect();
        let new = NewWatch {
            owner: "key".into(),
            by: "key".into(),
            subject: "ada".into(),
            triggers: triggers.clone(),
            every: Duration::from_secs(60),
            fires_at_once: false,
            statement: false,
            url: None,
            until: time_from_unix(0),
            role: Role::Single,
            label: None,
        };
        let chains = ChainFacts::default();
        let mut state = StateRecord { triggers: vec![TriggerState::default(); triggers.len()], ..Default::default() };
        let readings = Readings::from([("market".to_owned(), reading)]);
        let (now, since, stale_after) = (time_from_unix(9), time_from_unix(0), TimeDelta::minutes(10));
        let round = Round { readings: &readings, now, since, stale_after, fires_at_once: false, chains: &chains };
        for (trigger, of) in triggers.iter().zip(&mut state.triggers) {
            of.observe(trigger, &round, &mut Vec::new(), &mut 1);
        }
        settings(percent).pace(&new.record().unwrap(), &state).map(|wait| wait.as_secs())
    }

    fn read(value: Option<f64>) -> Reading {
        let (blocks, liquidations) = (Vec::new(), Vec::new());
        Reading::Read(Sample { value, at: time_from_unix(9), blocks, version: None, score: None, liquidations })
    }

    #[test]
    fn a_watch_waits_as_long_as_prices_need_to_reach_its_bound() {
        let at = |value| wait(Some(1.0), read(Some(value)), None);
        // 1.3 is 7.1 % below 1.4: seven minutes at one percent each.
        assert_eq!(at(1.4), Some(442));
        assert_eq!((at(1.31), at(1.3)), (None, None), "as often as its owner asked");
        assert_eq!(at(1.2), Some(920), "a crossed bound clears at 1.4");
        assert_eq!((at(9.0), wait(Some(1.0), read(None), None)), (Some(1_800), Some(1_800)));
        assert_eq!(wait(Some(10.0), read(Some(1.6)), None), Some(118));
    }

    #[test]
    fn nothing_waits_that_depends_on_more_than_prices() {
        assert_eq!(wait(None, read(Some(9.0)), None), None, "the configuration says nothing");
        assert_eq!(wait(Some(1.0), Reading::Unread("no endpoint".into()), None), None);
        assert_eq!(wait(Some(1.0), read(Some(9.0)), Some(Measure::Range)), None);
        assert_eq!(wait(Some(1.0), read(Some(9.0)), Some(Measure::Liquidation)), Some(1_800));
        assert_eq!(wait(Some(1.0), read(Some(0.5)), Some(Measure::Liquidation)), None, "it may be liquidated now");
    }
}
