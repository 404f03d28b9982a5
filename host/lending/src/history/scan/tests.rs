//! Reading all wallets at once finds the same as reading each separately, for all protocols.

use alloy::primitives::{Bytes, LogData, U256};
use proptest::prelude::*;

use super::*;
use crate::{
    config::MarketConfig,
    figures::hints::{Naming, TRANSFER},
    history::{
        events::{Event, FoundLogs, Moved, extract},
        plan::Plan,
        receipts::wanted,
    },
};
use assay_domain::Protocol;
use assay_evm::{Span, logs::answers};

const PROTOCOLS: [Protocol; 9] = [
    Protocol::LenderAV2,
    Protocol::LenderAV3,
    Protocol::LenderBV2,
    Protocol::LenderBV2,
    Protocol::LenderBV3,
    Protocol::MorphoBlue,
    Protocol::MakerVaults,
    Protocol::Fluid,
    Protocol::EulerV2,
];
const SPAN: Span = Span { from: 100, to: 110 };

const fn address(byte: u8) -> Address {
    Address::repeat_byte(byte)
}

fn markets() -> Arc<[Market]> {
    let config = |(at, protocol): (usize, &Protocol)| MarketConfig {
        protocol: *protocol,
        market: None,
        address: address(at as u8 + 1),
        from_block: 0,
        feeds_score: None,
        dialect: None,
        chainlog: None,
        lending_factory: None,
        evc: None,
    };
    PROTOCOLS.iter().enumerate().map(|at| Market::new(config(at))).collect()
}

/// For each pool an aToken and its asset; for each cToken its own transfers, its token's, and its Comptroller's logs.
fn hints(markets: &[Market]) -> AllHints {
    let hint =
        |contract: Address, topic0, naming| Hint { contract: contract.into(), topic0, naming, explained_by: &[] };
    let of = |market: &Market| {
        let at = market.config.address;
        match market.config.protocol {
            Protocol::LenderAV2 => vec![hint(address(0x20), TRANSFER, Naming::Holder(address(0x30)))],
            Protocol::LenderAV3 => vec![hint(address(0x21), TRANSFER, Naming::Holder(address(0x30)))],
            Protocol::LenderBV2 => vec![
                hint(at, TRANSFER, Naming::At(1)),
                hint(at, TRANSFER, Naming::At(2)),
                hint(address(0x22), distributed(), Naming::At(2)),
                hint(address(0x30), TRANSFER, Naming::With(at.into_word())),
            ],
            Protocol::LenderBV3 => [1, 2].map(|topic| hint(at, TRANSFER, Naming::At(topic))).into(),
            Protocol::MorphoBlue => Vec::new(),
            Protocol::MakerVaults => [(new_vault(), 2), (give(), 2), (give(), 1)]
                .map(|(topic0, topic)| hint(address(0x31), topic0, Naming::At(topic)))
                .into(),
            Protocol::Fluid => [1, 2].map(|topic| hint(address(0x23), TRANSFER, Naming::At(topic))).into(),
            Protocol::EulerV2 => {
                let vaults = Emitter::Set(Arc::new([address(0x41), address(0x42)].into_iter().collect()));
                let hint = |topic0, topic| Hint {
                    contract: vaults.clone(),
                    topic0,
                    naming: Naming::At(topic),
                    explained_by: &[],
                };
                vec![hint(TRANSFER, 1), hint(TRANSFER, 2), hint(borrowed(), 1), hint(repaid(), 1)]
            }
        }
    };
    markets.iter().map(|market| Some(of(market))).collect()
}

fn distributed() -> B256 {
    keccak256("DistributedBorrowerComp(address,address,uint256,uint256)")
}

fn borrowed() -> B256 {
    keccak256("Borrow(address,uint256)")
}

fn repaid() -> B256 {
    keccak256("Repay(address,uint256)")
}

fn new_vault() -> B256 {
    keccak256("NewCdp(address,address,uint256)")
}

fn give() -> B256 {
    B256::right_padding_from(&keccak256("give(uint256,address)")[..4])
}

fn wallets() -> [Address; 3] {
    [address(0xaa), address(0xab), address(0xac)]
}

/// Every value that a word of a log may have.
fn words() -> Vec<B256> {
    let addresses = wallets().into_iter().chain([Address::ZERO, address(3), address(0x30), address(4)]);
    addresses.map(|address| address.into_word()).chain([B256::repeat_byte(0xaa)]).collect()
}

