//! The state of one trigger, moved by a pure function: when it fires, clears, goes stale and is retracted.
//!
//! - Only a value that was read moves a series; after [`Round::stale_after`] without one the trigger is stale.
//! - A trigger that fired does not fire again before it has cleared.
//! - A value by another version of the model is a new baseline and no crossing.
//! - An event of a block that a reorganisation removed is retracted, unless the new chain shows the same. The events
//!   of a state that was replaced, by other bounds or another address, are retracted in any case.

pub(crate) mod past;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::{
    reading::{Liquidated, Reading, Readings, Sample},
    trigger::{Measure, Trigger, range_rank},
};
use assay_domain::{B256, ChainId, ReadBlock, Score, Time};
pub(crate) use past::PastEvent;

/// Points by which a score must enter the range that it left last before that is told: scores at an edge flap.
const MARGIN: u32 = 5;
/// Events of one series that can be retracted at once.
const MOST_OPEN: usize = 32;

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

/// The values of one measure in one market, or of the wallet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub last: Sample,
    /// The bound was crossed, and has not cleared.
    pub fired: bool,
    /// The range or the number of liquidations that was last told.
    stands: Option<f64>,
    /// The range before that.
    left: Option<f64>,
    /// Events of blocks that may still be reorganised, oldest first.
    open: Vec<OpenEvent>,
}

/// An event that can be retracted, and the series before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OpenEvent {
    seq: u64,
    blocks: Vec<ReadBlock>,
    last: Sample,
    fired: bool,
    stands: Option<f64>,
    left: Option<f64>,
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

/// Blocks of earlier events, as the chains have them now.
#[derive(Debug, Clone, Default)]
pub struct ChainFacts {
    /// Blocks that are not in their chain any more.
    pub orphaned: HashSet<B256>,
    /// Blocks of which that is not known: their chain did not answer, or has no block of their number now.
    pub unknown: HashSet<B256>,
    /// The newest final block of each chain.
    pub settled: HashMap<ChainId, u64>,
}

/// Something to tell, under the number of its event.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub seq: u64,
    pub what: What,
}

/// What happened. `series` is the name of a market, or empty.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// `before` is absent if the first value was beyond the bound.
    Crossed {
        series: String,
        before: Option<Sample>,
        after: Sample,
    },
    Cleared {
        series: String,
        before: Sample,
        after: Sample,
    },
    RangeChanged {
        before: Sample,
        after: Sample,
    },
    /// One liquidation; its details are absent if the history does not date it.
    Liquidated {
        series: String,
        before: Sample,
        after: Sample,
        liquidation: Option<Liquidated>,
    },
    Stale {
        unread: Vec<String>,
        since: Time,
    },
    Current {
        stale_since: Time,
    },
    ModelChanged {
        before: Sample,
        after: Sample,
        fired: bool,
    },
    /// The event `seq` did not happen: its block is not in the chain any more. `after` is absent if the value on the
    /// new chain is not known.
    Retracted {
        seq: u64,
        series: String,
        after: Option<Sample>,
    },
}

/// The result of one evaluation.
#[derive(Debug, Default, PartialEq)]
pub struct Observed {
    pub changes: Vec<Change>,
    /// Numbers of earlier events whose blocks are now final.
    pub settled: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Turn {
    Crossed,
    Cleared,
    Ranged,
    Liquidated(u64),
    /// The value is by another version of the model.
    ModelChanged,
}

impl OpenEvent {
    /// The event after its state was replaced.
    fn past(self, trigger: &Trigger, series: &str) -> PastEvent {
        PastEvent { seq: self.seq, blocks: self.blocks, trigger: trigger.clone(), series: series.to_owned() }
    }
}

impl ChainFacts {
    fn is_unsure_of(&self, blocks: &[ReadBlock]) -> bool {
        !self.has_orphan(blocks) && blocks.iter().any(|block| self.unknown.contains(&block.hash))
    }

    pub(crate) fn has_orphan(&self, blocks: &[ReadBlock]) -> bool {
        blocks.iter().any(|block| self.orphaned.contains(&block.hash))
    }

