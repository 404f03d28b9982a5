//! The amounts that a wallet's logs moved in a market, summed by asset, in the smallest unit. A sum is the position
//! without interest; [`cross_check`](crate::cross_check) compares it with the position.

use std::collections::{BTreeMap, BTreeSet};

use alloy::{
    primitives::{I256, U256},
    rpc::types::Log,
};

use crate::{
    asset::Asset,
    figures::record::{FlowRecord, Side},
    tolerances,
};
use assay_domain::{Address, B256};

/// An amount that moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    pub side: Side,
    pub asset: Asset,
    /// Negative if it reduced the position.
    pub amount: I256,
    /// Whether it created debt at a fixed rate.
    pub fixed_rate: bool,
}

impl Move {
    pub(crate) fn gain(side: Side, asset: impl Into<Asset>, amount: U256) -> Self {
        Self { side, asset: asset.into(), amount: signed(amount), fixed_rate: false }
    }

    pub(crate) fn loss(side: Side, asset: impl Into<Asset>, amount: U256) -> Self {
        Self { side, asset: asset.into(), amount: -signed(amount), fixed_rate: false }
    }
}

/// The sum of the moves of one asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flow {
    pub net: I256,
    /// The highest intermediate sum, at least zero: interest accrued on at most this sum and its interest.
    pub high: I256,
    /// The lowest intermediate sum, at most zero.
    pub low: I256,
    pub moves: u64,
    pub fixed_rate: bool,
}

impl Flow {
    /// Both flows, one after the other. No token has amounts at which this saturates, and a saturated sum fits no
    /// position.
    fn then(self, later: Self) -> Self {
        Self {
            net: self.net.saturating_add(later.net),
            high: self.high.max(self.net.saturating_add(later.high)),
            low: self.low.min(self.net.saturating_add(later.low)),
            moves: self.moves.saturating_add(later.moves),
            fixed_rate: self.fixed_rate || later.fixed_rate,
        }
    }
}

/// The flow of every asset that moved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums {
    flows: BTreeMap<(Side, Asset), Flow>,
    principal: Option<I256>,
}

impl Sums {
    pub(crate) fn add(&mut self, moved: &Move) {
        let Move { side, asset, amount, fixed_rate } = *moved;
        let flow =
            Flow { net: amount, high: amount.max(I256::ZERO), low: amount.min(I256::ZERO), moves: 1, fixed_rate };
        let sum = self.flows.entry((side, asset)).or_default();
        *sum = sum.then(flow);
    }

    #[must_use]
    pub(crate) fn then(mut self, later: &Self) -> Self {
        for (key, flow) in &later.flows {
            let sum = self.flows.entry(*key).or_default();
            *sum = sum.then(*flow);
        }
        self
    }

    /// Adds the base position without interest to which these moves led, by old state.
    #[must_use]
    pub(crate) fn with_principal(self, principal: Option<I256>) -> Self {
        Self { principal, ..self }
    }

    /// `None` if old state was not compared.
    pub(crate) fn principal(&self) -> Option<I256> {
        self.principal
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub(crate) fn of(&self, side: Side, asset: impl Into<Asset>) -> Flow {
        self.flows.get(&(side, asset.into())).copied().unwrap_or_default()
    }

    /// The tokens that, by their moves, are left in the position, each on its side.
    pub(crate) fn left(&self) -> impl Iterator<Item = (Side, Asset)> {
        // Interest makes the sum of a closed position negative, and rounding moves it a little.
        let is_left = |flow: &Flow| flow.net > I256::try_from(rounding(flow.moves)).unwrap_or(I256::MAX);
        let left =
            self.flows.iter().filter(move |((_, asset), flow)| matches!(asset, Asset::Token(_)) && is_left(flow));
        left.map(|(key, _)| *key)
    }

    /// The markets within the contract in which something moved.
    pub fn markets(&self) -> BTreeSet<B256> {
        self.flows.keys().filter_map(|(_, asset)| asset.part()).collect()
    }

    /// The credit that was ever given, with the sum of what was drawn.
    pub(crate) fn credit(&self) -> impl Iterator<Item = (Asset, U256)> {
        let credit = self.flows.iter().filter(|((_, asset), _)| asset.is_credit());
        credit.map(|((_, asset), flow)| (*asset, flow.net.max(I256::ZERO).unsigned_abs()))
    }

    pub(crate) fn records(&self) -> Vec<FlowRecord> {
        let record = |(&(side, asset), &Flow { net, high, low, moves, fixed_rate }): (&(Side, Asset), &Flow)| {
            FlowRecord { side, asset, net, high, low, moves, fixed_rate }
        };
        self.flows.iter().map(record).collect()
    }
}

impl FromIterator<FlowRecord> for Sums {
    fn from_iter<I: IntoIterator<Item = FlowRecord>>(records: I) -> Self {
        let flow = |FlowRecord { side, asset, net, high, low, moves, fixed_rate }| {
            ((side, asset), Flow { net, high, low, moves, fixed_rate })
        };
        Self { flows: records.into_iter().map(flow).collect(), principal: None }
    }
}

/// The number at this word of a log's data.
pub(crate) fn amount_at(log: &Log, place: usize) -> Option<U256> {
    let start = place.checked_mul(32)?;
    log.data().data.get(start..start.checked_add(32)?).and_then(U256::try_from_be_slice)
}

/// The address in this topic of a log.
pub(crate) fn address_at(log: &Log, topic: usize) -> Option<Address> {
    log.topics().get(topic).map(|word: &B256| Address::from_word(*word))
}

/// Converts to a signed number. No token has an amount too large for it.
pub(crate) fn signed(amount: U256) -> I256 {
    I256::try_from(amount).unwrap_or(I256::MAX)
}

/// Maximum rounding error of a sum of `moves` moves.
pub(crate) fn rounding(moves: u64) -> u64 {
    moves.saturating_mul(tolerances::MOVE_ROUNDING).saturating_add(tolerances::POSITION_ROUNDING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(amounts: &[i64]) -> Sums {
        let mut sums = Sums::default();
        for amount in amounts {
            let amount = I256::try_from(*amount).unwrap();
            sums.add(&Move { side: Side::Supply, asset: Address::ZERO.into(), amount, fixed_rate: false });
        }
        sums
    }

    fn summary(sums: &Sums) -> (i64, i64, i64, u64) {
        let flow = sums.of(Side::Supply, Address::ZERO);
        let number = |number: I256| i64::try_from(number).unwrap();
        (number(flow.net), number(flow.high), number(flow.low), flow.moves)
    }

    #[test]
    fn a_sum_knows_its_height_and_depth_on_the_way() {
        let all = [10, -4, 20, -30, -6, 7];
        assert_eq!(summary(&sums(&all)), (-3, 26, -10, 6));
        assert_eq!(summary(&sums(&[])), (0, 0, 0, 0));
        for parts in 0..all.len() {
            let (first, second) = all.split_at(parts);
            assert_eq!(sums(first).then(&sums(second)), sums(&all).then(&sums(&[])), "{parts}");
        }
    }

    #[test]
    fn sums_are_stored_as_they_are() {
        let mut sums = sums(&[5, -7]);
        sums.add(&Move { fixed_rate: true, ..Move::gain(Side::Debt, Address::repeat_byte(1), U256::MAX) });
        let text = serde_json::to_string(&sums.records()).unwrap();
        let read: Vec<FlowRecord> = serde_json::from_str(&text).unwrap();
        assert_eq!(read.into_iter().collect::<Sums>(), sums);
    }
}
