//! Which logs become which events, whose events they are, and that an index agrees.

use alloy::primitives::{Bytes, I256, LogData, address, b256};

use super::{
    events::{EXECUTED, GIVE, NEW_OWNER, NEW_VAULT},
    parts::{held_by, urn_of},
    *,
};
use crate::{
    figures::{hints::Alias, indexed::What, sums::Sums},
    protocols::Before,
};
use assay_domain::{Address, U256};

const ME: B256 = B256::new(word(0xaa));
const PROXY: B256 = B256::new(word(0xab));
const OTHER: B256 = B256::new(word(0xbb));
const END: B256 = B256::new(word(0xee));
const URN: B256 = B256::new(word(0x01));
const ILK: B256 = kind(b'E');
const VAULT: B256 = B256::with_last_byte(7);
const MANAGER: Address = Address::repeat_byte(0x30);
const VAT: Address = Address::repeat_byte(0x20);

/// A kind of collateral.
const fn kind(letter: u8) -> B256 {
    let mut bytes = [0; 32];
    (bytes[0], bytes[1], bytes[2]) = (letter, b'-', b'A');
    B256::new(bytes)
}

/// An address as a word.
const fn word(byte: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut at = 12;
    while at < 32 {
        bytes[at] = byte;
        at += 1;
    }
    bytes
}

fn log(contract: Address, block: u64, topics: [B256; 4], data: Vec<u8>) -> Log {
    let data = LogData::new_unchecked(topics.to_vec(), Bytes::from(data));
    let inner = alloy::primitives::Log { address: contract, data };
    Log { inner, block_number: Some(block), block_timestamp: Some(block), log_index: Some(block), ..Log::default() }
}

/// A log of a call whose last two arguments are numbers.
fn call(block: u64, topics: [B256; 4], named: usize, collateral: i64, debt: i64) -> Log {
    let mut data = [U256::from(32).to_be_bytes::<32>(), U256::from(224).to_be_bytes::<32>()].concat();
    data.extend(&topics[0][..4]);
    data.extend(vec![0; named * 32]);
    for amount in [collateral, debt] {
        data.extend(I256::try_from(amount).unwrap().into_raw().to_be_bytes::<32>());
    }
    data.resize(64 + 224, 0);
    log(VAT, block, topics, data)
}

fn frob(block: u64, urn: B256, collateral: i64, debt: i64) -> Log {
    call(block, [FROB, ILK, urn, urn], 4, collateral, debt)
}

fn grab(block: u64, urn: B256, collateral: i64, debt: i64) -> Log {
    call(block, [GRAB, ILK, urn, OTHER], 4, collateral, debt)
}

fn fork(block: u64, from: B256, to: B256, collateral: i64, debt: i64) -> Log {
    call(block, [FORK, ILK, from, to], 3, collateral, debt)
}

fn new_vault(block: u64, owner: B256) -> Log {
    log(MANAGER, block, [NEW_VAULT, OTHER, owner, VAULT], Vec::new())
}

fn give(block: u64, to: B256) -> Log {
    given_by(block, OTHER, to)
}

fn given_by(block: u64, by: B256, to: B256) -> Log {
    log(MANAGER, block, [GIVE, by, VAULT, to], Vec::new())
}

/// A wallet calls the proxy.
fn executed(block: u64, by: B256) -> Log {
    log(Address::from_word(PROXY), block, [EXECUTED[0], by, B256::ZERO, B256::ZERO], Vec::new())
}

/// A proxy has a new owner.
fn owned(block: u64, by: B256) -> Log {
    let mut log = log(Address::from_word(PROXY), block, [NEW_OWNER, by, B256::ZERO, B256::ZERO], Vec::new());
    log.inner.data = LogData::new_unchecked(vec![NEW_OWNER, by], Bytes::new());
    log
}

/// The hints of a wallet with a proxy from the beginning and a vault.
fn aliases(is_owned: bool) -> Vec<Hint> {
    of_account(is_owned, Alias::Account)
}

