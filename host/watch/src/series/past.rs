//! Events of a state that was replaced, because the watch got other bounds, another address, or a market less. Their
//! blocks can still be reorganised, but the value on the new chain is not read any more.

use serde::{Deserialize, Serialize};

use super::{ChainFacts, Change, What};
use crate::trigger::Trigger;
use assay_domain::ReadBlock;

/// Events that are compared with their chains.
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
    /// Numbers of the oldest events beyond the bound, which are not compared with their chains any more.
    pub unchecked: Vec<u64>,
}

/// Takes the events out of `past` whose blocks are final, or are not in their chain any more. `next` is the number of
/// the next event.
pub(crate) fn settle(past: &mut Vec<PastEvent>, chains: &ChainFacts, next: &mut u64) -> PastOutcome {
    let mut outcome = PastOutcome { retracted: Vec::new(), settled: Vec::new(), unchecked: Vec::new() };
    let (gone, mut rest): (Vec<_>, Vec<_>) = std::mem::take(past).into_iter().partition(|event| {
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
    outcome.unchecked.extend(rest.drain(..oldest).map(|event| event.seq));
    *past = rest;
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::{Limit, Measure};
    use assay_domain::B256;

    #[test]
    fn no_event_is_forgotten_in_silence() {
        let limit = Some(Limit::Below { at: 1.3, clear: 1.4 });
        let measure = Measure::HealthFactor;
        let trigger = Trigger { measure, market: None, model_version: None, horizon_days: None, limit };
        let event = |seq: u64| {
            let block = ReadBlock { chain_id: 1, number: seq, hash: B256::with_last_byte(seq as u8) };
            PastEvent { seq, blocks: vec![block], trigger: trigger.clone(), series: String::new() }
        };
        let mut past: Vec<PastEvent> = (1..=70).map(event).collect();
        let outcome = settle(&mut past, &ChainFacts::default(), &mut 71);
        assert_eq!((outcome.unchecked, past.len()), ((1..=6).collect(), MOST));
        let outcome = settle(&mut past, &ChainFacts::default(), &mut 71);
        assert!(outcome.unchecked.is_empty() && outcome.settled.is_empty() && past.len() == MOST);
    }
}
