//! Hides answers at random: the snapshot without them has the features of the true one, or says that it lacks a part.

use alloy::{
    primitives::{Bytes, I256, aliases::U80},
    sol_types::SolValue,
};
use proptest::prelude::*;

use super::*;
use crate::{
    config::{NativeConfig, Slugs, TokenConfig},
    prices::pure,
};
use assay_domain::{
    Address, AssetClass, AssetSide, B256, EventCounts, Part, PositionAsset, Protocol, Seen, Snapshot, U256,
    features::features, time_from_unix,
};
use assay_evm::Call;
use assay_lending::{
    ChainTerms, Held, HeldParts, KnownHistory, LendingTerms, Market, MarketHistory, MarketTerms, Past,
    config::MarketConfig,
};

const NOW: u64 = 1_700_000_000;
const WALLET: Address = Address::repeat_byte(0xaa);
const FEED: Address = Address::repeat_byte(0xfe);
const ORACLE: (Address, U256) = (Address::repeat_byte(0x0c), U256::from_limbs([1, 0, 0, 0]));
/// Priced by a feed, by the oracle, and by nobody.
const TOKENS: [Address; 3] = [Address::repeat_byte(1), Address::repeat_byte(2), Address::repeat_byte(3)];
const MARKET: Address = Address::repeat_byte(0x3a);

/// A market with a supply of 30 and a debt of 10, in units of the second token.
#[derive(Debug)]
struct Vault;

impl LendingTerms for Vault {
    fn calls(&self, wallet: Address) -> Vec<Call> {
        vec![Call::Balance(wallet), Call::Balance(MARKET), Call::Balance(MARKET)]
    }

    fn held(&self, answers: &[Option<Bytes>], quote_usd: Option<f64>) -> Option<Held> {
        let amount = |at: usize| Some(f64::from(U256::abi_decode(answers.get(at)?.as_deref()?).ok()?));
        let (supplied, borrowed, price) = (amount(0)?, amount(1)?, quote_usd?);
        let (supplied_usd, borrowed_usd) = (supplied * price, borrowed * price);
        let health_factor = answers.get(2).and_then(|answer| U256::abi_decode(answer.as_deref()?).ok());
        let asset = |token, side, amount: f64, usd| PositionAsset {
            token: Some(token),
            symbol: None,
            side,
            amount: U256::from(amount),
            decimals: 0,
            usd,
            liquidation_threshold: Some(0.8),
            price_usd: Some(price),
            account: MARKET.into_word(),
        };
        let parts = HeldParts {
            assets: vec![
                asset(TOKENS[1], AssetSide::Collateral, supplied, supplied_usd),
                asset(TOKENS[2], AssetSide::Debt, borrowed, borrowed_usd),
            ],
            mode: None,
            delegations: Vec::new(),
            threshold: health_factor.map(|_| 0.8),
            health_factor: health_factor.map(f64::from),
            lacking: health_factor.is_none(),
            unpriced: Vec::new(),
        };
        Some(Held { supplied_usd, borrowed_usd, supplied_assets: 1, parts })
    }

    fn traces(&self, _: Address) -> Vec<Call> {
        Vec::new()
    }

    fn ever_held(&self, _: &[Option<Bytes>]) -> bool {
        false
    }

    fn quoted_in(&self) -> Option<Address> {
        Some(TOKENS[1])
    }
}

