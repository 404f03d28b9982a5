//! The events of a borrower in a cToken's logs, and the queries that find them.

use alloy::primitives::LogData;

use super::*;
use crate::{
    history::plan::Plan,
    market::Market,
    protocols::{LendingProtocol, ctoken::CompoundV2},
};
use assay_domain::{EventCounts, Protocol};

const WALLET: u8 = 0xaa;

fn log(topic0: B256, words: &[u64], transaction: u8, index: u64) -> Log {
    let data: Vec<u8> = words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<32>()).collect();
    Log {
        inner: alloy::primitives::Log {
            address: Address::ZERO,
            data: LogData::new_unchecked(vec![topic0], data.into()),
        },
        transaction_hash: Some(B256::with_last_byte(transaction)),
        log_index: Some(index),
        ..Log::default()
    }
}

fn found(logs: &[Log]) -> Vec<(EventKind, u64)> {
    let logs: Vec<&Log> = logs.iter().collect();
    let events = events(&logs, B256::with_last_byte(WALLET));
    events.into_iter().map(|(kind, log)| (kind, log.log_index.unwrap())).collect()
}

const ME: u64 = WALLET as u64;
const OTHER: u64 = 0xbb;

fn borrow(by: u64, amount: u64, index: u64) -> Log {
    log(BORROW, &[by, amount, 0, 0], 1, index)
}

fn repay(payer: u64, of: u64, amount: u64, index: u64) -> Log {
    log(REPAY_BORROW, &[payer, of, amount, 0, 0], 1, index)
}

fn liquidate(by: u64, of: u64, amount: u64, index: u64) -> Log {
    log(LIQUIDATE_BORROW, &[by, of, amount, 0, 0], 1, index)
}

#[test]
fn events_belong_to_the_borrower() {
    let logs = [
        borrow(ME, 5, 1),
        borrow(OTHER, 5, 2),
        repay(ME, OTHER, 5, 3),
        repay(OTHER, ME, 5, 4),
        liquidate(ME, OTHER, 5, 5),
    ];
    assert_eq!(found(&logs), [(EventKind::Borrow, 1), (EventKind::Repay, 4)]);
}

#[test]
fn a_liquidation_is_not_also_its_repayment() {
    assert_eq!(found(&[repay(OTHER, ME, 5, 1), liquidate(OTHER, ME, 5, 2)]), [(EventKind::Liquidation, 2)]);
    // Repayments of other amounts, by other payers, and before or after it stay repayments.
    let logs = [
        repay(ME, ME, 5, 1),
        repay(OTHER, ME, 4, 2),
        repay(OTHER, ME, 5, 3),
        liquidate(OTHER, ME, 5, 4),
        repay(OTHER, ME, 5, 5),
    ];
    let repaid = |index| (EventKind::Repay, index);
    assert_eq!(found(&logs), [repaid(1), repaid(2), (EventKind::Liquidation, 4), repaid(5)]);
    // Of two equal repayments, the one right before the liquidation belongs to it.
    let logs = [repay(OTHER, ME, 5, 1), repay(OTHER, ME, 5, 2), liquidate(OTHER, ME, 5, 3)];
    assert_eq!(found(&logs), [repaid(1), (EventKind::Liquidation, 3)]);
    let logs = [repay(OTHER, ME, 5, 1), liquidate(OTHER, ME, 5, 2), repay(OTHER, ME, 5, 3), liquidate(OTHER, ME, 5, 4)];
    assert_eq!(found(&logs), [(EventKind::Liquidation, 2), (EventKind::Liquidation, 4)]);
}

#[test]
fn a_repayment_in_another_transaction_is_one() {
    let earlier = log(REPAY_BORROW, &[OTHER, ME, 5, 0, 0], 9, 1);
    assert_eq!(found(&[earlier, liquidate(OTHER, ME, 5, 2)]), [(EventKind::Repay, 1), (EventKind::Liquidation, 2)]);
}

#[test]
fn nothing_and_nonsense_are_no_events() {
    let mut indexed = borrow(ME, 5, 3);
    indexed.inner.data = LogData::new_unchecked(vec![BORROW, B256::ZERO], indexed.data().data.clone());
    let logs =
        [borrow(ME, 0, 1), repay(ME, ME, 0, 2), indexed, log(BORROW, &[ME], 1, 4), log(LIQUIDATE_BORROW, &[], 1, 5)];
    assert_eq!(found(&logs), []);
}

#[test]
fn beside_both_other_lenders_it_costs_one_query_more() {
    let markets = [
        (Protocol::LenderAV2, 1),
        (Protocol::LenderAV3, 2),
        (Protocol::LenderBV3, 3),
        (Protocol::LenderBV2, 4),
        (Protocol::LenderBV2, 5),
    ]
    .map(|(protocol, byte)| Market::sample(protocol, byte));
    let asked = |markets: &[Market]| {
        let own = |market: &Market| match market.config.protocol {
            Protocol::LenderBV2 => {
                let rewards = crate::config::Dialect::Compound.rewards(Address::repeat_byte(9), &[]);
                hints(market.config.address, Some(Address::repeat_byte(8)), rewards)
            }
            _ => Vec::new(),
        };
        let plan =
            Plan::new(markets, markets.iter().map(|market| Some(own(market))).collect(), Address::repeat_byte(WALLET));
        plan.queries.len()
    };
    let (others, ctokens) = markets.split_at(3);
    assert_eq!((asked(others), asked(ctokens), asked(&markets)), (3, 3, 4));
}

#[test]
fn what_was_repaid_was_borrowed() {
    let lacks = |borrow, repay, liquidation| {
        CompoundV2.profile().lacks_a_borrowing(&EventCounts {
            borrow: Some(borrow),
            repay: Some(repay),
            liquidation: Some(liquidation),
            ..EventCounts::default()
        })
    };
    assert!(lacks(0, 1, 0) && lacks(0, 0, 1));
    assert!(!lacks(0, 0, 0) && !lacks(1, 3, 1));
    assert!(!CompoundV2.profile().lacks_a_borrowing(&EventCounts::default()), "nothing was read");
}
