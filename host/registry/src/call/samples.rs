//! The subjects of the self-test: empty features, an ordinary wallet, and the limits of every field.

mod absent;
mod lending;

pub(crate) use absent::in_years;
pub(crate) use lending::detailed;

use crate::compile::world::Generation;
use assay_domain::{
    Address, AssetClass, Coverage, Protocol,
    features::{AttestationFeature, ChainFeatures, Dollars, Features, Holding, MarketFeatures},
};

/// 2025-06-01.
const NOW: u64 = 1_748_736_000;
const YEAR: u64 = 31_557_600;

/// A subject with its name in messages.
pub(crate) struct CallSample {
    pub name: &'static str,
    pub features: Features,
    /// False if a model may refuse the subject.
    pub must_answer: bool,
}

/// More subjects, for a model that answers [`subjects`]: the wallets that people look at, one wallet for each optional
/// field, without that field, wallets without several of them, and wallets of later years.
pub(crate) fn further(generation: Generation) -> Vec<CallSample> {
    [wallets(), absent::together(generation), absent::later(), absent::each(generation)].into_iter().flatten().collect()
}

/// The subjects whose calls are measured, for models of this generation.
pub(crate) fn subjects(generation: Generation) -> Vec<CallSample> {
    let sample = |name, must_answer, features| CallSample { name, features, must_answer };
    let mut all = vec![
        sample("empty features", false, Features { as_of: NOW, ..Features::default() }),
        sample("an ordinary wallet", true, typical()),
        sample("a wallet of which nothing could be read", false, unread()),
        sample("the largest numbers", true, extreme(u64::MAX, u32::MAX, 1e18)),
        sample("zeros everywhere", false, extreme(0, 0, 0.0)),
    ];
    if generation == Generation::V2 {
        all.extend([
            sample("a wallet with positions and events", true, detailed()),
            sample("a lender that nobody knows", true, lending::unheard_of()),
            sample("a wallet whose positions could not be read", true, lending::unread_positions()),
            sample("the largest numbers in positions and events", true, lending::largest(u64::MAX, u32::MAX, 1e18)),
            sample("zeros in positions and events", false, lending::largest(0, 0, 0.0)),
        ]);
    }
    all
}

/// Ten typical wallets, for people who look at scores.
pub(crate) fn wallets() -> Vec<CallSample> {
    let wallet = |name, change: fn(&mut Features)| {
        let mut features = typical();
        change(&mut features);
        CallSample { name, features, must_answer: false }
    };
    vec![
        wallet("an ordinary borrower", |_| {}),
        wallet("never used", |of| *of = Features { as_of: NOW, ..Features::default() }),
        wallet("new, a month old", |of| {
            each_chain(of, |chain| (chain.first_transaction, chain.transactions) = (Some(NOW - 30 * 86_400), 12));
            of.markets.clear();
        }),
        wallet("old and active, never borrowed", |of| of.markets.clear()),
        wallet("borrowed often, always repaid", |of| {
            each_market(of, |market| (market.borrow, market.repay, market.liquidation) = (Some(60), Some(60), Some(0)));
        }),
        wallet("liquidated yesterday", |of| {
            each_market(of, |market| {
                (market.liquidation, market.last_liquidation) = (Some(1), Some(NOW - 86_400));
            });
        }),
        wallet("liquidated five times, long ago", |of| {
            each_market(of, |market| {
                (market.liquidation, market.last_liquidation) = (Some(5), Some(NOW - 3 * YEAR));
            });
        }),
        wallet("rich, without a history", |of| {
            of.markets.clear();
            each_chain(of, |chain| (chain.transactions, chain.assets_usd) = (3, 2_000_000.0));
        }),
        wallet("active, with nothing left", |of| {
            of.holdings.clear();
            each_chain(of, |chain| chain.assets_usd = 0.0);
        }),
        wallet("lending that could not be read", |of| of.markets = unread().markets),
    ]
}

fn each_chain(features: &mut Features, change: impl Fn(&mut ChainFeatures)) {
    features.chains.iter_mut().for_each(change);
}

fn each_market(features: &mut Features, change: impl Fn(&mut MarketFeatures)) {
    features.markets.iter_mut().for_each(change);
}

/// The four bands first, then addresses with bits in every byte.
pub(crate) fn addresses() -> Vec<Address> {
    let small = (1..=4).map(Address::with_last_byte);
    let spread = [0, 0x11, 0x3c, 0x80, 0xa5, 0xff].map(Address::repeat_byte);
    small.chain(spread).collect()
}

/// An ordinary wallet, also used by benchmarks.
pub(crate) fn typical() -> Features {
    Features {
        as_of: NOW,
        chains: vec![active(1, 1400, 52_000.0), active(8453, 300, 4_100.5)],
        markets: vec![
            market(1, Protocol::LenderAV3, Some(0)),
            market(8453, Protocol::LenderAV3, Some(1)),
            market(1, Protocol::LenderBV2, None),
        ],
        holdings: vec![
            Holding { class: AssetClass::Native, usd: 21_000.0, assets: 2 },
            Holding { class: AssetClass::Stablecoin, usd: 30_100.5, assets: 3 },
            Holding { class: AssetClass::Collateral, usd: 5_000.0, assets: 1 },
        ],
        identity: vec![AttestationFeature {
            provider: "ens".to_owned(),
            issued: Some(NOW - YEAR),
            expires: Some(NOW + YEAR),
            score: None,
        }],
    }
}

