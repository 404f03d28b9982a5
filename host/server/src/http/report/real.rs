//! A report from what was read on the chains.

use std::{cmp::Reverse, collections::BTreeMap};

use crate::{
    http::{
        App,
        wire::{
            Activity, Assets, ChainActivity, ChainReportBody, Checksummed, ClaimedRateBody, Counts, CreditEvents, Defi,
            Moment, NftBody, Pool, PoolEventBody, PoolPositionBody, ProtocolBody, ReportBody, ReportScore, TokenBody,
            Usd, sentences,
        },
    },
    scoring::{ChainReport, Report},
};
use assay_domain::{
    ChainId, ChainSnapshot, Claimed, EventCounts, PoolHistory, Position, Protocol, Snapshot,
    features::{LendingEvent, MOST_EVENTS},
    time_from_unix,
};

pub(super) fn body(app: &App, report: &Report, claimed: Claimed) -> ReportBody {
    let snapshot = &*report.snapshot;
    let score = report.scored.assessment.score;
    let (claims, no_claim) = ClaimedRateBody::of(claimed);
    ReportBody {
        address: Checksummed(snapshot.address),
        score: ReportScore {
            value: score.get(),
            classification: score.range().into(),
            claims,
            no_claim,
            inactive: (!snapshot.has_activity() && !snapshot.may_have_activity()).then_some(true),
        },
        assets: assets(snapshot),
        defi: defi(snapshot),
        activity: activity(snapshot),
        cached: report.cached,
        timestamp: Moment(snapshot.as_of),
        credit_events: credit_events(app, snapshot),
        unread: Some(sentences(snapshot.unread())),
        sandbox: None,
    }
}

pub(super) fn on_chain(report: &ChainReport, chain_id: ChainId, chain_name: String) -> ChainReportBody {
    let snapshot = &report.snapshot;
    let Activity { first_transaction, total_transactions, .. } = activity(snapshot);
    ChainReportBody {
        address: Checksummed(snapshot.address),
        chain_id,
        chain_name,
        assets: assets(snapshot).into(),
        defi: defi(snapshot).into(),
        activity: ChainActivity { first_transaction, total_transactions },
        cached: report.cached,
        timestamp: Moment(snapshot.as_of),
        unread: Some(sentences(snapshot.unread().filter(|(chain, _)| *chain == chain_id))),
    }
}

fn assets(snapshot: &Snapshot) -> Assets {
    let tokens = snapshot.chains.iter().flat_map(|chain| &chain.tokens).filter(|token| !token.amount.is_zero());
    let deposits = snapshot.chains.iter().flat_map(|chain| &chain.positions).map(|position| Usd(position.supplied_usd));
    let nft = |nft: &assay_domain::Nft| NftBody {
        name: nft.name.clone(),
        collection: nft.collection.clone(),
        chain_id: nft.chain_id,
    };
    Assets {
        total_value_usd: tokens.clone().map(|token| Usd(token.value_usd())).chain(deposits).sum(),
        tokens: tokens
            .map(|token| TokenBody {
                symbol: token.symbol.clone(),
                name: token.name.clone(),
                balance: token.balance_text(),
                value_usd: Usd(token.value_usd()),
                chain_id: token.chain_id,
                address: token.contract.map(|contract| contract.to_checksum(None)),
                priced: Some(token.price.is_some()),
                price_source: token.price.map(|price| price.source.as_str()),
            })
            .collect(),
        nfts: snapshot.chains.iter().flat_map(|chain| &chain.nfts).map(nft).collect(),
    }
}

/// One entry per protocol and chain, over all its markets there.
fn defi(snapshot: &Snapshot) -> Defi {
    let mut by_protocol = BTreeMap::<(ChainId, Protocol), (f64, f64)>::new();
    for position in snapshot.chains.iter().flat_map(|chain| &chain.positions) {
        let sum = by_protocol.entry((position.chain_id, position.protocol)).or_default();
        sum.0 += position.supplied_usd;
        sum.1 += position.borrowed_usd;
    }
    by_protocol.retain(|_, (supplied, borrowed)| *supplied > 0.0 || *borrowed > 0.0);
    Defi {
        total_supplied: by_protocol.values().map(|sum| Usd(sum.0)).sum(),
        total_borrowed: by_protocol.values().map(|sum| Usd(sum.1)).sum(),
        protocols: by_protocol
            .into_iter()
            .map(|((chain_id, protocol), (supplied, borrowed))| ProtocolBody {
                name: protocol.as_str().to_owned(),
                supplied: Usd(supplied),
                borrowed: Usd(borrowed),
                chain_id,
            })
            .collect(),
    }
}

/// The protocols of the API without a market on any configured chain. Their history is not read either.
fn without_market(snapshot: &Snapshot) -> impl Iterator<Item = String> {
    let without = Protocol::OF_CONTRACT.into_iter().filter(|protocol| !is_read(snapshot, *protocol));
    without.map(|protocol| protocol.as_str().to_owned())
}

