//! The feedback of our account in the registry. It is checked before a lost transaction is signed again, as a second
//! source in addition to receipts.

use alloy::{primitives::U256, rpc::types::Log, sol_types::SolEvent};

use super::{FeedbackRegistry, abi::ReputationRegistry::NewFeedback};
use assay_domain::B256;
use assay_evm::{client::Block, logs::LogQuery, span::Span};
use assay_outbox::sender::SenderError;

/// Widest span of blocks in one query.
const SPAN: u64 = 2_000;

/// One feedback in the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeedbackEvent {
    pub(crate) tag: String,
    pub(crate) uri: String,
    pub(crate) hash: B256,
    pub(crate) transaction: B256,
}

/// The feedback that the logs show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GivenFeedback {
    /// The logs agree with the registry's count.
    Complete(Vec<FeedbackEvent>),
    /// The registry's count differs: the node's logs are incomplete.
    Incomplete,
}

impl FeedbackRegistry {
    /// Number of feedbacks of our account for an agent, in the state after `at`.
    ///
    /// # Errors
    /// [`SenderError::Chain`].
    pub(crate) async fn count(&self, agent_id: u64, at: Block) -> Result<u64, SenderError> {
        self.last_index(agent_id, at).await
    }

    /// The feedback of our account for an agent after block `from`, at which the count was `given`, through block `to`.
    ///
    /// # Errors
    /// [`SenderError::Chain`].
    pub(crate) async fn since(
        &self,
        agent_id: u64,
        from: u64,
        given: u64,
        to: Block,
    ) -> Result<GivenFeedback, SenderError> {
        let agent = B256::from(U256::from(agent_id));
        let query = LogQuery {
            addresses: vec![self.registries.reputation],
            topics: [vec![NewFeedback::SIGNATURE_HASH], vec![agent], vec![self.account().into_word()], vec![]],
        };
        let (mut events, mut next) = (Vec::new(), from.saturating_add(1));
        let mut width = SPAN.min(self.sender.client().log_ceiling()).max(1);
        while next <= to.number {
            let span = Span { from: next, to: to.number.min(next.saturating_add(width - 1)) };
            let logs = match self.sender.client().logs(&query, span).await {
                Err(fault) if fault.is_for_less() && width > 1 => {
                    width /= 2;
                    continue;
                }
                logs => logs?,
            };
            for log in logs.iter().filter(|log| !log.removed && log.address() == self.registries.reputation) {
                let Some(event) = self.event(agent_id, log) else { return Ok(GivenFeedback::Incomplete) };
                events.push(event);
            }
            next = span.to.saturating_add(1);
        }
        let counted = self.last_index(agent_id, to).await?;
        Ok(if given.checked_add(events.len() as u64) == Some(counted) {
            GivenFeedback::Complete(events)
        } else {
            GivenFeedback::Incomplete
        })
    }

    /// The event in a log; `None` if it is not our account's feedback for this agent.
    fn event(&self, agent_id: u64, log: &Log) -> Option<FeedbackEvent> {
        let event = NewFeedback::decode_log(&log.inner).ok()?;
        if event.agentId != U256::from(agent_id) || event.clientAddress != self.account() {
            return None;
        }
        let NewFeedback { tag1, feedbackURI, feedbackHash, .. } = event.data;
        Some(FeedbackEvent { tag: tag1, uri: feedbackURI, hash: feedbackHash, transaction: log.transaction_hash? })
    }
}
