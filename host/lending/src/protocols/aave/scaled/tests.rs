//! Logs of tokens, and how they change the stored balances.

use alloy::primitives::{Bytes, LogData, keccak256};

use super::*;

const WALLET: B256 = B256::repeat_byte(0xaa);
const OTHER: B256 = B256::repeat_byte(0xbb);
const ASSET: Address = Address::repeat_byte(3);
const SUPPLY: Address = Address::repeat_byte(4);
const DEBT: Address = Address::repeat_byte(5);

fn listed(version: Version, asset: Address) -> Vec<Hint> {
    hints(version, asset, SUPPLY, DEBT)
}

/// An index of one and a half.
fn index() -> U256 {
    RAY + (RAY >> 1)
}

fn log(contract: Address, topics: &[B256], words: &[U256]) -> Log {
    let data: Vec<u8> = words.iter().flat_map(U256::to_be_bytes::<32>).collect();
    let data = LogData::new_unchecked(topics.to_vec(), Bytes::from(data));
    Log { inner: alloy::primitives::Log { address: contract, data }, ..Log::default() }
}

fn changes(version: Version, logs: &[Log]) -> Vec<(Side, i64)> {
    let logs: Vec<&Log> = logs.iter().collect();
    let change = |(moved, _): (Move, &Log)| {
        assert_eq!((moved.asset, moved.fixed_rate), (Asset::Scaled(ASSET), false));
        (moved.side, i64::try_from(moved.amount).unwrap())
    };
    moves(&logs, &listed(version, ASSET), WALLET).into_iter().map(change).collect()
}

fn change(version: Version, contract: Address, topics: &[B256], words: &[U256]) -> Option<(Side, i64)> {
    changes(version, &[log(contract, topics, words)]).pop()
}

#[test]
fn topics_are_the_hashes_of_the_events() {
    for (topic, event) in [
        (MINT, "Mint(address,address,uint256,uint256,uint256)"),
        (BURN, "Burn(address,address,uint256,uint256,uint256)"),
        (MINT_DEBT_V2, "Mint(address,address,uint256,uint256)"),
        (BURN_DEBT_V2, "Burn(address,uint256,uint256)"),
        (MINT_SUPPLY_V2, "Mint(address,uint256,uint256)"),
        (BURN_SUPPLY_V2, "Burn(address,address,uint256,uint256)"),
        (BALANCE_TRANSFER, "BalanceTransfer(address,address,uint256,uint256)"),
    ] {
        assert_eq!(topic, keccak256(event), "{event}");
    }
}

#[test]
fn interest_is_no_change_of_what_is_stored() {
    let words = |value: u64, interest: u64| [U256::from(value), U256::from(interest), index()];
    let v3 = |contract, topic0, value, interest| {
        change(Version::V3, contract, &[topic0, WALLET, WALLET], &words(value, interest))
    };
    assert_eq!(v3(SUPPLY, MINT, 310, 10), Some((Side::Supply, 200)));
    assert_eq!(v3(DEBT, MINT, 300, 0), Some((Side::Debt, 200)));
    assert_eq!(v3(DEBT, BURN, 290, 10), Some((Side::Debt, -200)));
    assert_eq!(v3(DEBT, MINT, 7, 10), Some((Side::Debt, -2)), "less was repaid than the interest");
    assert_eq!(v3(SUPPLY, MINT, 10, 10), Some((Side::Supply, 0)), "the interest that a transfer brings to light");
}

#[test]
fn the_earlier_version_logs_amounts_without_interest() {
    let v2 = |contract, topics: &[B256]| change(Version::V2, contract, topics, &[U256::from(300), index()]);
    assert_eq!(v2(SUPPLY, &[MINT_SUPPLY_V2, WALLET]), Some((Side::Supply, 200)));
    assert_eq!(v2(SUPPLY, &[BURN_SUPPLY_V2, WALLET, OTHER]), Some((Side::Supply, -200)));
    assert_eq!(v2(DEBT, &[MINT_DEBT_V2, OTHER, WALLET]), Some((Side::Debt, 200)));
    assert_eq!(v2(DEBT, &[BURN_DEBT_V2, WALLET]), Some((Side::Debt, -200)));
    assert_eq!(v2(DEBT, &[MINT_SUPPLY_V2, WALLET]), None, "of the other token");
}

#[test]
fn a_transfer_has_its_amount_in_one_log_and_its_index_in_another() {
    let amounts = |parties: &[(B256, B256, u64, u64)]| -> Vec<i64> {
        let both = |&(from, to, amount, told): &(B256, B256, u64, u64)| {
            let transfer = log(SUPPLY, &[TRANSFER, from, to], &[U256::from(amount)]);
            let indexed = log(SUPPLY, &[BALANCE_TRANSFER, from, to], &[U256::from(told), index()]);
            [transfer, indexed]
        };
        let mut logs: Vec<Log> = parties.iter().flat_map(both).collect();
        let in_order = changes(Version::V3, &logs);
        logs.chunks_mut(2).for_each(<[Log]>::reverse);
        assert_eq!(in_order, changes(Version::V2, &logs), "the earlier version logs the index first");
        in_order.into_iter().map(|(_, amount)| amount).collect()
    };
    assert_eq!(amounts(&[(OTHER, WALLET, 300, 300), (OTHER, WALLET, 600, 400)]), [200, 400]);
    assert_eq!(amounts(&[(WALLET, OTHER, 300, 200), (OTHER, WALLET, 30, 30)]), [-200, 20]);
    assert_eq!(amounts(&[(WALLET, WALLET, 300, 200), (OTHER, WALLET, 0, 0)]), [0, 0]);
    assert_eq!(change(Version::V3, SUPPLY, &[BALANCE_TRANSFER, OTHER, WALLET], &[U256::from(300), index()]), None);
}

#[test]
fn what_no_log_shows_is_not_compared() {
    let sides = |asset| [Side::Supply, Side::Debt].map(|side| is_shown(side, asset));
    assert_eq!(sides(ASSET), [true, true]);
    assert_eq!(sides(DISCOUNTED), [true, false]);
    assert_eq!(sides(REBASING[0]), [false, false]);
    assert_eq!(listed(Version::V3, REBASING[1]), []);
    let listed = listed(Version::V3, DISCOUNTED);
    let contracts: Vec<_> = listed.iter().flat_map(|hint| hint.contract.addresses()).collect();
    assert_eq!(contracts, [SUPPLY; 3]);
}

#[test]
fn a_log_with_an_impossible_number_changes_nothing() {
    for words in [[U256::MAX, U256::ZERO, index()], [U256::from(1), U256::ZERO, U256::ZERO]] {
        assert_eq!(change(Version::V3, DEBT, &[MINT, WALLET, WALLET], &words), None);
    }
}