fn of_account(is_owned: bool, of_proxy: Alias) -> Vec<Hint> {
    let hint = |contract: Address, topic0, topic, word, of| Hint {
        contract: contract.into(),
        topic0,
        naming: Naming::Alias { topic, word, of },
        explained_by: &[],
    };
    let vault = Alias::Part { id: VAULT, kind: ILK, holder: is_owned.then_some(PROXY) };
    let never = Naming::Never { topic: 3, word: END };
    let end = Hint { contract: VAT.into(), topic0: GRAB, naming: never, explained_by: &[] };
    let proxy = |contract, topic0, topic| hint(contract, topic0, topic, PROXY, of_proxy);
    vec![
        end,
        proxy(MANAGER, NEW_VAULT, 2),
        proxy(MANAGER, GIVE, 3),
        proxy(VAT, FROB, 2),
        proxy(VAT, GRAB, 2),
        hint(VAT, FROB, 2, URN, vault),
        hint(VAT, GRAB, 2, URN, vault),
        hint(VAT, FORK, 2, URN, vault),
        hint(VAT, FORK, 3, URN, vault),
        hint(MANAGER, GIVE, 2, VAULT, vault),
    ]
}

/// The kinds and blocks of a wallet's events, and its amounts.
fn read(logs: &[Log], listed: &[Hint], before: Option<Before<'_>>) -> (Vec<(EventKind, u64)>, Sums) {
    let own = logs.iter().filter(|log| log.address() == VAT && log.topics()[2..].contains(&ME)).collect();
    let evidence = Evidence { own, hints: logs.iter().collect(), listed, before, ..Evidence::default() };
    let events = MakerVaults.events(&evidence, ME);
    let mut sums = Sums::default();
    MakerVaults.moves(&evidence, ME).iter().for_each(|(moved, _)| sums.add(moved));
    (events.into_iter().map(|(kind, log)| (kind, log.block_number.unwrap())).collect(), sums)
}

fn net(sums: &Sums, side: Side, asset: Asset) -> i64 {
    i64::try_from(sums.of(side, asset).net).unwrap()
}

use EventKind::{Borrow, Liquidation, Repay, Supply, Withdraw};

#[test]
fn one_call_can_be_two_events_and_a_seizure_is_one() {
    let logs = [
        new_vault(0, PROXY),
        frob(1, URN, 100, 40),
        frob(2, URN, -10, -5),
        frob(3, URN, 0, 0),
        grab(4, URN, -30, -20),
        // Collateral left by a shutdown.
        grab(5, URN, -60, 0),
        frob(6, OTHER, 5, 5),
        // Settled by a shutdown.
        call(7, [GRAB, ILK, URN, END], 4, -7, -15),
    ];
    let (events, sums) = read(&logs, &aliases(true), None);
    assert_eq!(events, [(Supply, 1), (Borrow, 1), (Withdraw, 2), (Repay, 2), (Liquidation, 4), (Withdraw, 5)]);
    assert_eq!(net(&sums, Side::Collateral, Asset::Market(VAULT)), -7);
    assert_eq!(net(&sums, Side::Debt, Asset::Shares(VAULT)), 0);
    assert_eq!(net(&sums, Side::Supply, Asset::Shares(held_by(VAULT, PROXY, ME))), 1);
    assert_eq!(read(&logs[..6], &[], None).0, [], "nobody's without its vault");
}

#[test]
fn a_move_between_urns_is_no_event() {
    let logs = [frob(1, ME, 100, 40), fork(2, ME, URN, 60, 30), fork(3, URN, URN, 1, 1), fork(4, OTHER, ME, 7, 0)];
    let (events, sums) = read(&logs, &aliases(true), None);
    assert_eq!(events, [(Supply, 1), (Borrow, 1)]);
    let amounts = |side, of: fn(B256) -> Asset| [ILK, VAULT].map(|id| net(&sums, side, of(id)));
    assert_eq!(amounts(Side::Collateral, Asset::Market), [47, 60]);
    assert_eq!(amounts(Side::Debt, Asset::Shares), [10, 30]);
}