fn signatures(markets: &[Market]) -> Vec<B256> {
    let own = markets.iter().flat_map(|market| {
        let signatures = market.protocol.profile().signatures.iter().map(|signature| signature.topic0);
        signatures.chain(market.protocol.profile().in_receipts.iter().copied())
    });
    own.chain([TRANSFER, TRANSFER, TRANSFER, distributed(), new_vault(), give(), keccak256("Other()")]).collect()
}

fn contracts() -> Vec<Address> {
    [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 8, 0x20, 0x21, 0x22, 0x23, 0x30, 0x31].map(address).into()
}

prop_compose! {
    /// A log, and whether the next one is of the same transaction.
    fn any_log()(
        contract in prop::sample::select(contracts()),
        topic0 in prop::sample::select(signatures(&markets())),
        topics in prop::collection::vec(prop::sample::select(words()), 0..4),
        data in prop::collection::vec(
            prop_oneof![prop::sample::select(words()), (0u64..3_000).prop_map(|n| U256::from(n).into())],
            0..10,
        ),
        joined in prop::bool::weighted(0.7),
    ) -> (Log, bool) {
        // Logs of cTokens have no topics besides their signature.
        let is_bare = [3, 4].map(address).contains(&contract) && topic0 != TRANSFER;
        let topics = std::iter::once(topic0).chain(topics.into_iter().filter(|_| !is_bare)).collect();
        let data: Bytes = data.iter().flat_map(|word: &B256| word.0).collect::<Vec<_>>().into();
        let inner = alloy::primitives::Log { address: contract, data: LogData::new_unchecked(topics, data) };
        (Log { inner, ..Log::default() }, joined)
    }
}

/// `logs` with their places in the chain.
fn placed(logs: Vec<(Log, bool)>) -> Vec<Log> {
    let mut transaction = 0u64;
    let place = |(index, (mut log, joined)): (usize, (Log, bool))| {
        let block = SPAN.from + (transaction / 3).min(SPAN.to - SPAN.from);
        log.block_number = Some(block);
        log.block_hash = Some(B256::from(U256::from(block)));
        log.block_timestamp = Some(block * 12);
        log.transaction_hash = Some(B256::from(U256::from(1_000 + transaction)));
        log.log_index = Some(index as u64);
        transaction += u64::from(!joined);
        log
    };
    logs.into_iter().enumerate().map(place).collect()
}

