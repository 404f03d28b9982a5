//! The events and the changes of the base position that are known of one block.

use std::collections::BTreeSet;

use alloy::primitives::I256;

use super::principal::{Indexes, LoggedAmounts, event};
use crate::{figures::sums::Move, protocols::EventKind};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Shown {
    pub kinds: Vec<EventKind>,
    pub moves: Vec<Move>,
}

impl Shown {
    /// A change of debt of which logs show only events of the kinds in `told`.
    pub(super) fn of_debt(hidden: I256, told: &BTreeSet<EventKind>) -> Self {
        let (kind, moved) = event(hidden);
        Self { kinds: Some(kind).filter(|kind| !told.contains(kind)).into_iter().collect(), moves: vec![moved] }
    }

    #[must_use]
    pub(super) fn and(mut self, other: Self) -> Self {
        self.kinds.extend(other.kinds);
        self.moves.extend(other.moves);
        self
    }

    pub(super) fn amounts(&self) -> LoggedAmounts {
        let mut amounts = LoggedAmounts::default();
        self.moves.iter().for_each(|moved| amounts.add(moved.amount));
        amounts
    }

    /// Whether the amounts add up to nothing.
    pub(super) fn is_even(&self) -> bool {
        self.amounts().net().is_zero()
    }

    /// Whether each part of the position that changed between two principals changed by an event of its kind.
    pub(super) fn has_kinds(&self, indexes: Indexes, before: I256, after: I256) -> bool {
        let needed = indexes.needed(before, after, self.amounts());
        needed.iter().all(|any| any.iter().any(|kind| self.kinds.contains(kind)))
    }

    /// Whether the principals `before` and `after` the block tell what each amount was. Several amounts may be supply
    /// as well as debt, and a log that tells which may be missing, unless all grow one debt or all repay it.
    pub(super) fn is_plain(&self, (before, after): (I256, I256)) -> bool {
        let is_of_debt = |kind: &EventKind| matches!(kind, EventKind::Borrow | EventKind::Repay);
        let amounts = self.amounts();
        let is_one_debt = !before.is_positive() && !after.is_positive() && amounts.is_one_way();
        amounts.moves < 2 || is_one_debt || !self.kinds.iter().any(is_of_debt)
    }

    /// What `whole` shows in addition; `None` if it lacks a part of this.
    pub(super) fn missing_of(&self, whole: &Self) -> Option<Self> {
        let Self { mut kinds, mut moves } = whole.clone();
        for kind in &self.kinds {
            kinds.remove(kinds.iter().position(|other| other == kind)?);
        }
        for moved in &self.moves {
            moves.remove(moves.iter().position(|other| other == moved)?);
        }
        Some(Self { kinds, moves })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::record::Side;
    use assay_domain::{Address, U256};

    fn shown(kinds: &[EventKind], amounts: &[u64]) -> Shown {
        let gain = |amount: &u64| Move::gain(Side::Base, Address::ZERO, U256::from(*amount));
        Shown { kinds: kinds.to_vec(), moves: amounts.iter().map(gain).collect() }
    }

    #[test]
    fn several_amounts_beside_supply_may_be_supply_or_debt() {
        use EventKind::{Borrow, Repay, Supply, Withdraw};
        let of = |kinds: &[EventKind], signed: &[i64]| Shown {
            kinds: kinds.to_vec(),
            moves: signed.iter().map(|amount| event(I256::try_from(*amount).unwrap()).1).collect(),
        };
        let number = |amount: i64| I256::try_from(amount).unwrap();
        for (shown, before, after, is_plain) in [
            (of(&[Repay, Supply], &[7]), -3, 4, true),
            (of(&[Supply, Supply], &[7, 7]), 0, 14, true),
            (of(&[Supply, Repay], &[7, 7]), 0, 14, false),
            (of(&[Withdraw, Borrow], &[-7, -7]), 14, 0, false),
            (of(&[Borrow, Borrow], &[-7, -7]), 0, -14, true),
            (of(&[Repay, Repay], &[7, 7]), -14, 0, true),
            (of(&[Borrow, Repay], &[-7, 7]), -14, -14, false),
        ] {
            assert_eq!(shown.is_plain((number(before), number(after))), is_plain, "{shown:?}");
        }
    }

    #[test]
    fn what_is_missing_is_counted_as_often_as_it_is() {
        use EventKind::{Repay, Supply};
        let whole = shown(&[Supply, Repay, Repay], &[5, 7, 5]);
        assert_eq!(shown(&[Repay], &[5]).missing_of(&whole), Some(shown(&[Supply, Repay], &[7, 5])));
        assert_eq!(whole.missing_of(&whole), Some(Shown::default()));
        assert_eq!(whole.missing_of(&shown(&[Supply, Repay], &[5, 7, 5])), None);
        assert_eq!(shown(&[], &[6]).missing_of(&whole), None);
    }
}
