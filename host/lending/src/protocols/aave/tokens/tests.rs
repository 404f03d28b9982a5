//! Transfers of aTokens as pools and wallets make them, and the events they become.

use alloy::primitives::{Bytes, I256, LogData, U256};

use super::*;
use crate::{
    figures::hints::TRANSFER,
    protocols::{
        EventKind, LendingProtocol, Signature,
        aave::{SIGNATURES_V3, V3},
    },
};

const POOL: Address = Address::repeat_byte(1);
const TOKEN: Address = Address::repeat_byte(2);
const ASSET: Address = Address::repeat_byte(3);
const GATEWAY: Address = Address::repeat_byte(4);
const OTHER: Address = Address::repeat_byte(5);
const WALLET: Address = Address::repeat_byte(0xaa);
const NOBODY: Address = Address::ZERO;

fn log(contract: Address, topics: &[B256], words: &[u64], index: u64) -> Log {
    let data: Vec<u8> = words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<32>()).collect();
    Log {
        inner: alloy::primitives::Log {
            address: contract,
            data: LogData::new_unchecked(topics.to_vec(), Bytes::from(data)),
        },
        block_hash: Some(B256::with_last_byte(7)),
        block_number: Some(7),
        transaction_hash: Some(B256::with_last_byte(8)),
        log_index: Some(index),
        ..Log::default()
    }
}

fn transfer(from: Address, to: Address, index: u64) -> Log {
    log(TOKEN, &[TRANSFER, from.into_word(), to.into_word()], &[100], index)
}

fn withdraw(user: Address, asset: Address, index: u64) -> Log {
    log(POOL, &[WITHDRAW, asset.into_word(), user.into_word(), user.into_word()], &[100], index)
}

fn liquidation(index: u64) -> Log {
    log(POOL, &[LIQUIDATION, ASSET.into_word(), OTHER.into_word(), WALLET.into_word()], &[50, 100, 0, 1], index)
}

fn listed() -> [Hint; 1] {
    [Hint { contract: TOKEN.into(), topic0: TRANSFER, naming: Naming::Holder(ASSET), explained_by: &[] }]
}

fn explained(log: &Log, own: &[&Log], beside: &[&Log]) -> bool {
    let transfers: Vec<&Log> = std::iter::once(log).chain(beside.iter().copied()).collect();
    is_explained(log, ASSET, WALLET.into_word(), own, &transfers)
}

#[test]
fn what_the_pool_tells_of_the_same_asset_needs_no_receipt() {
    let (burnt, seized, own) = (transfer(WALLET, NOBODY, 1), transfer(WALLET, OTHER, 1), withdraw(WALLET, ASSET, 2));
    assert!(
        explained(&burnt, &[&own], &[])
            && explained(&burnt, &[&liquidation(2)], &[])
            && explained(&seized, &[&liquidation(2)], &[])
    );
    // Another asset, no log, or a log that gives no token away.
    assert!(
        !explained(&burnt, &[&withdraw(WALLET, OTHER, 2)], &[])
            && !explained(&burnt, &[], &[])
            && !explained(&seized, &[&own], &[])
    );
    let minted = transfer(NOBODY, WALLET, 1);
    assert!(explained(&minted, &[&own], &[]) && explained(&minted, &[], &[&transfer(OTHER, WALLET, 2)]));
    assert!(!explained(&minted, &[], &[]));
    let other = transfer(NOBODY, WALLET, 3);
    assert!(!explained(&minted, &[&own], &[&other]), "each has its own log of the pool");
}

#[test]
fn dust_from_strangers_needs_no_receipt() {
    assert!(explained(&transfer(OTHER, WALLET, 1), &[], &[]) && explained(&transfer(WALLET, WALLET, 1), &[], &[]));
}

