//! The events and amounts of accounts in the logs of vaults, and which missing log shows.

use std::sync::Arc;

use alloy::{
    primitives::{Bytes, LogData, U256},
    rpc::types::Log,
    sol_types::SolEvent,
};

use super::{
    EulerV2,
    accounts::{part, prefix},
    events::{self, CALL, NAMED},
};
use crate::{
    asset::Asset,
    figures::{
        hints::{Alias, Emitter, Hint, Naming},
        record::Side,
        sums::Sums,
    },
    protocols::{EventKind, Evidence, LendingProtocol},
};
use assay_domain::{Address, B256};

const VAULT: Address = Address::repeat_byte(0x41);
const COLLATERAL: Address = Address::repeat_byte(0x42);
const CONNECTOR: Address = Address::repeat_byte(0x43);
const OTHER: Address = Address::repeat_byte(0x99);
const OWNER: Address = Address::repeat_byte(0x11);

/// An account of the owner.
fn account(number: u8) -> Address {
    let mut account = OWNER;
    account.0[19] = number;
    account
}

/// The hints of all wallets, and with `owns` those of an owner.
fn listed(owns: bool) -> Vec<Hint> {
    let vaults = Emitter::Set(Arc::new([VAULT, COLLATERAL].into_iter().collect()));
    let hint = |topic0, naming| Hint { contract: vaults.clone(), topic0, naming, explained_by: &[] };
    let mut all: Vec<Hint> = NAMED.map(|(topic0, topic)| hint(topic0, Naming::At(topic))).into();
    if owns {
        all.extend(NAMED.map(|(topic0, topic)| hint(topic0, Naming::Accounts(topic))));
        let naming = Naming::Alias { topic: 2, word: prefix(OWNER), of: Alias::Account };
        all.push(Hint { contract: CONNECTOR.into(), topic0: CALL, naming, explained_by: &[] });
    }
    all
}

fn encoded(address: Address, event: &impl SolEvent) -> Log {
    let data: LogData = event.encode_log_data();
    let inner = alloy::primitives::Log { address, data };
    Log { inner, ..Log::default() }
}

fn transfer(vault: Address, from: Address, to: Address, shares: u64) -> Log {
    use crate::figures::hints::TRANSFER;
    let topics = vec![TRANSFER, from.into_word(), to.into_word()];
    let data = LogData::new_unchecked(topics, Bytes::from(B256::from(U256::from(shares)).0));
    Log { inner: alloy::primitives::Log { address: vault, data }, ..Log::default() }
}

fn deposit(owner: Address, shares: u64) -> [Log; 2] {
    let (assets, shares_) = (U256::from(shares + 1), U256::from(shares));
    let event = events::Deposit { sender: OTHER, owner, assets, shares: shares_ };
    [transfer(COLLATERAL, Address::ZERO, owner, shares), encoded(COLLATERAL, &event)]
}

fn borrow(account: Address, assets: u64) -> Log {
    encoded(VAULT, &events::Borrow { account, assets: U256::from(assets) })
}

fn repay(account: Address, assets: u64) -> Log {
    encoded(VAULT, &events::Repay { account, assets: U256::from(assets) })
}

fn accrued(account: Address, assets: u64) -> Log {
    encoded(VAULT, &events::InterestAccrued { account, assets: U256::from(assets) })
}

fn pulled(from: Address, to: Address, assets: u64) -> Log {
    encoded(VAULT, &events::PullDebt { from, to, assets: U256::from(assets) })
}

fn called(caller: Address, account: Address, vault: Address, signature: &str) -> Log {
    let selector = alloy::primitives::keccak256(signature);
    let event = events::CallWithContext {
        caller,
        onBehalfOfAddressPrefix: prefix(account).get(..19).unwrap().try_into().unwrap(),
        onBehalfOfAccount: account,
        targetContract: vault,
        selector: selector.get(..4).unwrap().try_into().unwrap(),
    };
    encoded(CONNECTOR, &event)
}

/// A liquidation of `violator` by a stranger: 60 of a debt of 100, 70 shares, and 40 written off.
fn liquidation(violator: Address) -> Vec<Log> {
    let event = events::Liquidate {
        liquidator: OTHER,
        violator,
        collateral: COLLATERAL,
        repayAssets: U256::from(60),
        yieldBalance: U256::from(70),
    };
    let socialized = events::DebtSocialized { account: violator, assets: U256::from(40) };
    vec![
        repay(violator, 60),
        called(VAULT, violator, COLLATERAL, "transfer(address,uint256)"),
        transfer(COLLATERAL, violator, OTHER, 70),
        repay(violator, 40),
        encoded(VAULT, &socialized),
        encoded(VAULT, &event),
    ]
}

/// The logs, in one block and transaction.
fn placed(logs: Vec<Log>) -> Vec<Log> {
    let placed = |(index, log)| Log {
        block_hash: Some(B256::repeat_byte(7)),
        block_number: Some(7),
        transaction_hash: Some(B256::repeat_byte(8)),
        log_index: Some(index),
        ..log
    };
    (0..).zip(logs).map(placed).collect()
}

/// The events, the sums and the number of doubts of the owner, or of `one` account as an index reads it.
fn read(logs: &[Log], one: Option<Address>) -> (Vec<EventKind>, Sums, usize) {
    let listed = listed(one.is_none());
    let wallet = one.unwrap_or(OWNER).into_word();
    let hints: Vec<&Log> = logs.iter().filter(|log| listed.iter().any(|hint| hint.is(log, wallet))).collect();
    let evidence = Evidence { hints, listed: &listed, ..Evidence::default() };
    let mut sums = Sums::default();
    EulerV2.moves(&evidence, wallet).iter().for_each(|(moved, _)| sums.add(moved));
    let events = EulerV2.events(&evidence, wallet).into_iter().map(|(kind, _)| kind).collect();
    (events, sums, EulerV2.unpaired(&evidence, wallet).len())
}

