//! The logs that name a wallet: transfers of positions, and of the tokens that are shares of deposits. And the logs of
//! vaults, which contain only the number of a position.

use alloy::{
    primitives::{I256, U256},
    rpc::types::Log,
    sol,
    sol_types::SolEvent,
};

use crate::{
    asset::Asset,
    figures::{
        hints::TRANSFER,
        indexed::{Entry, Had, What},
        record::Side,
        sums::{Move, amount_at},
    },
    protocols::{EventKind, Signature},
};
use assay_domain::{Address, B256};

sol! {
    event LogOperate(address user, uint256 id, int256 collateral, int256 debt, address to);
}

/// The log that a vault emits for each operation on a position.
pub(super) const OPERATED: B256 = LogOperate::SIGNATURE_HASH;
/// The words of its data.
pub(super) const ID: usize = 1;
const COLLATERAL: usize = 2;
const DEBT: usize = 3;

/// Transfers of a position. The same signature as a token's, with the id in a third topic.
pub(super) const SIGNATURES: &[Signature] =
    &[Signature { topic0: TRANSFER, wallet_at: 1 }, Signature { topic0: TRANSFER, wallet_at: 2 }];

/// The asset of a move of a position: one if the wallet has it.
pub(super) fn position(id: B256) -> (Side, Asset) {
    (Side::Collateral, Asset::Market(id))
}

/// The asset of a move of shares of a token.
pub(super) fn shares(token: Address) -> (Side, Asset) {
    (Side::Supply, Asset::Shares(token.into_word()))
}

/// Whether a part of a position, by its id, is a position in a vault: their numbers have 32 bits.
pub(super) fn is_position(part: B256) -> bool {
    U256::from_be_bytes(part.0) <= U256::from(u32::MAX)
}

/// The move that the transfer of a position means for `wallet`.
pub(super) fn owned(log: &Log, wallet: B256) -> Option<Move> {
    let [topic0, from, to, id] = *log.topics() else { return None };
    let (side, asset) = position(id);
    moved(topic0, (from, to), wallet, Move::gain(side, asset, U256::ONE))
}

/// The events in a log of a vault: one for each side of the position that changed.
pub(super) fn operated(log: &Log) -> impl Iterator<Item = EventKind> + use<> {
    let sides = [(COLLATERAL, EventKind::Supply, EventKind::Withdraw), (DEBT, EventKind::Borrow, EventKind::Repay)];
    let is_one = log.topic0() == Some(&OPERATED);
    let changes = sides.map(|(place, more, less)| {
        let change = amount_at(log, place).filter(|_| is_one).map(I256::from_raw).unwrap_or_default();
        if change.is_zero() { None } else { Some(if change.is_negative() { less } else { more }) }
    });
    changes.into_iter().flatten()
}

/// The positions that a wallet held, according to the moves among its entries. Within a block the last move counts: an
/// operation belongs to the wallet that holds the position at the end of the block.
pub(super) fn had(own: &[Entry]) -> Had {
    let mut had = Had::new();
    for Entry { block, what } in own {
        let What::Moved(Move { asset: Asset::Market(id), amount, .. }) = what else { continue };
        let Ok(id) = u64::try_from(U256::from_be_bytes(id.0)) else { continue };
        let spans = had.entry(id).or_default();
        if amount.is_positive() {
            spans.push(*block..=u64::MAX);
        } else if let Some(last) = spans.last_mut() {
            *last = *last.start()..=block.saturating_sub(1);
        }
    }
    had
}

/// The move that a transfer of shares means for `wallet`, and the event: tokens are minted to the owner of a deposit,
/// and burnt from the owner of a withdrawal.
pub(super) fn shared(log: &Log, wallet: B256) -> Option<(Option<EventKind>, Move)> {
    let [topic0, from, to] = *log.topics() else { return None };
    let ((side, asset), amount) = (shares(log.address()), amount_at(log, 0)?);
    let moved = moved(topic0, (from, to), wallet, Move::gain(side, asset, amount))?;
    let kind = if from.is_zero() { Some(EventKind::Supply) } else { to.is_zero().then_some(EventKind::Withdraw) };
    Some((kind.filter(|_| !amount.is_zero()), moved))
}