#[test]
fn events_are_of_the_owner_after_their_block() {
    let logs = [
        new_vault(1, OTHER),
        frob(2, URN, 100, 40),
        give(3, ME),
        frob(4, URN, 10, 0),
        given_by(5, ME, PROXY),
        frob(6, URN, 10, 0),
        give(7, OTHER),
        frob(8, URN, -120, -40),
    ];
    let (events, sums) = read(&logs, &aliases(false), None);
    assert_eq!(events, [(Supply, 4), (Supply, 6)]);
    let shares = |sums: &Sums| [VAULT, held_by(VAULT, PROXY, ME)].map(|id| net(sums, Side::Supply, Asset::Shares(id)));
    assert_eq!(shares(&sums), [0, 0]);
    // In parts: the later one knows the amounts before it.
    let (first, sums) = read(&logs[..4], &aliases(false), None);
    let (second, rest) = read(&logs[4..], &aliases(false), Some(Before { next: 5, sums: &sums }));
    assert_eq!([first, second].concat(), events);
    assert_eq!(shares(&sums.clone().then(&rest)), [0, 0]);
    // Blocks that were read before change nothing.
    let before = Before { next: 5, sums: &sums };
    let (_, rest) = read(&logs, &aliases(false), Some(before));
    assert_eq!(shares(&sums.clone().then(&rest)), [0, 0]);
}

#[test]
fn an_urn_of_a_proxy_is_a_part_of_its_own() {
    let logs = [frob(1, ME, 100, 40), fork(2, URN, PROXY, 60, 30), grab(3, PROXY, -20, -10), frob(4, PROXY, -1, 0)];
    let (events, sums) = read(&logs, &aliases(true), None);
    assert_eq!(events, [(Supply, 1), (Borrow, 1), (Liquidation, 3), (Withdraw, 4)]);
    let ids = [ILK, VAULT, urn_of(ILK, PROXY, ME)];
    assert_eq!(ids.map(|id| net(&sums, Side::Debt, Asset::Shares(id))), [40, -30, 20]);
    assert_eq!(ids.map(|id| net(&sums, Side::Collateral, Asset::Market(id))), [100, -60, 39]);
}

#[test]
fn a_proxy_acts_for_its_new_owner_from_then_on() {
    let logs = [
        owned(1, OTHER),
        new_vault(2, PROXY),
        frob(3, URN, 100, 40),
        frob(4, PROXY, 9, 0),
        owned(5, ME),
        frob(6, URN, 0, -5),
        frob(7, PROXY, 0, 3),
    ];
    let received = of_account(true, Alias::Received);
    let (events, sums) = read(&logs, &received, None);
    assert_eq!(events, [(Repay, 6), (Borrow, 7)]);
    assert_eq!(net(&sums, Side::Debt, Asset::Shares(VAULT)), 35);
    assert_eq!(net(&sums, Side::Supply, Asset::Shares(PROXY)), 1);
    // In parts.
    let (first, sums) = read(&logs[..5], &received, None);
    let (second, _) = read(&logs[5..], &received, Some(Before { next: 6, sums: &sums }));
    assert_eq!([first, second].concat(), events);
    // Before the proxy is known, its log makes it known.
    let (events, sums) = read(&logs, &[], None);
    assert_eq!((events, net(&sums, Side::Supply, Asset::Shares(PROXY))), (vec![], 1));
}

