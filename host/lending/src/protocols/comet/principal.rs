//! The changes of a position within a block, from the wallet's principals before and after it.

use alloy::primitives::I256;

use crate::{
    figures::{
        record::{Side, Unexplained},
        sums::{Move, signed},
    },
    protocols::EventKind,
    tolerances,
};
use assay_domain::{Address, U256};

/// The unit of a market's indexes.
const INDEX: u64 = 1_000_000_000_000_000;

/// The changes of the base position that a block's logs show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LoggedAmounts {
    pub gained: I256,
    pub lost: I256,
    pub moves: u64,
}

impl LoggedAmounts {
    pub(super) fn add(&mut self, amount: I256) {
        let sum = if amount.is_negative() { &mut self.lost } else { &mut self.gained };
        *sum = sum.saturating_add(amount.saturating_abs());
        self.moves = self.moves.saturating_add(1);
    }

    pub(super) fn net(self) -> I256 {
        self.gained.saturating_sub(self.lost)
    }

    /// Whether nothing was lost, or nothing gained.
    pub(super) fn is_one_way(self) -> bool {
        self.gained.is_zero() || self.lost.is_zero()
    }

    /// The possible rounding error.
    fn slack(self) -> I256 {
        signed(
            tolerances::COMET_SPLIT_ROUNDING
                .saturating_add(U256::from(self.moves.saturating_mul(tolerances::COMET_CHANGE_ROUNDING))),
        )
    }
}

/// The indexes of a market at one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Indexes {
    pub supply: u64,
    pub borrow: u64,
}

impl Indexes {
    /// The amount of a principal: a supply if positive, a debt if negative.
    fn amount(self, principal: I256) -> I256 {
        let index = if principal.is_negative() { self.borrow } else { self.supply };
        let product = principal.saturating_mul(signed(U256::from(index)));
        product.checked_div(signed(U256::from(INDEX))).unwrap_or_default()
    }

    /// For each part of the position that changed between the two principals, the kinds of events that can have changed
    /// it. The block must have one of them.
    pub(super) fn needed(self, before: I256, after: I256, logged: LoggedAmounts) -> Vec<&'static [EventKind]> {
        let (before, after, slack) = (self.amount(before), self.amount(after), logged.slack());
        let supplied = after.max(I256::ZERO).saturating_sub(before.max(I256::ZERO));
        let owed = before.min(I256::ZERO).saturating_sub(after.min(I256::ZERO));
        // The rest of a liquidation becomes supply.
        let parts: [(I256, &'static [EventKind], &'static [EventKind]); 2] = [
            (supplied, &[EventKind::Supply, EventKind::Liquidation], &[EventKind::Withdraw]),
            (owed, &[EventKind::Borrow], &[EventKind::Repay, EventKind::Liquidation]),
        ];
        let changed = parts.into_iter().filter(|(change, ..)| change.saturating_abs() >= slack);
        changed.map(|(change, grown, shrunk)| if change.is_negative() { shrunk } else { grown }).collect()
    }

    /// The change between two principals that `logged` does not show; `None` if it is within rounding.
    ///
    /// # Errors
    /// [`Unexplained`] if supply changed, which the market always logs.
    pub(super) fn hidden(self, before: I256, after: I256, logged: LoggedAmounts) -> Result<Option<I256>, Unexplained> {
        let (before, after) = (self.amount(before), self.amount(after));
        let hidden = after.saturating_sub(before).saturating_sub(logged.net());
        let slack = logged.slack();
        let debt = |amount: I256| amount.min(I256::ZERO).saturating_abs();
        // No more than this can be repaid or borrowed in the block.
        let most = match hidden.is_negative() {
            true => debt(after).saturating_add(logged.gained),
            false => debt(before).saturating_add(logged.lost),
        };
        let size = hidden.saturating_abs();
        if size < slack {
            return Ok(None);
        }
        if size < most.saturating_add(slack) { Ok(Some(hidden)) } else { Err(Unexplained::LogsMissing) }
    }
}