fn net(sums: &Sums, side: Side, vault: Address, account: Address) -> i64 {
    i64::try_from(sums.of(side, Asset::Shares(part(vault, account))).net).unwrap()
}

#[test]
fn all_accounts_of_an_owner_are_the_wallets() {
    use EventKind::{Borrow, Repay, Supply};
    let [one, two] = [1, 2].map(account);
    let logs = [
        deposit(one, 500).to_vec(),
        vec![borrow(one, 100), accrued(two, 3), borrow(two, 50), repay(two, 20), deposit(OTHER, 9)[1].clone()],
        vec![called(OWNER, two, VAULT, "repay(uint256,address)")],
    ];
    let logs = placed(logs.concat());
    let (events, sums, doubts) = read(&logs, None);
    assert_eq!((events, doubts), (vec![Supply, Borrow, Borrow, Repay], 0));
    assert_eq!(net(&sums, Side::Supply, COLLATERAL, one), 500);
    assert_eq!((net(&sums, Side::Debt, VAULT, one), net(&sums, Side::Debt, VAULT, two)), (100, 33));
    // An index reads each account as a wallet.
    let (events, sums, _) = read(&logs, Some(two));
    assert_eq!((events, net(&sums, Side::Debt, VAULT, two)), (vec![Borrow, Repay], 33));
    assert_eq!(net(&sums, Side::Debt, VAULT, one), 0);
}

#[test]
fn a_liquidation_is_one_event_for_what_was_taken_and_written_off() {
    let violator = account(1);
    let logs = placed([vec![borrow(violator, 100)], liquidation(violator)].concat());
    for one in [None, Some(violator)] {
        let (events, sums, doubts) = read(&logs, one);
        assert_eq!((events, doubts), (vec![EventKind::Borrow, EventKind::Liquidation], 0));
        assert_eq!((net(&sums, Side::Debt, VAULT, violator), net(&sums, Side::Supply, COLLATERAL, violator)), (0, -70));
    }
}

#[test]
fn a_liquidation_of_nothing_is_no_event() {
    let nothing = events::Liquidate {
        liquidator: OTHER,
        violator: account(1),
        collateral: COLLATERAL,
        repayAssets: U256::ZERO,
        yieldBalance: U256::ZERO,
    };
    assert!(read(&placed(vec![encoded(VAULT, &nothing)]), None).0.is_empty(), "anybody may ask for it");
}

#[test]
fn debt_that_moves_between_own_accounts_is_no_event() {
    let [one, two] = [1, 2].map(account);
    let own = placed(vec![repay(one, 30), borrow(two, 30), pulled(one, two, 30)]);
    for wallet in [None, Some(one), Some(two)] {
        assert!(read(&own, wallet).0.is_empty(), "{wallet:?}");
    }
    let others = placed(vec![repay(one, 30), borrow(OTHER, 30), pulled(one, OTHER, 30)]);
    assert_eq!(read(&others, None).0, [EventKind::Repay]);
}

#[test]
fn a_log_that_says_what_another_means_is_missed() {
    let violator = account(1);
    let logs = liquidation(violator);
    let without = |left_out: usize| {
        let mut logs = logs.clone();
        logs.remove(left_out);
        placed(logs)
    };
    for (left_out, name) in [(4, "DebtSocialized"), (5, "Liquidate")] {
        assert!(read(&without(left_out), None).2 > 0, "{name}");
        assert!(read(&without(left_out), Some(violator)).2 > 0, "{name}, by an index");
    }
    let [moved, deposited] = deposit(violator, 5);
    for alone in [moved, deposited] {
        for one in [None, Some(violator)] {
            assert_eq!(read(&placed(vec![alone.clone()]), one).2, 1);
        }
    }
    let pull = called(OWNER, account(2), VAULT, "pullDebt(uint256,address)");
    let logs = placed(vec![pull, repay(violator, 30), borrow(account(2), 30)]);
    assert!(read(&logs, None).2 > 0, "PullDebt");
}

#[test]
fn a_repayment_that_was_not_called_for_is_looked_up() {
    let violator = account(1);
    let logs = placed(vec![repay(violator, 5), called(OWNER, violator, VAULT, "repay(uint256,address)")]);
    let hints = listed(true);
    let hint = hints.iter().find(|hint| hint.is(&logs[0], OWNER.into_word())).unwrap();
    let is_explained = |beside: &[&Log]| EulerV2.is_explained(hint, &logs[0], OWNER.into_word(), &[], beside);
    assert!(is_explained(&[&logs[0], &logs[1]]) && !is_explained(&[&logs[0]]));
}

#[test]
fn an_account_of_another_owner_is_empty() {
    let mut listed = listed(false);
    let naming = Naming::Never { topic: 2, word: prefix(OWNER) };
    listed.push(Hint { contract: CONNECTOR.into(), topic0: CALL, naming, explained_by: &[] });
    let logs = placed(vec![borrow(OWNER, 5)]);
    let evidence = Evidence { hints: logs.iter().collect(), listed: &listed, ..Evidence::default() };
    assert!(EulerV2.events(&evidence, OWNER.into_word()).is_empty());
    assert!(EulerV2.moves(&evidence, OWNER.into_word()).is_empty());
}
