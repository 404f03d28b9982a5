//! From an accepted submission to its documents on IPFS: everything before the first transaction.

use chrono::Utc;
use futures::future::try_join_all;

use super::{
    Barred, Event, NoAppraisal, Reputation,
    document::{self, Beside, Settlement},
    records::{Stage, Start, SubmissionRecord},
};
use crate::access::{
    records::Payer,
    x402::records::{PaymentState, payment},
};
use assay_chain::IpfsError;
use assay_store::{Lease, Lost, StoreError};

impl Reputation {
    /// Takes `record` as many steps as are possible now.
    pub(super) async fn prepare(&self, lease: &Lease, mut record: SubmissionRecord) -> Result<(), Lost> {
        while record.stage < Stage::Submitting {
            let (stage, event) = (record.stage, self.next_step(&record).await);
            let stuck = matches!(event, Event::Retry(_));
            match self.advance(lease, &record, event).await? {
                Some(next) if !stuck && next.stage != stage => record = next,
                _ => break,
            }
        }
        Ok(())
    }

    async fn next_step(&self, record: &SubmissionRecord) -> Event {
        if !self.is_ours(record) {
            return Event::Refused(
                "This service now gives feedback with another account or to other registries".into(),
            );
        }
        match record.stage {
            Stage::Pending => self.admit(record).await.unwrap_or_else(|error| Event::Retry(error.to_string())),
            Stage::Scoring => self.score(record).await,
            Stage::Uploading => self.upload(record).await.unwrap_or_else(Event::Retry),
            _ => Event::Tick,
        }
    }

    /// An agent may have been set aside since the submission was accepted.
    async fn admit(&self, record: &SubmissionRecord) -> Result<Event, StoreError> {
        Ok(match self.barred(record.agent_id, None, &record.payer).await? {
            None => Event::Begun,
            Some(barred @ Barred::All { .. }) => Event::Retry(barred.to_string()),
            Some(barred) => Event::Declined(barred.to_string()),
        })
    }

    /// Whether the record was accepted under the current account and registries.
    pub(super) fn is_ours(&self, record: &SubmissionRecord) -> bool {
        let (sender, registries) = (self.inner.outbox.sender(), self.inner.outbox.sender().registries());
        record.client == sender.address()
            && (record.chain, record.identity_registry, record.reputation_registry)
                == (registries.chain, registries.identity, registries.reputation)
    }

    async fn score(&self, record: &SubmissionRecord) -> Event {
        let (scores, stated) = match self.inner.appraiser.appraise(record.address).await {
            Ok(scores) => scores,
            Err(NoAppraisal::NotYet(why)) => return Event::Retry(why),
            Err(NoAppraisal::Unread(what)) => {
                let waited = (Utc::now() - record.created_at).to_std().unwrap_or_default();
                return match waited < self.inner.settings.coverage_wait {
                    true => Event::Retry(format!("The chains have not been read completely yet: {what}")),
                    false => Event::Refused(unread(&what)),
                };
            }
            Err(NoAppraisal::Never(why)) => return Event::Refused(why),
        };
        let settlement = match self.settlement(record).await {
            Ok(settlement) => settlement,
            Err(error) => return Event::Retry(error.to_string()),
        };
        let beside = Beside { settlement, stated, endpoint: &self.inner.settings.endpoint };
        match document::feedback(record, &scores, &beside) {
            Ok(feedback) => Event::Scored { scores, feedback },
            Err(why) => Event::Refused(why),
        }
    }

    /// The payment that bought it.
    async fn settlement(&self, record: &SubmissionRecord) -> Result<Option<Settlement>, StoreError> {
        let Payer::Payment(id) = &record.payer else { return Ok(None) };
        let payment = self.inner.store.get(&payment(id)).await?;
        Ok(payment.and_then(|payment| match payment.state {
            PaymentState::Settled { transaction, .. } => {
                Some(Settlement { chain: id.chain, payer: id.from, transaction })
            }
            PaymentState::Open | PaymentState::Refused { .. } => None,
        }))
    }

    async fn upload(&self, record: &SubmissionRecord) -> Result<Event, String> {
        let documents: Option<Vec<_>> = record.tags.iter().map(|tag| record.document_of(*tag)).collect();
        let Some(mut documents) = documents else {
            return Ok(Event::Refused("The feedback document is missing".into()));
        };
        // An older version wrote one document for all tags.
        documents.dedup();
        let places = documents.into_iter().map(|one| self.inner.ipfs.place(one.text.as_bytes(), &one.cid));
        match try_join_all(places).await {
            Ok(_) => {}
            Err(error @ IpfsError::TooLarge(_)) => return Ok(Event::Refused(error.to_string())),
            Err(error) => return Err(error.to_string()),
        }
        let sender = self.inner.outbox.sender();
        let settled = sender.settled().await.map_err(|error| error.to_string())?;
        let given = sender.feedback_count(record.agent_id, settled).await.map_err(|error| error.to_string())?;
        let owner = sender.owner_of(record.agent_id).await.map_err(|error| error.to_string())?;
        Ok(Event::Placed(Start { block: settled.block, given, owner }))
    }
}

/// Why nothing is submitted where the chains could not be read completely.
pub(super) fn unread(what: &str) -> String {
    format!("The chains could not be read completely, and a score without these parts would be wrong: {what}")
}
