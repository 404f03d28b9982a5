//! The next state of a submission, as a pure function of its record and an [`Event`]: no I/O and no clock. The new
//! record is stored before anything else happens outside.
//!
//! A submission whose transactions may still be mined never fails at once. It gives up first: cancelling transactions
//! take the nonces, and it fails once every nonce is spent without feedback.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::records::{FeedbackRecord, ScoresRecord, Stage, Start, SubmissionRecord};
use assay_access::records::Payer;
use assay_domain::{Tag, Time};
use assay_outbox::nonce::{LandedRecord, NonceRecord, SignedRecord};

/// Nonces that a tag may lose to foreign transactions before the submission gives up: another process uses the account.
pub(crate) const MOST_LOST: usize = 20;
/// Nonces that a tag may lose to a lack of gas, or to cancellations of calls that would be reverted, before the
/// submission gives up.
const MOST_IN_VAIN: usize = 3;
/// Wait after the first failure; it doubles with each further one.
const BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(10);

/// An event of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A worker has started on it.
    Begun,
    Scored {
        scores: ScoresRecord,
        /// With their documents.
        feedback: Vec<FeedbackRecord>,
    },
    /// The documents are on IPFS and pinned.
    Placed(Start),
    /// A transaction was signed for a tag that had none.
    Signed { tag: Tag, nonce: u64, signed: SignedRecord },
    /// Another transaction was signed with the same nonce.
    Replaced { tag: Tag, signed: SignedRecord },
    /// The feedback is on the chain, with enough confirmations.
    Landed { tag: Tag, landed: LandedRecord },
    /// The nonce of the tag is used for good, and no transaction with it gave feedback.
    NonceSpent { tag: Tag, nonce: u64, by: SpentBy },
    /// It waits for this, which is no failure; `None`: nothing is in its way.
    Waits(Option<String>),
    /// A step failed and may succeed later.
    Retry(String),
    /// A step can never succeed.
    Refused(String),
    /// The wallet was read, and has nothing to submit: it cannot be scored.
    Unscored(String),
    /// The registry would revert the feedback, or this service gives none for the agent. Scores that were computed are
    /// charged.
    Declined(String),
    /// Time has passed.
    Tick,
}

/// The transaction that spent a nonce without feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpentBy {
    /// Our own cancelling transaction.
    Cancellation(LandedRecord),
    /// A transaction that the registry reverted, after the chain had confirmed that it would not: the owner of the
    /// agent can cause that.
    Revert(LandedRecord),
    /// A transaction that ran out of gas.
    OutOfGas(LandedRecord),
    /// A transaction that this service did not sign.
    Foreign,
}

/// The record after `event`; `None` if it stays the same, or its stage does not allow the event.
pub(crate) fn step(
    record: &SubmissionRecord,
    event: Event,
    now: Time,
    give_up_after: Duration,
) -> Option<SubmissionRecord> {
    if record.stage.is_terminal() {
        return None;
    }
    let mut next = record.clone();
    let applied = apply(&mut next, event, now);
    let late = (now - record.created_at).to_std().is_ok_and(|age| age >= give_up_after);
    if late && !next.stage.is_terminal() && next.giving_up.is_none() {
        let trouble = next.trouble.clone().or_else(|| record.trouble.clone());
        give_up(&mut next, not_done(give_up_after, trouble.as_deref()));
    }
    finish(&mut next);
    (applied.is_some() || next != *record).then(|| SubmissionRecord { updated_at: now, ..next })
}