/// `gain` for the receiver, its opposite for the sender.
fn moved(topic0: B256, (from, to): (B256, B256), wallet: B256, gain: Move) -> Option<Move> {
    match (from == wallet, to == wallet) {
        _ if topic0 != TRANSFER => None,
        (false, true) => Some(gain),
        (true, false) => Some(Move { amount: gain.amount.saturating_neg(), ..gain }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use alloy::primitives::{Bytes, LogData};

    use super::*;

    const WALLET: B256 = B256::with_last_byte(0xaa);
    const OTHER: B256 = B256::with_last_byte(0xbb);

    fn log(topics: &[B256], data: &[u8]) -> Log {
        let topics = [&[TRANSFER], topics].concat();
        let data = LogData::new(topics, Bytes::copy_from_slice(data)).unwrap();
        let inner = alloy::primitives::Log { address: Address::repeat_byte(7), data };
        Log { inner, ..Log::default() }
    }

    #[test]
    fn a_position_belongs_to_its_last_receiver() {
        let id = B256::with_last_byte(9);
        let of = |from, to| owned(&log(&[from, to, id], &[]), WALLET).map(|moved| moved.amount);
        assert_eq!(of(B256::ZERO, WALLET), Some(I256::ONE));
        assert_eq!(of(WALLET, OTHER), Some(I256::MINUS_ONE));
        assert_eq!((of(WALLET, WALLET), of(OTHER, B256::ZERO)), (None, None), "nothing changes");
        assert!(owned(&log(&[OTHER, WALLET], &[0; 32]), WALLET).is_none(), "a token's");
        assert!(is_position(id) && !is_position(Address::repeat_byte(7).into_word()));
    }

    #[test]
    fn each_side_of_a_position_that_changed_is_an_event() {
        let of = |topic0, collateral: i64, debt: i64| {
            let signed = |amount: i64| I256::try_from(amount).unwrap().into_raw().to_be_bytes::<32>();
            let words = [[0; 32], U256::from(9).to_be_bytes(), signed(collateral), signed(debt), [0; 32]].concat();
            let data = LogData::new(vec![topic0], words.into()).unwrap();
            let inner = alloy::primitives::Log { address: Address::repeat_byte(7), data };
            operated(&Log { inner, ..Log::default() }).collect::<Vec<_>>()
        };
        assert_eq!(of(OPERATED, 5, 3), [EventKind::Supply, EventKind::Borrow]);
        assert_eq!(of(OPERATED, -5, -3), [EventKind::Withdraw, EventKind::Repay]);
        assert_eq!(of(OPERATED, 0, -3), [EventKind::Repay]);
        assert!(of(TRANSFER, 5, 3).is_empty() && of(OPERATED, 0, 0).is_empty());
        assert_eq!(operated(&log(&[], &[0; 64])).count(), 0, "without its amounts");
    }

    #[test]
    fn a_position_is_of_whoever_has_it_after_a_block() {
        let entry = |block, id: u64, amount: I256| {
            let (side, asset) = position(U256::from(id).into());
            Entry { block, what: What::Moved(Move { amount, ..Move::gain(side, asset, U256::ONE) }) }
        };
        let (gain, loss) = (I256::ONE, I256::MINUS_ONE);
        let own = [entry(5, 1, gain), entry(7, 2, gain), entry(8, 1, loss), entry(8, 1, gain), entry(9, 2, loss)];
        assert_eq!(had(&own), [(1, vec![5..=7, 8..=u64::MAX]), (2, vec![7..=8])].into());
        assert!(had(&[entry(5, 1, gain), entry(5, 1, loss)]).values().flatten().all(RangeInclusive::is_empty));
        assert_eq!(had(&[entry(5, 1, loss)]), [(1, vec![])].into());
    }

    #[test]
    fn shares_are_minted_for_a_deposit_and_burnt_for_a_withdrawal() {
        let amount = U256::from(500).to_be_bytes::<32>();
        let of = |from, to| shared(&log(&[from, to], &amount), WALLET).map(|(kind, moved)| (kind, moved.amount));
        let five = I256::try_from(500).unwrap();
        assert_eq!(of(B256::ZERO, WALLET), Some((Some(EventKind::Supply), five)));
        assert_eq!(of(WALLET, B256::ZERO), Some((Some(EventKind::Withdraw), -five)));
        assert_eq!(of(OTHER, WALLET), Some((None, five)), "a transfer is no event");
        assert_eq!(of(OTHER, B256::ZERO), None);
        assert!(shared(&log(&[B256::ZERO, WALLET], &[]), WALLET).is_none(), "without its amount");
        assert_eq!(shared(&log(&[B256::ZERO, WALLET], &[0; 32]), WALLET).and_then(|(kind, _)| kind), None);
    }
}
