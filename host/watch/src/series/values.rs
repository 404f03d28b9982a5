//! The values of one series, and the events that they make.

use serde::{Deserialize, Serialize};

use super::{ChainFacts, PastEvent, Teller, What};
use crate::{
    reading::{Liquidated, Sample},
    trigger::{Measure, Trigger, range_rank},
};
use assay_domain::{ReadBlock, Score};

/// Points by which a score must enter the range that it left last before that is told: scores at an edge flap.
const MARGIN: u32 = 5;
/// Events of one series that can be retracted at once.
const MOST_OPEN: usize = 32;

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
    pub(super) open: Vec<OpenEvent>,
}

/// An event that can be retracted, and the series before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenEvent {
    pub seq: u64,
    pub blocks: Vec<ReadBlock>,
    last: Sample,
    fired: bool,
    stands: Option<f64>,
    left: Option<f64>,
    /// The liquidation that it reported, if the history dates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    liquidation: Option<Liquidated>,
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
    pub(super) fn past(self, trigger: &Trigger, series: &str) -> PastEvent {
        PastEvent { seq: self.seq, blocks: self.blocks, trigger: trigger.clone(), series: series.to_owned() }
    }
}

impl Series {
    pub(super) fn begin(name: &str, trigger: &Trigger, sample: &Sample, fires: bool, told: &mut Teller<'_>) -> Self {
        let fired = trigger.limit.is_some_and(|limit| limit.fires(sample.value));
        // Only a range and a count stand.
        let stands = sample.value.filter(|_| trigger.limit.is_none());
        let mut begun = Self { last: sample.clone(), fired: false, stands, left: None, open: Vec::new() };
        if fired && fires {
            let seq = told.tell(What::Crossed { series: name.to_owned(), before: None, after: sample.clone() });
            begun.keep(seq, sample, told);
        }
        Self { fired, ..begun }
    }

    /// Forgets events of final blocks, and returns their numbers.
    pub(super) fn settle(&mut self, chains: &ChainFacts) -> Vec<u64> {
        let (settled, open) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|event| chains.are_final(&event.blocks) && !chains.has_orphan(&event.blocks));
        self.open = open;
        settled.into_iter().map(|event: OpenEvent| event.seq).collect()
    }

    pub(super) fn observe(
        &mut self,
        name: &str,
        trigger: &Trigger,
        sample: &Sample,
        chains: &ChainFacts,
        told: &mut Teller<'_>,
    ) {
        match trigger.measure {
            Measure::Liquidation => self.recount(name, sample, chains, told),
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

    /// Retracts liquidations that are not in the history any more. One of an orphaned block stands if the new chain
    /// has the same one, in the same block and transaction.
    fn recount(&mut self, name: &str, sample: &Sample, chains: &ChainFacts, told: &mut Teller<'_>) {
        let is_gone = |event: &OpenEvent| {
            let same = event.liquidation.is_some() && event.liquidation.as_ref() == sample.liquidation(event.stands);
            event.stands >= sample.value || chains.has_orphan(&event.blocks) && !same
        };
        let first = self.open.iter().position(is_gone).unwrap_or(self.open.len());
        let gone = self.open.split_off(first);
        for event in self.open.iter_mut().filter(|event| chains.has_orphan(&event.blocks)) {
            event.blocks.clone_from(&sample.blocks);
        }
        for event in gone.into_iter().rev() {
            let (seq, series, after) = (event.seq, name.to_owned(), Some(sample.clone()));
            told.tell(What::Retracted { seq, series, after });
            (self.last, self.stands) = (event.last, event.stands);
        }
        if self.stands > sample.value {
            self.stands = sample.value;
        }
    }

    /// The last sample before the liquidations that `sample` may report or confirm, and their number.
    pub(crate) fn compared(&self, sample: &Sample, chains: &ChainFacts) -> (&Sample, usize) {
        let orphan = self.open.iter().find(|event| chains.has_orphan(&event.blocks));
        let (last, stands) = orphan.map_or((&self.last, self.stands), |event| (&event.last, event.stands));
        (last, (sample.value.unwrap_or_default() - stands.unwrap_or_default()) as usize)
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
            for _ in 0..count {
                let liquidation = sample.liquidation(self.stands).cloned();
                let (series, before, after) = (series.clone(), before.clone(), after.clone());
                let seq = told.tell(What::Liquidated { series, before, after, liquidation });
                self.keep(seq, sample, told);
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
        self.keep(seq, sample, told);
        self.left = match turn {
            Turn::Ranged => self.stands,
            Turn::ModelChanged => None,
            _ => self.left,
        };
        (self.fired, self.stands) = (fired, stands);
    }

    /// Remembers how to retract the event `seq`.
    fn keep(&mut self, seq: u64, sample: &Sample, told: &mut Teller<'_>) {
        if self.open.len() == MOST_OPEN {
            told.unchecked.push(self.open.remove(0).seq);
        }
        let Self { last, fired, stands, left, .. } = self.clone();
        let liquidation = sample.liquidation(stands).cloned();
        self.open.push(OpenEvent { seq, blocks: sample.blocks.clone(), last, fired, stands, left, liquidation });
    }
}
