//! The report of one subject with its score, and the attestations about its owner.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::Reports;
use assay_chain::config::ReadOn;
use assay_domain::{
    Address, ChainId, ChainSnapshot, Coverage, Delegation, EventCounts, EventKind, Freshness, LendingMode, Nft,
    PoolHistory, Position, PositionAsset, PriceSource, Protocol, Snapshot, Subject, Time, TokenBalance, UnreadByChain,
    features::{LendingEvent, MOST_EVENTS},
    time_from_unix,
};
use assay_rollout::Scored;
use assay_score::{Ask, NotScored, ScoringError};

/// A credit report.
#[derive(Debug, Clone)]
pub struct Report {
    /// The score; an error if the model refuses the wallet.
    pub scored: Result<Arc<Scored>, NotScored>,
    pub fresh: Freshness,
    pub contents: Contents,
    /// Whether the wallet shows no activity on any chain.
    pub inactive: bool,
    /// Whether it is from an earlier read.
    pub cached: bool,
}

/// The report of one chain.
#[derive(Debug, Clone)]
pub struct ChainReport {
    /// Of this chain only.
    pub contents: Contents,
    /// Whether it is from an earlier read.
    pub cached: bool,
    pub fresh: Freshness,
}

/// The content of a report of a wallet, on all chains or on one. Amounts are in US dollars.
#[derive(Debug, Clone)]
pub struct Contents {
    pub address: Address,
    pub as_of: Time,
    /// Tokens and lending deposits.
    pub assets_usd: f64,
    pub tokens: Vec<HeldToken>,
    pub nfts: Vec<Nft>,
    pub protocols: Vec<ProtocolTotal>,
    pub first_transaction: Option<Time>,
    /// Transactions sent.
    pub transactions: u64,
    pub active_chains: Vec<ChainId>,
    pub pools: Vec<ReportedPool>,
    pub details: Details,
    /// Remarks on what the events of the pools do not show.
    pub remarks: Vec<String>,
    /// The protocols that are read, by chain.
    pub read_on: ReadOn,
    /// The unread parts, by chain; `None` in a plain answer of the sandbox.
    pub unread: Option<UnreadByChain>,
}

#[derive(Debug, Clone)]
pub struct HeldToken {
    pub chain_id: ChainId,
    /// `None` for a native currency. In the sandbox, `None` for unknown tokens too.
    pub contract: Option<Address>,
    pub symbol: String,
    pub name: String,
    /// Whole tokens, exact.
    pub balance: String,
    /// 0 without a price.
    pub value_usd: f64,
    /// The source of its price; `None` without a price.
    pub price_source: Option<PriceSource>,
}

/// The amounts in one protocol on one chain.
#[derive(Debug, Clone)]
pub struct ProtocolTotal {
    pub chain_id: ChainId,
    pub name: String,
    pub supplied_usd: f64,
    pub borrowed_usd: f64,
}

/// The history in one lending pool.
#[derive(Debug, Clone)]
pub struct ReportedPool {
    pub chain_id: ChainId,
    pub protocol: String,
    pub market_address: Address,
    pub market: Option<String>,
    pub feeds_score: bool,
    pub coverage: Coverage,
    pub synced_to_block: Option<u64>,
    pub counts: EventCounts,
    pub first_event_at: Option<Time>,
    pub last_event_at: Option<Time>,
}

/// Single events and positions.
#[derive(Debug, Clone)]
pub struct Details {
    /// The newest events of all pools, newest first.
    pub events: Vec<ReportedEvent>,
    pub positions: Vec<ReportedPosition>,
    pub last_liquidation_at: Option<Time>,
}

#[derive(Debug, Clone)]
pub struct ReportedEvent {
    pub chain_id: ChainId,
    pub protocol: Protocol,
    pub market_address: Address,
    pub at: Time,
    pub kind: EventKind,
    /// `None` for an asset that does not follow the dollar.
    pub usd: Option<f64>,
}

/// A position that is open now.
#[derive(Debug, Clone)]
pub struct ReportedPosition {
    pub chain_id: ChainId,
    pub protocol: Protocol,
    pub market_address: Address,
    pub market: Option<String>,
    pub supplied_usd: f64,
    pub borrowed_usd: f64,
    pub health_factor: Option<f64>,
    /// Each asset with the price at which it can lead to a liquidation; see [`Position::liquidation_price`].
    pub assets: Vec<(PositionAsset, Option<f64>)>,
    pub mode: Option<LendingMode>,
    pub delegations: Option<Vec<Delegation>>,
}

