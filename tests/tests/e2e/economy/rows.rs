//! Exported rows beside an independent computation: receipts of every block, and the pool's own word on each account.

use std::collections::{BTreeMap, BTreeSet};

use alloy::primitives::Address;
use assay_tests::economy::{Account, Economy, Event, Kind, Ledger};
use serde_json::{Value, json};

use super::WITHIN;

const DAY: u64 = 86_400;
/// Dollars below which a loan has no outcome.
const LEAST: f64 = 10.0;
/// The pool rounds dollars to 1e-8, and a row adds up assets.
const CLOSE: f64 = 1e-6;

/// Checks every row, and that no borrower of a date is missing.
pub async fn check(economy: &Economy, ledger: &Ledger, rows: &[Value]) {
    let mut by_date: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for row in rows {
        by_date.entry(row["as_of"].as_u64().expect("a date")).or_default().push(row);
    }
    let everybody: Vec<Address> = ledger.events.keys().copied().collect();
    for (moment, rows) in by_date {
        let block = ledger.before(moment);
        let accounts = Account::at(&economy.chain, &everybody, block).await.expect("the node answers");
        let owing = everybody.iter().zip(accounts).filter(|(_, account)| account.debt > 0.0);
        let owing: BTreeMap<Address, Account> = owing.map(|(wallet, account)| (*wallet, account)).collect();
        let exported: BTreeSet<Address> = rows.iter().map(|row| wallet(row)).collect();
        assert_eq!(rows.len(), exported.len());
        assert!(exported.iter().all(|wallet| owing.contains_key(wallet)), "{exported:?}");
        for (missing, account) in owing.iter().filter(|(wallet, _)| !exported.contains(*wallet)) {
            // Interest has no log: who repaid what was borrowed, and not the interest, is no borrower of the index.
            assert!(only_interest(&ledger.through(*missing, block)), "{missing} owes {} at {block}", account.debt);
            println!("{missing} owes {:.2} dollars of interest at block {block}, and is left out", account.debt);
        }
        for row in rows {
            same(row, economy, ledger, (moment, block), owing[&wallet(row)]);
        }
    }
}

/// Whether the events leave no debt: repaid is at least what was borrowed since the last time that nothing was owed.
fn only_interest(events: &[Event]) -> bool {
    let mut owed: BTreeMap<Address, f64> = BTreeMap::new();
    for event in events {
        let debt = owed.entry(event.asset).or_default();
        match event.kind {
            Kind::Borrow => *debt += f64::from(event.amount),
            Kind::Repay | Kind::Liquidation => *debt = (*debt - f64::from(event.amount)).max(0.0),
            Kind::Supply | Kind::Withdraw => {}
        }
    }
    owed.values().all(|debt| *debt == 0.0)
}

fn wallet(row: &Value) -> Address {
    row["id"].as_str().expect("an id").parse().expect("an address")
}

fn same(row: &Value, economy: &Economy, ledger: &Ledger, (moment, block): (u64, u64), account: Account) {
    let wallet = wallet(row);
    let (hash, events) = (ledger.blocks[block as usize].0, ledger.through(wallet, block));
    assert_eq!(row["blocks"], json!([{ "chain_id": 1, "number": block, "hash": hash }]));
    let (chain, market) = (&row["chains"][0], &row["markets"][0]);
    assert_eq!((&row["chains"].as_array().unwrap().len(), &row["markets"].as_array().unwrap().len()), (&1, &1));
    assert_eq!((&chain["coverage"], &market["coverage"]), (&json!("complete"), &json!("complete")), "{row}");

    let sent: Vec<u64> = ledger.sent[&wallet].iter().filter(|sent| **sent <= block).copied().collect();
    let time = |block: Option<&u64>| block.map(|block| ledger.blocks[*block as usize].1);
    assert_eq!(chain["transactions"], sent.len(), "{row}");
    let first_and_last = (&chain["first_transaction"], &chain["last_transaction"]);
    assert_eq!(first_and_last, (&json!(time(sent.first())), &json!(time(sent.last()))), "{row}");

    let position = &market["position"];
    // Without collateral nothing has a threshold, and nothing is used.
    let secured = account.collateral > 0.0;
    for (exported, said) in [
        (&market["supplied_usd"], Some(account.collateral)),
        (&market["borrowed_usd"], Some(account.debt)),
        (&chain["supplied_usd"], Some(account.collateral)),
        (&chain["borrowed_usd"], Some(account.debt)),
        (&position["health_factor"], Some(account.health)),
        (&position["liquidation_threshold"], secured.then_some(account.threshold)),
        (&position["utilisation"], secured.then(|| account.debt / account.collateral)),
    ] {
        assert!(close(exported.as_f64(), said), "{exported} and not {said:?}: {row}");
    }
    counted(market, &events, row);
    listed(market, &events, economy, row);
    let liquidated = ledger.liquidated(wallet, moment, moment + WITHIN * DAY);
    assert_eq!(row["outcome"].as_bool(), (account.debt >= LEAST).then_some(liquidated), "{row}");
}

