//! Reports in totals: of one chain, of several addresses, and with off-chain figures added.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{Aggregate, Summarized};
use assay_domain::{Address, ChainId, ChainSummary, Coverage, OffChain, SeenOn, Summary, UnreadByChain};
use assay_http::values::{Checksummed, CoverageName, Moment, Usd, sentences};
use assay_score::bodies::SkippedList;

/// A transaction, given by its time, block and chain.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = Transaction, example = json!({ "timestamp": 1_455_404_000, "block_number": 1_000_000, "chain_id": 1 }))]
pub(crate) struct TransactionBody {
    /// Unix seconds.
    timestamp: i64,
    block_number: u64,
    #[schema(value_type = u64)]
    chain_id: ChainId,
}

impl From<SeenOn> for TransactionBody {
    fn from(seen: SeenOn) -> Self {
        Self { timestamp: seen.time.timestamp(), block_number: seen.block, chain_id: seen.chain_id }
    }
}

/// Totals in dollars, and counts.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = Summary)]
pub(crate) struct SummaryBody {
    /// Tokens and lending deposits.
    #[schema(value_type = f64)]
    total_asset_usd: Usd,
    /// Lending deposits.
    #[schema(value_type = f64)]
    total_collateral_usd: Usd,
    #[schema(value_type = f64)]
    total_debt_usd: Usd,
    /// Transactions sent.
    count_transactions: u64,
    /// Token transfers in and out, as a source lists them; 0 for a chain without a source, which `unread` names.
    count_transfers: u64,
    /// Tokens with a balance above zero.
    count_balances: u64,
    /// Repayments in all lending pools that could be read; see `credit_events_coverage`.
    count_repayments: u64,
    count_liquidations: u64,
    /// How completely the lending events were read; at most `partial` if another figure was not read completely.
    /// Until it is `complete`, figures may be too low.
    #[schema(value_type = CoverageName)]
    credit_events_coverage: Coverage,
}

impl From<Summary> for SummaryBody {
    fn from(summary: Summary) -> Self {
        Self {
            total_asset_usd: Usd(summary.asset_usd),
            total_collateral_usd: Usd(summary.collateral_usd),
            total_debt_usd: Usd(summary.debt_usd),
            count_transactions: summary.transactions,
            count_transfers: summary.transfers,
            count_balances: summary.balances,
            count_repayments: summary.repayments,
            count_liquidations: summary.liquidations,
            credit_events_coverage: summary.events,
        }
    }
}

/// Totals of one chain.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ChainSummary)]
pub struct ChainSummaryBody {
    report: ChainSummaryReport,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct ChainSummaryReport {
    #[schema(value_type = String)]
    address: Checksummed,
    #[schema(value_type = String, format = DateTime)]
    timestamp: Moment,
    first_transaction: Option<TransactionBody>,
    last_transaction: Option<TransactionBody>,
    summary: SummaryBody,
    /// Unread and partly read parts, in words: `first transaction on chain 1: …`. Figures without these parts may be
    /// too low. Absent in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    unread: Option<Vec<String>>,
}

impl From<&Summarized> for ChainSummaryBody {
    /// `one` is a summary of only this chain.
    fn from(one: &Summarized) -> Self {
        let chain = one.whole();
        Self {
            report: ChainSummaryReport {
                address: Checksummed(one.address),
                timestamp: Moment(one.fresh.read_at),
                first_transaction: chain.first.map(Into::into),
                last_transaction: chain.last.map(Into::into),
                summary: chain.into(),
                unread: one.unread.clone().map(sentences),
            },
        }
    }
}

/// Totals of several addresses.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = AggregatedReport)]
pub struct AggregatedBody {
    report: AggregatedReport,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = AggregatedTotals)]
