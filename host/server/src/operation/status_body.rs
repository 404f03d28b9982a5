//! The state of a server, for its operators.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use assay_chain::{ChainOverview, IndexState, NameSource, prices::PriceStatus};
use assay_domain::ChainId;
use assay_evm::{client::Block, endpoint::EndpointStatus};
use assay_http::values::Moment;
use assay_outbox::gas::{BudgetState, GasState};
use assay_reputation::Queue;

/// The state of the host that answers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Status)]
pub struct StatusBody {
    pub version: &'static str,
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
    /// As `/readyz` reports.
    pub ready: bool,
    pub reasons: Vec<String>,
    pub warnings: Vec<String>,
    pub chains: Vec<ChainStatusBody>,
    /// Null if submissions are not configured.
    pub submissions: Option<QueueBody>,
    /// Gas at risk of all hosts; null if submissions are not configured.
    pub gas: Option<GasBody>,
    pub store: StoreBody,
}

/// One chain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChainStatus)]
pub struct ChainStatusBody {
    #[schema(value_type = u64)]
    chain_id: ChainId,
    chain_name: String,
    /// The newest block; null if the last request for it failed, and before the first response.
    head: Option<u64>,
    /// The age of the last block seen, by the clock of this host.
    head_age_seconds: Option<u64>,
    /// The age above which answers are provisional; null without a bound.
    max_head_age_seconds: Option<u64>,
    /// The problem with the newest block.
    problem: Option<String>,
    endpoints: Vec<EndpointBody>,
    /// The last read of its feeds and oracles; null before the first one.
    prices: Option<PricesBody>,
    /// Null while there is no index of its markets.
    index: Option<IndexBody>,
    /// The resolver of names on this chain: `universal_resolver`, or `registry`, which for ENS is the old one, without
    /// names that moved to ENSv2. Null if no name was resolved here.
    #[schema(value_type = Option<String>)]
    names: Option<&'static str>,
}

/// One endpoint of a chain. It names only the host, because the URL may contain a credential.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EndpointStatus)]
pub(crate) struct EndpointBody {
    host: String,
    /// It answered the last request.
    current: bool,
    /// `unused`, `ready`, or `rests` after a failure.
    #[schema(value_type = String)]
    state: &'static str,
    /// The failure after which it rests.
    error: Option<String>,
    /// Answers and failures since the start of the host. Requests that fail together count once.
    answers: u64,
    failures: u64,
    /// Its request rate, configured or learned; null without a known limit.
    pace: Option<PaceBody>,
    /// The widest range of blocks for which it answers logs; null without a known limit.
    log_range: Option<u64>,
    /// The newest block that it last reported.
    head: Option<u64>,
}

/// Requests a second, or calls a second if each call of a batch counts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Pace)]
pub(crate) struct PaceBody {
    per_second: f64,
    /// `requests` or `calls`.
    #[schema(value_type = String)]
    counts: &'static str,
}

/// The prices of a chain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PriceStatus)]
pub(crate) struct PricesBody {
    /// Since they were read.
    age_seconds: u64,
    /// Assets with a price from a feed or an oracle.
    priced: usize,
    /// Assets that lack one there.
    lacking: usize,
    stale_feeds: usize,
    /// The age of the oldest round of a feed in use.
    oldest_round_seconds: Option<u64>,
    /// False while the sequencer of a rollup is not known to be up.
    trusted: bool,
}

/// The index of the markets of a chain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = IndexStatus)]
pub(crate) struct IndexBody {
    through: Option<u64>,
    /// The newest final block, up to which it is read.
    settled: Option<u64>,
    behind_blocks: Option<u64>,
    in_step: bool,
    /// Why it has stopped.
    problem: Option<String>,
}

/// The submissions that have not ended, of all hosts.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubmissionQueue)]
pub struct QueueBody {
    /// By status.
    #[schema(value_type = BTreeMap<String, u32>)]
    open: BTreeMap<&'static str, u32>,
    oldest_seconds: Option<u64>,
}