fn read(own: &[Log], hints: &[Log], receipts: &[Log]) -> (Vec<EventKind>, Vec<I256>) {
    let listed = listed();
    // The pool's logs that name the wallet count, whichever query found them.
    let names = |log: &&Log| {
        let names = |s: &Signature| {
            log.topics().first() == Some(&s.topic0) && log.topics().get(s.wallet_at) == Some(&WALLET.into_word())
        };
        SIGNATURES_V3.iter().any(names)
    };
    let mut own: Vec<&Log> = own.iter().chain(receipts.iter().filter(names)).collect();
    own.sort_by_key(|log| log.log_index);
    own.dedup_by_key(|log| log.log_index);
    let evidence = Evidence {
        own,
        hints: hints.iter().collect(),
        receipts: receipts.iter().collect(),
        listed: &listed,
        before: None,
    };
    let events = V3.events(&evidence, WALLET.into_word()).into_iter().map(|(kind, _)| kind).collect();
    let moves = V3.moves(&evidence, WALLET.into_word()).into_iter().filter(|(moved, _)| moved.side == Side::Supply);
    (events, moves.map(|(moved, _)| moved.amount).collect())
}

fn amounts(amounts: &[i64]) -> Vec<I256> {
    amounts.iter().map(|amount| I256::try_from(*amount).unwrap()).collect()
}

#[test]
fn who_lets_a_gateway_withdraw_has_withdrawn() {
    let given = transfer(WALLET, GATEWAY, 1);
    let taken = withdraw(GATEWAY, ASSET, 3);
    assert_eq!(
        read(&[], std::slice::from_ref(&given), std::slice::from_ref(&taken)),
        (vec![EventKind::Withdraw], amounts(&[-100]))
    );
    for unlike in [withdraw(OTHER, ASSET, 3), withdraw(GATEWAY, OTHER, 3), withdraw(GATEWAY, ASSET, 0)] {
        assert_eq!(read(&[], std::slice::from_ref(&given), &[unlike]), (vec![], amounts(&[-100])));
    }
    // One withdrawal matches only one transfer.
    assert_eq!(
        read(&[], &[given, transfer(WALLET, GATEWAY, 2)], &[taken]),
        (vec![EventKind::Withdraw], amounts(&[-100, -100]))
    );
}

#[test]
fn what_a_gateway_withdraws_for_another_is_not_its_own() {
    let (given, taken) = (transfer(OTHER, WALLET, 1), withdraw(WALLET, ASSET, 3));
    assert!(!explained(&given, &[&taken], &[]), "the receipt shows whether it was seized");
    let of = |hints: &[Log], receipts: &[Log]| read(std::slice::from_ref(&taken), hints, receipts).0;
    assert_eq!(of(std::slice::from_ref(&given), std::slice::from_ref(&taken)), []);
    // Its own aTokens, those of a later transfer, and those that it seized.
    let seized =
        log(POOL, &[LIQUIDATION, ASSET.into_word(), OTHER.into_word(), OTHER.into_word()], &[50, 100, 0, 1], 2);
    for (hints, receipts) in [
        (vec![], vec![]),
        (vec![transfer(OTHER, WALLET, 4)], vec![taken.clone()]),
        (vec![given], vec![seized, taken.clone()]),
    ] {
        assert_eq!(of(&hints, &receipts), [EventKind::Withdraw]);
    }
}

#[test]
fn a_liquidator_who_withdraws_what_was_seized_does_it_for_himself() {
    let (seized, taken) = (transfer(WALLET, OTHER, 1), withdraw(OTHER, ASSET, 4));
    let found = (vec![EventKind::Liquidation], amounts(&[-100]));
    assert_eq!(read(&[], std::slice::from_ref(&seized), &[liquidation(2), taken.clone()]), found);
    // Found twice, it counts once.
    assert_eq!(read(&[liquidation(2)], &[seized], &[liquidation(2), taken]), found);
}

#[test]
fn plain_transfers_move_the_supply_and_are_no_events() {
    let hints = [
        transfer(OTHER, WALLET, 1),
        transfer(WALLET, OTHER, 2),
        transfer(WALLET, WALLET, 3),
        transfer(NOBODY, WALLET, 4),
    ];
    assert_eq!(read(&[], &hints, &[]), (vec![], amounts(&[100, -100])));
}