    pub(crate) fn are_final(&self, blocks: &[ReadBlock]) -> bool {
        let is_final = |block: &ReadBlock| self.settled.get(&block.chain_id).is_some_and(|last| block.number <= *last);
        blocks.iter().all(|block| is_final(block) && !self.unknown.contains(&block.hash))
    }
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
        let mut told = Teller { next, changes: Vec::new() };
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
        Observed { changes: told.changes, settled }
    }

    /// Whether the trigger is stale, or current again.
    fn age(&mut self, round: &Round<'_>, told: &mut Teller<'_>) {
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
}

impl Teller<'_> {
    fn tell(&mut self, what: What) -> u64 {
        let seq = *self.next;
        *self.next += 1;
        self.changes.push(Change { seq, what });
        seq
    }
}

impl Series {
    fn begin(name: &str, trigger: &Trigger, sample: &Sample, fires: bool, told: &mut Teller<'_>) -> Self {
        let fired = trigger.limit.is_some_and(|limit| limit.fires(sample.value));
        // Only a range and a count stand.
        let stands = sample.value.filter(|_| trigger.limit.is_none());
        let mut begun = Self { last: sample.clone(), fired: false, stands, left: None, open: Vec::new() };
        if fired && fires {
            let seq = told.tell(What::Crossed { series: name.to_owned(), before: None, after: sample.clone() });
            begun.keep(seq, sample);
        }
        Self { fired, ..begun }
    }

