//! The fields of the credit report.

use serde::Serialize;
use utoipa::ToSchema;

use super::position::PoolPositionBody;
use crate::{Contents, Details, HeldToken, ProtocolTotal, Report, ReportedEvent, ReportedPool};
use assay_domain::{ChainId, Claimed, Coverage, EventCounts, EventKind, Nft, PriceSource, Score};
use assay_http::values::{Checksummed, CoverageName, Moment, RangeName, Usd, sentences};
use assay_score::{NotScored, bodies::ClaimedRateBody};

/// A credit report.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Report)]
pub struct ReportBody {
    #[schema(value_type = String, example = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")]
    pub address: Checksummed,
    pub score: ReportScore,
    pub assets: Assets,
    pub defi: Defi,
    pub activity: Activity,
    /// Whether the report comes from an earlier reading.
    pub cached: bool,
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
    pub credit_events: CreditEvents,
    /// Unread and partly read parts, in words: `first transaction on chain 1: …`. Figures without these parts may be
    /// too low. Absent in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub unread: Option<Vec<String>>,
    /// True in the sandbox, absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub sandbox: Option<bool>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReportScore {
    /// Null if the model refuses the wallet.
    #[schema(minimum = 300, maximum = 1000)]
    pub value: Option<u32>,
    pub classification: Option<RangeName>,
    /// Why the model refuses the wallet; absent with a score.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub refused: Option<RefusedBody>,
    /// Rates that the model's card claims for the score's range, one per horizon. Absent if no claimed population
    /// includes the wallet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub claims: Option<Vec<ClaimedRateBody>>,
    /// Why the model claims no rate for this wallet, although it claims rates for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub no_claim: Option<String>,
    /// True if the wallet shows no activity on any chain: the score then says nothing. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub inactive: Option<bool>,
}

/// The refusal of a model, with the code and the sentence that the score endpoints answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Refused)]
pub struct RefusedBody {
    #[schema(value_type = String)]
    pub code: &'static str,
    pub reason: String,
}

impl From<NotScored> for RefusedBody {
    fn from(why: NotScored) -> Self {
        Self { code: NotScored::CODE, reason: why.to_string() }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Assets {
    /// Tokens and lending deposits, in dollars. Excludes NFTs, unclaimed rewards and debt.
    #[schema(value_type = f64)]
    pub total_value_usd: Usd,
    pub tokens: Vec<TokenBody>,
    pub nfts: Vec<NftBody>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Token)]
pub struct TokenBody {
    pub symbol: String,
    pub name: String,
    /// Whole tokens, exact.
    #[schema(example = "1.5")]
    pub balance: String,
    /// 0 when no source has a price.
    #[schema(value_type = f64)]
    pub value_usd: Usd,
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
    /// Contract of the token; absent for the native currency. In the sandbox, absent for unknown tokens too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub address: Option<String>,
    /// Whether a source has a price; without one, `value_usd` is 0.
    pub priced: bool,
    /// Source of the price; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PriceSourceName>, nullable = false)]
    pub price_source: Option<&'static str>,
}

/// Source of a price: a Chainlink `feed`, the `oracle` of a lending market, an external price `api`, or, for a share of
/// a liquidity `pool`, its reserves.
#[derive(Debug, ToSchema)]
#[schema(as = PriceSource, rename_all = "snake_case")]
pub enum PriceSourceName {
    Feed,
    Oracle,
    Api,
    Pool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Nft)]