fn apply(next: &mut SubmissionRecord, event: Event, now: Time) -> Option<()> {
    match (next.stage, event) {
        (Stage::Pending, Event::Begun) => advance(next, Stage::Scoring, now),
        (Stage::Scoring, Event::Scored { scores, feedback }) => {
            (next.scores, next.feedback) = (Some(scores), feedback);
            advance(next, Stage::Uploading, now)
        }
        (Stage::Uploading, Event::Placed(start)) => {
            next.start = Some(start);
            advance(next, Stage::Submitting, now)
        }
        (Stage::Submitting, Event::Signed { tag, nonce, signed }) if next.giving_up.is_none() => {
            let feedback = open(next, tag).filter(|feedback| feedback.slot.is_none())?;
            feedback.slot = Some(NonceRecord { nonce, signed: vec![signed] });
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
        (Stage::Submitting, Event::NonceSpent { tag, nonce, by }) => {
            let feedback = open(next, tag)?;
            feedback.slot.take_if(|slot| slot.nonce == nonce)?;
            feedback.lost.push(nonce);
            let lost = feedback.lost.len();
            match by {
                SpentBy::Revert(landed) => {
                    next.charged = true;
                    let hash = landed.hash;
                    give_up(
                        next,
                        format!("The Reputation Registry reverted the feedback for {tag} in transaction {hash}"),
                    );
                }
                SpentBy::OutOfGas(_) if lost >= MOST_IN_VAIN => {
                    give_up(next, format!("The transactions for {tag} keep running out of gas"));
                }
                SpentBy::Cancellation(_) if lost >= MOST_IN_VAIN && next.giving_up.is_none() => {
                    next.charged = true;
                    give_up(next, format!("The Reputation Registry keeps refusing the waiting transactions for {tag}"));
                }
                SpentBy::Foreign if lost >= MOST_LOST => {
                    give_up(next, "Other transactions keep using the account of this service".to_owned());
                }
                SpentBy::OutOfGas(_) | SpentBy::Foreign | SpentBy::Cancellation(_) => {}
            }
            Some(())
        }
        (Stage::Submitting, Event::Retry(what)) => {
            // The next poll tries again without a wait, and the same failure is stored once.
            (next.trouble.as_ref() != Some(&what)).then(|| next.trouble = Some(what))
        }
        (_, Event::Waits(what)) => {
            let is_new = next.trouble != what;
            next.trouble = what;
            is_new.then_some(())
        }
        (_, Event::Retry(what)) => {
            next.attempts = next.attempts.saturating_add(1);
            next.next_at = now + backoff(next.attempts);
            next.trouble = Some(what);
            Some(())
        }
        (_, Event::Refused(what)) if next.giving_up.is_none() => {
            give_up(next, what);
            Some(())
        }
        (_, Event::Unscored(what)) if next.giving_up.is_none() => {
            next.was_read = true;
            give_up(next, what);
            Some(())
        }
        (_, Event::Declined(what)) if next.giving_up.is_none() => {
            next.charged = next.scores.is_some();
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

/// Ends a submission: confirmed if all feedback was mined, also after giving up; failed if it gave up and nothing can
/// be mined any more.
fn finish(next: &mut SubmissionRecord) {
    let all_landed = !next.feedback.is_empty() && next.feedback.iter().all(|feedback| feedback.landed.is_some());
    if next.stage == Stage::Submitting && all_landed {
        (next.stage, next.trouble, next.giving_up) = (Stage::Confirmed, None, None);
        return;
    }
    let may_land = next.feedback.iter().any(|feedback| feedback.slot.is_some() && feedback.landed.is_none());
    if !may_land && let Some(why) = next.giving_up.take() {
        next.stage = Stage::Failed;
        next.error = Some(why + &consequences(next));
    }
}

/// The feedback that a failed submission left on the chain, and the refund of its price.
fn consequences(record: &SubmissionRecord) -> String {
    let landed: Vec<_> = record
        .feedback
        .iter()
        .filter(|feedback| feedback.landed.is_some())
        .map(|feedback| feedback.tag.as_str())
        .collect();
    let price = match (&record.payer, record.charged) {
        (Payer::Key { units, read, .. }, false) if record.was_read && *read > 0 => {
            return format!(
                "; the read of the wallet costs {read} of the {units} units, and the others were given back"
            );
        }
        (Payer::Key { .. }, false) => "the units were given back",
        (Payer::Payment(_), false) => {
            "the payment was kept for you: the same request with the same payment is tried again"
        }
        (Payer::Key { .. }, true) => "the scores were computed, so the units stay spent",
        (Payer::Payment(_), true) => "the scores were computed, so the payment stays spent",
    };
    if landed.is_empty() {
        format!("; {price}")
    } else {
        format!("; of its tags only {} reached the chain; {price}", landed.join(", "))
    }
}

/// Why a submission fails that was not done in time.
pub fn not_done(within: Duration, last_obstacle: Option<&str>) -> String {
    let obstacle = last_obstacle.map(|obstacle| format!("; the last obstacle: {obstacle}")).unwrap_or_default();
    format!("Not done within {} seconds{obstacle}", within.as_secs())
}

fn backoff(attempts: u32) -> Duration {
    BACKOFF.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(MAX_BACKOFF)
}
