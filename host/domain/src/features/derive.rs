//! Derives features from a snapshot.

use std::collections::BTreeMap;

use super::{AttestationFeature, ChainFeatures, Features, Holding, MarketFeatures};
use crate::{AssetClass, Attestation, ChainSnapshot, PoolHistory, Seen, Snapshot, Time, TokenBalance};

/// The features of `snapshot`.
pub fn features(snapshot: &Snapshot) -> Features {
    Features {
        as_of: unix(snapshot.as_of),
        chains: snapshot.chains.iter().map(chain).collect(),
        markets: snapshot
            .chains
            .iter()
            .flat_map(|chain| chain.pools.iter().map(move |pool| market(chain, pool)))
            .collect(),
        holdings: holdings(snapshot),
        identity: snapshot.distinct_attestations().into_values().map(attestation).collect(),
    }
}

fn chain(chain: &ChainSnapshot) -> ChainFeatures {
    let activity = &chain.activity;
    ChainFeatures {
        chain_id: chain.chain_id,
        coverage: chain.coverage,
        first_transaction: chain.first_seen().map(unix),
        last_transaction: activity.last_transaction.map(seen),
        transactions: activity.transactions,
        transfers: activity.transfers,
        counterparties: activity.counterparties,
        active_days: activity.active_days,
        active_hours: activity.active_hours,
        median_gap: activity.median_gap_seconds,
        assets_usd: chain.tokens.iter().map(TokenBalance::value_usd).sum(),
        supplied_usd: chain.positions.iter().map(|position| position.supplied_usd).sum(),
        borrowed_usd: chain.positions.iter().map(|position| position.borrowed_usd).sum(),
    }
}

fn market(chain: &ChainSnapshot, pool: &PoolHistory) -> MarketFeatures {
    let here =
        || chain.positions.iter().filter(|p| p.protocol == pool.protocol && p.market_address == pool.market_address);
    MarketFeatures {
        chain_id: pool.chain_id,
        protocol: pool.protocol.as_str().to_owned(),
        market: pool.market.clone(),
        coverage: pool.coverage,
        feeds_score: pool.feeds_score,
        supply: pool.counts.supply,
        withdraw: pool.counts.withdraw,
        borrow: pool.counts.borrow,
        repay: pool.counts.repay,
        liquidation: pool.counts.liquidation,
        first_event: pool.first_event_at.map(unix),
        last_event: pool.last_event_at.map(unix),
        last_liquidation: pool.last_liquidation_at.map(unix),
        supplied_usd: here().map(|position| position.supplied_usd).sum(),
        borrowed_usd: here().map(|position| position.borrowed_usd).sum(),
        events_coverage: pool.events.coverage,
        events: pool.events.events.clone(),
        dollars: pool.events.dollars,
        liquidation_days: pool.events.liquidation_days,
        position: pool.position.clone(),
    }
}

/// Holdings by class. Lending deposits have the class `Collateral`.
fn holdings(snapshot: &Snapshot) -> Vec<Holding> {
    let mut by_class = BTreeMap::<AssetClass, (f64, u32)>::new();
    let mut add = |class, usd, assets| {
        let sum = by_class.entry(class).or_default();
        sum.0 += usd;
        sum.1 += assets;
    };
    for chain in &snapshot.chains {
        for token in chain.tokens.iter().filter(|token| !token.amount.is_zero()) {
            add(token.class, token.value_usd(), 1);
        }
        for position in chain.positions.iter().filter(|position| position.supplied_assets > 0) {
            add(AssetClass::Collateral, position.supplied_usd, position.supplied_assets);
        }
    }
    by_class.into_iter().map(|(class, (usd, assets))| Holding { class, usd, assets }).collect()
}

fn attestation(attestation: &Attestation) -> AttestationFeature {
    AttestationFeature {
        provider: attestation.provider.clone(),
        issued: attestation.issued.map(unix),
        expires: attestation.expires.map(unix),
        score: attestation.score,
    }
}

fn seen(seen: Seen) -> u64 {
    unix(seen.time)
}

fn unix(time: Time) -> u64 {
    u64::try_from(time.timestamp()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activity, Address, ChainOrigin, Coverage, EventCounts, PoolEvents, Protocol, time_from_unix};

    #[test]
    fn a_lending_event_dates_a_wallet_whose_first_transaction_is_not_found() {
        let pool = |first| PoolHistory {
            chain_id: 1,
            protocol: Protocol::LenderAV3,
            market_address: Address::ZERO,
            market: None,
            feeds_score: true,
            coverage: Coverage::Complete,
            synced_to_block: Some(9),
            counts: EventCounts::ZERO,
            first_event_at: Some(time_from_unix(first)),
            last_event_at: None,
            last_liquidation_at: None,
            stopped: None,
            remark: None,
            events: PoolEvents::UNREAD,
            position: None,
        };
        let mut chain = ChainSnapshot {
            chain_id: 1,
            chain_name: "One".into(),
            coverage: Coverage::Partial,
            activity: Activity { transactions: 3, ..Activity::default() },
            tokens: Vec::new(),
            nfts: Vec::new(),
            positions: Vec::new(),
            pools: vec![pool(800), pool(700)],
            unread: Vec::new(),
            origin: ChainOrigin::default(),
        };
        assert_eq!(chain.first_seen().map(unix), Some(700));
        chain.activity.first_transaction = Some(Seen { block: 5, time: time_from_unix(900) });
        assert_eq!(chain.first_seen().map(unix), Some(900));
        // Another address may supply for a wallet that sends nothing.
        chain.activity = Activity::default();
        assert_eq!(chain.first_seen().map(unix), None);
    }
}
