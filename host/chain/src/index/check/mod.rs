//! Logs that an endpoint leaves out. Where there is another endpoint, both are asked; where they differ, the receipts of
//! the transactions decide. With one endpoint, the blooms of new blocks tell whether logs may be missing; the range is
//! then asked for once more. A first reading from one endpoint is not checked.

mod bloom;
mod receipts;

use std::collections::{BTreeSet, HashMap};

use alloy::rpc::types::Log;

use super::indexer::Indexer;
use assay_domain::B256;
use assay_evm::{
    Client, Fault, Span,
    logs::{Stop, answers, chunk},
};
use assay_index::Check;
use assay_lending::Everyone;

impl Indexer {
    /// `logs`, the answer of the endpoint for `span`, with what it leaves out. `follows` where these are few new blocks.
    pub(super) async fn checked(
        &self,
        everyone: &Everyone,
        span: Span,
        logs: Vec<Log>,
        follows: bool,
    ) -> Result<(Vec<Log>, Check), Fault> {
        if let Some(other) = self.client.other_endpoints() {
            return Ok(match self.all_at(&other, everyone, span).await {
                Some(second) => {
                    let logs = self.settled(everyone, span, [logs, second], &[&self.client, &other]).await?;
                    (logs, Check::Endpoint)
                }
                None => (logs, Check::None),
            });
        }
        if !follows {
            return Ok((logs, Check::None));
        }
        match self.lacks(everyone, span, &logs).await? {
            None => Ok((logs, Check::None)),
            Some(false) => Ok((logs, Check::Bloom)),
            Some(true) => {
                let again = self.logs_at(&self.client, everyone, span).await?;
                let logs = self.settled(everyone, span, [logs, again], &[&self.client]).await?;
                Ok((logs, Check::Bloom))
            }
        }
    }

    /// The logs of `span` at another endpoint, in as many parts as it wants; `None` where it does not answer.
    async fn all_at(&self, other: &Client, everyone: &Everyone, span: Span) -> Option<Vec<Log>> {
        let (mut found, mut at, mut width) = (Vec::new(), span.from, span.width());
        while at <= span.to {
            let (part, _) = Span { from: at, to: span.to }.cut(width);
            let chunk = chunk(part, self.logs.range, |span| self.logs_at(other, everyone, span)).await;
            found.extend(chunk.found.into_iter().flatten());
            at = chunk.through.map_or(at, |through| through.saturating_add(1));
            match chunk.stop {
                None => {}
                Some(Stop::Ceiling(narrow) | Stop::Narrow(narrow)) => width = narrow,
                Some(Stop::Gap(fault)) => {
                    tracing::debug!(chain = self.chain, %fault, "another endpoint cannot check a range of the index");
                    return None;
                }
            }
        }
        Some(found)
    }

    /// The logs in which two answers agree, and of the transactions in which they do not those of the receipts.
    async fn settled(
        &self,
        everyone: &Everyone,
        span: Span,
        both: [Vec<Log>; 2],
        clients: &[&Client],
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
        logs.retain(|log| !log.transaction_hash.is_some_and(|hash| differing.contains(&hash)));
        let receipts = self.receipts(&differing, clients).await?;
        let asked = |log: &Log| everyone.queries().iter().any(|query| answers(log, query, span));
        logs.extend(receipts.into_iter().filter(asked));
        Ok(logs)
    }
}

/// The transactions of logs that only one of two answers has, or that differ in them.
fn differing(both: &[Vec<Log>; 2]) -> Result<BTreeSet<B256>, Fault> {
    let [one, other] = both.each_ref().map(|logs| {
        let keyed = logs.iter().map(|log| ((log.block_hash, log.log_index), log));
        keyed.collect::<HashMap<_, _>>()
    });
    let is_same = |log: &Log, others: &HashMap<_, &Log>| {
        let other = others.get(&(log.block_hash, log.log_index));
        other.is_some_and(|other| other.inner == log.inner && other.transaction_hash == log.transaction_hash)
    };
    let mut found = BTreeSet::new();
    for (logs, others) in [(&one, &other), (&other, &one)] {
        for log in logs.values().filter(|log| !is_same(log, others)) {
            let hash = log.transaction_hash;
            found.insert(hash.ok_or_else(|| Fault::Malformed("a log without its transaction".into()))?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