pub struct NftBody {
    pub name: String,
    pub collection: String,
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Defi {
    pub protocols: Vec<ProtocolBody>,
    #[schema(value_type = f64)]
    pub total_supplied: Usd,
    #[schema(value_type = f64)]
    pub total_borrowed: Usd,
}

/// The amounts supplied to and borrowed from one protocol on one chain, in dollars.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Protocol)]
pub struct ProtocolBody {
    pub name: String,
    #[schema(value_type = f64)]
    pub supplied: Usd,
    #[schema(value_type = f64)]
    pub borrowed: Usd,
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Activity {
    /// The first transaction on any chain, from which the age of the wallet counts; null when there is none. On a chain
    /// whose first transaction is not found, the first lending event.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_transaction: Option<Moment>,
    /// Transactions sent.
    pub total_transactions: u64,
    #[schema(value_type = Vec<u64>)]
    pub active_chains: Vec<ChainId>,
}

/// Lending events, pool by pool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CreditEvents {
    /// The least complete coverage of all pools.
    #[schema(value_type = CoverageName)]
    pub coverage: Coverage,
    /// Whether these events contribute to the score.
    pub feeds_score: bool,
    pub totals: Totals,
    /// The totals of the pools that feed the score, which its factors count.
    pub score_totals: Totals,
    /// The newest events, the newest first, at most 200; `totals` counts all.
    pub events: Vec<PoolEventBody>,
    /// The current positions of the wallet in the pools.
    pub positions: Vec<PoolPositionBody>,
    /// The last liquidation in any pool. Absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime, nullable = false)]
    pub last_liquidation_at: Option<Moment>,
    pub pools: Vec<Pool>,
    pub defaults: NotApplicable,
    pub delinquencies: NotApplicable,
    /// Lending protocols whose history is not read. The absence of events there does not mean that there were none.
    pub not_covered: Vec<String>,
    /// Limits of the events of the listed pools: data that cannot be read from a protocol, and reasons why the events
    /// of a pool do not explain its position. Empty if there are no remarks.
    pub remarks: Vec<String>,
}

/// One event of the wallet in a lending pool.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = PoolEvent, example = json!({
    "at": "2026-01-15T10:30:00Z", "kind": "borrow", "usd": 1500.0, "protocol": "lenderA_v3",
    "market_address": "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2", "chain_id": 1
}))]
pub struct PoolEventBody {
    #[schema(value_type = String, format = DateTime)]
    pub at: Moment,
    pub kind: EventName,
    /// Dollars at that time; null for an asset that does not follow the dollar. Of a liquidation: the repaid debt.
    #[schema(value_type = Option<f64>)]
    pub usd: Option<Usd>,
    pub protocol: String,
    pub market_address: String,
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = EventKind)]
pub enum EventName {
    Supply,
    Withdraw,
    Borrow,
    Repay,
    Liquidation,
}

impl From<EventKind> for EventName {
    fn from(kind: EventKind) -> Self {
        match kind {
            EventKind::Supply => Self::Supply,
            EventKind::Withdraw => Self::Withdraw,
            EventKind::Borrow => Self::Borrow,
            EventKind::Repay => Self::Repay,
            EventKind::Liquidation => Self::Liquidation,
        }
    }
}

/// Total events of all pools. A pool that does not collect an event type adds nothing to its count.
#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
pub struct Totals {
    pub supply: u64,
    pub withdraw: u64,
    pub borrow: u64,
    pub repay: u64,
    pub liquidation: u64,
}

/// Events of one pool. Null means that an event type is not collected, which is not 0.
#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
pub struct Counts {
    pub supply: Option<u64>,
    pub withdraw: Option<u64>,
    pub borrow: Option<u64>,
    pub repay: Option<u64>,
    pub liquidation: Option<u64>,
}

/// The history in one lending pool contract.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Pool)]
pub struct Pool {
    /// `lenderA_v2`, `lenderA_v3`, `lenderB_v2`, `lenderB_v3`, `morpho_blue`, `maker_vaults`, `fluid` or `euler_v2`.
    pub protocol: String,
    pub market_address: String,
    /// Null when the protocol has one pool on the chain.
    pub market: Option<String>,
    /// False while the reading of this protocol is still being validated: its events are shown and do not change the
    /// score.
    pub feeds_score: bool,
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
    #[schema(value_type = CoverageName)]
    pub coverage: Coverage,
    /// History is complete through this block; null before the first reading.
    pub synced_to_block: Option<u64>,
    pub counts: Counts,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_event_at: Option<Moment>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_event_at: Option<Moment>,
}

/// Something that cannot be seen on chain, and why.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct NotApplicable {
    #[schema(value_type = String, example = "not_applicable")]
    status: &'static str,
    #[schema(value_type = String)]
    reason: &'static str,
}

impl NotApplicable {
    pub const DEFAULTS: Self = Self {
        status: "not_applicable",
        reason: "Loans on these protocols are overcollateralized: collateral is liquidated before a borrower can \
                 default",
    };
    pub(crate) const DELINQUENCIES: Self = Self {
        status: "not_applicable",
        reason: "Loans on these protocols have no due dates, so no payment can be late",
    };
}

impl Totals {
    /// The sums over `pools`.
    fn over<'a>(pools: impl Iterator<Item = &'a Pool>) -> Self {
        pools.fold(Self::default(), |sum, Pool { counts, .. }| {
            let add = |sum: u64, count: Option<u64>| sum.saturating_add(count.unwrap_or(0));
            Self {
                supply: add(sum.supply, counts.supply),
                withdraw: add(sum.withdraw, counts.withdraw),
                borrow: add(sum.borrow, counts.borrow),
                repay: add(sum.repay, counts.repay),
                liquidation: add(sum.liquidation, counts.liquidation),
            }
        })
    }
}

