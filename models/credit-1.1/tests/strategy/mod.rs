//! Features of every shape the contract allows: ordinary ones, empty ones, and the edges of every field.
//!
//! Compiled into the tests of each model that reads features.

use proptest::{collection::vec, num::f64::ANY, option::of, prelude::*, sample::select};

use crate::types::{AssetClass, Attestation, ChainFeatures, Coverage, Features, Holding, MarketFeatures};

pub fn features() -> impl Strategy<Value = Features> {
    (time(), vec(chain(), 0..5), vec(market(), 0..7), vec(holding(), 0..7), vec(attestation(), 0..4)).prop_map(
        |(as_of, chains, markets, holdings, identity)| Features { as_of, chains, markets, holdings, identity },
    )
}

/// Mostly between 2015 and 2030.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 1_420_070_400u64..1_893_456_000, 1 => any::<u64>(), 1 => select(vec![0, u64::MAX])]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..5, 4 => 0u64..2_000, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

/// Mostly ordinary money, sometimes any float there is: infinite, negative or no number.
pub fn usd() -> impl Strategy<Value = f64> {
    let odd = select(vec![f64::NAN, f64::INFINITY, -1.0, 1e308]);
    prop_oneof![2 => Just(0.0), 4 => 0.0..1_000.0, 4 => 0.0..1e7, 1 => ANY, 1 => odd]
}

fn coverage() -> impl Strategy<Value = Coverage> {
    let unfinished = select(vec![Coverage::Partial, Coverage::Pending]);
    prop_oneof![6 => Just(Coverage::Complete), 1 => unfinished, 1 => Just(Coverage::Failed)]
}

fn chain() -> impl Strategy<Value = ChainFeatures> {
    let counts = (count(), of(count()), of(any::<u32>()), of(0u32..5_000), of(0u32..30), of(count()));
    let money = (usd(), usd(), usd());
    (any::<u64>(), coverage(), of(time()), of(time()), counts, money).prop_map(
        |(chain_id, coverage, first, last, counts, money)| ChainFeatures {
            chain_id,
            coverage,
            first_transaction: first,
            last_transaction: last,
            transactions: counts.0,
            transfers: counts.1,
            counterparties: counts.2,
            active_days: counts.3,
            active_hours: counts.4,
            median_gap: counts.5,
            assets_usd: money.0,
            supplied_usd: money.1,
            borrowed_usd: money.2,
        },
    )
}

fn market() -> impl Strategy<Value = MarketFeatures> {
    let protocol = select(vec!["lenderA_v2", "lenderA_v3", "lenderB_v2", "lenderB_v3", "", "ünknown"]);
    let counts = (of(count()), of(count()), of(count()), of(count()), of(count()));
    let times = (of(time()), of(time()), of(time()));
    (any::<u64>(), protocol, of("[a-zA-Z ]{0,40}"), coverage(), any::<bool>(), counts, times, (usd(), usd())).prop_map(
        |(chain_id, protocol, market, coverage, feeds_score, counts, times, money)| MarketFeatures {
            chain_id,
            protocol: protocol.into(),
            market,
            coverage,
            feeds_score,
            supply: counts.0,
            withdraw: counts.1,
            borrow: counts.2,
            repay: counts.3,
            liquidation: counts.4,
            first_event: times.0,
            last_event: times.1,
            last_liquidation: times.2,
            supplied_usd: money.0,
            borrowed_usd: money.1,
        },
    )
}

fn holding() -> impl Strategy<Value = Holding> {
    let class = select(vec![
        AssetClass::Native,
        AssetClass::Stablecoin,
        AssetClass::Token,
        AssetClass::Wrapped,
        AssetClass::Liquidity,
        AssetClass::Collateral,
    ]);
    (class, usd(), any::<u32>()).prop_map(|(class, usd, assets)| Holding { class, usd, assets })
}

pub fn attestation() -> impl Strategy<Value = Attestation> {
    let provider = select(vec!["ens", "basename", "coinbase", "human-passport", "worldcoin", ""]);
    (provider, of(time()), of(time()), of(usd())).prop_map(|(provider, issued, expires, score)| Attestation {
        provider: provider.into(),
        issued,
        expires,
        score,
    })
}
