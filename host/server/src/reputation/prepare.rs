//! From an accepted submission to a document that is in place: everything before the first transaction.

use crate::reputation::records::{ScoresRecord, Stage, Start, SubmissionRecord};
use chrono::Utc;

use super::{Event, Reputation, Unjudged, document};
use assay_chain::IpfsError;
use assay_domain::Coverage;
use assay_store::{Lease, Lost};

impl Reputation {
    /// Takes `record` as far as it goes now.
    pub(super) async fn prepare(&self, lease: &Lease, mut record: SubmissionRecord) -> Result<(), Lost> {
        while record.stage < Stage::Submitting {
            let (stage, event) = (record.stage, self.prepared(&record).await);
            let stuck = matches!(event, Event::Trouble(_));
            match self.advance(lease, &record, event).await? {
                Some(next) if !stuck && next.stage != stage => record = next,
                _ => break,
            }
        }
        Ok(())
    }

    async fn prepared(&self, record: &SubmissionRecord) -> Event {
        if !self.is_ours(record) {
            return Event::Refused(
                "This service now gives feedback with another account or to other registries".into(),
            );
        }
        match record.stage {
            Stage::Pending => Event::Begun,
            Stage::Scoring => self.scored(record).await,
            Stage::Uploading => self.placed(record).await.unwrap_or_else(Event::Trouble),
            _ => Event::Tick,
        }
    }

    /// The configuration is still the one it was accepted under.
    pub(super) fn is_ours(&self, record: &SubmissionRecord) -> bool {
        let (sender, registries) = (&self.inner.sender, self.inner.sender.registries());
        record.client == sender.address()
            && (record.chain, record.identity_registry, record.reputation_registry)
                == (registries.chain, registries.identity, registries.reputation)
    }

    async fn scored(&self, record: &SubmissionRecord) -> Event {
        let scores = match self.inner.judge.judge(record.address).await {
            Ok(scores) => scores,
            Err(Unjudged::NotYet(why)) => return Event::Trouble(why),
            Err(Unjudged::Never(why)) => return Event::Refused(why),
        };
        let waited = (Utc::now() - record.created_at).to_std().unwrap_or_default();
        if !may_be_told(&scores) && waited < self.inner.settings.coverage_wait {
            return Event::Trouble("The chains have not been read completely yet".into());
        }
        match document::document(record, &scores, &self.inner.settings.endpoint) {
            Ok(document) => Event::Scored { feedback: document::feedback(record, &scores), scores, document },
            Err(why) => Event::Refused(why),
        }
    }

    async fn placed(&self, record: &SubmissionRecord) -> Result<Event, String> {
        let Some(document) = &record.document else {
            return Ok(Event::Refused("The feedback document is missing".into()));
        };
        match self.inner.ipfs.place(document.text.as_bytes(), &document.cid).await {
            Ok(()) => {}
            Err(error @ IpfsError::TooLarge(_)) => return Ok(Event::Refused(error.to_string())),
            Err(error) => return Err(error.to_string()),
        }
        let sender = &self.inner.sender;
        let settled = sender.settled().await.map_err(|error| error.to_string())?;
        let given = sender.feedback_count(record.agent_id, settled).await.map_err(|error| error.to_string())?;
        Ok(Event::Placed(Start { block: settled.block, given }))
    }
}

/// Nothing is missing that will be there in a moment.
fn may_be_told(scores: &ScoresRecord) -> bool {
    let coverage = scores.coverage;
    let is_read = |coverage| matches!(coverage, Coverage::Complete | Coverage::Partial);
    is_read(coverage.chains) && is_read(coverage.credit_events) && coverage.identity == Coverage::Complete
}