/// What the account of the submissions has lost and has at risk on transactions that bring nothing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GasAtRisk)]
pub struct GasBody {
    budgets: Vec<BudgetBody>,
    /// The time in which a spent budget returns.
    period_seconds: u64,
}

/// A budget of `[reputation.gas]`, in dollars.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GasBudget)]
struct BudgetBody {
    /// `accounts`, `contracts` or `feedback`.
    #[schema(value_type = String)]
    of: &'static str,
    budget_usd: f64,
    /// The maximum cost of transactions in flight beyond what their payers have paid.
    in_flight_usd: f64,
    /// What was lost and has not returned yet.
    lost_usd: f64,
    /// Payments or submissions that wait for their turn.
    in_turn: usize,
}

/// Where records are stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StoreStatus)]
pub struct StoreBody {
    /// `embedded` or `redis`.
    #[schema(value_type = String)]
    pub backend: &'static str,
    /// Why the last write failed.
    pub problem: Option<String>,
}

impl ChainStatusBody {
    pub fn of(overview: ChainOverview, now: u64) -> Self {
        let ChainOverview { status, endpoints, prices, index, names } = overview;
        Self {
            chain_id: status.chain_id,
            problem: status.error.clone().or_else(|| status.doubt()),
            head: status.head,
            head_age_seconds: status.head_time.map(|time| now.saturating_sub(time)),
            max_head_age_seconds: status.max_head_age,
            chain_name: status.chain_name,
            endpoints: endpoints.into_iter().map(EndpointBody::from).collect(),
            prices: prices.map(|prices| PricesBody::of(prices, now)),
            index: (index != IndexState::default()).then(|| index.into()),
            names: names.map(NameSource::as_str),
        }
    }
}

impl From<EndpointStatus> for EndpointBody {
    fn from(status: EndpointStatus) -> Self {
        let pace = status.pace.map(|pace| PaceBody {
            per_second: (pace.per_second * 100.0).round() / 100.0,
            counts: if pace.counts_calls { "calls" } else { "requests" },
        });
        Self {
            host: status.host,
            current: status.is_current,
            state: status.state,
            error: status.fault.map(|fault| fault.to_string()),
            answers: status.answers,
            failures: status.failures,
            pace,
            log_range: status.log_range,
            head: status.head.map(|Block { number, .. }| number),
        }
    }
}

impl PricesBody {
    fn of(status: PriceStatus, now: u64) -> Self {
        let PriceStatus { read_at, priced, lacking, stale_feeds, oldest_round, trusted } = status;
        Self {
            age_seconds: now.saturating_sub(read_at),
            priced,
            lacking,
            stale_feeds,
            oldest_round_seconds: oldest_round.map(|time| now.saturating_sub(time)),
            trusted,
        }
    }
}

impl From<IndexState> for IndexBody {
    fn from(state: IndexState) -> Self {
        let behind = state.settled.zip(state.through).map(|(settled, through)| settled.saturating_sub(through));
        Self {
            in_step: state.is_in_step(),
            behind_blocks: behind,
            through: state.through,
            settled: state.settled,
            problem: state.trouble,
        }
    }
}

impl From<GasState> for GasBody {
    fn from(GasState { budgets, period }: GasState) -> Self {
        let budget = |state: BudgetState| BudgetBody {
            of: state.class.as_str(),
            budget_usd: state.budget.dollars(),
            in_flight_usd: state.in_flight.dollars(),
            lost_usd: state.lost.dollars(),
            in_turn: state.in_turn,
        };
        Self { budgets: budgets.into_iter().map(budget).collect(), period_seconds: period.as_secs() }
    }
}

impl From<Queue> for QueueBody {
    fn from(Queue { open, oldest_seconds }: Queue) -> Self {
        Self { open: open.into_iter().map(|(stage, count)| (stage.as_str(), count)).collect(), oldest_seconds }
    }
}
