//! The state of one trigger, moved by a pure function: when it fires, clears, goes stale and is retracted.
//!
//! - Only a value that was read moves a series; after [`Round::stale_after`] without one the trigger is stale.
//! - A trigger that fired does not fire again before it has cleared.
//! - A value by another version of the model is a new baseline and no crossing.
//! - An event of a block that a reorganisation removed is retracted, unless the new chain shows the same. The events
//!   of a state that was replaced, by other bounds or another address, are retracted in any case. There is a bound on
//!   the events that are compared with their chains; those beyond it are named.

mod change;
mod facts;
mod values;

pub(crate) mod past;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    reading::{Reading, Readings},
    trigger::Trigger,
};
use assay_domain::{ReadBlock, Time};
pub use change::{Change, What};
pub use facts::ChainFacts;
pub(crate) use past::PastEvent;
pub use values::Series;

/// The state of one trigger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TriggerState {
    pub series: BTreeMap<String, Series>,
    /// Why series have no value now: inputs that were not read.
    #[serde(default)]
    pub unread: BTreeMap<String, String>,
    /// Why series have no value now, although everything was read.
    #[serde(default)]
    pub nothing: BTreeMap<String, String>,
    /// When all inputs were last read.
    #[serde(default)]
    pub read_at: Option<Time>,
    /// `watch.stale` was told, and `watch.current` was not yet.
    #[serde(default)]
    pub is_stale: bool,
}

/// What is known when a trigger is evaluated.
#[derive(Debug)]
pub struct Round<'a> {
    pub readings: &'a Readings,
    pub now: Time,
    /// When the watch began.
    pub since: Time,
    pub stale_after: chrono::TimeDelta,
    /// The first evaluation fires if the bound is crossed already.
    pub fires_at_once: bool,
    pub chains: &'a ChainFacts,
}

/// The result of one evaluation.
#[derive(Debug, Default, PartialEq)]
pub struct Observed {
    pub changes: Vec<Change>,
    /// Numbers of earlier events whose blocks are now final.
    pub settled: Vec<u64>,
    /// Numbers of earlier events that are not compared with their chains any more.
    pub unchecked: Vec<u64>,
}

impl TriggerState {
    /// The blocks of events that may still be reorganised.
    pub fn open_blocks(&self) -> impl Iterator<Item = &ReadBlock> {
        self.series.values().flat_map(|series| &series.open).flat_map(|event| &event.blocks)
    }

    /// Replaces the state by a new one. Its events that may still be reorganised remain in `past`.
    pub(crate) fn begin_anew(&mut self, trigger: &Trigger, past: &mut Vec<PastEvent>) {
        for (name, series) in std::mem::take(self).series {
            past.extend(series.open.into_iter().map(|event| event.past(trigger, &name)));
        }
    }

    /// Moves the state by one evaluation. `next` is the number of the next event. `past` takes the open events of
    /// markets that are not read any more.
    pub(crate) fn observe(
        &mut self,
        trigger: &Trigger,
        round: &Round<'_>,
        past: &mut Vec<PastEvent>,
        next: &mut u64,
    ) -> Observed {
        let mut told = Teller { next, changes: Vec::new(), unchecked: Vec::new() };
        let settled = self.series.values_mut().flat_map(|series| series.settle(round.chains)).collect();
        let is_read = |name: &String, series: &mut Series| {
            let is_read = round.readings.contains_key(name);
            if !is_read {
                past.extend(series.open.drain(..).map(|event| event.past(trigger, name)));
            }
            is_read
        };
        self.series.retain(is_read);
        (self.unread, self.nothing) = Default::default();
        for (name, reading) in round.readings {
            match reading {
                Reading::Unread(why) => _ = self.unread.insert(name.clone(), why.clone()),
                Reading::Nothing(why) => _ = self.nothing.insert(name.clone(), why.clone()),
                Reading::Read(sample) => match self.series.get_mut(name) {
                    // Whether the value clears an event, or the event did not happen, is not known.
                    Some(series) if series.open.iter().any(|event| round.chains.is_unsure_of(&event.blocks)) => {
                        self.unread.insert(name.clone(), "the block of an earlier event was not read".to_owned());
                    }
                    Some(series) => series.observe(name, trigger, sample, round.chains, &mut told),
                    None => {
                        let series = Series::begin(name, trigger, sample, round.fires_at_once, &mut told);
                        self.series.insert(name.clone(), series);
                    }
                },
            }
        }
        self.age(round, &mut told);
        Observed { changes: told.changes, settled, unchecked: told.unchecked }
    }

    /// Whether the trigger is stale, or current again.
    fn age(&mut self, round: &Round<'_>, told: &mut Teller<'_>) {
        // The clock may have gone back.
        self.read_at = self.read_at.map(|at| at.min(round.now));
        let since = self.read_at.unwrap_or(round.since);
        if self.unread.is_empty() {
            self.read_at = Some(round.now);
            if std::mem::take(&mut self.is_stale) {
                told.tell(What::Current { stale_since: since });
            }
        } else if !self.is_stale && round.now - since >= round.stale_after {
            self.is_stale = true;
            told.tell(What::Stale { unread: self.unread.values().cloned().collect(), since });
        }
    }
}

/// Numbers events.
struct Teller<'a> {
    next: &'a mut u64,
    changes: Vec<Change>,
    unchecked: Vec<u64>,
}

impl Teller<'_> {
    fn tell(&mut self, what: What) -> u64 {
        let seq = *self.next;
        *self.next += 1;
        self.changes.push(Change { seq, what });
        seq
    }
}

#[cfg(test)]
mod tests;
