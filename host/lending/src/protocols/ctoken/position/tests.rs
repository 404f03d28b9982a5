//! Positions read from answers of contracts, and answers without a position.

use alloy::{primitives::b256, sol_types::SolCall};

use super::{
    super::terms::{comptrollerCall, symbolCall},
    *,
};
use crate::config::Dialect;

fn terms() -> CTokenTerms {
    CTokenTerms {
        ctoken: Address::ZERO,
        comptroller: Address::ZERO,
        underlying: None,
        oracle: Address::ZERO,
        dialect: Some(Dialect::Compound),
        rewards: Dialect::Compound.rewards(Address::repeat_byte(2), &[]),
        debts_at: Some(16),
        decimals: Some(18),
        factor: Some(U256::from(RATE) / U256::from(2)),
        asks_for_all: true,
    }
}

fn snapshot(error: u64, ctokens: u128, debt: u128, rate: u128) -> Option<Bytes> {
    let [error, ctokens, debt, rate] = [u128::from(error), ctokens, debt, rate].map(U256::from);
    let snapshot =
        getAccountSnapshotReturn { error, cTokenBalance: ctokens, borrowBalance: debt, exchangeRateMantissa: rate };
    Some(getAccountSnapshotCall::abi_encode_returns(&snapshot).into())
}

fn price(dollars: u64, decimals: u64) -> Option<Bytes> {
    let price = U256::from(dollars) * U256::from(10).pow(U256::from(36 - decimals));
    Some(getUnderlyingPriceCall::abi_encode_returns(&price).into())
}

fn summary(answers: [Option<Bytes>; 2]) -> Option<(f64, f64, u32)> {
    terms().held(&answers, None).map(|held| (held.supplied_usd, held.borrowed_usd, held.supplied_assets))
}

#[test]
fn a_position_is_ctokens_at_their_rate_and_debt_in_dollars() {
    // 5,000 cUSDC (8 decimals) at 0.02 USDC (6 decimals), and 30 USDC of debt.
    let usdc = snapshot(0, 500_000_000_000, 30_000_000, 200_000_000_000_000);
    assert_eq!(summary([usdc, price(1, 6)]), Some((100.0, 30.0, 1)));
    // Only a debt of 2 ether.
    assert_eq!(summary([snapshot(0, 0, 2_000_000_000_000_000_000, 1), price(2_500, 18)]), Some((0.0, 5_000.0, 0)));
    assert_eq!(summary([snapshot(0, 0, 0, 1), None]), Some((0.0, 0.0, 0)));
}

#[test]
fn a_missing_part_is_no_position() {
    assert_eq!(summary([snapshot(0, 1, 5, u128::from(RATE)), None]), None);
    assert_eq!(summary([snapshot(0, 1, 5, u128::from(RATE)), price(0, 18)]), None);
    assert_eq!(summary([snapshot(9, 1, 5, u128::from(RATE)), price(1, 18)]), None);
    assert_eq!(summary([None, price(1, 18)]), None);
}

#[test]
fn only_the_native_market_has_no_token() {
    let address = |byte| Some(Bytes::from(comptrollerCall::abi_encode_returns(&Address::repeat_byte(byte))));
    let symbol = |symbol: &str| Some(Bytes::from(symbolCall::abi_encode_returns(&symbol.to_owned())));
    let bare =
        |answers: [Option<Bytes>; 3]| CTokenTerms::bare(Address::ZERO, &answers, &[]).map(|terms| terms.underlying);
    assert_eq!(bare([address(1), address(2), symbol("cDAI")]), Some(Some(Address::repeat_byte(2))));
    assert_eq!(bare([address(1), None, symbol("cETH")]), Some(None));
    assert_eq!(bare([address(1), None, symbol("vBNB")]), Some(None));
    for other in
        [[address(1), None, symbol("cDAI")], [None, address(2), symbol("cDAI")], [address(0), address(2), None]]
    {
        assert_eq!(bare(other), None);
    }
}