    /// Forgets events of final blocks, and returns their numbers.
    fn settle(&mut self, chains: &ChainFacts) -> Vec<u64> {
        let (settled, open) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|event| chains.are_final(&event.blocks) && !chains.has_orphan(&event.blocks));
        self.open = open;
        settled.into_iter().map(|event: OpenEvent| event.seq).collect()
    }

    fn observe(&mut self, name: &str, trigger: &Trigger, sample: &Sample, chains: &ChainFacts, told: &mut Teller<'_>) {
        match trigger.measure {
            Measure::Liquidation => self.uncount(name, sample, told),
            _ => self.reorganise(name, trigger, sample, chains, told),
        }
        if let Some(turn) = self.turn(trigger, sample) {
            self.make(turn, name, (trigger, sample), told);
        }
        self.last = sample.clone();
    }

    /// Retracts events of blocks that are not in the chain any more, unless the new blocks show the same.
    fn reorganise(
        &mut self,
        name: &str,
        trigger: &Trigger,
        sample: &Sample,
        chains: &ChainFacts,
        told: &mut Teller<'_>,
    ) {
        let Some(first) = self.open.iter().position(|event| chains.has_orphan(&event.blocks)) else { return };
        let mut gone = self.open.split_off(first);
        let Some(earliest) = gone.first() else { return };
        let mut restored = Self {
            last: earliest.last.clone(),
            fired: earliest.fired,
            stands: earliest.stands,
            left: earliest.left,
            open: std::mem::take(&mut self.open),
        };
        // A value by another version does not show what the version of the event would have.
        if let [event] = gone.as_mut_slice()
            && sample.version == self.last.version
            && restored.after(restored.turn(trigger, sample), (trigger, sample)) == (self.fired, self.stands)
        {
            event.blocks.clone_from(&sample.blocks);
            restored.open.append(&mut gone);
            self.open = restored.open;
            return;
        }
        for event in gone.iter().rev() {
            let (seq, series, after) = (event.seq, name.to_owned(), Some(sample.clone()));
            told.tell(What::Retracted { seq, series, after });
        }
        *self = restored;
    }

    /// Retracts liquidations that are not in the history any more.
    fn uncount(&mut self, name: &str, sample: &Sample, told: &mut Teller<'_>) {
        while self.stands > sample.value {
            let Some(event) = self.open.pop() else {
                self.stands = sample.value;
                return;
            };
            let (seq, series, after) = (event.seq, name.to_owned(), Some(sample.clone()));
            told.tell(What::Retracted { seq, series, after });
            self.stands = event.stands;
        }
    }

    fn turn(&self, trigger: &Trigger, sample: &Sample) -> Option<Turn> {
        if sample.version != self.last.version {
            return Some(Turn::ModelChanged);
        }
        match (trigger.measure, trigger.limit) {
            (_, Some(limit)) if self.fired => limit.clears(sample.value).then_some(Turn::Cleared),
            (_, Some(limit)) => limit.fires(sample.value).then_some(Turn::Crossed),
            (Measure::Range, None) => self.changes_range(sample).then_some(Turn::Ranged),
            (Measure::Liquidation, None) => {
                let more = sample.value.unwrap_or_default() - self.stands.unwrap_or_default();
                (more > 0.0).then_some(Turn::Liquidated(more as u64))
            }
            (_, None) => None,
        }
    }

    /// Whether the range is another one. The range that was left last must be entered by [`MARGIN`] points.
    fn changes_range(&self, sample: &Sample) -> bool {
        let (Some(now), Some(stands)) = (sample.value, self.stands) else { return false };
        if now == stands || self.left != Some(now) {
            return now != stands;
        }
        let nearer = |score: u32| {
            let score = if now > stands { score.saturating_sub(MARGIN) } else { score + MARGIN };
            let clamped = score.clamp(Score::MIN.get(), Score::MAX.get());
            Score::new(clamped).map(|score| range_rank(score.range()))
        };
        let still = sample.score.and_then(nearer).unwrap_or(now);
        if now > stands { still > stands } else { still < stands }
    }

    /// `fired` and `stands` after `turn`.
    fn after(&self, turn: Option<Turn>, (trigger, sample): (&Trigger, &Sample)) -> (bool, Option<f64>) {
        match turn {
            None => (self.fired, self.stands),
            Some(Turn::Crossed) => (true, self.stands),
            Some(Turn::Cleared) => (false, self.stands),
            Some(Turn::Ranged | Turn::Liquidated(_)) => (self.fired, sample.value),
            // A new baseline.
            Some(Turn::ModelChanged) => {
                let fired = trigger.limit.is_some_and(|limit| limit.fires(sample.value));
                (fired, sample.value.filter(|_| trigger.limit.is_none()))
            }
        }
    }

    fn make(&mut self, turn: Turn, name: &str, (trigger, sample): (&Trigger, &Sample), told: &mut Teller<'_>) {
        let (series, before, after) = (name.to_owned(), self.last.clone(), sample.clone());
        if let Turn::Liquidated(count) = turn {
            // The oldest first.
            for newer in (0..count).rev() {
                let liquidation = usize::try_from(newer).ok().and_then(|at| sample.liquidations.get(at)).cloned();
                let (series, before, after) = (series.clone(), before.clone(), after.clone());
                let seq = told.tell(What::Liquidated { series, before, after, liquidation });
                self.keep(seq, sample);
                self.stands = Some(self.stands.unwrap_or_default() + 1.0);
            }
            return;
        }
        let (fired, stands) = self.after(Some(turn), (trigger, sample));
        let what = match turn {
            Turn::Crossed => What::Crossed { series, before: Some(before), after },
            Turn::Ranged => What::RangeChanged { before, after },
            Turn::ModelChanged => What::ModelChanged { before, after, fired },
            Turn::Cleared | Turn::Liquidated(_) => What::Cleared { series, before, after },
        };
        let seq = told.tell(what);
        self.keep(seq, sample);
        self.left = match turn {
            Turn::Ranged => self.stands,
            Turn::ModelChanged => None,
            _ => self.left,
        };
        (self.fired, self.stands) = (fired, stands);
    }

    /// Remembers how to retract the event `seq`.
    fn keep(&mut self, seq: u64, sample: &Sample) {
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        let Self { last, fired, stands, left, .. } = self.clone();
        self.open.push(OpenEvent { seq, blocks: sample.blocks.clone(), last, fired, stands, left });
    }
}

#[cfg(test)]
mod tests;
