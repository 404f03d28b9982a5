//! Submissions that fail in one phase. The step of real submissions fails them, in the same words.

use std::time::Duration;

use crate::reputation::{
    landing,
    prepare::unread,
    records::{Stage, SubmissionRecord},
    step::{Event, step},
};
use assay_chain::IpfsError;
use assay_domain::{Time, Unread};
use assay_outbox::sender::registry_reason;
use assay_registry::Phase;

/// How long a real submission tries by default.
const GIVE_UP_AFTER: Duration = Duration::from_secs(3_600);
/// The chain that is not read when scoring fails.
const CHAIN: u64 = 10;

/// The end of the completed submission `record` when it fails in `phase`.
pub(super) fn failed(record: SubmissionRecord, phase: Phase, now: Time) -> SubmissionRecord {
    let (mut begun, event, at) = match phase {
        Phase::Scoring => {
            let begun = SubmissionRecord {
                stage: Stage::Scoring,
                scores: None,
                document: None,
                feedback: Vec::new(),
                start: None,
                ..record
            };
            (begun, Event::Refused(unread(&Unread::chain().on(CHAIN))), now)
        }
        Phase::Uploading => {
            let trouble = Some(IpfsError::no_node().to_string());
            (
                SubmissionRecord { stage: Stage::Uploading, start: None, trouble, ..record },
                Event::Tick,
                now + GIVE_UP_AFTER,
            )
        }
        Phase::Submitting => {
            // The agent was burned after the submission was accepted.
            let reason = landing::by_registry(&registry_reason("ERC721NonexistentToken"));
            (SubmissionRecord { stage: Stage::Submitting, ..record }, Event::Declined(reason), now)
        }
    };
    begun.feedback.iter_mut().for_each(|feedback| feedback.landed = None);
    step(&begun, event, at, GIVE_UP_AFTER).unwrap_or(begun)
}

/// The phase in which `record` failed.
pub(super) fn phase(record: &SubmissionRecord) -> Stage {
    match (&record.scores, &record.start) {
        (None, _) => Stage::Scoring,
        (_, None) => Stage::Uploading,
        _ => Stage::Submitting,
    }
}
