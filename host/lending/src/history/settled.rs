//! The records of a wallet's lending history between reads: one per market, settled through a block that no
//! reorganisation can reach.

use crate::{
    figures::{
        hints::Hint,
        record::{self, LendingProgress, StatePosition, Unexplained},
        sums::Sums,
    },
    history::{past::Past, tally::EventTally},
    market::Market,
};
use assay_domain::{Address, B256, ChainId};
use assay_store::{Batch, Store, StoreError};

/// A market's settled history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettledHistory {
    pub tally: EventTally,
    /// `None` if the amounts are unknown: the history can be continued, but not compared with the position.
    pub sums: Option<Sums>,
    /// `None` in a record that is older than single events in records.
    pub past: Option<Past>,
    pub through: u64,
    pub hash: B256,
    /// The position in old state, if the history is followed by it.
    pub shown: Option<StatePosition>,
    pub unexplained: Option<Unexplained>,
    /// The block through which a second source was asked which parts the wallet used.
    pub confirmed: Option<u64>,
    /// Whether all accounts of the wallet were read.
    pub of_accounts: bool,
}

impl SettledHistory {
    /// Whether it has no event and no amount.
    pub(crate) fn is_blank(&self) -> bool {
        self.tally.first.is_none() && self.sums.as_ref().is_none_or(Sums::is_empty)
    }

    /// Whether single events are absent, or amounts or accounts are absent although `hints` would provide them now. The
    /// record is of an older version, or was read while the market did not return its tokens, or before the wallet had
    /// more than one account.
    pub(crate) fn lacks_part(&self, market: &Market, hints: Option<&[Hint]>) -> bool {
        let lacks = |hints: &[Hint]| {
            self.sums.is_none() && market.protocol.adds_up(hints) || !self.of_accounts && Hint::are_of_accounts(hints)
        };
        self.past.is_none() || hints.is_some_and(lacks)
    }
}

impl From<LendingProgress> for SettledHistory {
    fn from(record: LendingProgress) -> Self {
        let LendingProgress { counts, first_event_at: first, last_event_at: last, .. } = record;
        Self {
            tally: EventTally { counts, first, last, last_liquidation: record.last_liquidation_at },
            sums: record.sums.map(Sums::from_iter),
            past: record.past.map(Past::from),
            through: record.synced_to_block,
            hash: record.synced_block_hash,
            shown: record.shown,
            unexplained: record.unexplained,
            confirmed: record.confirmed_to_block,
            of_accounts: record.of_accounts,
        }
    }
}

/// The records of `markets`, in the same order. A record that was read by another configuration counts as none.
pub(crate) async fn load(
    store: &Store,
    chain: ChainId,
    markets: &[Market],
    wallet: Address,
) -> Result<Vec<Option<SettledHistory>>, StoreError> {
    let keys: Vec<_> = markets.iter().map(|market| record::lending(chain, market.config.address, wallet)).collect();
    let found = store.get_many(&keys).await?;
    let current = |(market, record): (&Market, Option<LendingProgress>)| {
        record.filter(|record| record.read_as == Some(market.read_as())).map(SettledHistory::from)
    };
    Ok(markets.iter().zip(found).map(current).collect())
}

/// Adds the write of `settled` to `batch`.
pub(crate) fn put(
    batch: Batch,
    chain: ChainId,
    market: &Market,
    wallet: Address,
    settled: &SettledHistory,
) -> Result<Batch, StoreError> {
    let record = LendingProgress {
        counts: settled.tally.counts,
        first_event_at: settled.tally.first,
        last_event_at: settled.tally.last,
        last_liquidation_at: settled.tally.last_liquidation,
        synced_to_block: settled.through,
        synced_block_hash: settled.hash,
        read_as: Some(market.read_as()),
        sums: settled.sums.as_ref().map(Sums::records),
        past: settled.past.as_ref().map(Past::record),
        shown: settled.shown,
        unexplained: settled.unexplained,
        confirmed_to_block: settled.confirmed,
        of_accounts: settled.of_accounts,
    };
    batch.put(&record::lending(chain, market.config.address, wallet), &record)
}

pub(crate) async fn forget(store: &Store, chain: ChainId, wallet: Address, market: &Market) -> Result<(), StoreError> {
    store.remove(&record::lending(chain, market.config.address, wallet)).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Dialect, MarketConfig};
    use assay_domain::{EventCounts, Protocol};
    use assay_store::config;

    #[tokio::test]
    async fn a_record_is_only_of_the_configuration_that_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&config::Store::embedded(folder.path().join("assay.redb"))).await.unwrap();
        let wallet = Address::repeat_byte(9);
        let market = |protocol| MarketConfig { from_block: 100, ..Market::sample(protocol, 1).config };
        let settled = SettledHistory {
            tally: EventTally { counts: EventCounts::ZERO, first: None, last: None, last_liquidation: None },
            sums: Some(Sums::default()),
            past: Some(Past::default()),
            through: 200,
            hash: B256::repeat_byte(2),
            shown: None,
            unexplained: None,
            confirmed: Some(200),
            of_accounts: false,
        };
        let read = Market::new(market(Protocol::LenderBV2));
        store.commit(put(Batch::new(), 1, &read, wallet, &settled).unwrap()).await.unwrap();
        let own = market(Protocol::LenderBV2);
        for (config, is_read) in [
            (own.clone(), true),
            // Neither changes what is read.
            (MarketConfig { feeds_score: Some(false), market: Some("main".into()), ..own.clone() }, true),
            (MarketConfig { from_block: 50, ..own.clone() }, false),
            (MarketConfig { from_block: 150, ..own.clone() }, false),
            (MarketConfig { dialect: Some(Dialect::Venus), ..own.clone() }, false),
            (MarketConfig { chainlog: Some(wallet), ..own.clone() }, false),
            (MarketConfig { evc: Some(wallet), ..own.clone() }, false),
            // Other signatures.
            (market(Protocol::LenderBV3), false),
        ] {
            let markets = [Market::new(config.clone())];
            let loaded = load(&store, 1, &markets, wallet).await.unwrap();
            assert_eq!(loaded, [is_read.then(|| settled.clone())], "{config:?}");
        }
    }
}
