//! A report from the sandbox generator.

use std::collections::BTreeSet;

use crate::http::{
    App,
    wire::{
        Activity, Assets, ChainActivity, ChainReportBody, Checksummed, Counts, CreditEvents, Defi, Moment, NftBody,
        Pool, ProtocolBody, ReportBody, ReportScore, TokenBody, Usd, sentences,
    },
};
use assay_chain::config::ReadOn;
use assay_domain::{Address, ChainId, EventCounts, Protocol, UnreadByChain, parse_address, time_from_unix};
use assay_registry::{MockPool, MockReport};

/// An address, its mock report, and the parts that a scenario leaves unread.
type Mock = (Address, MockReport, Option<UnreadByChain>);

/// The mock report of `address`; `labelled` with `sandbox: true` on the paths of the sandbox.
pub fn body(app: &App, (address, mock, unread): Mock, labelled: bool) -> ReportBody {
    let score = mock.score;
    let mut chains = ReadOn::new();
    mock.active_chains.iter().for_each(|chain| _ = chains.entry(*chain).or_default());
    for pool in &mock.pools {
        chains.entry(pool.chain_id).or_default().insert(pool.protocol.clone());
    }
    let not_covered = without_pool(&mock).chain(app.not_covered(&chains)).collect();
    ReportBody {
        address: Checksummed(address),
        score: ReportScore {
            value: score.get(),
            classification: score.range().into(),
            claims: None,
            no_claim: None,
            inactive: None,
        },
        activity: Activity {
            first_transaction: Some(Moment(time_from_unix(mock.first_transaction))),
            total_transactions: mock.total_transactions,
            active_chains: mock.active_chains.clone(),
        },
        assets: assets(&mock),
        defi: defi(&mock),
        cached: false,
        timestamp: Moment::now(),
        credit_events: CreditEvents::over(mock.pools.into_iter().map(pool).collect(), not_covered, Vec::new()),
        unread: unread.map(sentences),
        sandbox: labelled.then_some(true),
    }
}

/// The part of the mock report that concerns one chain.
pub(super) fn on_chain(app: &App, (address, mut mock, unread): Mock, chain: ChainId) -> ChainReportBody {
    let transactions = mock.transactions().find(|(active, _)| *active == chain).map(|(_, transactions)| transactions);
    mock.tokens.retain(|token| token.chain_id == chain);
    mock.nfts.retain(|nft| nft.chain_id == chain);
    mock.positions.retain(|position| position.chain_id == chain);
    ChainReportBody {
        address: Checksummed(address),
        chain_id: chain,
        chain_name: app.chain_label(chain),
        assets: assets(&mock).into(),
        defi: defi(&mock).into(),
        activity: ChainActivity {
            first_transaction: transactions.map(|_| Moment(time_from_unix(mock.first_transaction))),
            total_transactions: transactions.unwrap_or(0),
        },
        cached: false,
        timestamp: Moment::now(),
        unread: unread.map(sentences),
    }
}

fn assets(mock: &MockReport) -> Assets {
    let held = mock.tokens.iter().map(|token| Usd(token.value_usd));
    let supplied = mock.positions.iter().map(|position| Usd(position.supplied));
    Assets {
        // As in production: deposits are part of the value, and no tokens.
        total_value_usd: held.chain(supplied).sum(),
        tokens: mock
            .tokens
            .iter()
            .map(|token| TokenBody {
                symbol: token.symbol.clone(),
                name: token.name.clone(),
                balance: token.balance.clone(),
                value_usd: Usd(token.value_usd),
                chain_id: token.chain_id,
                address: None,
                priced: None,
            })
            .collect(),
        nfts: mock
            .nfts
            .iter()
            .map(|nft| NftBody { name: nft.name.clone(), collection: nft.collection.clone(), chain_id: nft.chain_id })
            .collect(),
    }
}

fn defi(mock: &MockReport) -> Defi {
    Defi {
        total_supplied: mock.positions.iter().map(|position| Usd(position.supplied)).sum(),
        total_borrowed: mock.positions.iter().map(|position| Usd(position.borrowed)).sum(),
        protocols: mock
            .positions
            .iter()
            .map(|position| ProtocolBody {
                name: position.name.clone(),
                supplied: Usd(position.supplied),
                borrowed: Usd(position.borrowed),
                chain_id: position.chain_id,
            })
            .collect(),
    }
}

/// The protocols of the API that have no pool in the report. A production report lists them as `not_covered`.
fn without_pool(mock: &MockReport) -> impl Iterator<Item = String> {
    let read: BTreeSet<&str> = mock.pools.iter().map(|pool| pool.protocol.as_str()).collect();
    let without = Protocol::OF_CONTRACT.into_iter().map(|protocol| protocol.as_str());
    without.filter(move |protocol| !read.contains(protocol)).map(str::to_owned)
}

fn pool(mock: MockPool) -> Pool {
    let EventCounts { supply, withdraw, borrow, repay, liquidation } = mock.counts;
    Pool {
        feeds_score: mock.feeds_score,
        market_address: parse_address(&mock.market_address)
            .map_or(mock.market_address, |address| address.to_checksum(None)),
        protocol: mock.protocol,
        market: mock.market,
        chain_id: mock.chain_id,
        coverage: mock.coverage,
        synced_to_block: mock.synced_to_block,
        counts: Counts { supply, withdraw, borrow, repay, liquidation },
        first_event_at: mock.first_event.map(|at| Moment(time_from_unix(at))),
        last_event_at: mock.last_event.map(|at| Moment(time_from_unix(at))),
    }
}
