//! Which logs become which events, and the amounts they move.

use alloy::primitives::{Bytes, LogData};

use super::*;
use crate::protocols::{Evidence, LendingProtocol, morpho::MorphoBlue};

const ME: B256 = B256::repeat_byte(0xaa);
const OTHER: B256 = B256::repeat_byte(0xbb);
const ID: B256 = B256::repeat_byte(0x1d);

fn log(topic0: B256, topics: [B256; 2], words: &[u64]) -> Log {
    let data: Vec<u8> = words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<32>()).collect();
    let topics = [topic0, ID].into_iter().chain(topics).collect();
    let data = LogData::new_unchecked(topics, Bytes::from(data));
    Log { inner: alloy::primitives::Log { data, ..Default::default() }, ..Log::default() }
}

/// One log of each kind, with `ME` as the owner.
fn each() -> Vec<Log> {
    vec![
        log(SUPPLY, [OTHER, ME], &[100, 7_000]),
        log(WITHDRAW, [ME, OTHER], &[9, 40, 3_000]),
        log(BORROW, [ME, OTHER], &[9, 60, 6_000]),
        log(REPAY, [OTHER, ME], &[20, 2_000]),
        log(SUPPLY_COLLATERAL, [OTHER, ME], &[500]),
        log(WITHDRAW_COLLATERAL, [ME, OTHER], &[9, 100]),
        log(LIQUIDATE, [OTHER, ME], &[30, 2_500, 400, 15, 1_500]),
    ]
}

#[test]
fn each_log_is_an_event_of_its_owner_only() {
    let logs = each();
    let evidence = Evidence { own: logs.iter().collect(), ..Evidence::default() };
    let kinds: Vec<_> = MorphoBlue.events(&evidence, ME).into_iter().map(|(kind, _)| kind).collect();
    use EventKind::{Borrow, Liquidation, Repay, Supply, Withdraw};
    assert_eq!(kinds, [Supply, Withdraw, Borrow, Repay, Supply, Withdraw, Liquidation]);
    assert!(MorphoBlue.events(&evidence, OTHER).is_empty() && MorphoBlue.moves(&evidence, OTHER).is_empty());
}

#[test]
fn shares_and_collateral_add_up_to_the_position() {
    let logs = each();
    let evidence = Evidence { own: logs.iter().collect(), ..Evidence::default() };
    let mut sums = crate::figures::sums::Sums::default();
    MorphoBlue.moves(&evidence, ME).iter().for_each(|(moved, _)| sums.add(moved));
    let net = |side, asset| i64::try_from(sums.of(side, asset).net).unwrap();
    assert_eq!(net(Side::Supply, Asset::Shares(ID)), 4_000);
    // Debt that was written off is gone, like debt that was repaid.
    assert_eq!(net(Side::Debt, Asset::Shares(ID)), 0);
    assert_eq!(net(Side::Collateral, Asset::Market(ID)), 0);
    assert_eq!(net(Side::Debt, Asset::Market(ID)), 10, "and was not repaid");
    assert_eq!(sums.markets(), [ID].into());
}

#[test]
fn nothing_is_no_event_and_its_shares_still_move() {
    let dust = log(WITHDRAW, [ME, OTHER], &[9, 0, 1]);
    let read = read(&dust).unwrap();
    assert_eq!((read.kind, read.moves.len()), (None, 2));
    assert_eq!(super::read(&log(SUPPLY, [OTHER, ME], &[100])), None, "a log without its shares");
    assert_eq!(super::read(&log(B256::ZERO, [OTHER, ME], &[1, 2, 3])), None);
}