/// The event and the amount of a hidden change.
pub(super) fn event(hidden: I256) -> (EventKind, Move) {
    let kind = if hidden.is_negative() { EventKind::Borrow } else { EventKind::Repay };
    (kind, Move { side: Side::Base, asset: Address::ZERO.into(), amount: hidden, fixed_rate: false })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INDEXES: Indexes = Indexes { supply: INDEX / 100 * 104, borrow: INDEX / 100 * 110 };

    fn number(number: i64) -> I256 {
        I256::try_from(number).unwrap()
    }

    fn hidden(before: i64, after: i64, logged: &[i64]) -> Result<Option<i64>, Unexplained> {
        let mut sums = LoggedAmounts::default();
        logged.iter().for_each(|amount| sums.add(number(*amount)));
        let found = INDEXES.hidden(number(before), number(after), sums)?;
        Ok(found.map(|amount| i64::try_from(amount).unwrap()))
    }

    #[test]
    fn debt_may_change_without_a_log_and_supply_may_not() {
        assert_eq!(hidden(0, -1_000, &[]), Ok(Some(-1_100)));
        assert_eq!(hidden(-1_000, -200, &[]), Ok(Some(880)));
        assert_eq!(hidden(-1_000, 0, &[]), Ok(Some(1_100)));
        for (before, after) in [(0, 1_000), (1_000, 0), (-1_000, 1_000), (1_000, -1_000)] {
            assert_eq!(hidden(before, after, &[]), Err(Unexplained::LogsMissing), "{before} to {after}");
        }
    }

    #[test]
    fn each_part_that_changed_needs_an_event_of_its_kind() {
        let needed = |before: i64, after: i64| INDEXES.needed(number(before), number(after), LoggedAmounts::default());
        let (gained, paid) = ([EventKind::Supply, EventKind::Liquidation], [EventKind::Repay, EventKind::Liquidation]);
        assert!(needed(500, 500).is_empty());
        assert!(needed(500, 505).is_empty(), "dust");
        assert_eq!(needed(0, 1_000), [gained.as_slice()]);
        assert_eq!(needed(1_000, 200), [&[EventKind::Withdraw]]);
        assert_eq!(needed(-200, -1_000), [&[EventKind::Borrow]]);
        assert_eq!(needed(-1_000, 0), [paid.as_slice()]);
        assert_eq!(needed(-1_000, 1_000), [gained.as_slice(), paid.as_slice()]);
        assert_eq!(needed(1_000, -1_000), [[EventKind::Withdraw].as_slice(), &[EventKind::Borrow]]);
    }

    #[test]
    fn what_the_logs_show_is_not_hidden() {
        assert_eq!(hidden(0, 1_000, &[1_040]), Ok(None));
        assert_eq!(hidden(-1_000, 0, &[600, 500]), Ok(None));
        assert_eq!(hidden(-1_000, -1_000, &[]), Ok(None));
        // A transfer that repays a debt and leaves a supply, and one that uses up a supply and creates a debt.
        assert_eq!(hidden(-1_000, 500, &[520]), Ok(Some(1_100)));
        assert_eq!(hidden(500, -1_000, &[-520]), Ok(Some(-1_100)));
        // A repayment together with a larger borrowing in the same block.
        assert_eq!(hidden(0, -1_000, &[-2_200]), Ok(Some(1_100)));
        assert_eq!(hidden(0, 1_000, &[-10]), Err(Unexplained::LogsMissing));
    }

    proptest! {
        /// A wallet's balance goes through any changes in one block, one of them hidden.
        #[test]
        fn one_hidden_change_of_debt_is_found(start in -1_000_000i64..0, amount in 20i64..1_000_000, repaid: bool) {
            // A repayment is at most the debt.
            let amount = if repaid { amount.min(-start) } else { -amount };
            prop_assume!(amount.abs() >= 20);
            let worth = |principal: i64| principal * 110 / 100;
            let principal = |worth: i64| -((-worth * 100 + 109) / 110);
            let after = principal(worth(start) + amount);
            let found = hidden(start, after, &[]).unwrap().unwrap();
            prop_assert!((found - amount).abs() <= 4, "{} for {}", found, amount);
        }

        #[test]
        fn any_principals_have_an_answer(before in any::<i64>(), after in any::<i64>(), logged in any::<[i64; 3]>()) {
            let _ = hidden_of(before, after, logged);
        }
    }

    fn hidden_of(before: i64, after: i64, logged: [i64; 3]) -> Result<Option<I256>, Unexplained> {
        let mut sums = LoggedAmounts::default();
        logged.iter().for_each(|amount| sums.add(number(*amount)));
        INDEXES.hidden(number(before), number(after), sums)
    }
}
