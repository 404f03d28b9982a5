//! Which receipts are requested, and which are valid.

use alloy::primitives::{Bytes, LogData};
use serde_json::json;

use super::*;
use crate::{
    config::MarketConfig,
    figures::hints::{Hint, Naming, TRANSFER},
    protocols::aave::SIGNATURES_V3,
};
use assay_domain::{Address, Protocol};

const WALLET: Address = Address::repeat_byte(0xaa);
const MARKET: Address = Address::repeat_byte(1);
const TOKEN: Address = Address::repeat_byte(2);

fn tx(byte: u8) -> B256 {
    B256::repeat_byte(byte)
}

fn log(contract: Address, topics: &[B256], transaction: u8, index: u64) -> Log {
    Log {
        inner: alloy::primitives::Log {
            address: contract,
            data: LogData::new_unchecked(topics.to_vec(), Bytes::new()),
        },
        block_hash: Some(B256::with_last_byte(7)),
        block_number: Some(7),
        block_timestamp: Some(70),
        transaction_hash: Some(tx(transaction)),
        log_index: Some(index),
        ..Log::default()
    }
}

fn transfer(from: Address, to: Address, transaction: u8, index: u64) -> Log {
    log(TOKEN, &[TRANSFER, from.into_word(), to.into_word()], transaction, index)
}

fn pool_log(transaction: u8, index: u64) -> Log {
    log(MARKET, &[SIGNATURES_V3[1].topic0, B256::ZERO, WALLET.into_word(), B256::ZERO], transaction, index)
}

fn markets(number: usize) -> Vec<Market> {
    let config = MarketConfig {
        protocol: Protocol::LenderAV3,
        market: None,
        address: MARKET,
        from_block: 0,
        feeds_score: None,
        dialect: None,
        chainlog: None,
        lending_factory: None,
        evc: None,
    };
    vec![Market::new(config); number]
}

fn plan(markets: &[Market], naming: Naming, explained_by: &'static [B256]) -> Plan {
    let hint = Hint { contract: TOKEN.into(), topic0: TRANSFER, naming, explained_by };
    Plan::new(markets, markets.iter().map(|_| Some(vec![hint.clone()])).collect(), WALLET)
}

fn asked(markets: &[Market], plan: &Plan, logs: &[Log]) -> Vec<B256> {
    wanted(markets, plan, logs).unwrap().into_iter().map(|wanted| wanted.transaction).collect()
}

#[test]
fn a_transaction_is_asked_for_once_however_much_points_at_it() {
    let markets = markets(2);
    let plan = plan(&markets, Naming::At(1), &[]);
    let other = Address::repeat_byte(3);
    let logs = [
        transfer(WALLET, other, 5, 1),
        transfer(WALLET, other, 5, 2),
        transfer(WALLET, other, 4, 3),
        transfer(other, WALLET, 6, 4),
        pool_log(8, 5),
    ];
    assert_eq!(asked(&markets, &plan, &logs), [tx(4), tx(5)]);
}

#[test]
fn a_transfer_with_another_peer_points_at_nothing() {
    let markets = markets(1);
    let plan = plan(&markets, Naming::With(MARKET.into_word()), &[]);
    let other = Address::repeat_byte(3);
    let logs = [
        transfer(WALLET, MARKET, 1, 1),
        transfer(MARKET, WALLET, 2, 2),
        transfer(WALLET, other, 3, 3),
        transfer(MARKET, other, 4, 4),
    ];
    assert_eq!(asked(&markets, &plan, &logs), [tx(1), tx(2)]);
}

#[test]
fn what_the_market_tells_itself_needs_no_receipt() {
    static WITHDRAW: [B256; 1] = [SIGNATURES_V3[1].topic0];
    let markets = markets(1);
    let plan = plan(&markets, Naming::At(1), &WITHDRAW);
    let logs = [transfer(WALLET, Address::ZERO, 1, 1), pool_log(1, 2), transfer(WALLET, MARKET, 2, 3), pool_log(3, 4)];
    assert_eq!(asked(&markets, &plan, &logs), [tx(2)]);
    let mut nameless = transfer(WALLET, MARKET, 2, 3);
    nameless.transaction_hash = None;
    assert!(wanted(&markets, &plan, &[nameless]).is_err());
}

/// The receipt of transaction 5, with `change` applied.
fn receipt(change: impl FnOnce(&mut Value)) -> Value {
    let logs = [transfer(WALLET, MARKET, 5, 1), pool_log(5, 2)];
    let mut receipt =
        json!({ "transactionHash": tx(5), "blockHash": B256::with_last_byte(7), "blockNumber": "0x7", "logs": logs });
    change(&mut receipt);
    receipt
}

#[test]
fn only_the_receipt_that_was_asked_for_is_believed() {
    let wanted = WantedReceipt { transaction: tx(5), hints: vec![transfer(WALLET, MARKET, 5, 1)] };
    let mut timeless = receipt(|_| {});
    timeless["logs"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .for_each(|log| _ = log.as_object_mut().unwrap().remove("blockTimestamp"));
    for good in [receipt(|_| {}), timeless] {
        let logs = checked(&wanted, good).unwrap();
        assert_eq!(
            logs.iter().map(|log| (log.log_index, log.block_timestamp)).collect::<Vec<_>>(),
            [(Some(1), Some(70)), (Some(2), Some(70))]
        );
    }
    for lie in [
        Value::Null,
        json!("0x"),
        receipt(|r| r["transactionHash"] = json!(tx(6))),
        receipt(|r| r["blockHash"] = json!(B256::with_last_byte(8))),
        receipt(|r| r["blockNumber"] = json!("0x8")),
        receipt(|r| r["logs"] = json!([])),
        receipt(|r| r["logs"] = json!([pool_log(5, 2)])),
        receipt(|r| r["logs"][1]["transactionHash"] = json!(tx(6))),
        receipt(|r| r["logs"][1]["blockHash"] = json!(B256::with_last_byte(8))),
        receipt(|r| r["logs"][0]["topics"][1] = json!(B256::ZERO)),
        receipt(|r| r["logs"][0]["logIndex"] = json!("0x9")),
        receipt(|r| r["logs"] = Value::Null),
    ] {
        assert!(matches!(checked(&wanted, lie.clone()), Err(Fault::Malformed(_))), "{lie}");
    }
}

#[test]
fn a_receipt_of_a_block_that_was_replaced_is_not_believed() {
    let mut moved = transfer(WALLET, MARKET, 5, 1);
    moved.block_hash = Some(B256::with_last_byte(9));
    let wanted = WantedReceipt { transaction: tx(5), hints: vec![moved] };
    assert!(checked(&wanted, receipt(|_| {})).is_err());
}

#[test]
fn a_span_with_too_many_is_read_in_pieces() {
    let wanted = |number: usize, blocks: u64| -> Vec<WantedReceipt> {
        let one = |index: usize| {
            let mut hint = transfer(WALLET, MARKET, 5, 1);
            hint.block_number = Some(index as u64 % blocks);
            WantedReceipt { transaction: tx(5), hints: vec![hint] }
        };
        (0..number).map(one).collect()
    };
    assert!(!too_many(&wanted(limits::RECEIPTS_PER_SPAN, 2)) && too_many(&wanted(limits::RECEIPTS_PER_SPAN + 1, 2)));
    assert!(!too_many(&wanted(limits::RECEIPTS_PER_SPAN + 1, 1)));
}
