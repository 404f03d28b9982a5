//! What the logs of a span of blocks say of all wallets.

use std::collections::HashMap;

use alloy::rpc::types::Log;
use futures::future::try_join_all;

use super::indexer::Indexer;
use crate::Check;
use assay_domain::B256;
use assay_evm::{Block, Fault, Span, client::WitnessedLogs, failover::Witness};
use assay_lending::{Scan, WalletEntries};

/// What the logs of a part of a span say, how many they are, and how they were checked.
pub(super) struct FetchedRange {
    pub wallets: Vec<WalletEntries>,
    pub logs: usize,
    pub check: Check,
}

/// The logs that answer all queries, and the endpoint that answered each query.
pub(super) struct AnsweredLogs {
    pub logs: Vec<Log>,
    pub witnesses: Vec<Witness>,
}

impl Indexer {
    /// The entries of `span`, from checked logs; `follows` if it is one of few new blocks.
    pub(super) async fn fetch(&self, scan: &Scan, span: Span, follows: bool) -> Result<FetchedRange, Fault> {
        metrics::counter!("assay_index_ranges_total", "chain" => self.chain.to_string()).increment(1);
        let answered = self.answered(scan, span).await?;
        let (mut logs, check) = self.checked(scan, span, answered, follows).await?;
        self.add_times(scan, &mut logs).await?;
        let count = logs.len();
        // On the thread that has just parsed the logs: another one would fetch their memory again.
        Ok(FetchedRange { wallets: scan.entries(logs)?, logs: count, check })
    }

    /// The answers to all queries over `span`.
    pub(super) async fn answered(&self, scan: &Scan, span: Span) -> Result<AnsweredLogs, Fault> {
        let queries = scan.queries();
        self.budget.spend(queries.len()).await;
        let answers = try_join_all(queries.iter().map(|query| self.client.witnessed_logs(query, span))).await?;
        let witnesses = answers.iter().map(|answer| answer.witness).collect();
        let logs = joined(answers.into_iter().map(|WitnessedLogs { logs, .. }| logs));
        Ok(AnsweredLogs { logs, witnesses })
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

/// Joins lists of logs by extending the first.
pub(super) fn joined(answers: impl Iterator<Item = Vec<Log>>) -> Vec<Log> {
    let joined = answers.reduce(|mut all, more| {
        all.extend(more);
        all
    });
    joined.unwrap_or_default()
}
