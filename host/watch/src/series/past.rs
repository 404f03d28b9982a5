//! Events of a state that was replaced, because the watch got other bounds, another address, or a market less. Their
//! blocks can still be reorganised, but the value on the new chain is not read any more.

use serde::{Deserialize, Serialize};

use super::{ChainFacts, Change, What};
use crate::trigger::Trigger;
use assay_domain::ReadBlock;

/// Events that are remembered.
const MOST: usize = 64;

/// An event that can be retracted, with what it was about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PastEvent {
    pub seq: u64,
    pub blocks: Vec<ReadBlock>,
    pub trigger: Trigger,
    /// The name of a market, or empty.
    pub series: String,
}

/// What became of past events.
pub(crate) struct PastOutcome {
    pub retracted: Vec<(Trigger, Change)>,
    /// Numbers of events whose blocks are now final.
    pub settled: Vec<u64>,
}

/// Takes the events out of `past` whose blocks are final, or are not in their chain any more. `next` is the number of
/// the next event.
pub(crate) fn settle(past: &mut Vec<PastEvent>, chains: &ChainFacts, next: &mut u64) -> PastOutcome {
    let mut outcome = PastOutcome { retracted: Vec::new(), settled: Vec::new() };
    let (gone, rest): (Vec<_>, Vec<_>) = std::mem::take(past).into_iter().partition(|event| {
        // What is newer than a final block is asked about again.
        chains.has_orphan(&event.blocks) || chains.are_final(&event.blocks)
    });
    for PastEvent { seq, blocks, trigger, series } in gone.into_iter().rev() {
        if chains.has_orphan(&blocks) {
            let what = What::Retracted { seq, series, after: None };
            outcome.retracted.push((trigger, Change { seq: *next, what }));
            *next += 1;
        } else {
            outcome.settled.push(seq);
        }
    }
    let oldest = rest.len().saturating_sub(MOST);
    *past = rest.into_iter().skip(oldest).collect();
    outcome
}
