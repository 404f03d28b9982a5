//! Submissions on a sandbox server. They are accepted and documented like any other, and then change with time alone:
//! nothing is uploaded or sent, and nothing is paid. The whole outcome is decided at acceptance; a query shows the part
//! that is due at its time.

mod failing;

use std::time::Duration;

use alloy::primitives::keccak256;
use chrono::Utc;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{
    document,
    records::{self, FeedbackRecord, OwnRecord, RetryRecord, ScoresRecord, Stage, Start, SubmissionRecord},
    request::Request,
    submit::SubmitError,
};
use crate::access::x402::X402;
use assay_domain::{Address, Time, address};
use assay_outbox::{sender::Registries, slot::LandedRecord};
use assay_registry::Phase;
use assay_store::{Batch, Revision, Store, StoreError};

/// Lifetime of a stored submission.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// Seconds after acceptance at which each stage begins.
const STAGES: [(Stage, u32); 5] =
    [(Stage::Pending, 0), (Stage::Scoring, 1), (Stage::Uploading, 2), (Stage::Submitting, 3), (Stage::Confirmed, END)];
const END: u32 = 5;
/// Submissions about this address fail, so that a client can test a failure.
const FAILING: Address = address!("0x0000000000000000000000000000000000000005");
const FAILURE: &str =
    "The registry refused the feedback, as it always does for 0x…05 in the sandbox. No units were taken";

/// Chain and registries of production submissions.
const CHAIN: u64 = 8453;
const IDENTITY: Address = address!("0x8004A169FB4a3325136EB29fA0ceB6D2e539a432");
const REPUTATION: Address = address!("0x8004BAa17C55a88189AE136b182e5fdA19dE9b63");
/// Unix time of block 0 of that chain, and seconds between two blocks.
const GENESIS: (i64, i64) = (1_686_789_347, 2);
/// Approximate gas of one feedback on that chain.
const GAS: u64 = 190_000;

/// The service of a sandbox server. Cheap to clone.
#[derive(Clone)]
pub struct Rehearsal {
    store: Store,
    /// The terms of payments that a scenario refuses.
    x402: Option<X402>,
}

impl Rehearsal {
    /// Seconds from acceptance to the end.
    pub const EXPECTED: u32 = END;

    pub fn new(store: Store, x402: Option<X402>) -> Self {
        Self { store, x402 }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// What refuses payments in scenarios. It takes none.
    pub fn x402(&self) -> Option<&X402> {
        self.x402.as_ref()
    }

    /// Accepts `request` of `owner` with the given scores, or finds the submission that the same request with the same
    /// `Idempotency-Key` began. It fails in the phase `fails`, if there is one.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub async fn submit(
        &self,
        request: &Request,
        owner: &str,
        scores: ScoresRecord,
        fails: Option<Phase>,
    ) -> Result<SubmissionRecord, SubmitError> {
        let now = Utc::now();
        let record = completed(request, scores, now).map_err(|reason| StoreError::Failed { reason })?;
        let record = match fails {
            Some(phase) => failing::failed(record, phase, now),
            None => record,
        };
        let mut batch = Batch::new().put_expiring(&records::rehearsal(record.id), &record, LIFETIME)?;
        if let Some(own) = OwnRecord::key(&record) {
            batch = batch.put_expiring(&own, &OwnRecord::of(&record), LIFETIME)?;
        }
        let Some(text) = &request.retry_key else {
            self.store.commit(batch).await?;
            return Ok(record);
        };
        let key = records::rehearsal_retry(owner, &Sha256::digest(text).into());
        let retry = RetryRecord { submission: record.id, request: request.digest() };
        batch = batch.if_unchanged(&key, Revision::ABSENT).put_expiring(&key, &retry, LIFETIME)?;
        if self.store.commit(batch).await? {
            return Ok(record);
        }
        let known = self
            .store
            .get(&key)
            .await?
            .filter(|known| known.request == retry.request)
            .ok_or(SubmitError::OtherRequest)?;
        Ok(self.store.get(&records::rehearsal(known.submission)).await?.unwrap_or(record))
    }

    /// The submission with this id for this agent, in its state of this moment.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn find(&self, agent_id: u64, id: Uuid) -> Result<Option<SubmissionRecord>, StoreError> {
        let found = self.store.get(&records::rehearsal(id)).await?.filter(|record| record.agent_id == agent_id);
        Ok(found.map(|record| as_of(record, Utc::now())))
    }

    /// The submissions with these ids, in their states of this moment, whichever agent they are for.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn several(&self, ids: &[Uuid]) -> Result<Vec<Option<SubmissionRecord>>, StoreError> {
        let keys: Vec<_> = ids.iter().copied().map(records::rehearsal).collect();
        let found = self.store.get_many(&keys).await?;
        Ok(found.into_iter().map(|record| record.map(|record| as_of(record, Utc::now()))).collect())
    }
}

