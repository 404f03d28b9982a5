//! From an accepted submission to its documents on IPFS: everything before the first transaction.

use chrono::Utc;

use super::{
    Client, Event, NoAppraisal, Reputation,
    document::{self, Beside, Settlement},
    records::{Stage, SubmissionRecord},
};
use assay_access::records::Payer;
use assay_payment::records::{PaymentState, payment};
use assay_store::{Lease, Lost, StoreError};

/// Why a submission of an earlier configuration fails.
pub(super) const ELSEWHERE: &str = "This service now gives feedback with another account or to other registries";

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
            return Event::Refused(ELSEWHERE.to_owned());
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
            Some(barred) => Event::Declined(barred.to_string()),
        })
    }

    /// Whether the record was accepted under the current account and registries.
    pub(super) fn is_ours(&self, record: &SubmissionRecord) -> bool {
        let Client { registries, account } = self.inner.effects.client();
        record.client == account
            && (record.chain, record.identity_registry, record.reputation_registry)
                == (registries.chain, registries.identity, registries.reputation)
    }

    async fn score(&self, record: &SubmissionRecord) -> Event {
        let (scores, stated) = match self.inner.effects.appraise(record).await {
            Ok(scores) => scores,
            Err(NoAppraisal::NotYet(why)) => return Event::Retry(why),
            Err(NoAppraisal::Unread(what)) => {
                let waited = (Utc::now() - record.created_at).to_std().unwrap_or_default();
                return match waited < self.inner.settings.coverage_wait {
                    true => Event::Retry(format!("The chains have not been read completely yet: {what}")),
                    false => Event::Refused(unread(&what)),
                };
            }
            Err(NoAppraisal::Never(why)) => return Event::Unscored(why),
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
        self.inner.effects.publish(record, documents).await
    }
}

/// The reason why nothing is submitted if the chains could not be read completely.
pub(super) fn unread(what: &str) -> String {
    format!("The chains could not be read completely, and a score without these parts would be wrong: {what}")
}
