//! Logs as markets emit them, and the events they become.

use alloy::primitives::{Address, Bytes, LogData};

use super::*;
use crate::protocols::{Evidence, LendingProtocol, comet::Comet};

const WALLET: B256 = B256::with_last_byte(0xaa);
const OTHER: B256 = B256::with_last_byte(0xbb);
const NOBODY: B256 = B256::ZERO;

pub(crate) fn log(index: u64, topic0: B256, from: B256, to: B256, amount: u64) -> Log {
    let data = LogData::new_unchecked(vec![topic0, from, to], Bytes::from(U256::from(amount).to_be_bytes_vec()));
    Log {
        inner: alloy::primitives::Log { address: Address::ZERO, data },
        block_hash: Some(B256::with_last_byte(1)),
        transaction_hash: Some(B256::with_last_byte(1)),
        log_index: Some(index),
        ..Log::default()
    }
}

fn told_by(logs: &[Log]) -> Vec<EventKind> {
    let evidence = Evidence { own: logs.iter().collect(), ..Evidence::default() };
    Comet.events(&evidence, WALLET).into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn the_log_right_after_splits_supply_from_repayment() {
    let supply = |index| log(index, SUPPLY, OTHER, WALLET, 1_000);
    let mint = |index, amount| log(index, TRANSFER, NOBODY, WALLET, amount);
    assert_eq!(told_by(&[supply(4), mint(5, 998)]), [EventKind::Supply]);
    assert_eq!(told_by(&[supply(4)]), [EventKind::Repay]);
    assert_eq!(told_by(&[supply(4), mint(5, 400)]), [EventKind::Repay, EventKind::Supply]);
    // Not right after: a repayment, and supply from another wallet.
    assert_eq!(told_by(&[supply(4), mint(6, 998)]), [EventKind::Repay, EventKind::Supply]);
}

#[test]
fn the_log_right_after_splits_withdrawal_from_borrowing() {
    let withdraw = |index| log(index, WITHDRAW, WALLET, OTHER, 1_000);
    let burn = |index, amount| log(index, TRANSFER, WALLET, NOBODY, amount);
    assert_eq!(told_by(&[withdraw(4), burn(5, 1_001)]), [EventKind::Withdraw]);
    assert_eq!(told_by(&[withdraw(4)]), [EventKind::Borrow]);
    assert_eq!(told_by(&[withdraw(4), burn(5, 400)]), [EventKind::Borrow, EventKind::Withdraw]);
    // A neighbour is part of only one split.
    assert_eq!(told_by(&[withdraw(4), withdraw(5), burn(6, 1_000)]), [EventKind::Borrow, EventKind::Withdraw]);
}

#[test]
fn a_neighbour_of_another_transaction_or_the_other_direction_is_none() {
    let mut elsewhere = log(5, TRANSFER, NOBODY, WALLET, 1_000);
    elsewhere.transaction_hash = Some(B256::with_last_byte(2));
    assert_eq!(told_by(&[log(4, SUPPLY, OTHER, WALLET, 1_000), elsewhere]), [EventKind::Repay, EventKind::Supply]);
    let burn = log(5, TRANSFER, WALLET, NOBODY, 1_000);
    assert_eq!(told_by(&[log(4, SUPPLY, OTHER, WALLET, 1_000), burn]), [EventKind::Repay, EventKind::Withdraw]);
}

#[test]
fn a_neighbour_that_is_larger_belongs_to_another_action() {
    let supply = log(4, SUPPLY, OTHER, WALLET, 1_000);
    let mint = |amount| log(5, TRANSFER, NOBODY, WALLET, amount);
    assert_eq!(told_by(&[supply.clone(), mint(1_009)]), [EventKind::Supply]);
    assert_eq!(told_by(&[supply, mint(1_010)]), [EventKind::Repay, EventKind::Supply]);
    let withdraw = log(4, WITHDRAW, WALLET, OTHER, 1_000);
    let burn = |amount| log(5, TRANSFER, WALLET, NOBODY, amount);
    assert_eq!(told_by(&[withdraw.clone(), burn(1_009)]), [EventKind::Withdraw]);
    assert_eq!(told_by(&[withdraw, burn(1_010)]), [EventKind::Borrow, EventKind::Withdraw]);
}

#[test]
fn an_absorption_is_one_liquidation_and_its_rest_no_supply() {
    let absorbed = log(7, ABSORB_DEBT, OTHER, WALLET, 5_000);
    assert_eq!(told_by(std::slice::from_ref(&absorbed)), [EventKind::Liquidation]);
    assert_eq!(told_by(&[absorbed, log(8, TRANSFER, NOBODY, WALLET, 40)]), [EventKind::Liquidation]);
}

#[test]
fn collateral_and_transfers_are_supplies_and_withdrawals() {
    assert_eq!(
        told_by(&[
            log(1, SUPPLY_COLLATERAL, OTHER, WALLET, 5),
            log(2, WITHDRAW_COLLATERAL, WALLET, OTHER, 5),
            log(3, TRANSFER_COLLATERAL, OTHER, WALLET, 5),
            log(4, TRANSFER_COLLATERAL, WALLET, OTHER, 5),
            log(5, TRANSFER, NOBODY, WALLET, 5),
            log(6, TRANSFER, WALLET, NOBODY, 5),
        ]),
        [
            EventKind::Supply,
            EventKind::Withdraw,
            EventKind::Supply,
            EventKind::Withdraw,
            EventKind::Supply,
            EventKind::Withdraw
        ]
    );
}

#[test]
fn nothing_and_nonsense_are_no_events() {
    let mut short = log(9, SUPPLY, OTHER, WALLET, 1);
    short.inner.data = LogData::new_unchecked(vec![SUPPLY, OTHER, WALLET], Bytes::from_static(&[1]));
    assert_eq!(
        told_by(&[
            log(1, SUPPLY, OTHER, WALLET, 0),
            log(3, WITHDRAW, WALLET, OTHER, 0),
            log(5, SUPPLY_COLLATERAL, OTHER, WALLET, 0),
            log(7, TRANSFER, WALLET, OTHER, 50),
            log(8, TRANSFER_COLLATERAL, WALLET, WALLET, 50),
            short,
        ]),
        []
    );
}
