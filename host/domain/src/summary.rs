//! The sums of a summary report: over one chain, one address on all its chains, or several addresses.

use crate::{ChainId, ChainSnapshot, Coverage, Seen, Time, TokenBalance};

/// A moment on a named chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenOn {
    pub chain_id: ChainId,
    pub block: u64,
    pub time: Time,
}

/// Dollars and counts. Two summaries can be added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub first: Option<SeenOn>,
    pub last: Option<SeenOn>,
    /// Tokens and lending deposits.
    pub asset_usd: f64,
    /// Lending deposits.
    pub collateral_usd: f64,
    pub debt_usd: f64,
    pub transactions: u64,
    /// Transfers that a source reports.
    pub transfers: u64,
    /// The number of tokens with a balance above zero.
    pub balances: u64,
    /// Counted over the pools that could be read.
    pub repayments: u64,
    pub liquidations: u64,
    /// How completely the lending events were read; at most partial if another figure was not read completely.
    pub events: Coverage,
}

/// The summary of one chain, and how completely that chain was read. Figures of a failed chain are meaningless.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChainSummary {
    pub chain_id: ChainId,
    pub coverage: Coverage,
    pub summary: Summary,
}

/// Off-chain figures, for which the caller is responsible. Dollars and counts are not negative.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OffChain {
    pub asset_usd: Option<f64>,
    pub collateral_usd: Option<f64>,
    pub debt_usd: Option<f64>,
    pub transactions: Option<u64>,
    pub transfers: Option<u64>,
}

impl Summary {
    /// The summary of no chains.
    pub const EMPTY: Self = Self {
        first: None,
        last: None,
        asset_usd: 0.0,
        collateral_usd: 0.0,
        debt_usd: 0.0,
        transactions: 0,
        transfers: 0,
        balances: 0,
        repayments: 0,
        liquidations: 0,
        events: Coverage::Complete,
    };

    /// Adds the figures, and takes the earliest first moment, the latest last moment, and the less complete coverage.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let either = |a: Option<SeenOn>, b: Option<SeenOn>| [a, b].into_iter().flatten();
        Self {
            first: either(self.first, other.first).min_by_key(|seen| seen.time),
            // Of two equal times, the earlier entry wins; `max_by_key` returns the last one.
            last: either(other.last, self.last).max_by_key(|seen| seen.time),
            asset_usd: self.asset_usd + other.asset_usd,
            collateral_usd: self.collateral_usd + other.collateral_usd,
            debt_usd: self.debt_usd + other.debt_usd,
            transactions: self.transactions.saturating_add(other.transactions),
            transfers: self.transfers.saturating_add(other.transfers),
            balances: self.balances.saturating_add(other.balances),
            repayments: self.repayments.saturating_add(other.repayments),
            liquidations: self.liquidations.saturating_add(other.liquidations),
            events: self.events.min(other.events),
        }
    }

    /// Adds off-chain figures. They are not events on a chain, so dates and coverage do not change.
    #[must_use]
    pub fn with(self, off_chain: &OffChain) -> Self {
        self.plus(Self {
            asset_usd: off_chain.asset_usd.unwrap_or(0.0),
            collateral_usd: off_chain.collateral_usd.unwrap_or(0.0),
            debt_usd: off_chain.debt_usd.unwrap_or(0.0),
            transactions: off_chain.transactions.unwrap_or(0),
            transfers: off_chain.transfers.unwrap_or(0),
            ..Self::EMPTY
        })
    }
}

impl std::iter::Sum for Summary {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::EMPTY, Self::plus)
    }
}

impl From<&ChainSnapshot> for ChainSummary {
    fn from(chain: &ChainSnapshot) -> Self {
        let on = |seen: Seen| SeenOn { chain_id: chain.chain_id, block: seen.block, time: seen.time };
        let held = || chain.tokens.iter().filter(|token| !token.amount.is_zero());
        let collateral_usd = dollars(chain.positions.iter().map(|position| position.supplied_usd));
        let summary = Summary {
            first: chain.activity.first_transaction.map(on),
            last: chain.activity.last_transaction.map(on),
            asset_usd: dollars(held().map(TokenBalance::value_usd)) + collateral_usd,
            collateral_usd,
            debt_usd: dollars(chain.positions.iter().map(|position| position.borrowed_usd)),
            transactions: chain.activity.transactions,
            transfers: chain.activity.transfers.unwrap_or(0),
            balances: held().count() as u64,
            repayments: chain.pools.iter().filter_map(|pool| pool.counts.repay).fold(0, u64::saturating_add),
            liquidations: chain.pools.iter().filter_map(|pool| pool.counts.liquidation).fold(0, u64::saturating_add),
            events: chain.score_coverage(),
        };
        Self { chain_id: chain.chain_id, coverage: chain.coverage, summary }
    }
}