fn is_read(snapshot: &Snapshot, protocol: Protocol) -> bool {
    snapshot.pools().any(|pool| pool.protocol == protocol)
}

/// What no reading finds in the protocols that are read, and what this one cannot explain.
fn remarks(snapshot: &Snapshot) -> Vec<String> {
    let protocols = Protocol::ALL.into_iter().filter(|protocol| is_read(snapshot, *protocol));
    let blind = protocols.flat_map(|protocol| protocol.blind_spots().iter().map(move |spot| (protocol, spot)));
    let blind = blind.map(|(protocol, spot)| format!("{}: {spot}", protocol.as_str()));
    let own = snapshot.pools().filter_map(|pool| {
        let PoolHistory { protocol, market_address, chain_id, .. } = pool;
        Some(format!("{} {market_address} on chain {chain_id}: {}", protocol.as_str(), pool.remark.as_ref()?))
    });
    blind.chain(own).collect()
}

fn activity(snapshot: &Snapshot) -> Activity {
    let chains = &snapshot.chains;
    Activity {
        first_transaction: chains.iter().filter_map(ChainSnapshot::first_seen).min().map(Moment),
        total_transactions: chains.iter().fold(0, |sum, chain| sum.saturating_add(chain.activity.transactions)),
        active_chains: chains.iter().filter(|chain| chain.has_activity()).map(|chain| chain.chain_id).collect(),
    }
}

fn credit_events(app: &App, snapshot: &Snapshot) -> CreditEvents {
    let read_on = |chain: &ChainSnapshot| {
        (chain.chain_id, chain.pools.iter().map(|pool| pool.protocol.as_str().to_owned()).collect())
    };
    let chains = snapshot.chains.iter().map(read_on).collect();
    let not_covered = without_market(snapshot).chain(app.not_covered(&chains)).collect();
    CreditEvents {
        events: Some(events(snapshot)),
        positions: Some(positions(snapshot)),
        last_liquidation_at: snapshot.pools().filter_map(|pool| pool.last_liquidation_at).max().map(Moment),
        ..CreditEvents::over(snapshot.pools().map(pool).collect(), not_covered, remarks(snapshot)).with_score_totals()
    }
}

/// The newest events of all pools, the newest first.
fn events(snapshot: &Snapshot) -> Vec<PoolEventBody> {
    let event = |pool: &PoolHistory, event: &LendingEvent| PoolEventBody {
        at: Moment(time_from_unix(event.time)),
        kind: event.kind.into(),
        usd: event.usd.map(Usd),
        protocol: pool.protocol.as_str().to_owned(),
        market_address: pool.market_address.to_checksum(None),
        chain_id: pool.chain_id,
    };
    let pools = snapshot.pools();
    let mut all: Vec<_> =
        pools.flat_map(|pool| pool.events.events.iter().map(move |one| (one.time, event(pool, one)))).collect();
    all.sort_by_key(|(time, _)| Reverse(*time));
    all.into_iter().take(MOST_EVENTS).map(|(_, event)| event).collect()
}

fn pool(pool: &PoolHistory) -> Pool {
    let EventCounts { supply, withdraw, borrow, repay, liquidation } = pool.counts;
    Pool {
        protocol: pool.protocol.as_str().to_owned(),
        market_address: pool.market_address.to_checksum(None),
        market: pool.market.clone(),
        feeds_score: pool.feeds_score,
        chain_id: pool.chain_id,
        coverage: pool.coverage,
        synced_to_block: pool.synced_to_block,
        counts: Counts { supply, withdraw, borrow, repay, liquidation },
        first_event_at: pool.first_event_at.map(Moment),
        last_event_at: pool.last_event_at.map(Moment),
    }
}

/// What the wallet has in the pools now.
fn positions(snapshot: &Snapshot) -> Vec<PoolPositionBody> {
    let position = |position: &Position| {
        let is_here = |pool: &&PoolHistory| {
            (pool.chain_id, pool.protocol, pool.market_address)
                == (position.chain_id, position.protocol, position.market_address)
        };
        let details = snapshot.pools().find(is_here).and_then(|pool| pool.position.as_ref());
        PoolPositionBody {
            protocol: position.protocol.as_str().to_owned(),
            market_address: position.market_address.to_checksum(None),
            market: position.market.clone(),
            chain_id: position.chain_id,
            supplied: Usd(position.supplied_usd),
            borrowed: Usd(position.borrowed_usd),
            health_factor: details.and_then(|details| details.health_factor),
        }
    };
    let open = snapshot.chains.iter().flat_map(|chain| &chain.positions);
    open.filter(|one| one.supplied_usd > 0.0 || one.borrowed_usd > 0.0).map(position).collect()
}