/// A wallet on 16 chains and in 300 markets, for which a model uses more memory than for others.
pub(crate) fn crowded() -> Features {
    let Features { chains, markets, .. } = typical();
    let chains = chains.into_iter().cycle().take(16).collect();
    let markets = markets.into_iter().cycle().take(300).collect();
    Features { chains, markets, ..typical() }
}

fn active(chain_id: u64, transactions: u64, assets_usd: f64) -> ChainFeatures {
    ChainFeatures {
        chain_id,
        coverage: Coverage::Complete,
        first_transaction: Some(NOW - 4 * YEAR),
        last_transaction: Some(NOW - 86_400),
        transactions,
        transfers: Some(transactions * 2),
        counterparties: Some(120),
        active_days: Some(240),
        active_hours: Some(17),
        median_gap: Some(30_000),
        assets_usd,
        supplied_usd: 5_000.0,
        borrowed_usd: 1_200.0,
    }
}

fn market(chain_id: u64, protocol: Protocol, liquidations: Option<u64>) -> MarketFeatures {
    MarketFeatures {
        chain_id,
        protocol: protocol.as_str().to_owned(),
        market: None,
        coverage: Coverage::Complete,
        feeds_score: protocol.feeds_score(),
        supply: liquidations.map(|_| 12),
        withdraw: liquidations.map(|_| 5),
        borrow: Some(9),
        repay: Some(8),
        liquidation: liquidations.or(Some(0)),
        first_event: Some(NOW - 3 * YEAR),
        last_event: Some(NOW - 9 * 86_400),
        last_liquidation: liquidations.filter(|n| *n > 0).map(|_| NOW - YEAR),
        supplied_usd: 2_500.0,
        borrowed_usd: 600.0,
        events_coverage: Coverage::Failed,
        events: Vec::new(),
        dollars: Dollars::default(),
        liquidation_days: None,
        position: None,
    }
}

fn unread() -> Features {
    let chain = ChainFeatures {
        coverage: Coverage::Failed,
        first_transaction: None,
        last_transaction: None,
        transactions: 0,
        transfers: None,
        counterparties: None,
        active_days: None,
        active_hours: None,
        median_gap: None,
        assets_usd: 0.0,
        supplied_usd: 0.0,
        borrowed_usd: 0.0,
        ..active(1, 0, 0.0)
    };
    let market = MarketFeatures {
        coverage: Coverage::Failed,
        supply: None,
        withdraw: None,
        borrow: None,
        repay: None,
        liquidation: None,
        first_event: None,
        last_event: None,
        last_liquidation: None,
        ..market(1, Protocol::LenderAV3, Some(0))
    };
    Features { as_of: NOW, chains: vec![chain], markets: vec![market], holdings: Vec::new(), identity: Vec::new() }
}

/// `many` in every count and time, on more chains and markets than an ordinary host has.
fn extreme(many: u64, some: u32, usd: f64) -> Features {
    let classes = [
        AssetClass::Native,
        AssetClass::Stablecoin,
        AssetClass::Token,
        AssetClass::Wrapped,
        AssetClass::Liquidity,
        AssetClass::Collateral,
    ];
    let attestation = || AttestationFeature {
        provider: "human-passport".to_owned(),
        issued: Some(many),
        expires: Some(many),
        score: Some(usd),
    };
    Features {
        as_of: NOW,
        chains: (1..=16).map(|chain_id| extreme_chain(chain_id, many, some, usd)).collect(),
        markets: (1..=64).map(|chain_id| extreme_market(chain_id, many, usd)).collect(),
        holdings: classes.map(|class| Holding { class, usd, assets: some }).to_vec(),
        identity: (0..16).map(|_| attestation()).collect(),
    }
}

fn extreme_chain(chain_id: u64, many: u64, some: u32, usd: f64) -> ChainFeatures {
    ChainFeatures {
        chain_id,
        coverage: Coverage::Partial,
        first_transaction: Some(many),
        last_transaction: Some(many),
        transactions: many,
        transfers: Some(many),
        counterparties: Some(some),
        active_days: Some(some),
        active_hours: Some(some),
        median_gap: Some(many),
        assets_usd: usd,
        supplied_usd: usd,
        borrowed_usd: usd,
    }
}

fn extreme_market(chain_id: u64, many: u64, usd: f64) -> MarketFeatures {
    MarketFeatures {
        market: Some("a market with quite a long name of its own".to_owned()),
        supply: Some(many),
        withdraw: Some(many),
        borrow: Some(many),
        repay: Some(many),
        liquidation: Some(many),
        first_event: Some(many),
        last_event: Some(many),
        last_liquidation: Some(many),
        supplied_usd: usd,
        borrowed_usd: usd,
        ..market(chain_id, Protocol::LenderBV3, Some(1))
    }
}
