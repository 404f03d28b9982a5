//! Transfers between wallets with and without supply and debt, as the market logs them.

use std::collections::BTreeSet;

use alloy::primitives::I256;
use proptest::prelude::*;

use super::*;
use crate::protocols::{
    Evidence, LendingProtocol, PartialLogs,
    comet::{
        Comet,
        events::{SIGNATURES, hints, tests::log},
        principal::{Indexes, LoggedAmounts},
    },
};
use assay_domain::Address;

const WALLET: B256 = B256::with_last_byte(0xaa);
const OTHER: B256 = B256::with_last_byte(0xbb);
const NOBODY: B256 = B256::ZERO;

/// The events of a wallet in the logs of a whole transaction.
fn told_by_receipt(logs: &[Log], wallet: B256) -> Vec<(EventKind, i64)> {
    let own = logs.iter().filter(|log| log.topics().contains(&wallet)).collect();
    let evidence = Evidence { own, receipts: logs.iter().collect(), ..Evidence::default() };
    let net = Comet.moves(&evidence, wallet).iter().map(|(moved, _)| i64::try_from(moved.amount).unwrap()).sum();
    let events = Comet.events(&evidence, wallet).into_iter().map(|(kind, _)| kind);
    events.map(|kind| (kind, net)).collect()
}

#[test]
fn the_other_side_of_a_transfer_tells_of_debt() {
    let transfer = |lost, got| [log(4, TRANSFER, WALLET, NOBODY, lost), log(5, TRANSFER, NOBODY, OTHER, got)];
    for (lost, got, sent, received) in [
        (500, 500, vec![(EventKind::Withdraw, -500)], vec![(EventKind::Supply, 500)]),
        (500, 509, vec![(EventKind::Withdraw, -500)], vec![(EventKind::Supply, 509)]),
        (500, 800, vec![(EventKind::Withdraw, -800), (EventKind::Borrow, -800)], vec![(EventKind::Supply, 800)]),
        (500, 100, vec![(EventKind::Withdraw, -500)], vec![(EventKind::Supply, 500), (EventKind::Repay, 500)]),
    ] {
        let logs = transfer(lost, got);
        assert_eq!(told_by_receipt(&logs, WALLET), sent, "{lost} of {got}");
        assert_eq!(told_by_receipt(&logs, OTHER), received, "{lost} of {got}");
    }
    // The first log belongs to a withdrawal, the second to a transfer by a wallet without supply.
    let [burn, mint] = transfer(500, 800);
    let withdrawal = [log(3, WITHDRAW, WALLET, OTHER, 500), burn, mint];
    assert_eq!(told_by_receipt(&withdrawal, WALLET), [(EventKind::Withdraw, -500)]);
}

#[test]
fn only_a_transfer_needs_its_receipt() {
    let hint = &hints(Address::ZERO)[1];
    let (supply, mint) = (log(4, SUPPLY, OTHER, WALLET, 1_000), |amount| log(5, TRANSFER, NOBODY, WALLET, amount));
    let explained = |log: &Log, own: &[&Log]| Comet.is_explained(hint, log, WALLET, own, &[]);
    assert!(explained(&mint(700), &[&supply]) && explained(&mint(700), &[&mint(700), &supply]));
    assert!(!explained(&mint(1_010), &[&supply]) && !explained(&mint(700), &[&mint(700)]));
    let withdraw = log(4, WITHDRAW, WALLET, OTHER, 1_000);
    assert!(!explained(&mint(700), &[&withdraw]));
    assert!(explained(&log(5, TRANSFER, WALLET, NOBODY, 700), &[&withdraw]));
}

/// One action of a market whose indexes are one.
#[derive(Debug, Clone, Copy)]
enum Act {
    Supply,
    Withdraw,
    Transfer,
}