/// A submission in its final state.
fn completed(request: &Request, scores: ScoresRecord, now: Time) -> Result<SubmissionRecord, String> {
    let head = u64::try_from((now.timestamp() - GENESIS.0) / GENESIS.1).unwrap_or_default();
    let registries = Registries { chain: CHAIN, identity: IDENTITY, reputation: REPUTATION };
    let client = Address::from_word(keccak256("the account of the sandbox"));
    let mut record = SubmissionRecord {
        stage: Stage::Confirmed,
        start: Some(Start { block: head, given: 0, owner: None }),
        ..request.record(registries, client, now)
    };
    let id = record.id;
    let landed = |(n, feedback): (usize, FeedbackRecord)| {
        let hash = keccak256(format!("{id} {}", feedback.tag));
        // Each in a block of its own.
        let landed = LandedRecord { hash, block: head + 1 + n as u64, gas_used: GAS + u64::from(hash.0[0]) * 16 };
        FeedbackRecord { landed: Some(landed), ..feedback }
    };
    record.feedback = document::feedback(&record, &scores, &document::Beside::default())?
        .into_iter()
        .enumerate()
        .map(landed)
        .collect();
    record.scores = Some(scores);
    if request.address == FAILING {
        (record.stage, record.error) = (Stage::Failed, Some(FAILURE.to_owned()));
    }
    Ok(record)
}

/// The part of `record` that is due at `now`.
fn as_of(mut record: SubmissionRecord, now: Time) -> SubmissionRecord {
    let elapsed = (now - record.created_at).num_seconds();
    let begun = |from: &&(Stage, u32)| elapsed >= i64::from(from.1);
    let due = STAGES.iter().rev().find(begun).copied().unwrap_or((Stage::Pending, 0));
    // It ends when the stage begins that would follow.
    let last = if record.stage == Stage::Failed { failing::phase(&record) } else { Stage::Submitting };
    let end = STAGES.iter().find(|(stage, _)| *stage > last).copied().unwrap_or((Stage::Confirmed, END));
    let (stage, after) = if due.1 >= end.1 { end } else { due };
    record.updated_at = record.created_at + Duration::from_secs(after.into());
    let is_over = due.1 >= end.1;
    if !is_over {
        record.stage = stage;
    }
    if stage < Stage::Uploading {
        (record.scores, record.document) = (None, None);
        record.feedback.iter_mut().for_each(|feedback| feedback.document = None);
    }
    if stage < Stage::Submitting {
        record.start = None;
    }
    if record.stage != Stage::Confirmed {
        record.feedback.iter_mut().for_each(|feedback| feedback.landed = None);
    }
    if record.stage != Stage::Failed {
        record.error = None;
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reputation::sample;
    use assay_domain::Tag;

    #[test]
    fn time_alone_moves_it_and_shows_what_is_due() {
        let pending = sample::pending();
        let request = |address| Request {
            agent_id: 7,
            address,
            tags: Tag::ALL.to_vec(),
            payer: pending.payer.clone(),
            retry_key: None,
        };
        let shown = |address, seconds| {
            let record =
                as_of(completed(&request(address), sample::scores(), sample::now()).unwrap(), sample::after(seconds));
            let landed = record.feedback.iter().filter(|feedback| feedback.landed.is_some()).count();
            (
                record.stage.as_str(),
                record.scores.is_some(),
                record.first_document().is_some(),
                record.start.is_some(),
                landed,
                record.error.is_some(),
            )
        };
        for (seconds, expected) in [
            (0, ("pending", false, false, false, 0, false)),
            (1, ("scoring", false, false, false, 0, false)),
            (2, ("uploading", true, true, false, 0, false)),
            (4, ("submitting", true, true, true, 0, false)),
            (5, ("confirmed", true, true, true, 3, false)),
            (80_000, ("confirmed", true, true, true, 3, false)),
        ] {
            assert_eq!(shown(pending.address, seconds), expected, "{seconds}");
        }
        assert_eq!(shown(FAILING, 3), ("submitting", true, true, true, 0, false));
        assert_eq!(shown(FAILING, 6), ("failed", true, true, true, 0, true));
    }
}
