//! What the logs of a span of blocks say of all wallets.

use std::collections::HashMap;

use alloy::rpc::types::Log;
use futures::future::try_join_all;

use super::indexer::Indexer;
use crate::Check;
use assay_domain::B256;
use assay_evm::{Block, Client, Fault, Span};
use assay_lending::{Scan, WalletEntries};

/// What the logs of a part of a span say, how many they are, and how they were checked.
pub(super) struct FetchedRange {
    pub wallets: Vec<WalletEntries>,
    pub logs: usize,
    pub check: Check,
}

impl Indexer {
    /// The entries of `span`, from checked logs; `follows` if it is one of few new blocks.
    pub(super) async fn fetch(&self, scan: &Scan, span: Span, follows: bool) -> Result<FetchedRange, Fault> {
        metrics::counter!("assay_index_ranges_total", "chain" => self.chain.to_string()).increment(1);
        let logs = self.logs_at(&self.client, scan, span).await?;
        let (mut logs, check) = self.checked(scan, span, logs, follows).await?;
        self.add_times(scan, &mut logs).await?;
        let count = logs.len();
        // On the thread that has just parsed the logs: another one would fetch their memory again.
        Ok(FetchedRange { wallets: scan.entries(logs)?, logs: count, check })
    }

    /// What the endpoint of `client` answers to all queries over `span`.
    pub(super) async fn logs_at(&self, client: &Client, scan: &Scan, span: Span) -> Result<Vec<Log>, Fault> {
        let queries = scan.queries();
        self.budget.spend(queries.len()).await;
        let answers = try_join_all(queries.iter().map(|query| client.believed_logs(query, span))).await?;
        Ok(answers
            .into_iter()
            .reduce(|mut all, more| {
                all.extend(more);
                all
            })
            .unwrap_or_default())
    }

    /// Looks up the times that the endpoint did not return with the logs.
    async fn add_times(&self, scan: &Scan, logs: &mut [Log]) -> Result<(), Fault> {
        let untimed: Vec<u64> = scan.untimed(logs).into_iter().collect();
        let mut times = HashMap::<B256, u64>::new();
        for part in untimed.chunks(100) {
            self.budget.spend(1).await;
            let blocks = self.client.blocks(part).await?;
            times.extend(blocks.into_iter().flatten().map(|Block { hash, time, .. }| (hash, time)));
        }
        for log in logs.iter_mut().filter(|log| log.block_timestamp.unwrap_or_default() == 0) {
            log.block_timestamp = log.block_hash.and_then(|hash| times.get(&hash).copied());
        }
        Ok(())
    }
}