/// The sum of the finite amounts.
fn dollars(amounts: impl Iterator<Item = f64>) -> f64 {
    amounts.filter(|amount| amount.is_finite()).fold(0.0, |sum, amount| sum + amount)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Activity, Address, AssetClass, ChainOrigin, EventCounts, PoolEvents, PoolHistory, Position, Price, PriceSource,
        Protocol, U256, time_from_unix,
    };

    fn at(chain_id: ChainId, time: u64) -> Option<SeenOn> {
        Some(SeenOn { chain_id, block: time / 2, time: time_from_unix(time) })
    }

    fn token(amount: u64, price_usd: Option<f64>) -> TokenBalance {
        let (symbol, name) = ("T".to_owned(), "T".to_owned());
        let amount = U256::from(amount);
        TokenBalance {
            chain_id: 10,
            contract: None,
            symbol,
            name,
            amount,
            decimals: 0,
            price: price_usd.map(|usd| Price { usd, source: PriceSource::Feed }),
            class: AssetClass::Token,
        }
    }

    fn pool(coverage: Coverage, counts: EventCounts) -> PoolHistory {
        PoolHistory {
            chain_id: 10,
            protocol: Protocol::LenderAV3,
            market_address: Address::ZERO,
            market: None,
            feeds_score: true,
            coverage,
            synced_to_block: None,
            counts,
            first_event_at: None,
            last_event_at: None,
            last_liquidation_at: None,
            stopped: None,
            remark: None,
            events: PoolEvents::UNREAD,
            position: None,
        }
    }

    #[test]
    fn a_chain_adds_up_what_it_holds_and_counts() {
        let seen = |time| Some(Seen { block: time / 2, time: time_from_unix(time) });
        let chain = ChainSnapshot {
            chain_id: 10,
            chain_name: "Ten".into(),
            coverage: Coverage::Complete,
            activity: Activity {
                first_transaction: seen(10),
                last_transaction: seen(90),
                transactions: 4,
                ..Activity::default()
            },
            tokens: vec![token(3, Some(2.0)), token(0, Some(9.0)), token(5, None), token(1, Some(f64::NAN))],
            nfts: Vec::new(),
            positions: vec![Position {
                chain_id: 10,
                protocol: Protocol::LenderAV3,
                market_address: Address::ZERO,
                market: None,
                supplied_usd: 100.0,
                borrowed_usd: 30.0,
                supplied_assets: 1,
                assets: Vec::new(),
                health_factor: None,
                mode: None,
                delegations: Some(Vec::new()),
            }],
            pools: vec![
                pool(Coverage::Complete, EventCounts { repay: Some(7), liquidation: Some(1), ..EventCounts::ZERO }),
                pool(Coverage::Failed, EventCounts::default()),
            ],
            unread: Vec::new(),
            origin: ChainOrigin::default(),
        };
        let expected = Summary {
            first: at(10, 10),
            last: at(10, 90),
            asset_usd: 106.0,
            collateral_usd: 100.0,
            debt_usd: 30.0,
            transactions: 4,
            transfers: 0,
            balances: 3,
            repayments: 7,
            liquidations: 1,
            events: Coverage::Failed,
        };
        assert_eq!(ChainSummary::from(&chain).summary, expected);
    }

    #[test]
    fn the_earliest_comes_first_and_the_latest_last() {
        let of = |chain, first, last| Summary { first: at(chain, first), last: at(chain, last), ..Summary::EMPTY };
        let sum: Summary = [of(1, 50, 60), Summary::EMPTY, of(10, 40, 60), of(56, 40, 55)].into_iter().sum();
        assert_eq!((sum.first, sum.last), (at(10, 40), at(1, 60)));
        assert_eq!(Summary::EMPTY.plus(Summary::EMPTY), Summary::EMPTY);
    }

    #[test]
    fn off_chain_figures_are_added_field_by_field() {
        let chain =
            Summary { asset_usd: 10.0, debt_usd: 1.0, transactions: 3, events: Coverage::Pending, ..Summary::EMPTY };
        let off =
            OffChain { asset_usd: Some(5.0), collateral_usd: Some(2.0), transfers: Some(9), ..OffChain::default() };
        let expected = Summary { asset_usd: 15.0, collateral_usd: 2.0, transfers: 9, ..chain };
        assert_eq!(chain.with(&off), expected);
        assert_eq!(chain.with(&OffChain::default()), chain);
        let most = OffChain { transactions: Some(u64::MAX), ..OffChain::default() };
        assert_eq!(chain.with(&most).transactions, u64::MAX);
    }
}
