//! What a wallet left on the chains, over all of them that could be read.

use crate::types::{ChainFeatures, Coverage, Features};

const DAY: u64 = 86_400;

/// `None` where no source knows, which counts neither for nor against the wallet.
#[derive(Default)]
pub struct Trace {
    /// Whole days since the first transaction; `None` where there is none.
    pub age_days: Option<u64>,
    pub transactions: u64,
    /// The most on any one chain: the same counterparty on two chains is one.
    pub counterparties: Option<u32>,
    /// The most days with a transaction on any one chain.
    pub active_days: Option<u32>,
    /// On the chain with the most transactions, where a rhythm shows best.
    pub active_hours: Option<u32>,
    /// Seconds, on that same chain.
    pub median_gap: Option<u64>,
}

impl Trace {
    pub fn of(features: &Features) -> Self {
        let mut trace = Self::default();
        let mut busiest: Option<&ChainFeatures> = None;
        for chain in features.chains.iter().filter(|chain| chain.coverage != Coverage::Failed) {
            let days = chain.first_transaction.map(|at| features.as_of.saturating_sub(at) / DAY);
            trace.age_days = trace.age_days.max(days);
            trace.transactions = trace.transactions.saturating_add(chain.transactions);
            trace.counterparties = trace.counterparties.max(chain.counterparties);
            trace.active_days = trace.active_days.max(chain.active_days);
            if busiest.is_none_or(|most| chain.transactions > most.transactions) {
                busiest = Some(chain);
            }
        }
        trace.active_hours = busiest.and_then(|chain| chain.active_hours);
        trace.median_gap = busiest.and_then(|chain| chain.median_gap);
        trace
    }
}
