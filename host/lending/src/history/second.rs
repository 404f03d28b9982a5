//! A second opinion: if a position contradicts a history, the same logs are requested from another endpoint.

use alloy::rpc::types::Log;
use futures::future::try_join_all;

use crate::history::{plan::Plan, reader::Reader};
use assay_evm::{
    Fault, Span,
    logs::{answers, differing, in_parts},
};

/// How another endpoint's answer compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opinion {
    Confirmed,
    Contradicted,
    Unanswered,
}

impl Opinion {
    fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Contradicted => "contradicted",
            Self::Unanswered => "unanswered",
        }
    }
}

impl Reader {
    pub(crate) fn count_opinion(&self, opinion: Opinion) {
        let labels = [("chain", self.chain.to_string()), ("outcome", opinion.as_str().to_owned())];
        metrics::counter!("assay_second_opinions_total", &labels).increment(1);
    }

    /// Combines `logs`, the answer to a doubted `plan` over `span`, with those of another endpoint. If the two answers
    /// differ, the receipts of the transactions decide.
    ///
    /// # Errors
    /// [`Fault`] if a receipt cannot be read. Without another answer, `logs` are returned unchanged.
    pub(crate) async fn compared(&self, plan: &Plan, span: Span, logs: Vec<Log>) -> Result<Vec<Log>, Fault> {
        let Some(other) = self.client.other_endpoints().filter(|_| plan.is_doubted) else { return Ok(logs) };
        let (client, queries) = (&other, &plan.queries);
        let ask = |span| async move {
            let asked = queries.iter().map(|query| client.believed_logs(query, span));
            Ok::<_, Fault>(try_join_all(asked).await?.concat())
        };
        let second = match in_parts(span, self.logs.range, ask).await {
            Ok(parts) => parts.concat(),
            Err(fault) => {
                tracing::debug!(chain = self.chain, %fault, "another endpoint cannot check a doubted history");
                self.count_opinion(Opinion::Unanswered);
                return Ok(logs);
            }
        };
        let both = [logs, second];
        let transactions = differing(&both)?;
        let [mut logs, _] = both;
        if transactions.is_empty() {
            self.count_opinion(Opinion::Confirmed);
            return Ok(logs);
        }
        self.count_opinion(Opinion::Contradicted);
        let (chain, count) = (self.chain, transactions.len());
        tracing::warn!(
            chain,
            transactions = count,
            "another endpoint has other logs of a wallet; their receipts decide"
        );
        logs.retain(|log| !log.transaction_hash.is_some_and(|hash| transactions.contains_key(&hash)));
        let receipts = self.client.disputed_logs(&transactions, &[&other]).await?;
        logs.extend(receipts.into_iter().filter(|log| plan.queries.iter().any(|query| answers(log, query, span))));
        Ok(logs)
    }
}
