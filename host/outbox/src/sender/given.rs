//! The feedback that the registry says our account gave: the second line behind receipts, asked before anything is
//! signed anew.

use alloy::{primitives::U256, sol_types::SolEvent};

use super::{At, Sender, SenderError, abi::ReputationRegistry::NewFeedback};
use assay_domain::B256;
use assay_evm::{fault::Fault, logs::LogQuery, span::Span};

/// Widest span of blocks asked for at once.
const SPAN: u64 = 2_000;

/// One feedback in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub tag: String,
    pub uri: String,
    pub hash: B256,
    pub transaction: B256,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// All that there is.
    Whole(Vec<Told>),
    /// The registry counts more or less than the logs show: the node does not tell everything.
    Partial,
}

impl Sender {
    /// How much feedback our account has given an agent, after one block.
    ///
    /// # Errors
    /// [`SenderError::Chain`].
    pub async fn given_by(&self, agent_id: u64, at: At) -> Result<u64, SenderError> {
        self.last_index(agent_id, at).await
    }

    /// Everything that our account has given an agent after block `from`, by when it had given `given`, through `to`.
    ///
    /// # Errors
    /// [`SenderError::Chain`].
    pub async fn given_since(&self, agent_id: u64, from: u64, given: u64, to: At) -> Result<Given, SenderError> {
        let agent = B256::from(U256::from(agent_id));
        let query = LogQuery {
            addresses: vec![self.registry()],
            topics: [vec![NewFeedback::SIGNATURE_HASH], vec![agent], vec![self.address().into_word()], vec![]],
        };
        let (mut told, mut next) = (Vec::new(), from.saturating_add(1));
        let mut width = SPAN.min(self.client.log_ceiling()).max(1);
        while next <= to.block {
            let span = Span { from: next, to: to.block.min(next.saturating_add(width - 1)) };
            let logs = match self.client.logs(&query, span).await {
                Err(Fault::TooWide { .. } | Fault::TooDense { .. } | Fault::TimedOut(_)) if width > 1 => {
                    width /= 2;
                    continue;
                }
                logs => logs?,
            };
            for log in logs.iter().filter(|log| !log.removed && log.address() == self.registry()) {
                let Ok(event) = NewFeedback::decode_log(&log.inner) else { return Ok(Given::Partial) };
                if event.agentId != U256::from(agent_id) || event.clientAddress != self.address() {
                    return Ok(Given::Partial);
                }
                let NewFeedback { tag1, feedbackURI, feedbackHash, .. } = event.data;
                let Some(transaction) = log.transaction_hash else { return Ok(Given::Partial) };
                told.push(Told { tag: tag1, uri: feedbackURI, hash: feedbackHash, transaction });
            }
            next = span.to.saturating_add(1);
        }
        let counted = self.last_index(agent_id, to).await?;
        Ok(if given.checked_add(told.len() as u64) == Some(counted) { Given::Whole(told) } else { Given::Partial })
    }
}
