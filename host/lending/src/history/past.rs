//! The newest events of a wallet in one market, each with the amount that it moved, and the amounts of all events by
//! kind. Events and amounts come from different logs. An event has an amount only if its block leaves no doubt which
//! one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    asset::Asset,
    figures::{
        record::{AmountRecord, EventRecord, PastRecord, Side},
        sums::Move,
    },
    history::events::{Event, Moved},
    protocols::EventKind,
};
use assay_domain::{
    Coverage, EventCounts, ExposureClass, PoolEvents, U256,
    features::{Dollars, LendingEvent, MOST_EVENTS},
};

const DAY: u64 = 86_400;

/// The asset of an amount, on its side of the position.
type HeldAsset = (Side, Asset);

/// The single events of a wallet in some blocks of one market.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Past {
    /// The newest events that have a time, in chain order.
    events: VecDeque<EventRecord>,
    /// The sum of the known amounts, and the number of events it covers.
    amounts: BTreeMap<(EventKind, HeldAsset), (U256, u64)>,
    /// UTC days with a liquidation, in days since 1970.
    days: BTreeSet<u64>,
    /// The number of events without a time, and how many of them are liquidations.
    timeless: u64,
    timeless_liquidations: u64,
}

impl Past {
    pub(crate) fn add(&mut self, kind: EventKind, time: Option<u64>, moved: Option<&Move>) {
        let moved = moved.map(|moved| (moved.side, moved.asset, moved.amount.unsigned_abs()));
        if let Some((side, asset, amount)) = moved {
            let (sum, events) = self.amounts.entry((kind, (side, asset))).or_default();
            (*sum, *events) = (sum.saturating_add(amount), events.saturating_add(1));
        }
        let liquidation = kind == EventKind::Liquidation;
        let Some(time) = time else {
            self.timeless += 1;
            self.timeless_liquidations += u64::from(liquidation);
            return;
        };
        if liquidation {
            self.days.insert(time / DAY);
        }
        self.events.push_back(EventRecord { time, kind, moved });
        self.shorten();
    }

    /// These events, followed by the `later` ones.
    #[must_use]
    pub(crate) fn then(mut self, later: &Self) -> Self {
        self.events.extend(&later.events);
        self.shorten();
        for (key, (amount, events)) in &later.amounts {
            let (sum, count) = self.amounts.entry(*key).or_default();
            (*sum, *count) = (sum.saturating_add(*amount), count.saturating_add(*events));
        }
        self.days.extend(&later.days);
        self.timeless += later.timeless;
        self.timeless_liquidations += later.timeless_liquidations;
        self
    }

    fn shorten(&mut self) {
        let over = self.events.len().saturating_sub(MOST_EVENTS);
        self.events.drain(..over);
    }

    /// The events in the form of features. `asset` returns the class of an asset and the number of its smallest units
    /// in one whole token. The history has this `coverage` and these `counts`.
    pub fn resolved(
        &self,
        coverage: Coverage,
        counts: &EventCounts,
        asset: impl Fn(Side, Asset) -> Option<(ExposureClass, f64)>,
    ) -> PoolEvents {
        if coverage == Coverage::Failed {
            return PoolEvents::UNREAD;
        }
        let worth = |(side, of): HeldAsset, amount: U256| {
            let (class, unit) = asset(side, of)?;
            Some((class, (class == ExposureClass::Stablecoin).then(|| f64::from(amount) / unit)))
        };
        let event = |event: &EventRecord| {
            let worth = event.moved.and_then(|(side, asset, amount)| worth((side, asset), amount));
            let (class, usd) = worth.map_or((None, None), |(class, usd)| (Some(class), usd));
            LendingEvent { time: event.time, kind: event.kind, usd, class }
        };
        // The sort is stable: of one second, the last in the chain comes first.
        let mut events: Vec<_> = self.events.iter().rev().map(event).collect();
        events.sort_by_key(|event| std::cmp::Reverse(event.time));
        let dollars = |kind, count| self.dollars(kind, count, |asset, amount| worth(asset, amount)?.1);
        let days = u32::try_from(self.days.len()).ok();
        PoolEvents {
            coverage: if self.timeless > 0 { coverage.min(Coverage::Partial) } else { coverage },
            events,
            dollars: Dollars {
                supply: dollars(EventKind::Supply, counts.supply),
                withdraw: dollars(EventKind::Withdraw, counts.withdraw),
                borrow: dollars(EventKind::Borrow, counts.borrow),
                repay: dollars(EventKind::Repay, counts.repay),
                liquidation: dollars(EventKind::Liquidation, counts.liquidation),
            },
            liquidation_days: days.filter(|_| counts.liquidation.is_some() && self.timeless_liquidations == 0),
        }
    }

