//! First histories from a source that answers for any range of blocks at once, such as an explorer, if the endpoint
//! answers only for short ones. The source names transactions; their logs come from the node's receipts. So the source
//! cannot invent logs, and logs that it leaves out are found like those that a node leaves out: by comparison with the
//! position.

use alloy::rpc::types::Log;
use futures::{StreamExt, TryStreamExt, stream};
use tokio::time::timeout;

use crate::{
    figures::hints::Hint,
    history::{
        events::FoundLogs, ledger::Ledger, named::Named, plan::Plan, reader::Reader, receipts::unhinted,
        settled::SettledHistory,
    },
    limits, pauses,
};
use assay_domain::B256;
use assay_evm::{
    Block, Fault, Span,
    logs::{Chunk, Receipt, answers},
};

impl Reader {
    /// `first`, or instead the source's history of a wallet without `records` through the block `settled_to`. Markets
    /// that are `doubted` are read from the node.
    pub(crate) async fn whole_range(
        &self,
        plan: &Plan,
        records: &[Option<SettledHistory>],
        doubted: &[usize],
        settled_to: Option<Block>,
        first: Option<Chunk<FoundLogs>>,
    ) -> Option<Chunk<FoundLogs>> {
        let is_first = !plan.is_tail && doubted.is_empty() && records.iter().all(Option::is_none);
        let from = Ledger::new(&self.markets, records).planned(&self.markets, &plan.hints).start();
        let span = settled_to.map(|to| Span { from, to: to.number }).filter(|span| is_first && span.from <= span.to);
        // The source lists only logs that name the wallet. Some logs name only its vault.
        if plan.hints.iter().flatten().flatten().any(Hint::is_alias) {
            return first;
        }
        let (Some(source), Some(span)) = (&self.whole, span) else { return first };
        let ranges = span.width() / self.client.log_ceiling();
        if ranges < limits::RANGES_WITHOUT_SOURCE {
            return first;
        }
        let most = usize::try_from(ranges).unwrap_or(usize::MAX).saturating_mul(plan.queries.len() * Receipt::AT_ONCE);
        let named = timeout(pauses::SOURCE_PATIENCE, source.transactions(plan.wallet, &plan.queries, span))
            .await
            .ok()
            .flatten();
        let Some(named) = named.filter(|named| named.transactions.len() <= most && span.contains(named.through)) else {
            return first;
        };
        match self.found(plan, named, span.from).await {
            Ok(chunk) => Some(chunk),
            Err(fault) => {
                tracing::warn!(chain = self.chain, %fault, "transactions that an explorer lists cannot be read; the \
                                                            node alone is read");
                first
            }
        }
    }

    async fn found(&self, plan: &Plan, named: Named, from: u64) -> Result<Chunk<FoundLogs>, Fault> {
        let (span, through) = (Span { from, to: named.through }, Some(named.through));
        let transactions: Vec<B256> = named.transactions.into_iter().collect();
        let parts = transactions.chunks(Receipt::AT_ONCE).map(<[B256]>::to_vec);
        let logs = stream::iter(parts).map(|part| self.logs_of(plan, part, span)).buffered(limits::RECEIPT_REQUESTS);
        let logs = logs.try_collect::<Vec<_>>().await?.concat();
        let receipts = self.receipts(plan, &logs).await?;
        metrics::counter!("assay_explorer_histories_total", "chain" => self.chain.to_string()).increment(1);
        let found = FoundLogs { logs, receipts, ..FoundLogs::default() };
        Ok(Chunk { found: vec![found], through, stop: None })
    }

    /// The logs of `transactions` that answer the plan.
    async fn logs_of(&self, plan: &Plan, transactions: Vec<B256>, span: Span) -> Result<Vec<Log>, Fault> {
        let asks = transactions.iter().copied().map(Receipt::ask).collect();
        let mut found = Vec::new();
        for (transaction, answer) in transactions.into_iter().zip(self.client.shared_batch(asks).await?) {
            let mut logs = unhinted(transaction, answer?)?;
            logs.retain(|log| plan.queries.iter().any(|query| answers(log, query, span)));
            found.append(&mut logs);
        }
        Ok(found)
    }
}
