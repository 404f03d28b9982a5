//! What moves a submission, as a pure function of its record: no I/O, no clock of its own. Whatever happens outside is
//! told as an [`Event`]; what the record says afterwards is written down before anything else happens outside.
//!
//! A submission whose transactions may still be mined never fails: it gives up first, which takes their nonces away
//! from them, and fails once each of them can be seen to have come to nothing.

#[cfg(test)]
mod tests;

use crate::access::records::Payer;
use crate::reputation::records::{DocumentRecord, FeedbackRecord, ScoresRecord, Stage, Start, SubmissionRecord};
use assay_outbox::sender::{LandedRecord, SignedRecord, SlotRecord};
use std::time::Duration;

use assay_domain::{Tag, Time};

/// Nonces that a tag may lose to transactions from elsewhere before the account is taken for being somebody else's.
pub const MOST_LOST: usize = 20;
/// Nonces that may come to nothing before a revert is taken for the registry's last word: it may have been short of
/// gas.
const MOST_REVERTED: usize = 3;
/// First wait after a failure; doubled with each further one.
const BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(10);

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A worker has it.
    Begun,
    Scored {
        scores: ScoresRecord,
        document: DocumentRecord,
        feedback: Vec<FeedbackRecord>,
    },
    /// The document is on IPFS and pinned.
    Placed(Start),
    /// A transaction was signed for a tag that had none.
    Signed {
        tag: Tag,
        nonce: u64,
        signed: SignedRecord,
    },
    /// Another one with the same nonce.
    Replaced {
        tag: Tag,
        signed: SignedRecord,
    },
    /// The feedback is in the chain with its confirmations.
    Landed {
        tag: Tag,
        landed: LandedRecord,
    },
    /// No transaction of the tag's nonce gave feedback, and none can any more.
    Undone {
        tag: Tag,
        nonce: u64,
        how: Undone,
    },
    /// It did not work and may work later.
    Trouble(String),
    /// It will never work.
    Refused(String),
    /// Time has passed.
    Tick,
}

/// How a nonce came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undone {
    /// By our own cancelling transaction.
    Cancelled,
    /// The registry reverted it.
    Reverted,
    /// A transaction that is not ours has the nonce.
    Taken,
}

/// What the record says after `event`; `None` where it says the same as before, or the event has no place in its stage.
pub fn step(record: &SubmissionRecord, event: Event, now: Time, give_up_after: Duration) -> Option<SubmissionRecord> {
    if record.stage.is_terminal() {
        return None;
    }
    let mut next = record.clone();
    let applied = apply(&mut next, event, now);
    let late = (now - record.created_at).to_std().is_ok_and(|age| age >= give_up_after);
    if late && !next.stage.is_terminal() && next.giving_up.is_none() {
        give_up(&mut next, format!("Not done within {} seconds{}", give_up_after.as_secs(), because(record)));
    }
    settle(&mut next);
    (applied.is_some() || next != *record).then(|| SubmissionRecord { updated_at: now, ..next })
}

