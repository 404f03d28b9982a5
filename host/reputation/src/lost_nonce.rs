//! A nonce that is used and of whose transactions none has a receipt: the registry says whether the feedback was given.

use super::{
    Event,
    on_chain::{Look, uri},
    records::SubmissionRecord,
    step::SpentBy,
};
use crate::feedback::{FeedbackRegistry, GivenFeedback, Registries};
use assay_domain::Tag;
use assay_outbox::{
    nonce::LandedRecord,
    sender::{SenderError, TransactionStatus},
};

impl Look<'_> {
    /// The registry's answer about the tag; `None` without one.
    pub(super) async fn without_receipt(
        &self,
        record: &SubmissionRecord,
        tag: Tag,
        nonce: u64,
    ) -> Result<Option<Event>, SenderError> {
        let (Some(start), Some(document)) = (record.start, record.document_of(tag)) else { return Ok(None) };
        let view = self.round.view();
        // The registries may have been changed since.
        let (chain, identity, reputation) = (record.chain, record.identity_registry, record.reputation_registry);
        let registries = Registries { chain, identity, reputation };
        let registry = FeedbackRegistry::new(self.registry.sender().clone(), registries);
        let GivenFeedback::Complete(given) =
            registry.since(record.agent_id, start.block, start.given, view.settled).await?
        else {
            return Ok(None);
        };
        let uri = uri(document);
        let ours = given.iter().find(|one| one.tag == tag.as_str() && one.uri == uri && one.hash == document.hash);
        let Some(ours) = ours else {
            metrics::counter!("assay_nonces_lost_total").increment(1);
            tracing::warn!(submission = %record.id, nonce, "a foreign transaction has used a nonce of the account");
            return Ok(Some(Event::NonceSpent { tag, nonce, by: SpentBy::Foreign }));
        };
        let statuses = self.outbox.sender().statuses(view, &[ours.transaction]).await?;
        Ok(match statuses.first() {
            Some(TransactionStatus::Mined { block, gas_used, cost, settled: true, .. }) => {
                let (block, gas_used, cost) = (*block, *gas_used, *cost);
                let landed = LandedRecord { hash: ours.transaction, block, gas_used, cost };
                Some(Event::Landed { tag, landed })
            }
            _ => None,
        })
    }
}