#[test]
fn a_proxy_in_use_is_known_without_the_log_of_its_owner() {
    let shares = |hints: &[Hint]| read(&[executed(1, ME), executed(2, ME), executed(3, OTHER)], hints, None).1;
    let (unknown, received) = (shares(&[]), shares(&of_account(true, Alias::Received)));
    for sums in [&unknown, &received] {
        // The state has a share of 1.
        assert_eq!((sums.of(Side::Supply, Asset::Shares(PROXY)).moves, sums.markets().contains(&PROXY)), (1, true));
        assert_eq!(net(sums, Side::Supply, Asset::Shares(PROXY)), 0);
    }
    assert!(shares(&aliases(true)).is_empty(), "the registry names the proxy");
}

#[test]
fn a_vault_that_an_account_gives_away_was_its_own() {
    let share = |logs: &[Log], hints: &[Hint], account| {
        let id = held_by(VAULT, account, ME);
        net(&read(logs, hints, None).1, Side::Supply, Asset::Shares(id))
    };
    let (taken, away) = (give(1, PROXY), given_by(2, PROXY, OTHER));
    assert_eq!(share(&[taken.clone(), away.clone()], &aliases(false), PROXY), 0);
    assert_eq!(
        share(std::slice::from_ref(&away), &aliases(false), PROXY),
        -1,
        "the log by which it received it is missing"
    );
    assert_eq!(share(&[given_by(2, ME, OTHER)], &[], ME), 0, "for an index");
    // Until the vault is known, its own logs are not read: the state contradicts the share.
    let mut unknown = aliases(false);
    unknown.retain(|hint| !matches!(hint.naming, Naming::Alias { of: Alias::Part { .. }, .. }));
    assert_eq!(share(&[taken, away.clone()], &unknown, PROXY), 1);
    assert_eq!(share(&[away], &unknown, PROXY), -1);
}

#[test]
fn a_vault_that_comes_back_was_given_away() {
    let hints = aliases(true);
    let logs = [new_vault(1, PROXY), frob(2, URN, 9, 4), given_by(3, PROXY, OTHER), frob(4, URN, 0, 1), give(5, PROXY)];
    let share = |logs: &[Log]| net(&read(logs, &hints, None).1, Side::Supply, Asset::Shares(held_by(VAULT, PROXY, ME)));
    let joined = |logs: &[Log]| {
        let of = [ME, PROXY, URN, VAULT].map(|word| (word, indexed(logs, word)));
        let of_words: Vec<(B256, &[Entry])> = of.iter().map(|(word, entries)| (*word, entries.as_slice())).collect();
        MakerVaults.joined(&of_words, &hints)
    };
    assert_eq!((share(&logs), read(&logs, &hints, None).0), (1, vec![(Supply, 2), (Borrow, 2)]));
    assert!(joined(&logs).is_some());
    // Without the log by which it was given away, what another did with it would be the wallet's.
    let lacking: Vec<Log> = logs.iter().filter(|log| log.block_number != Some(3)).cloned().collect();
    assert_eq!(share(&lacking), 2, "the state has a share of 1");
    assert_eq!(joined(&lacking), None, "it is read from the node");
}

/// The index's entries for a word in `logs`.
fn indexed(logs: &[Log], word: B256) -> Vec<Entry> {
    let (own, hints): (Vec<&Log>, Vec<&Log>) = logs.iter().partition(|log| log.address() == VAT);
    let listed = aliases(true).into_iter().filter(|hint| !hint.is_alias()).collect::<Vec<_>>();
    let named = |log: &&&Log| log.topics()[1..].contains(&word);
    let evidence = Evidence {
        own: own.iter().filter(named).copied().collect(),
        hints: hints.iter().filter(named).copied().collect(),
        listed: &listed,
        ..Evidence::default()
    };
    let time = |log: &Log| log.block_number.unwrap();
    let events = MakerVaults.events(&evidence, word).into_iter();
    let events = events.map(|(kind, log)| Entry { block: time(log), what: What::Event { kind, time: time(log) } });
    let moves = MakerVaults.moves(&evidence, word).into_iter();
    let mut all: Vec<_> =
        events.chain(moves.map(|(moved, log)| Entry { block: time(log), what: What::Moved(moved) })).collect();
    all.sort_by_key(|entry| entry.block);
    all
}