impl Reports {
    /// The report of `subject`. An address without activity has a report of zeros.
    ///
    /// # Errors
    /// As [`Scoring::score`](assay_score::Scoring::score), except that an unknown address and a refusal are not errors.
    pub async fn report(&self, subject: &Subject, by: &str) -> Result<Report, ScoringError> {
        let read = self.scoring.read(self.scoring.address(subject).await?).await?;
        let ask = Ask::by(by, false);
        let answering = self.scoring.answering(&ask, Some(read.snapshot.address))?;
        let scored = match self.scoring.assess(&answering, &read.snapshot, &ask).await {
            Ok((scored, _)) => Ok(scored),
            Err(error) => Err(NotScored::of(&error).ok_or(error)?),
        };
        let fresh = scored.as_ref().map_or_else(|_| self.scoring.freshness(&read.snapshot), |scored| scored.fresh);
        let inactive = !read.snapshot.has_activity() && !read.snapshot.may_have_activity();
        let read = self.scoring.exactly(read).await;
        Ok(Report { scored, fresh, contents: Contents::of(&read.snapshot), inactive, cached: read.cached })
    }

    /// The report of `subject` on `chain` only, without a score: a score is over all chains.
    ///
    /// # Errors
    /// As [`Reports::report`], [`ScoringError::ChainDown`] if this chain could not be read or is not configured, and
    /// [`ScoringError::NotYetRead`] if it is being read.
    pub async fn chain_report(&self, subject: &Subject, chain: ChainId) -> Result<ChainReport, ScoringError> {
        let read = self.scoring.read_exactly(self.scoring.address(subject).await?).await?;
        let part = read.snapshot.chains.iter().find(|part| part.chain_id == chain);
        let part = part.filter(|part| part.coverage != Coverage::Failed).ok_or(ScoringError::ChainDown(chain))?;
        if part.coverage == Coverage::Pending {
            return Err(ScoringError::NotYetRead);
        }
        let snapshot = Snapshot { chains: vec![part.clone()], ..Snapshot::clone(&read.snapshot) };
        let mut contents = Contents::of(&snapshot);
        contents.unread.iter_mut().for_each(|unread| unread.retain(|(id, _)| *id == chain));
        Ok(ChainReport { contents, cached: read.cached, fresh: self.scoring.freshness(&read.snapshot) })
    }
}

impl Contents {
    fn of(snapshot: &Snapshot) -> Self {
        let chains = &snapshot.chains;
        let held = || chains.iter().flat_map(|chain| &chain.tokens).filter(|token| !token.amount.is_zero());
        let deposits = chains.iter().flat_map(|chain| &chain.positions).map(|position| position.supplied_usd);
        let read_on = |chain: &ChainSnapshot| {
            let of = |pool: &PoolHistory| [pool.protocol.as_str().to_owned(), pool.market_address.to_string()];
            (chain.chain_id, chain.pools.iter().flat_map(of).collect())
        };
        Self {
            address: snapshot.address,
            as_of: snapshot.as_of,
            assets_usd: sum(held().map(TokenBalance::value_usd).chain(deposits)),
            tokens: held().map(HeldToken::from).collect(),
            nfts: chains.iter().flat_map(|chain| &chain.nfts).cloned().collect(),
            protocols: protocols(snapshot),
            first_transaction: chains.iter().filter_map(ChainSnapshot::first_seen).min(),
            transactions: chains.iter().fold(0, |sum, chain| sum.saturating_add(chain.activity.transactions)),
            active_chains: chains.iter().filter(|chain| chain.has_activity()).map(|chain| chain.chain_id).collect(),
            pools: snapshot.pools().map(ReportedPool::from).collect(),
            details: Details {
                events: events(snapshot),
                positions: positions(snapshot),
                last_liquidation_at: snapshot.pools().filter_map(|pool| pool.last_liquidation_at).max(),
            },
            remarks: remarks(snapshot),
            read_on: chains.iter().map(read_on).collect(),
            unread: Some(snapshot.unread().collect()),
        }
    }

    /// The protocols of the API without a pool here. Their history is not read.
    pub fn without_pool(&self) -> impl Iterator<Item = &'static str> {
        let is_read = |name: &str| self.pools.iter().any(|pool| pool.protocol == name);
        Protocol::OF_CONTRACT.into_iter().map(Protocol::as_str).filter(move |name| !is_read(name))
    }
}

/// The sum of the finite amounts.
pub fn sum(amounts: impl Iterator<Item = f64>) -> f64 {
    amounts.filter(|amount| amount.is_finite()).fold(0.0, |sum, amount| sum + amount)
}

impl From<&TokenBalance> for HeldToken {
    fn from(token: &TokenBalance) -> Self {
        Self {
            chain_id: token.chain_id,
            contract: token.contract,
            symbol: token.symbol.clone(),
            name: token.name.clone(),
            balance: token.balance_text(),
            value_usd: token.value_usd(),
            price_source: token.price.map(|price| price.source),
        }
    }
}

