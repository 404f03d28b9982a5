//! Logs of tokens with and without the log of the pool that belongs to them.

use alloy::primitives::{Bytes, LogData, U256, keccak256};

use super::*;
use crate::{
    figures::hints::Hint,
    protocols::aave::{SIGNATURES_V2, Version},
};

const POOL: Address = Address::repeat_byte(1);
const SUPPLY: Address = Address::repeat_byte(2);
const ASSET: Address = Address::repeat_byte(3);
const DEBT: Address = Address::repeat_byte(4);
const FIXED: Address = Address::repeat_byte(5);
const WALLET: Address = Address::repeat_byte(0xaa);
const OTHER: Address = Address::repeat_byte(0xbb);
const NOBODY: Address = Address::ZERO;
const NONE: [Address; 0] = [];

fn log(contract: Address, topic0: B256, addresses: &[Address], words: &[u64]) -> Log {
    let topics = std::iter::once(topic0).chain(addresses.iter().map(|address| address.into_word())).collect();
    let data: Vec<u8> = words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<32>()).collect();
    let data = LogData::new_unchecked(topics, Bytes::from(data));
    Log { inner: alloy::primitives::Log { address: contract, data }, ..Log::default() }
}

fn transfer(from: Address, to: Address) -> Log {
    log(SUPPLY, TRANSFER, &[from, to], &[100])
}

/// A mint or a burn of debt by the token at `contract`.
fn debt(contract: Address, event: &str) -> Log {
    log(contract, keccak256(event), &[WALLET, WALLET], &[100, 100, 1, 1, 1, 1])
}

/// The pool's log number `place` of v2 about the wallet.
fn pool(place: usize) -> Log {
    let signature = SIGNATURES_V2[place];
    let mut topics = vec![ASSET; 3];
    topics[signature.wallet_at - 1] = WALLET;
    log(POOL, signature.topic0, &topics, &[100, 100, 2, 0, 0])
}

fn listed() -> Vec<Hint> {
    let transfers =
        Hint { contract: SUPPLY.into(), topic0: TRANSFER, naming: Naming::Holder(ASSET), explained_by: &[] };
    let scaled = scaled::hints(Version::V2, ASSET, SUPPLY, DEBT);
    std::iter::once(transfers).chain(scaled).chain(fixed::hints(ASSET, FIXED)).collect()
}

/// The contracts of which a log has no pair.
fn lacking(own: &[Log], hints: &[Log], receipts: &[Log]) -> Vec<Address> {
    let listed = listed();
    let all = |logs| Vec::from_iter::<&[Log]>(logs);
    let evidence =
        Evidence { own: all(own), hints: all(hints), receipts: all(receipts), listed: &listed, before: None };
    unpaired(&evidence, WALLET.into_word()).into_iter().map(|log| log.address()).collect()
}

const DEPOSIT: usize = 0;
const WITHDRAW: usize = 1;
const BORROW: usize = 2;
const REPAY: usize = 3;
const LIQUIDATION: usize = 4;
const MINT_DEBT: &str = "Mint(address,address,uint256,uint256)";
const BURN_DEBT: &str = "Burn(address,uint256,uint256)";
const MINT_FIXED: &str = "Mint(address,address,uint256,uint256,uint256,uint256,uint256,uint256)";
const BURN_FIXED: &str = "Burn(address,uint256,uint256,uint256,uint256,uint256)";

#[test]
fn a_log_of_a_token_has_one_of_the_pool() {
    let (minted, burnt) = (transfer(NOBODY, WALLET), transfer(WALLET, NOBODY));
    for (token, place) in [
        (minted, DEPOSIT),
        (burnt.clone(), WITHDRAW),
        (burnt, LIQUIDATION),
        (debt(DEBT, MINT_DEBT), BORROW),
        (debt(DEBT, BURN_DEBT), REPAY),
        (debt(FIXED, MINT_FIXED), BORROW),
        (debt(FIXED, MINT_FIXED), REPAY),
        (debt(FIXED, BURN_FIXED), REPAY),
    ] {
        let token = [token];
        assert_eq!(lacking(&[pool(place)], &token, &[]), NONE);
        assert_eq!(lacking(&[], &token, &[]), [token[0].address()], "{place}");
        // A log about another side of the position explains nothing.
        let other = if place == DEPOSIT || place == WITHDRAW { REPAY } else { DEPOSIT };
        assert_eq!(lacking(&[pool(other)], &token, &[]).len(), usize::from(place != LIQUIDATION), "{place}");
    }
}

