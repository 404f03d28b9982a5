//! Finds logs that an endpoint leaves out. If there is another endpoint, it answers each query too, and the receipts of
//! the transactions settle differences. With one endpoint, the blooms of new blocks show whether logs may be missing;
//! the range is then requested again, and is unchecked if they may still be missing. A first read from one endpoint is
//! not checked.

mod bloom;

use alloy::rpc::types::Log;
use futures::future::try_join_all;

use super::{
    fetch::{AnsweredLogs, joined},
    indexer::Indexer,
};
use crate::Check;
use assay_evm::{
    Client, Fault, Span,
    logs::{Receipt, answers, differing, in_parts},
};
use assay_lending::Scan;

impl Indexer {
    /// The logs of `span` with those that the endpoint that `answered` leaves out. `follows` if the span is a few new
    /// blocks.
    pub(super) async fn checked(
        &self,
        scan: &Scan,
        span: Span,
        answered: AnsweredLogs,
        follows: bool,
    ) -> Result<(Vec<Log>, Check), Fault> {
        let AnsweredLogs { logs, witnesses } = answered;
        let others: Option<Vec<Client>> = witnesses.iter().map(|witness| self.client.besides(*witness)).collect();
        if let Some(others) = others {
            let mut distinct: Vec<_> = witnesses.iter().zip(&others).collect();
            distinct.dedup_by_key(|(witness, _)| *witness);
            let distinct: Vec<&Client> = distinct.into_iter().map(|(_, other)| other).collect();
            return Ok(match self.all_at(&others, scan, span).await {
                Some(second) => match self.settled(scan, span, [logs.clone(), second], &distinct).await {
                    // Which of the two is right cannot be known.
                    Err(Fault::NoReceipt) => (logs, Check::None),
                    settled => (settled?, Check::Endpoint),
                },
                None => (logs, Check::None),
            });
        }
        if !follows {
            return Ok((logs, Check::None));
        }
        match self.lacks(scan, span, &logs).await? {
            None => Ok((logs, Check::None)),
            Some(false) => Ok((logs, Check::Bloom)),
            Some(true) => {
                let (known, again) = (logs.len(), self.answered(scan, span).await?);
                let logs = self.settled(scan, span, [logs, again.logs], &[]).await?;
                // A bloom may also tell of logs that there are not; that it does so here is not known.
                let is_whole = logs.len() > known && self.lacks(scan, span, &logs).await? == Some(false);
                Ok((logs, if is_whole { Check::Bloom } else { Check::None }))
            }
        }
    }

    /// The logs of `span` at other endpoints, one client for each query, in as many parts as their limits need; `None`
    /// if they do not answer.
    async fn all_at(&self, others: &[Client], scan: &Scan, span: Span) -> Option<Vec<Log>> {
        let ask = |span| async move {
            self.budget.spend(others.len()).await;
            let asked = scan.queries().iter().zip(others).map(|(query, other)| other.believed_logs(query, span));
            try_join_all(asked).await.map(|answers| joined(answers.into_iter()))
        };
        match in_parts(span, self.logs.range, ask).await {
            Ok(parts) => Some(parts.concat()),
            Err(fault) => {
                tracing::debug!(chain = self.chain, %fault, "another endpoint cannot check a range of the index");
                None
            }
        }
    }

    /// The logs that both answers have; for transactions in which they differ, the logs of the receipts.
    async fn settled(
        &self,
        scan: &Scan,
        span: Span,
        both: [Vec<Log>; 2],
        others: &[&Client],
    ) -> Result<Vec<Log>, Fault> {
        let differing = differing(&both)?;
        let [mut logs, _] = both;
        if differing.is_empty() {
            return Ok(logs);
        }
        metrics::counter!("assay_index_differing_total", "chain" => self.chain.to_string())
            .increment(differing.len() as u64);
        tracing::warn!(
            chain = self.chain,
            from = span.from,
            to = span.to,
            transactions = differing.len(),
            "two answers for the same logs differ; the receipts of the transactions decide"
        );
        logs.retain(|log| !log.transaction_hash.is_some_and(|hash| differing.contains_key(&hash)));
        self.budget.spend(differing.len().div_ceil(Receipt::AT_ONCE)).await;
        let receipts = self.client.disputed_logs(&differing, others).await?;
        let asked = |log: &Log| scan.queries().iter().any(|query| answers(log, query, span));
        logs.extend(receipts.into_iter().filter(asked));
        Ok(logs)
    }
}