impl From<&PoolHistory> for ReportedPool {
    fn from(pool: &PoolHistory) -> Self {
        Self {
            chain_id: pool.chain_id,
            protocol: pool.protocol.as_str().to_owned(),
            market_address: pool.market_address,
            market: pool.market.clone(),
            feeds_score: pool.feeds_score,
            coverage: pool.coverage,
            synced_to_block: pool.synced_to_block,
            counts: pool.counts,
            first_event_at: pool.first_event_at,
            last_event_at: pool.last_event_at,
        }
    }
}

/// One entry per protocol and chain, over all its markets there.
fn protocols(snapshot: &Snapshot) -> Vec<ProtocolTotal> {
    let mut totals = BTreeMap::<(ChainId, Protocol), ProtocolTotal>::new();
    for position in snapshot.chains.iter().flat_map(|chain| &chain.positions) {
        let (chain_id, protocol) = (position.chain_id, position.protocol);
        let none =
            || ProtocolTotal { chain_id, name: protocol.as_str().to_owned(), supplied_usd: 0.0, borrowed_usd: 0.0 };
        let total = totals.entry((chain_id, protocol)).or_insert_with(none);
        total.supplied_usd += position.supplied_usd;
        total.borrowed_usd += position.borrowed_usd;
    }
    totals.into_values().filter(|total| total.supplied_usd > 0.0 || total.borrowed_usd > 0.0).collect()
}

/// Events that no read of the protocols finds, and those that this read cannot explain.
fn remarks(snapshot: &Snapshot) -> Vec<String> {
    let is_read = |protocol: &Protocol| snapshot.pools().any(|pool| pool.protocol == *protocol);
    let protocols = Protocol::ALL.into_iter().filter(is_read);
    let blind = protocols.flat_map(|protocol| protocol.blind_spots().iter().map(move |spot| (protocol, spot)));
    let blind = blind.map(|(protocol, spot)| format!("{}: {spot}", protocol.as_str()));
    let own = snapshot.pools().filter_map(|pool| {
        let PoolHistory { protocol, market_address, chain_id, .. } = pool;
        Some(format!("{} {market_address} on chain {chain_id}: {}", protocol.as_str(), pool.remark.as_ref()?))
    });
    blind.chain(own).collect()
}

fn events(snapshot: &Snapshot) -> Vec<ReportedEvent> {
    let event = |pool: &PoolHistory, event: &LendingEvent| ReportedEvent {
        chain_id: pool.chain_id,
        protocol: pool.protocol,
        market_address: pool.market_address,
        at: time_from_unix(event.time),
        kind: event.kind,
        usd: event.usd,
    };
    let mut all: Vec<_> =
        snapshot.pools().flat_map(|pool| pool.events.events.iter().map(move |one| event(pool, one))).collect();
    all.sort_by_key(|event| Reverse(event.at));
    all.truncate(MOST_EVENTS);
    all
}

fn positions(snapshot: &Snapshot) -> Vec<ReportedPosition> {
    let on_chain = |chain: &ChainSnapshot| {
        chain.positions.iter().map(|position| ReportedPosition::of(position, &chain.positions)).collect::<Vec<_>>()
    };
    snapshot.chains.iter().flat_map(on_chain).collect()
}

impl ReportedPosition {
    /// Reports one of the positions of a wallet on a chain.
    pub fn of(position: &Position, all: &[Position]) -> Self {
        let priced = |asset: &PositionAsset| (asset.clone(), position.liquidation_price(asset, all));
        Self {
            chain_id: position.chain_id,
            protocol: position.protocol,
            market_address: position.market_address,
            market: position.market.clone(),
            supplied_usd: position.supplied_usd,
            borrowed_usd: position.borrowed_usd,
            health_factor: position.health_factor,
            assets: position.assets.iter().map(priced).collect(),
            mode: position.mode.clone(),
            delegations: position.delegations.clone(),
        }
    }
}

/// Attestations of one address.
#[derive(Debug, Clone)]
pub struct IdentityReport {
    pub snapshot: Arc<Snapshot>,
    /// The distinct attestations.
    pub distinct: BTreeSet<String>,
    /// Whether the snapshot is from an earlier read.
    pub cached: bool,
    pub fresh: Freshness,
}

impl Reports {
    /// The attestations about the owner of `subject`, from the same snapshot as its report.
    ///
    /// # Errors
    /// As [`Reports::report`].
    pub async fn identity(&self, subject: &Subject) -> Result<IdentityReport, ScoringError> {
        let read = self.scoring.read(self.scoring.address(subject).await?).await?;
        let (distinct, fresh) = (distinct(&read.snapshot), self.scoring.freshness(&read.snapshot));
        Ok(IdentityReport { snapshot: read.snapshot, distinct, cached: read.cached, fresh })
    }
}

/// The attestations of a snapshot, each once.
pub(crate) fn distinct(snapshot: &Snapshot) -> BTreeSet<String> {
    snapshot.distinct_attestations().into_keys().collect()
}