#[test]
fn two_changes_have_two_logs_of_the_pool() {
    let loans = [debt(DEBT, MINT_DEBT), debt(DEBT, MINT_DEBT)];
    assert_eq!(lacking(&[pool(BORROW)], &loans, &[]), [DEBT]);
    assert_eq!(lacking(&[pool(BORROW), pool(BORROW)], &loans, &[]), NONE);
    // One liquidation may take debt at both rates.
    let both = [debt(DEBT, BURN_DEBT), debt(FIXED, BURN_FIXED)];
    assert_eq!(lacking(&[pool(REPAY)], &both, &[]), NONE);
}

#[test]
fn a_log_of_the_pool_has_one_of_a_token() {
    let count = |own: &[Log], beside: &[Log]| {
        let [own, beside] = [own, beside].map(|logs| logs.iter().collect::<Vec<_>>());
        lonely(&own, &beside, &listed(), WALLET.into_word()).len()
    };
    let of_supply = |event: &str| log(SUPPLY, keccak256(event), &[WALLET, WALLET], &[100, 1]);
    let (minted, burnt) =
        (of_supply("Mint(address,uint256,uint256)"), of_supply("Burn(address,address,uint256,uint256)"));
    for (place, token) in [
        (DEPOSIT, minted.clone()),
        (WITHDRAW, burnt),
        (BORROW, debt(DEBT, MINT_DEBT)),
        (BORROW, debt(FIXED, MINT_FIXED)),
        (REPAY, debt(DEBT, BURN_DEBT)),
    ] {
        let token = std::slice::from_ref(&token);
        assert_eq!((count(&[pool(place)], token), count(&[pool(place)], &[])), (0, 1), "{place}");
        assert_eq!(count(&[pool(place), pool(place)], token), 2, "one of two");
    }
    assert_eq!(count(&[pool(BORROW)], &[minted]), 1, "another side");
}

#[test]
fn a_transfer_mints_interest_and_needs_no_log_of_the_pool() {
    let given = transfer(WALLET, OTHER);
    assert_eq!(lacking(&[], &[transfer(NOBODY, WALLET), given.clone()], &[]), NONE);
    assert_eq!(lacking(&[], std::slice::from_ref(&given), &[]), NONE);
    let scaled = log(SUPPLY, scaled::BALANCE_TRANSFER, &[WALLET, OTHER], &[100, 1]);
    assert_eq!(lacking(&[], &[given, scaled.clone()], &[]), NONE);
    assert_eq!(lacking(&[], &[scaled], &[]), [SUPPLY], "each has its transfer");
}

#[test]
fn a_debt_whose_rate_changes_is_explained_by_the_receipt() {
    let rate = |event: &str, wallet| log(POOL, keccak256(event), &[ASSET, wallet], &[1]);
    let (burnt, minted) = (debt(FIXED, BURN_FIXED), debt(FIXED, MINT_FIXED));
    let swapped = [burnt.clone(), debt(DEBT, MINT_DEBT)];
    let rebalanced = [burnt, minted];
    for (event, tokens) in [
        ("Swap(address,address,uint256)", &swapped),
        ("SwapBorrowRateMode(address,address,uint8)", &swapped),
        ("RebalanceStableBorrowRate(address,address)", &rebalanced),
    ] {
        assert_eq!(lacking(&[], tokens, &[rate(event, WALLET)]), NONE, "{event}");
        assert!(!lacking(&[], tokens, &[rate(event, OTHER)]).is_empty(), "{event}");
    }
}

#[test]
fn a_debt_that_a_wallet_draws_for_another_is_not_its_own() {
    let drawn = log(DEBT, keccak256(MINT_DEBT), &[WALLET, OTHER], &[100, 1]);
    assert_eq!(lacking(&[], &[drawn], &[]), NONE);
}