    /// The dollars of all `count` events of one kind; `None` if those of one event are unknown.
    fn dollars(
        &self,
        kind: EventKind,
        count: Option<u64>,
        usd: impl Fn(HeldAsset, U256) -> Option<f64>,
    ) -> Option<f64> {
        let of_kind = self.amounts.iter().filter(|((of, _), _)| *of == kind);
        let (sum, paired) = of_kind.fold((Some(0.0), 0_u64), |(sum, paired), ((_, asset), (amount, events))| {
            (sum.zip(usd(*asset, *amount)).map(|(sum, more)| sum + more), paired.saturating_add(*events))
        });
        sum.filter(|_| count == Some(paired))
    }

    pub(crate) fn record(&self) -> PastRecord {
        let amount = |((kind, (side, asset)), (amount, events)): (&(EventKind, HeldAsset), &(U256, u64))| {
            AmountRecord { kind: *kind, side: *side, asset: *asset, amount: *amount, events: *events }
        };
        PastRecord {
            events: self.events.iter().copied().collect(),
            amounts: self.amounts.iter().map(amount).collect(),
            days: self.days.iter().copied().collect(),
            timeless: self.timeless,
            timeless_liquidations: self.timeless_liquidations,
        }
    }
}

impl From<PastRecord> for Past {
    fn from(record: PastRecord) -> Self {
        let amount = |AmountRecord { kind, side, asset, amount, events }: AmountRecord| {
            ((kind, (side, asset)), (amount, events))
        };
        Self {
            events: record.events.into(),
            amounts: record.amounts.into_iter().map(amount).collect(),
            days: record.days.into_iter().collect(),
            timeless: record.timeless,
            timeless_liquidations: record.timeless_liquidations,
        }
    }
}

/// The amount of each of `events`, in the same order. `None` if the block is ambiguous: it has more or fewer amounts
/// than events of this kind, or an event of another kind may have moved one of the amounts.
pub(crate) fn paired<'a>(events: &[Event], moves: &'a [Moved]) -> Vec<Option<&'a Move>> {
    let mut blocks = BTreeMap::<(usize, u64), BTreeMap<EventKind, KindMoves<'a>>>::new();
    for event in events {
        let kinds = blocks.entry((event.market, event.block)).or_default();
        kinds.entry(event.kind).or_default().events += 1;
    }
    for moved in moves {
        let Some(kinds) = blocks.get_mut(&(moved.market, moved.block)) else { continue };
        let mut fitting: Vec<_> = kinds.iter_mut().filter(|(kind, _)| fits(**kind, &moved.amount)).collect();
        let is_shared = fitting.len() > 1;
        for (_, of_kind) in &mut fitting {
            of_kind.moves.push_back(&moved.amount);
            of_kind.is_doubted |= is_shared;
        }
    }
    for of_kind in blocks.values_mut().flat_map(BTreeMap::values_mut) {
        if of_kind.is_doubted || of_kind.moves.len() != of_kind.events {
            of_kind.moves.clear();
        }
    }
    let mut next = |event: &Event| {
        let kinds = blocks.get_mut(&(event.market, event.block))?;
        kinds.get_mut(&event.kind)?.moves.pop_front()
    };
    events.iter().map(&mut next).collect()
}

/// The events of one kind in one block of one market, and the amounts that they may have moved.
#[derive(Default)]
struct KindMoves<'a> {
    events: usize,
    /// Amounts that such an event may have moved, in chain order.
    moves: VecDeque<&'a Move>,
    /// Whether an event of another kind may have moved one of them.
    is_doubted: bool,
}

/// Whether an event of this kind can move this amount. Shares and stored amounts do not show their value, and credit is
/// no part of a position.
fn fits(kind: EventKind, moved: &Move) -> bool {
    if matches!(moved.asset, Asset::Shares(_) | Asset::Scaled(_) | Asset::Fixed(_)) || moved.asset.is_credit() {
        return false;
    }
    let (gains, loses) = (moved.amount.is_positive(), moved.amount.is_negative());
    match (kind, moved.side) {
        (EventKind::Supply, Side::Supply | Side::Base | Side::Collateral) | (EventKind::Borrow, Side::Debt) => gains,
        (EventKind::Withdraw, Side::Supply | Side::Base | Side::Collateral) | (EventKind::Borrow, Side::Base) => loses,
        (EventKind::Repay | EventKind::Liquidation, Side::Debt) => loses,
        (EventKind::Repay | EventKind::Liquidation, Side::Base) => gains,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