#[test]
fn debts_are_where_the_index_says() {
    let address = Some(Bytes::from(comptrollerCall::abi_encode_returns(&Address::repeat_byte(1))));
    let index = U256::from(FIRST_INDEX + 5);
    let answer = Some(Bytes::from(borrowIndexCall::abi_encode_returns(&index)));
    let at = |answer: &Option<Bytes>, stored: [Option<U256>; 2]| {
        CTokenTerms::bare(Address::ZERO, &[address.clone(), address.clone(), None, answer.clone()], &stored)
            .unwrap()
            .debts_at
    };
    let other = Some(U256::from(7));
    assert_eq!(at(&answer, [Some(index), other]), Some(16));
    assert_eq!(at(&answer, [other, Some(index)]), Some(17));
    assert_eq!(at(&answer, [other, other]), None);
    assert_eq!(at(&answer, [None, None]), None);
    assert_eq!(at(&None, [None, None]), None);
}

#[test]
fn only_who_may_have_borrowed_is_looked_up() {
    let yes = |yes: bool| Some(Bytes::from(checkMembershipCall::abi_encode_returns(&yes)));
    let index = |index: u64| Some(Bytes::from(U256::from(index).abi_encode()));
    let wallet = Address::repeat_byte(0xaa);
    assert_eq!(terms().trace_slot(&[yes(false), index(0)], wallet), None);
    assert_eq!(terms().trace_slot(&[None, None], wallet), None);
    assert_eq!(CTokenTerms { debts_at: None, ..terms() }.trace_slot(&[yes(true), index(1)], wallet), None);
    let place = terms().trace_slot(&[yes(true), index(0)], wallet);
    assert!(place.is_some());
    assert_eq!(terms().trace_slot(&[yes(false), index(1)], wallet), place);
    assert!(is_trace(U256::from(FIRST_INDEX)) && !is_trace(U256::ZERO) && !is_trace(U256::from(5)));
}

#[test]
fn the_comptroller_says_whose_names_its_rewards_have() {
    let number = || Some(Bytes::from(U256::ZERO.abi_encode()));
    assert_eq!(Dialect::answering(&[number(), None]), Some(Dialect::Compound));
    assert_eq!(Dialect::answering(&[None, number()]), Some(Dialect::Venus));
    assert_eq!(Dialect::answering(&[None, Some(Bytes::new())]), None);
    let rewards = |dialect: Dialect| dialect.rewards(Address::repeat_byte(2), &[Some(Bytes::from(vec![1; 32]))]);
    let of = |dialect: Option<Dialect>| CTokenTerms { dialect, rewards: dialect.and_then(rewards), ..terms() };
    let topics = |dialect| of(dialect).hints().iter().map(|hint| hint.topic0).collect::<Vec<_>>();
    assert_eq!((topics(None).len(), of(None).traces(Address::ZERO).len()), (2, 1));
    assert!(of(None).lacks().is_some() && of(Some(Dialect::Venus)).lacks().is_none());
    // The topics of the logs on Ethereum and on BNB Chain.
    let distributed = Dialect::ALL.map(|dialect| *topics(Some(dialect)).last().unwrap());
    assert_eq!(distributed[0], b256!("0x1fc3ecc087d8d2d15e23d0032af5a47059c3892d003d8e139fdcb6bb327c99a6"));
    assert_eq!(distributed[1], b256!("0x837bdc11fca9f17ce44167944475225a205279b17e88c791c3b1f66f354668fb"));
}

#[test]
fn one_market_asks_about_all_of_them() {
    let members = vec![Address::repeat_byte(1), Address::repeat_byte(2)];
    let assets = Some(Bytes::from(getAssetsInCall::abi_encode_returns(&members)));
    let liquidity = |error: u64, liquidity: u64, shortfall: u64| {
        let ether = |whole: u64| U256::from(whole) * U256::from(RATE);
        let [liquidity, shortfall] = [liquidity, shortfall].map(ether);
        let answer = getAccountLiquidityReturn { error: U256::from(error), liquidity, shortfall };
        Some(Bytes::from(getAccountLiquidityCall::abi_encode_returns(&answer)))
    };
    let room =
        |answer: Option<Bytes>| terms().account(&[None, None, None, assets.clone(), answer]).map(|of| of.room_usd);
    assert_eq!(
        [liquidity(0, 50, 0), liquidity(0, 0, 7), liquidity(3, 0, 0), None].map(room),
        [Some(50.0), Some(-7.0), None, None]
    );
    assert_eq!(
        (terms().calls(Address::ZERO).len(), CTokenTerms { asks_for_all: false, ..terms() }.calls(Address::ZERO).len()),
        (5, 3)
    );
}