fn close(exported: Option<f64>, said: Option<f64>) -> bool {
    match (exported, said) {
        (Some(exported), Some(said)) => (exported - said).abs() <= CLOSE * said.max(1.0),
        (exported, said) => exported == said,
    }
}

/// Counts and times of events.
fn counted(market: &Value, events: &[Event], row: &Value) {
    let of = |kind| events.iter().filter(move |event| event.kind == kind);
    for (name, kind) in [
        ("supply", Kind::Supply),
        ("withdraw", Kind::Withdraw),
        ("borrow", Kind::Borrow),
        ("repay", Kind::Repay),
        ("liquidation", Kind::Liquidation),
    ] {
        assert_eq!(market[name], of(kind).count(), "{name}: {row}");
    }
    let time = |event: Option<&Event>| json!(event.map(|event| event.time));
    assert_eq!(market["first_event"], time(events.first()), "{row}");
    assert_eq!(market["last_event"], time(events.last()), "{row}");
    assert_eq!(market["last_liquidation"], time(of(Kind::Liquidation).next_back()), "{row}");
    let days: BTreeSet<u64> = of(Kind::Liquidation).map(|event| event.time / DAY).collect();
    assert_eq!(market["liquidation_days"], days.len(), "{row}");
}

/// The list of events, newest first. Dollars are known of stablecoins alone.
fn listed(market: &Value, events: &[Event], economy: &Economy, row: &Value) {
    let dollars = |event: &Event| {
        let tokens = &economy.chain.market.tokens;
        let asset = tokens.iter().find(|token| token.address == event.asset).expect("a reserve").asset;
        let stable = matches!(asset.symbol, "USDC" | "DAI");
        stable.then(|| f64::from(event.amount) / 10_f64.powi(asset.decimals.into()))
    };
    let mut expected: Vec<(u64, &str, Option<f64>)> =
        events.iter().map(|event| (event.time, name(event.kind), dollars(event))).collect();
    let found = market["events"].as_array().expect("a list").iter();
    let mut found: Vec<(u64, &str, Option<f64>)> = found
        .map(|event| (event["time"].as_u64().unwrap(), event["kind"].as_str().unwrap(), event["usd"].as_f64()))
        .collect();
    assert!(found.is_sorted_by(|one, next| one.0 >= next.0), "{row}");
    // Events of one block have no order of their own here.
    for list in [&mut expected, &mut found] {
        list.sort_by(|one, other| one.partial_cmp(other).expect("numbers"));
    }
    assert_eq!(found.len(), expected.len(), "{row}");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((found.0, found.1), (expected.0, expected.1), "{row}");
        assert!(close(found.2, expected.2), "{found:?} and not {expected:?}: {row}");
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Supply => "supply",
        Kind::Withdraw => "withdraw",
        Kind::Borrow => "borrow",
        Kind::Repay => "repay",
        Kind::Liquidation => "liquidation",
    }
}
