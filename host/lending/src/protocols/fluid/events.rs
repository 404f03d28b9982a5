//! The logs that name a wallet: transfers of positions, and of the tokens that are shares of deposits.

use alloy::{primitives::U256, rpc::types::Log};

use crate::{
    asset::Asset,
    figures::{
        hints::TRANSFER,
        record::Side,
        sums::{Move, amount_at},
    },
    protocols::{EventKind, Signature},
};
use assay_domain::{Address, B256};

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
    use alloy::primitives::{Bytes, I256, LogData};

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
