//! A second opinion: if a position contradicts a history, the same logs are requested from another endpoint.

use alloy::rpc::types::Log;
use futures::future::try_join_all;

use crate::history::{events::Asked, plan::Plan, reader::Reader};
use assay_evm::{
    Client, Fault,
    failover::Witness,
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

    /// A client of the endpoints that did not answer; `None` if there is no other.
    pub(crate) fn besides(&self, witness: Option<Witness>) -> Option<Client> {
        witness.map_or_else(|| self.client.other_endpoints(), |witness| self.client.besides(witness))
    }

    /// Combines `logs`, the answer to a doubted `plan`, with those of other endpoints than answered. If the two answers
    /// differ, the receipts of the transactions decide.
    ///
    /// # Errors
    /// [`Fault`] if a receipt cannot be read. Without another answer, `logs` are returned unchanged.
    pub(crate) async fn compared(&self, plan: &Plan, asked: &Asked, logs: Vec<Log>) -> Result<Vec<Log>, Fault> {
        let Asked { span, witnesses } = asked;
        let others: Option<Vec<Client>> = witnesses.iter().map(|witness| self.besides(*witness)).collect();
        let Some(others) = others.filter(|_| plan.is_doubted) else { return Ok(logs) };
        let (others, queries, span) = (&others, &plan.queries, *span);
        let ask = |span| async move {
            let asked = queries.iter().zip(others).map(|(query, other)| other.believed_logs(query, span));
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
        let mut asked: Vec<_> = witnesses.iter().zip(others).collect();
        asked.dedup_by_key(|(witness, _)| *witness);
        let others: Vec<&Client> = asked.into_iter().map(|(_, other)| other).collect();
        let receipts = self.client.disputed_logs(&transactions, &others).await?;
        logs.extend(receipts.into_iter().filter(|log| plan.queries.iter().any(|query| answers(log, query, span))));
        Ok(logs)
    }
}