struct AggregatedReport {
    /// The addresses in the totals: the valid addresses of the request that could be read, each once.
    #[schema(value_type = Vec<String>)]
    address: Vec<Checksummed>,
    /// Time of the oldest reading that the totals are based on.
    #[schema(value_type = String, format = DateTime)]
    timestamp: Moment,
    /// The earliest transaction of all the addresses.
    first_transaction: Option<TransactionBody>,
    /// The latest transaction of all the addresses.
    last_transaction: Option<TransactionBody>,
    summary: AggregatedSummary,
    /// Unread and partly read parts of each address, in words: `0x…: balances on chain 1: …`. Absent in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    unread: Option<Vec<String>>,
    #[serde(flatten)]
    skipped: SkippedList,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct AggregatedSummary {
    #[serde(flatten)]
    summary: SummaryBody,
    /// Unique attestations.
    count_identity_attestations: usize,
    /// The merged attestations, each once.
    list_identity_attestations: Vec<String>,
}

impl From<Aggregate> for AggregatedBody {
    fn from(all: Aggregate) -> Self {
        Self {
            report: AggregatedReport {
                address: all.addresses.into_iter().map(Checksummed).collect(),
                timestamp: Moment(all.read_at),
                first_transaction: all.summary.first.map(Into::into),
                last_transaction: all.summary.last.map(Into::into),
                summary: AggregatedSummary {
                    summary: all.summary.into(),
                    count_identity_attestations: all.identity.len(),
                    list_identity_attestations: all.identity.into_iter().collect(),
                },
                unread: all.unread.map(of_addresses),
                skipped: all.skipped.into(),
            },
        }
    }
}

fn of_addresses(all: Vec<(Address, UnreadByChain)>) -> Vec<String> {
    let of_one =
        |(address, unread)| sentences(unread).into_iter().map(move |sentence| format!("{address}: {sentence}"));
    all.into_iter().flat_map(of_one).collect()
}

/// Totals of an address, with off-chain figures added to those of the chains.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = EnhancedReport)]
pub struct EnhancedBody {
    report: EnhancedReport,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = EnhancedTotals)]
struct EnhancedReport {
    #[schema(value_type = String)]
    address: Checksummed,
    #[schema(value_type = String, format = DateTime)]
    timestamp: Moment,
    first_transaction: Option<TransactionBody>,
    /// Totals of the chains and the off-chain figures together.
    summary: SummaryBody,
    additional: Additional,
    /// Totals of each chain, without the off-chain figures.
    chains: Vec<ChainPart>,
    /// Unread and partly read parts, in words: `first transaction on chain 1: …`. Figures without these parts may be
    /// too low. Absent in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    unread: Option<Vec<String>>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
struct Additional {
    source: SummarySource,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Source)]
struct SummarySource {
    /// The source of the off-chain figures, as the caller describes it.
    name: String,
    data: OffChainData,
}

/// The off-chain figures that the request gave and that were added.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct OffChainData {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, nullable = false)]
    total_asset_usd: Option<Usd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, nullable = false)]
    total_collateral_usd: Option<Usd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, nullable = false)]
    total_debt_usd: Option<Usd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    count_transactions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    count_transfers: Option<u64>,
}

impl From<OffChain> for OffChainData {
    fn from(data: OffChain) -> Self {
        Self {
            total_asset_usd: data.asset_usd.map(Usd),
            total_collateral_usd: data.collateral_usd.map(Usd),
            total_debt_usd: data.debt_usd.map(Usd),
            count_transactions: data.transactions,
            count_transfers: data.transfers,
        }
    }
}

/// Totals of one chain.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ChainPart)]
struct ChainPart {
    #[schema(value_type = u64)]
    chain_id: ChainId,
    chain_name: String,
    /// `failed` when the chain could not be read: its figures are then zero and mean nothing.
    #[schema(value_type = CoverageName)]
    coverage: Coverage,
    first_transaction: Option<TransactionBody>,
    last_transaction: Option<TransactionBody>,
    summary: SummaryBody,
}

impl EnhancedBody {
    /// `chain_name` returns the name of a chain.
    pub fn of(one: &Summarized, name: String, off_chain: OffChain, chain_name: impl Fn(ChainId) -> String) -> Self {
        let whole = one.whole();
        let part = |ChainSummary { chain_id, coverage, summary }: &ChainSummary| ChainPart {
            chain_id: *chain_id,
            chain_name: chain_name(*chain_id),
            coverage: *coverage,
            first_transaction: summary.first.map(Into::into),
            last_transaction: summary.last.map(Into::into),
            summary: (*summary).into(),
        };
        Self {
            report: EnhancedReport {
                address: Checksummed(one.address),
                timestamp: Moment(one.fresh.read_at),
                first_transaction: whole.first.map(Into::into),
                summary: whole.with(&off_chain).into(),
                additional: Additional { source: SummarySource { name, data: off_chain.into() } },
                chains: one.chains.iter().map(part).collect(),
                unread: one.unread.clone().map(sentences),
            },
        }
    }
}