#[test]
fn an_index_says_the_same() {
    let logs = [
        new_vault(1, OTHER),
        frob(2, URN, 100, 40),
        give(3, ME),
        frob(4, URN, 10, 0),
        given_by(5, ME, PROXY),
        grab(6, URN, -10, -40),
        frob(7, ME, 3, 0),
        fork(8, URN, ME, 1, 0),
        give(9, OTHER),
        frob(10, URN, -99, 0),
        owned(11, ME),
        frob(12, PROXY, 8, 0),
        give(13, PROXY),
        frob(14, URN, 0, 5),
        call(15, [GRAB, ILK, URN, END], 4, -1, -5),
        given_by(16, PROXY, ME),
        executed(17, ME),
        given_by(18, ME, OTHER),
        given_by(19, ME, OTHER),
    ];
    for (of_proxy, expected) in [
        (Alias::Account, vec![(Supply, 4), (Liquidation, 6), (Supply, 7), (Supply, 12), (Borrow, 14)]),
        (Alias::Received, vec![(Supply, 4), (Supply, 7), (Supply, 12), (Borrow, 14)]),
    ] {
        let hints = of_account(true, of_proxy);
        let (events, sums) = read(&logs, &hints, None);
        assert_eq!(events, expected);
        let of = [ME, PROXY, URN, VAULT].map(|word| (word, indexed(&logs, word)));
        let of_words: Vec<(B256, &[Entry])> = of.iter().map(|(word, entries)| (*word, entries.as_slice())).collect();
        let joined = MakerVaults.joined(&of_words, &hints).unwrap();
        let (mut told, mut added) = (Vec::new(), Sums::default());
        for Entry { block, what } in joined {
            match what {
                What::Event { kind, .. } => told.push((kind, block)),
                What::Moved(moved) => added.add(&moved),
                What::Incomplete { .. } => unreachable!(),
            }
        }
        assert_eq!(told, events);
        assert_eq!(added, sums);
    }
    // Anybody can add collateral of another kind to an urn.
    let foreign = call(13, [FROB, kind(b'W'), URN, URN], 4, 1, 0);
    let entries = indexed(&[foreign], URN);
    let of_words = [(ME, &[][..]), (PROXY, &[][..]), (URN, entries.as_slice()), (VAULT, &[][..])];
    assert_eq!(MakerVaults.joined(&of_words, &aliases(true)), None);
}

/// A log of the manager on Ethereum: the selector, the caller, the vault and its new owner.
#[test]
fn the_manager_logs_its_caller_first() {
    let [caller, to] = [ME, PROXY];
    let log = log(MANAGER, 1, [GIVE, caller, VAULT, to], Vec::new());
    assert_eq!(events::given(&log), Some(events::Given { id: VAULT, by: Some(caller), to }));
}

/// A repayment on Ethereum in the kind YFI-A, for an urn without a vault.
#[test]
fn a_log_of_the_real_contract_is_read() {
    let urn = address!("0x0abb839063ef747c8432b2acc60bf8f70ec09a45").into_word();
    let ilk = B256::right_padding_from(b"YFI-A");
    let debt = b256!("0xfffffffffffffffffffffffffffffffffffffffffffa050e82a57b7fc6b6020c");
    let words = [U256::from(32).to_be_bytes::<32>(), U256::from(224).to_be_bytes::<32>()].concat();
    let mut data = [&words[..], &FROB[..4], &ilk[..], &urn[..], &urn[..], &urn[..], &[0; 32], &debt[..]].concat();
    data.resize(288, 0);
    let (kind, told) = change(&log(VAT, 1, [FROB, ilk, urn, urn], data), urn, &[]).unwrap();
    assert_eq!((kind, told.kinds, told.collateral), (ilk, [None, Some(Repay)], I256::ZERO));
    assert_eq!(told.debt, -I256::try_from(7_229_675_416_790_010_075_676_148_u128).unwrap());
}
