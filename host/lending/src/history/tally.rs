//! Counts and times of events.

use std::collections::{BTreeMap, BTreeSet};

use crate::{history::events::Event, protocols::EventKind};
use assay_domain::{EventCounts, PoolHistory, Time, time_from_unix};

/// Counts and times of some of a wallet's events in one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventTally {
    pub counts: EventCounts,
    pub first: Option<Time>,
    pub last: Option<Time>,
    pub last_liquidation: Option<Time>,
}

impl EventTally {
    pub(crate) fn of(counts: EventCounts) -> Self {
        Self { counts, first: None, last: None, last_liquidation: None }
    }

    /// Counts an event. Its time matters only if [`untimed`] lists its block.
    pub(crate) fn add(&mut self, kind: EventKind, time: Option<u64>) {
        let count = match kind {
            EventKind::Supply => &mut self.counts.supply,
            EventKind::Withdraw => &mut self.counts.withdraw,
            EventKind::Borrow => &mut self.counts.borrow,
            EventKind::Repay => &mut self.counts.repay,
            EventKind::Liquidation => &mut self.counts.liquidation,
        };
        *count = Some(count.unwrap_or(0).saturating_add(1));
        let time = time.map(time_from_unix);
        let liquidation = time.filter(|_| kind == EventKind::Liquidation);
        *self = self.seen(time, time, liquidation);
    }

    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        let sum = Self { counts: self.counts.plus(other.counts), ..self };
        sum.seen(other.first, other.last, other.last_liquidation)
    }

    /// Adds these events to those of `pool`.
    pub(crate) fn add_to(self, pool: &mut PoolHistory) {
        pool.counts = pool.counts.plus(self.counts);
        pool.first_event_at = pool.first_event_at.into_iter().chain(self.first).min();
        pool.last_event_at = pool.last_event_at.max(self.last);
        pool.last_liquidation_at = pool.last_liquidation_at.max(self.last_liquidation);
    }

    fn seen(self, first: Option<Time>, last: Option<Time>, liquidation: Option<Time>) -> Self {
        Self {
            first: self.first.into_iter().chain(first).min(),
            // `None` is less than every time.
            last: self.last.max(last),
            last_liquidation: self.last_liquidation.max(liquidation),
            ..self
        }
    }
}

/// Blocks whose time must be looked up: those of the first event, the last event and the last liquidation of each
/// market, if the node returned no time with the log. `events` are in chain order.
pub(crate) fn untimed<'a>(events: impl Iterator<Item = &'a Event>) -> BTreeSet<u64> {
    let mut ends = BTreeMap::<(usize, bool), (&Event, &Event)>::new();
    for event in events {
        let liquidation = event.kind == EventKind::Liquidation;
        for key in [Some((event.market, false)), liquidation.then_some((event.market, true))].into_iter().flatten() {
            ends.entry(key).or_insert((event, event)).1 = event;
        }
    }
    ends.into_values()
        .flat_map(|(first, last)| [first, last])
        .filter(|event| event.time.is_none())
        .map(|event| event.block)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(market: usize, kind: EventKind, block: u64, time: Option<u64>) -> Event {
        Event { market, kind, block, time }
    }

    #[test]
    fn counts_and_times() {
        let mut tally = EventTally::of(EventCounts::ZERO);
        for (kind, time) in
            [(EventKind::Supply, 5), (EventKind::Liquidation, 7), (EventKind::Repay, 9), (EventKind::Repay, 3)]
        {
            tally.add(kind, Some(time));
        }
        assert_eq!(
            (tally.counts.supply, tally.counts.repay, tally.counts.liquidation, tally.counts.borrow),
            (Some(1), Some(2), Some(1), Some(0))
        );
        let time = |t| Some(time_from_unix(t));
        assert_eq!((tally.first, tally.last, tally.last_liquidation), (time(3), time(9), time(7)));
        let sum = tally.plus(EventTally::of(EventCounts::ZERO));
        assert_eq!(sum, tally);
    }

    #[test]
    fn only_the_ends_need_a_time() {
        let events = [
            event(0, EventKind::Supply, 1, None),
            event(0, EventKind::Liquidation, 2, None),
            event(0, EventKind::Repay, 3, None),
            event(0, EventKind::Repay, 4, Some(44)),
            event(1, EventKind::Supply, 9, None),
        ];
        assert_eq!(untimed(events.iter()).into_iter().collect::<Vec<_>>(), [1, 2, 9]);
    }
}