/// The principals of sender and receiver after an action of `amount`, and its logs.
fn acted(act: Act, amount: i64, [sender, receiver]: [i64; 2]) -> ([i64; 2], Vec<Log>) {
    let sent = if matches!(act, Act::Supply) { sender } else { sender - amount };
    let received = if matches!(act, Act::Withdraw) { receiver } else { receiver + amount };
    let mut logs = Vec::new();
    let mut add = |topic0, from, to, amount: i64| {
        if amount > 0 {
            logs.push(log(4 + logs.len() as u64, topic0, from, to, amount.unsigned_abs()));
        }
    };
    match act {
        Act::Supply => add(SUPPLY, WALLET, OTHER, amount),
        Act::Withdraw => add(WITHDRAW, WALLET, OTHER, amount),
        Act::Transfer => {}
    }
    add(TRANSFER, WALLET, NOBODY, sender.max(0) - sent.max(0));
    add(TRANSFER, NOBODY, OTHER, received.max(0) - receiver.max(0));
    ([sent, received], logs)
}

fn kinds_of(before: i64, after: i64) -> BTreeSet<&'static str> {
    let (supply, debt) = (after.max(0) - before.max(0), before.min(0) - after.min(0));
    let pairs = [(supply > 0, "supply"), (supply < 0, "withdraw"), (debt > 0, "borrow"), (debt < 0, "repay")];
    pairs.into_iter().filter(|(happened, _)| *happened).map(|(_, kind)| kind).collect()
}

fn name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Supply => "supply",
        EventKind::Withdraw => "withdraw",
        EventKind::Borrow => "borrow",
        EventKind::Repay => "repay",
        EventKind::Liquidation => "liquidation",
    }
}

/// The events of `wallet` found in logs, receipts and the state around an action; and whether old state was needed.
fn told(logs: &[Log], wallet: B256, before: i64, after: i64) -> (BTreeSet<&'static str>, bool) {
    let names = |log: &&Log| {
        let topics = log.topics();
        SIGNATURES.iter().any(|s| topics.first() == Some(&s.topic0) && topics.get(s.wallet_at) == Some(&wallet))
    };
    let evidence =
        Evidence { own: logs.iter().filter(names).collect(), receipts: logs.iter().collect(), ..Evidence::default() };
    let mut kinds: BTreeSet<_> = Comet.events(&evidence, wallet).into_iter().map(|(kind, _)| name(kind)).collect();
    let mut logged = LoggedAmounts::default();
    Comet.moves(&evidence, wallet).iter().for_each(|(moved, _)| logged.add(moved.amount));
    let indexes = Indexes { supply: 1_000_000_000_000_000, borrow: 1_000_000_000_000_000 };
    let [before, after] = [before, after].map(|principal| I256::try_from(principal).unwrap());
    let hidden = indexes.hidden(before, after, logged).unwrap();
    kinds.extend(hidden.map(|hidden| name(event(hidden).0)));
    let flagged = evidence.own.is_empty() || !Comet.incomplete(&evidence, wallet).is_empty();
    assert!(hidden.is_none() || flagged || is_balanced(logs), "{logs:?}");
    (kinds, hidden.is_some())
}

/// Whether both sides of a transfer show the same amount although both moved debt; then only the position reveals it.
fn is_balanced(logs: &[Log]) -> bool {
    let amounts: Vec<_> = logs.iter().map(|log| amount_at(log, 0)).collect();
    matches!(amounts[..], [sent, received] if sent == received)
}

proptest! {
    /// Amounts are multiples of forty, too large to count as rounding.
    #[test]
    fn logs_and_old_state_tell_every_action(
        act in prop_oneof![Just(Act::Supply), Just(Act::Withdraw), Just(Act::Transfer)],
        amount in 1i64..60,
        start in any::<[i8; 2]>(),
    ) {
        let (amount, start) = (amount * 40, start.map(|start| i64::from(start) * 40));
        let (end, logs) = acted(act, amount, start);
        for (side, wallet) in [WALLET, OTHER].into_iter().enumerate() {
            let (kinds, hidden) = told(&logs, wallet, start[side], end[side]);
            prop_assert_eq!(kinds, kinds_of(start[side], end[side]));
            prop_assert!(!hidden || matches!(act, Act::Transfer), "old state tells of {:?}", act);
        }
    }
}