/// The entries that the queries for one wallet find, by market.
fn alone(markets: &[Market], hints: &AllHints, wallet: Address, chain: &[Log]) -> Vec<WalletEntries> {
    let plan = Plan::new(markets, hints.clone(), wallet);
    let asked = |log: &&Log| plan.queries.iter().any(|query| answers(log, query, SPAN));
    let logs: Vec<Log> = chain.iter().filter(asked).cloned().collect();
    let wanted: BTreeSet<B256> =
        wanted(markets, &plan, &logs).unwrap().into_iter().map(|wanted| wanted.transaction).collect();
    let in_receipt = |log: &&Log| {
        log.transaction_hash.is_some_and(|hash| wanted.contains(&hash)) && plan.reads_in_receipts(markets, log)
    };
    let receipts = chain.iter().filter(in_receipt).cloned().collect();
    let all = extract(markets, &plan, &mut FoundLogs { logs, receipts, ..FoundLogs::default() }, &Vec::new());
    let of = |market: usize| {
        let events = all.events.iter().filter(|event: &&Event| event.market == market).copied().collect();
        let moves = all.moves.iter().filter(|moved: &&Moved| moved.market == market).copied().collect();
        let incomplete = all.incomplete.iter().filter(|((at, _), _)| *at == market).map(|(k, v)| (*k, *v)).collect();
        Extract { events, moves, incomplete }.entries().unwrap()
    };
    let parts = (0..markets.len()).map(|market| WalletEntries { wallet, market, entries: of(market) });
    parts.filter(|part| !part.entries.is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn all_wallets_together_are_what_each_is_alone(logs in prop::collection::vec(any_log(), 0..60)) {
        let (markets, chain) = (markets(), placed(logs));
        let hints = hints(&markets);
        let scan = Scan::new(markets.clone(), hints.clone());
        let asked = |log: &&Log| scan.queries().iter().any(|query| answers(log, query, SPAN));
        // Several queries may return the same log.
        let answer: Vec<Log> = chain.iter().chain(&chain).filter(asked).cloned().collect();
        let found = scan.entries(answer).unwrap();
        for wallet in wallets() {
            let together: Vec<_> = found.iter().filter(|part| part.wallet == wallet).cloned().collect();
            prop_assert_eq!(together, alone(&markets, &hints, wallet, &chain));
        }
        prop_assert!(found.iter().all(|part| Scan::is_wallet(&markets, part.wallet)));
    }
}

#[test]
fn all_markets_are_three_queries() {
    let markets = markets();
    let scan = Scan::new(markets.clone(), hints(&markets));
    let shape = |query: &LogQuery| (query.addresses.len(), query.topics.each_ref().map(Vec::len));
    let [all, from, to] = scan.queries() else { panic!("{:?}", scan.queries()) };
    assert_eq!((all.addresses.len(), shape(from), shape(to)), (15, (1, [1, 2, 0, 0]), (1, [1, 0, 2, 0])));
    assert!(all.topics[1..].iter().all(Vec::is_empty));
    let pool = Scan::new(markets[..1].into(), [Some(Vec::new())].into());
    assert_eq!(pool.queries().iter().map(shape).collect::<Vec<_>>(), [(1, [7, 0, 0, 0])]);
}

#[test]
fn other_hints_are_another_question() {
    let markets = markets();
    let all = hints(&markets);
    let mut fewer: Vec<_> = all.to_vec();
    fewer[0] = Some(Vec::new());
    fewer[4] = None;
    fewer[2].as_mut().unwrap().reverse();
    let [one, other] = [all, fewer.into()].map(|hints| Scan::new(markets.clone(), hints));
    assert_ne!(one.asked(0), other.asked(0));
    assert_eq!((one.asked(1), one.asked(2)), (other.asked(1), other.asked(2)));
    assert!(one.reads(4) && !other.reads(4) && other.asked(4).is_none());
}

#[test]
fn a_set_that_grew_asks_the_same_without_what_is_new() {
    let markets = markets();
    let of = |bytes: &[u8]| {
        let contracts = Arc::new(bytes.iter().map(|byte| Address::repeat_byte(*byte)).collect());
        let hint =
            Hint { contract: Emitter::Set(contracts), topic0: TRANSFER, naming: Naming::At(1), explained_by: &[] };
        let mut all = hints(&markets).to_vec();
        all[4] = Some(vec![hint]);
        Scan::new(markets.clone(), all.into())
    };
    let (old, new) = (of(&[0x41, 0x42]), of(&[0x42, 0x43, 0x41, 0x44]));
    assert_ne!(old.asked(4), new.asked(4));
    let added: BTreeSet<Address> = new.hint_contracts().difference(&old.hint_contracts()).copied().collect();
    assert_eq!(added, BTreeSet::from([0x43, 0x44].map(Address::repeat_byte)));
    let without = new.without(&added);
    assert_eq!((without.asked(4), without.marks()), (old.asked(4), old.marks()));
    assert_eq!(without.queries(), old.queries());
    assert!(new.without(&new.hint_contracts()).hint_contracts().is_empty());
}

#[test]
fn an_event_without_a_time_is_no_entry() {
    let markets = markets();
    let scan = Scan::new(markets.clone(), hints(&markets));
    let signature = markets[1].protocol.profile().signatures[0];
    let mut topics = vec![signature.topic0, B256::ZERO, B256::ZERO, B256::ZERO];
    topics[signature.wallet_at] = wallets()[0].into_word();
    let inner = alloy::primitives::Log { address: address(2), data: LogData::new_unchecked(topics, Bytes::new()) };
    let mut log = placed(vec![(Log { inner, ..Log::default() }, false)]).remove(0);
    assert!(scan.untimed(std::slice::from_ref(&log)).is_empty());
    assert_eq!(scan.entries(vec![log.clone()]).unwrap().len(), 1);
    log.block_timestamp = None;
    assert_eq!(scan.untimed(std::slice::from_ref(&log)), BTreeSet::from([SPAN.from]));
    assert!(scan.entries(vec![log]).is_err());
}
