//! Compares the heads of the chains with the clock of the machine: which head is too old, and whether it is the clock
//! that is wrong.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use assay_domain::{ChainId, Part, Unread};
use assay_evm::client::Block;

/// How a head differs from what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadDoubt {
    /// Its age by the clock, above the bound.
    Old(Duration),
    /// Ahead of the clock by more than the bound.
    Ahead(Duration),
    /// Far behind a block that was seen before.
    Behind(Block),
}

/// The clock, compared with the newest blocks of all chains.
#[derive(Debug, Default)]
pub(crate) struct ChainClock(Mutex<BTreeMap<ChainId, ClockSide>>);

/// The side on which the last head of a chain was, by the clock of that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClockSide {
    Old,
    Fits,
    Ahead,
}

impl ChainClock {
    /// Records the head of a chain that is compared with the clock.
    pub(super) fn observe(&self, chain: ChainId, doubt: Option<HeadDoubt>) {
        let side = match doubt {
            Some(HeadDoubt::Old(_)) => ClockSide::Old,
            Some(HeadDoubt::Ahead(_)) => ClockSide::Ahead,
            Some(HeadDoubt::Behind(_)) | None => ClockSide::Fits,
        };
        self.sides().insert(chain, side);
    }

    /// Whether several chains differ from the clock, all in the same way. The clock is suspected then.
    pub(crate) fn is_suspected(&self) -> bool {
        let sides = self.sides();
        let first = sides.values().next().copied().filter(|side| *side != ClockSide::Fits);
        sides.len() > 1 && first.is_some_and(|first| sides.values().all(|side| *side == first))
    }

    fn sides(&self) -> MutexGuard<'_, BTreeMap<ChainId, ClockSide>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeadDoubt {
    /// The doubt about `head` at `now`, Unix seconds by the clock; `newer` is an earlier head that it is far behind.
    pub(super) fn of(head: Block, now: u64, bound: Duration, newer: Option<Block>) -> Option<Self> {
        let (age, ahead) = (now.saturating_sub(head.time), head.time.saturating_sub(now));
        let above = |seconds: u64| Some(Duration::from_secs(seconds)).filter(|time| *time > bound);
        above(age).map(Self::Old).or(above(ahead).map(Self::Ahead)).or(newer.map(Self::Behind))
    }

    /// Whether a wrong clock would explain it.
    pub(super) fn is_of_clock(self) -> bool {
        matches!(self, Self::Old(_) | Self::Ahead(_))
    }

    /// The doubt in words, as a part of a snapshot that was not read.
    pub(super) fn unread(self, head: Block, clock_suspected: bool) -> Unread {
        let reason = match (self, clock_suspected) {
            (Self::Old(_) | Self::Ahead(_), true) => {
                format!("block {} is {self}, and other chains differ alike: {CLOCK_SUSPECTED}", head.number)
            }
            _ => format!("block {} is {self}; try again later, or add an endpoint to chains.rpc", head.number),
        };
        Unread::new(Part::Head, reason)
    }
}

/// The remark if all chains differ from the clock.
pub const CLOCK_SUSPECTED: &str = "the clock of this machine seems to be wrong; synchronise it, as with NTP";

impl fmt::Display for HeadDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Old(age) => write!(f, "{} old by the clock of this machine", Rough(*age)),
            Self::Ahead(by) => write!(f, "{} ahead of the clock of this machine", Rough(*by)),
            Self::Behind(newer) => write!(f, "far behind block {}, which was seen before", newer.number),
        }
    }
}

/// A duration in its largest unit of which it has at least two.
struct Rough(Duration);

impl fmt::Display for Rough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds")];
        let (unit, name) = units.into_iter().find(|(unit, _)| seconds >= 2 * unit).unwrap_or((1, "seconds"));
        write!(f, "{} {name}", seconds / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::B256;

    const NOW: u64 = 1_700_000_000;
    const BOUND: Duration = Duration::from_secs(180);

    fn block(number: u64, time: u64) -> Block {
        Block { number, hash: B256::ZERO, time }
    }

    fn doubt(time: u64) -> Option<HeadDoubt> {
        HeadDoubt::of(block(7, time), NOW, BOUND, None)
    }

    #[test]
    fn a_head_is_in_doubt_outside_its_bound() {
        assert_eq!((doubt(NOW - 180), doubt(NOW + 180)), (None, None));
        assert_eq!(doubt(NOW - 181), Some(HeadDoubt::Old(Duration::from_secs(181))));
        assert_eq!(doubt(NOW + 181), Some(HeadDoubt::Ahead(Duration::from_secs(181))));
        let newer = block(90, NOW);
        let behind = HeadDoubt::of(block(7, NOW - 100), NOW, BOUND, Some(newer));
        assert_eq!(behind, Some(HeadDoubt::Behind(newer)));
    }

    #[test]
    fn the_clock_is_suspected_if_all_of_several_chains_differ_alike() {
        let (old, ahead) = (doubt(NOW - 9_000), doubt(NOW + 9_000));
        let suspected = |sides: &[Option<HeadDoubt>]| {
            let clock = ChainClock::default();
            sides.iter().zip(1..).for_each(|(side, chain)| clock.observe(chain, *side));
            clock.is_suspected()
        };
        for no in [vec![], vec![old], vec![old, None], vec![old, ahead], vec![None, None]] {
            assert!(!suspected(&no), "{no:?}");
        }
        assert!(suspected(&[old, old]) && suspected(&[ahead, ahead, ahead]));
    }

    #[test]
    fn a_doubt_says_what_it_is_about() {
        let words = |doubt: Option<HeadDoubt>, suspected| doubt.unwrap().unread(block(7, 0), suspected).to_string();
        let old = doubt(NOW - 5 * 86_400);
        assert_eq!(
            words(old, false),
            "newest block: block 7 is 5 days old by the clock of this machine; try again later, or add an endpoint to \
             chains.rpc"
        );
        assert!(words(old, true).ends_with(CLOCK_SUSPECTED));
        let behind = Some(HeadDoubt::Behind(block(90, NOW)));
        assert!(words(behind, true).contains("far behind block 90") && !words(behind, true).contains(CLOCK_SUSPECTED));
        assert!(words(doubt(NOW + 200), false).contains("3 minutes ahead"));
    }
}
