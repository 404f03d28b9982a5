//! Which evaluations are worth a write. Most of them read what the last one read; their state stays in memory, and is
//! stored once something has changed or some minutes have passed.

use chrono::TimeDelta;

use crate::{
    records::StateRecord,
    series::{Series, TriggerState},
};

/// Time after which a state is stored although nothing has changed: what another host begins with, and what its owner
/// is shown, is at most this old.
const LONGEST: TimeDelta = TimeDelta::minutes(2);
/// Share by which a value must move to be stored: interest moves each debt with each block.
const MOVED: f64 = 0.001;

impl StateRecord {
    /// Whether `self` says more than `saved`, the state in the store.
    pub(crate) fn is_news_after(&self, saved: &Self) -> bool {
        let age = self.evaluated_at.zip(saved.evaluated_at).map(|(now, then)| now - then);
        let same_triggers = self.triggers.len() == saved.triggers.len()
            && self.triggers.iter().zip(&saved.triggers).all(|(now, then)| now.is_as(then));
        let (evaluated_at, wait, triggers) = (saved.evaluated_at, saved.wait, saved.triggers.clone());
        let plain = Self { evaluated_at, wait, triggers, ..self.clone() };
        age.is_none_or(|age| age >= LONGEST || age < TimeDelta::zero()) || !same_triggers || plain != *saved
    }
}

impl TriggerState {
    /// Whether the trigger is as in `saved`, but for the moments of the same values.
    fn is_as(&self, saved: &Self) -> bool {
        let names = self.series.keys().eq(saved.series.keys());
        let values = || self.series.values().zip(saved.series.values()).all(|(now, then)| now.is_as(then));
        names
            && values()
            && (&self.unread, &self.nothing, self.is_stale) == (&saved.unread, &saved.nothing, saved.is_stale)
    }
}

impl Series {
    /// Whether everything but the last value is the same, and that is nearly.
    fn is_as(&self, saved: &Self) -> bool {
        let near = match (self.last.value, saved.last.value) {
            (Some(now), Some(then)) => (now - then).abs() <= MOVED * then.abs(),
            (now, then) => now == then,
        };
        let same = (&self.last.version, self.last.score, &self.last.liquidations)
            == (&saved.last.version, saved.last.score, &saved.last.liquidations);
        let mut rest = self.clone();
        rest.last.clone_from(&saved.last);
        near && same && rest == *saved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        reading::{Reading, Readings, Sample},
        series::{ChainFacts, Round},
        trigger::{Limit, Measure, Trigger},
    };
    use assay_domain::{B256, ReadBlock, time_from_unix};

    const TRIGGER: Trigger = Trigger {
        measure: Measure::HealthFactor,
        market: None,
        model_version: None,
        horizon_days: None,
        limit: Some(Limit::Below { at: 1.3, clear: 1.4 }),
    };

    /// The state after `reading` in this second.
    fn after(state: &StateRecord, reading: Reading, second: u64) -> StateRecord {
        let mut state = state.clone();
        state.triggers.resize(1, TriggerState::default());
        let (readings, chains) = (Readings::from([(String::new(), reading)]), ChainFacts::default());
        let (now, since) = (time_from_unix(second), time_from_unix(0));
        let stale_after = TimeDelta::minutes(10);
        let round = Round { readings: &readings, now, since, stale_after, fires_at_once: false, chains: &chains };
        let mut next = state.next;
        state.triggers[0].observe(&TRIGGER, &round, &mut Vec::new(), &mut next);
        StateRecord { next, evaluated_at: Some(now), ..state }
    }

    fn read(value: f64, second: u64) -> Reading {
        let block = ReadBlock { chain_id: 1, number: second, hash: B256::left_padding_from(&second.to_be_bytes()) };
        let at = time_from_unix(second);
        let sample = Sample {
            value: Some(value),
            at,
            blocks: vec![block],
            version: None,
            score: None,
            liquidations: Vec::new(),
        };
        Reading::Read(sample)
    }

    #[test]
    fn only_news_is_stored() {
        let none = StateRecord::default();
        let saved = after(&none, read(2.0, 10), 10);
        assert!(saved.is_news_after(&none));
        let news = |reading, second| after(&saved, reading, second).is_news_after(&saved);
        assert!(!news(read(2.0, 20), 20) && !news(read(1.999, 20), 20));
        assert!(news(read(1.99, 20), 20), "another value");
        assert!(news(read(1.2, 20), 20), "a crossing");
        assert!(news(Reading::Unread("no endpoint".to_owned()), 20), "an input was not read");
        assert!(news(read(2.0, 130), 130), "two minutes");
        assert!(news(read(2.0, 9), 9), "the clock went back");
        let paused = StateRecord { ended_at: Some(time_from_unix(20)), ..saved.clone() };
        assert!(paused.is_news_after(&saved));
    }

    #[test]
    fn values_that_move_slowly_are_compared_with_the_stored_one() {
        let saved = after(&StateRecord::default(), read(2.0, 10), 10);
        let mut live = saved.clone();
        let mut stored = 0;
        for step in 1..=10_u64 {
            live = after(&live, read(2.0 - 0.000_5 * step as f64, 10 + step), 10 + step);
            stored += u32::from(live.is_news_after(&saved));
        }
        assert!(stored >= 5, "they add up");
    }
}