fn config() -> ChainConfig {
    let heartbeat = std::time::Duration::from_secs(3_600);
    let token = |address, feed| TokenConfig {
        address,
        symbol: "T".into(),
        name: None,
        decimals: 0,
        feed,
        heartbeat,
        class: AssetClass::Token,
        exposure: None,
    };
    let market = MarketConfig {
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
    ChainConfig {
        id: 1,
        name: "One".into(),
        rpc: Vec::new(),
        explorer: None,
        finality: 64,
        max_head_age: None,
        genesis_accounts: false,
        multicall: None,
        sequencer: Some(FEED),
        native: NativeConfig {
            symbol: "ETH".into(),
            name: None,
            feed: Some(FEED),
            heartbeat,
            wrapped: None,
            mirrors: Vec::new(),
        },
        tokens: vec![token(TOKENS[0], Some(FEED)), token(TOKENS[1], None), token(TOKENS[2], None)],
        pair_factories: Vec::new(),
        markets: vec![market],
        slugs: Slugs::default(),
        shipped: Vec::new(),
    }
}

fn number(number: u64) -> Option<Bytes> {
    Some(U256::from(number).abi_encode().into())
}

/// The answers about the account: native, three tokens, supply, debt, health factor.
fn state() -> Vec<Option<Bytes>> {
    [2_000_000_000_000_000_000, 500, 10, 7, 30, 10, 2].map(number).to_vec()
}

/// The answers about prices: the sequencer; feeds of the native currency and of the first token; and for each token its
/// price and its source at the oracle.
fn prices() -> Vec<Option<Bytes>> {
    let round = |answer: i64, at: u64| {
        let time = U256::from(at);
        let answer = I256::try_from(answer).unwrap_or_default();
        Some((U80::ZERO, answer, time, time, U80::ZERO).abi_encode().into())
    };
    let up = round(0, NOW - 86_400);
    let source = |address: Address| Some(address.abi_encode().into());
    let feed = |price| [round(price, NOW - 60), number(0)];
    [
        vec![up],
        feed(2_000).to_vec(),
        feed(1).to_vec(),
        vec![None, source(Address::ZERO)],
        vec![number(3), source(FEED)],
        vec![None, source(Address::ZERO)],
    ]
    .concat()
}

fn activity() -> Activity {
    let seen = |time| Some(Seen { block: time, time: time_from_unix(time) });
    Activity { first_transaction: seen(1_000), last_transaction: seen(2_000), transactions: 5, ..Activity::default() }
}

/// What is hidden: answers about the account and about prices, the market's terms, the activity, and the history.
#[derive(Debug, Default, Clone)]
struct Hidden {
    state: Vec<bool>,
    prices: Vec<bool>,
    terms: bool,
    activity: bool,
    history: bool,
}

fn hide(answers: Vec<Option<Bytes>>, hidden: &[bool]) -> Vec<Option<Bytes>> {
    let shown = |(index, answer): (usize, Option<Bytes>)| answer.filter(|_| hidden.get(index) != Some(&true));
    answers.into_iter().enumerate().map(shown).collect()
}

fn read(hidden: &Hidden) -> Snapshot {
    read_indexed(hidden, false)
}

/// The same. `indexed` says whether the index has an event of the wallet in the market; the history has no first event.
fn read_indexed(hidden: &Hidden, indexed: bool) -> Snapshot {
    let config = config();
    let markets: Vec<Market> = config.markets.iter().cloned().map(Market::new).collect();
    let terms = ChainTerms::from_iter([(!hidden.terms).then(|| std::sync::Arc::new(Vault) as MarketTerms)]);
    let known = KnownHistory { is_indexed: indexed, ..KnownHistory::default() };
    let mut lending = LendingRead::new(1, WALLET, &markets, [known]);
    let calls = WalletAccount::calls(&config, WALLET).count() + lending.calls(&terms).len();
    let answers = hide(state(), &hidden.state);
    let answers = answers.get(..calls).unwrap_or(&answers);
    let account = WalletAccount::answered(&config, &mut lending, answers);
    let quotes = terms.quote_assets();
    assert_eq!(pure::calls(&config, &[ORACLE], &quotes).len(), prices().len());
    let quotes = pure::quotes(&config, &[ORACLE], &quotes, NOW, &hide(prices(), &hidden.prices));
    let coverage = if hidden.history { Coverage::Partial } else { Coverage::Complete };
    let counts = EventCounts { repay: Some(if hidden.history { 0 } else { 4 }), borrow: Some(1), ..EventCounts::ZERO };
    let pools = vec![PoolHistory { coverage, counts, ..failed_pool(1, &config.markets[0]) }];
    let chain = match account {
        Err(fault) => without_state(&config, pools, Some(&fault)),
        Ok((account, _)) => {
            let history = |pool| {
                let mut history = MarketHistory::unread(pool);
                history.past = Some(Past::default());
                history
            };
            lending.add_histories(pools.into_iter().map(history).collect());
            let (activity, activity_unread) = match hidden.activity {
                true => (Activity::default(), vec![Unread::new(Part::Transactions, "hidden")]),
                false => (activity(), Vec::new()),
            };
            let parts = SnapshotParts { account, lending, quotes, activity, activity_unread, discovered: None };
            snapshot(&config, Block { number: 9, hash: B256::ZERO, time: NOW }, parts).0
        }
    };
    let (attestations, identity) = (Vec::new(), Vec::new());
    Snapshot { address: WALLET, as_of: time_from_unix(NOW), chains: vec![chain], attestations, identity }
}

#[test]
fn the_true_snapshot_is_complete() {
    let truth = read(&Hidden::default());
    assert_eq!((truth.coverage(), truth.score_coverage()), (Coverage::Complete, Coverage::Complete));
    let chain = &features(&truth).chains[0];
    assert_eq!((chain.assets_usd, chain.supplied_usd, chain.borrowed_usd), (4_530.0, 90.0, 30.0));
    let position = features(&truth).markets[0].position.clone().unwrap();
    assert_eq!((position.coverage, position.health_factor), (Coverage::Complete, Some(2.0)));
    assert_eq!(position.utilisation, Some(1.0 / 3.0));
    let parts: Vec<Part> = truth.unread().map(|(_, unread)| unread.part).collect();
    assert_eq!(parts, [Part::Transfers, Part::Nfts], "what no score uses");
}

#[test]
fn an_event_in_the_index_contradicts_a_history_without_any() {
    let coverage = |indexed| read_indexed(&Hidden::default(), indexed).chains[0].pools[0].coverage;
    assert_eq!([false, true].map(coverage), [Coverage::Complete, Coverage::Partial]);
}

fn hidden() -> impl Strategy<Value = Hidden> {
    let some = |count| proptest::collection::vec(proptest::bool::weighted(0.15), count);
    let rarely = || proptest::bool::weighted(0.1);
    (some(state().len()), some(prices().len()), rarely(), rarely(), rarely())
        .prop_map(|(state, prices, terms, activity, history)| Hidden { state, prices, terms, activity, history })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn whatever_is_hidden_the_features_are_true_or_the_score_is_provisional(hidden in hidden()) {
        let (truth, seen) = (read(&Hidden::default()), read(&hidden));
        if seen.score_coverage() == Coverage::Complete {
            prop_assert_eq!(features(&seen), features(&truth));
        } else {
            prop_assert!(seen.unread().any(|(_, unread)| unread.part.is_scored()), "what is missing is not said");
        }
    }
}