impl ReportBody {
    /// `not_covered` are the lending protocols whose history is not read.
    pub fn of(report: Report, claimed: Claimed, not_covered: Vec<String>) -> Self {
        let Report { scored, contents, inactive, cached, .. } = report;
        let score = scored.as_ref().ok().map(|scored| scored.assessment.score);
        let (claims, no_claim) = ClaimedRateBody::of(claimed);
        Self {
            address: Checksummed(contents.address),
            score: ReportScore {
                value: score.map(Score::get),
                classification: score.map(|score| score.range().into()),
                refused: scored.err().map(Into::into),
                claims,
                no_claim,
                inactive: inactive.then_some(true),
            },
            assets: Assets::of(&contents),
            defi: Defi::of(&contents),
            activity: Activity {
                first_transaction: contents.first_transaction.map(Moment),
                total_transactions: contents.transactions,
                active_chains: contents.active_chains.clone(),
            },
            cached,
            timestamp: Moment(contents.as_of),
            unread: contents.unread.clone().map(sentences),
            credit_events: CreditEvents::of(contents, not_covered),
            sandbox: None,
        }
    }
}

impl Assets {
    pub fn of(contents: &Contents) -> Self {
        Self {
            total_value_usd: Usd(contents.assets_usd),
            tokens: contents.tokens.iter().map(TokenBody::from).collect(),
            nfts: contents.nfts.iter().map(NftBody::from).collect(),
        }
    }
}

impl From<&HeldToken> for TokenBody {
    fn from(token: &HeldToken) -> Self {
        Self {
            symbol: token.symbol.clone(),
            name: token.name.clone(),
            balance: token.balance.clone(),
            value_usd: Usd(token.value_usd),
            chain_id: token.chain_id,
            address: token.contract.map(|contract| contract.to_checksum(None)),
            priced: token.price_source.is_some(),
            price_source: token.price_source.map(PriceSource::as_str),
        }
    }
}

impl From<&Nft> for NftBody {
    fn from(nft: &Nft) -> Self {
        Self { name: nft.name.clone(), collection: nft.collection.clone(), chain_id: nft.chain_id }
    }
}

impl Defi {
    pub fn of(contents: &Contents) -> Self {
        let totals = || contents.protocols.iter();
        Self {
            protocols: totals().map(ProtocolBody::from).collect(),
            total_supplied: totals().map(|total| Usd(total.supplied_usd)).sum(),
            total_borrowed: totals().map(|total| Usd(total.borrowed_usd)).sum(),
        }
    }
}

impl From<&ProtocolTotal> for ProtocolBody {
    fn from(total: &ProtocolTotal) -> Self {
        Self {
            name: total.name.clone(),
            supplied: Usd(total.supplied_usd),
            borrowed: Usd(total.borrowed_usd),
            chain_id: total.chain_id,
        }
    }
}

impl CreditEvents {
    /// Computes the coverage, the totals and whether the events contribute to the score, from the pools.
    fn of(contents: Contents, not_covered: Vec<String>) -> Self {
        let pools: Vec<Pool> = contents.pools.into_iter().map(Pool::from).collect();
        let Details { events, positions, last_liquidation_at } = contents.details;
        Self {
            coverage: Coverage::least(pools.iter().map(|pool| pool.coverage)),
            feeds_score: pools.iter().any(|pool| pool.feeds_score),
            totals: Totals::over(pools.iter()),
            score_totals: Totals::over(pools.iter().filter(|pool| pool.feeds_score)),
            events: events.into_iter().map(PoolEventBody::from).collect(),
            positions: positions.into_iter().map(PoolPositionBody::from).collect(),
            last_liquidation_at: last_liquidation_at.map(Moment),
            pools,
            defaults: NotApplicable::DEFAULTS,
            delinquencies: NotApplicable::DELINQUENCIES,
            not_covered,
            remarks: contents.remarks,
        }
    }
}

impl From<ReportedPool> for Pool {
    fn from(pool: ReportedPool) -> Self {
        let EventCounts { supply, withdraw, borrow, repay, liquidation } = pool.counts;
        Self {
            protocol: pool.protocol,
            market_address: pool.market_address.to_checksum(None),
            market: pool.market,
            feeds_score: pool.feeds_score,
            chain_id: pool.chain_id,
            coverage: pool.coverage,
            synced_to_block: pool.synced_to_block,
            counts: Counts { supply, withdraw, borrow, repay, liquidation },
            first_event_at: pool.first_event_at.map(Moment),
            last_event_at: pool.last_event_at.map(Moment),
        }
    }
}

impl From<ReportedEvent> for PoolEventBody {
    fn from(event: ReportedEvent) -> Self {
        Self {
            at: Moment(event.at),
            kind: event.kind.into(),
            usd: event.usd.map(Usd),
            protocol: event.protocol.as_str().to_owned(),
            market_address: event.market_address.to_checksum(None),
            chain_id: event.chain_id,
        }
    }
}