fn apply(next: &mut SubmissionRecord, event: Event, now: Time) -> Option<()> {
    match (next.stage, event) {
        (Stage::Pending, Event::Begun) => advance(next, Stage::Scoring, now),
        (Stage::Scoring, Event::Scored { scores, document, feedback }) => {
            (next.scores, next.document, next.feedback) = (Some(scores), Some(document), feedback);
            advance(next, Stage::Uploading, now)
        }
        (Stage::Uploading, Event::Placed(start)) => {
            next.start = Some(start);
            advance(next, Stage::Submitting, now)
        }
        (Stage::Submitting, Event::Signed { tag, nonce, signed }) if next.giving_up.is_none() => {
            let feedback = open(next, tag).filter(|feedback| feedback.slot.is_none())?;
            feedback.slot = Some(SlotRecord { nonce, signed: vec![signed] });
            Some(())
        }
        (Stage::Submitting, Event::Replaced { tag, signed }) => {
            open(next, tag)?.slot.as_mut()?.signed.push(signed);
            Some(())
        }
        (Stage::Submitting, Event::Landed { tag, landed }) => {
            let feedback = open(next, tag).filter(|feedback| feedback.slot.is_some())?;
            feedback.landed = Some(landed);
            next.trouble = None;
            Some(())
        }
        (Stage::Submitting, Event::Undone { tag, nonce, how }) => {
            let feedback = open(next, tag)?;
            feedback.slot.take_if(|slot| slot.nonce == nonce)?;
            feedback.lost.push(nonce);
            let lost = feedback.lost.len();
            match how {
                Undone::Reverted if lost >= MOST_REVERTED => {
                    give_up(next, format!("The Reputation Registry reverts the transactions for {tag}"));
                }
                Undone::Taken if lost >= MOST_LOST => {
                    give_up(next, "Other transactions keep using the account of this service".to_owned())
                }
                Undone::Reverted | Undone::Taken | Undone::Cancelled => {}
            }
            Some(())
        }
        (Stage::Submitting, Event::Trouble(what)) => {
            // Looked at again with the next block, so that there is nothing to wait for, and written once.
            (next.trouble.as_ref() != Some(&what)).then(|| next.trouble = Some(what))
        }
        (_, Event::Trouble(what)) => {
            next.attempts = next.attempts.saturating_add(1);
            next.next_at = now + backoff(next.attempts);
            next.trouble = Some(what);
            Some(())
        }
        (_, Event::Refused(what)) if next.giving_up.is_none() => {
            give_up(next, what);
            Some(())
        }
        _ => None,
    }
}

fn advance(next: &mut SubmissionRecord, stage: Stage, now: Time) -> Option<()> {
    (next.stage, next.attempts, next.trouble, next.next_at) = (stage, 0, None, now);
    Some(())
}

/// The feedback of a tag that has not landed.
fn open(record: &mut SubmissionRecord, tag: Tag) -> Option<&mut FeedbackRecord> {
    record.feedback.iter_mut().find(|feedback| feedback.tag == tag && feedback.landed.is_none())
}

fn give_up(next: &mut SubmissionRecord, why: String) {
    next.giving_up.get_or_insert(why);
}

/// Ends what has come to its end: confirmed where everything landed, also if it had been given up; failed where nothing
/// can land.
fn settle(next: &mut SubmissionRecord) {
    let all_landed = !next.feedback.is_empty() && next.feedback.iter().all(|feedback| feedback.landed.is_some());
    if next.stage == Stage::Submitting && all_landed {
        (next.stage, next.trouble, next.giving_up) = (Stage::Confirmed, None, None);
        return;
    }
    let may_land = next.feedback.iter().any(|feedback| feedback.slot.is_some() && feedback.landed.is_none());
    if !may_land && let Some(why) = next.giving_up.take() {
        next.stage = Stage::Failed;
        next.error = Some(why + &partly(next));
    }
}

/// What a failed submission left on the chain all the same.
fn partly(record: &SubmissionRecord) -> String {
    let landed: Vec<_> = record
        .feedback
        .iter()
        .filter(|feedback| feedback.landed.is_some())
        .map(|feedback| feedback.tag.as_str())
        .collect();
    let given_back = match record.payer {
        Payer::Key { .. } => "the units were given back",
        Payer::Payment(_) => "the payment was kept for you: presented again, it pays for another submission",
    };
    if landed.is_empty() {
        format!("; {given_back}")
    } else {
        format!("; of its tags only {} reached the chain; {given_back}", landed.join(", "))
    }
}

fn because(record: &SubmissionRecord) -> String {
    record.trouble.as_ref().map(|trouble| format!("; the last obstacle: {trouble}")).unwrap_or_default()
}

fn backoff(attempts: u32) -> Duration {
    BACKOFF.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(MAX_BACKOFF)
}
