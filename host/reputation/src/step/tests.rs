//! The step function: every stage with every event, and the rules for any sequence of events.

use alloy::primitives::Bytes;
use proptest::prelude::*;

use super::*;
use crate::{
    document,
    sample::{after, now, pending, scores},
};
use assay_domain::B256;

const HOUR: Duration = Duration::from_secs(3600);

fn signed(n: u8, cancels: bool) -> SignedRecord {
    SignedRecord {
        hash: B256::repeat_byte(n),
        raw: Bytes::from(vec![n]),
        max_fee: 9,
        priority_fee: 1,
        at: now(),
        cancels,
    }
}

fn scored() -> Event {
    let (record, scores) = (pending(), scores());
    Event::Scored { feedback: document::feedback(&record, &scores, &document::Beside::default()).unwrap(), scores }
}

fn landed() -> LandedRecord {
    LandedRecord { hash: B256::repeat_byte(1), block: 5, gas_used: 6, cost: 7 }
}

/// Every event, those about a tag for the first one.
fn events() -> Vec<Event> {
    let tag = Tag::CreditScore;
    vec![
        Event::Begun,
        scored(),
        Event::Placed(Start { block: 4, given: 0, owner: None }),
        Event::Signed { tag, nonce: 3, signed: signed(1, false) },
        Event::Replaced { tag, signed: signed(2, false) },
        Event::Landed { tag, landed: landed() },
        Event::NonceSpent { tag, nonce: 3, by: SpentBy::Cancellation(landed()) },
        Event::NonceSpent { tag, nonce: 3, by: SpentBy::Revert(landed()) },
        Event::NonceSpent { tag, nonce: 3, by: SpentBy::Foreign },
        Event::Waits(Some("a free nonce".into())),
        Event::Retry("words".into()),
        Event::Refused("no".into()),
        Event::Tick,
    ]
}

fn after_all(events: impl IntoIterator<Item = Event>) -> SubmissionRecord {
    events.into_iter().fold(pending(), |record, event| step(&record, event, now(), HOUR).unwrap_or(record))
}

/// A record in every situation, by name.
fn situations() -> Vec<(&'static str, SubmissionRecord)> {
    let all = events();
    let take = |n: usize| after_all(all[..n].iter().cloned());
    let confirmed = SubmissionRecord { stage: Stage::Confirmed, ..take(4) };
    let failed = SubmissionRecord { stage: Stage::Failed, error: Some("no".into()), ..take(2) };
    let draining = step(&take(4), Event::Refused("no".into()), now(), HOUR).unwrap();
    vec![
        ("pending", take(0)),
        ("scoring", take(1)),
        ("uploading", take(2)),
        ("submitting", take(3)),
        ("under way", take(4)),
        ("draining", draining),
        ("confirmed", confirmed),
        ("failed", failed),
    ]
}

#[test]
fn every_stage_answers_every_event_as_the_table_says() {
    use Stage::{Failed, Pending, Scoring, Submitting, Uploading};
    // In the order of `events`; `None` if nothing changes.
    let table: [(&str, [Option<Stage>; 13]); 8] = [
        (
            "pending",
            [
                Some(Scoring),
                None,
                None,
                None,
                None,
                None,
                None,
                None,
                None,
                Some(Pending),
                Some(Pending),
                Some(Failed),
                None,
            ],
        ),
        (
            "scoring",
            [
                None,
                Some(Uploading),
                None,
                None,
                None,
                None,
                None,
                None,
                None,
                Some(Scoring),
                Some(Scoring),
                Some(Failed),
                None,
            ],
        ),
        (
            "uploading",
            [
                None,
                None,
                Some(Submitting),
                None,
                None,
                None,
                None,
                None,
                None,
                Some(Uploading),
                Some(Uploading),
                Some(Failed),
                None,
            ],
        ),
        (
            "submitting",
            [
                None,
                None,
                None,
                Some(Submitting),
                None,
                None,
                None,
                None,
                None,
                Some(Submitting),
                Some(Submitting),
                Some(Failed),
                None,
            ],
        ),
        (
            "under way",
            [
                None,
                None,
                None,
                None,
                Some(Submitting),
                Some(Submitting),
                Some(Submitting),
                Some(Failed),
                Some(Submitting),
                Some(Submitting),
                Some(Submitting),
                Some(Submitting),
                None,
            ],
        ),
        (
            "draining",
            [
                None,
                None,
                None,
                None,
                Some(Submitting),
                Some(Failed),
                Some(Failed),
                Some(Failed),
                Some(Failed),
                Some(Submitting),
                Some(Submitting),
                None,
                None,
            ],
        ),
        ("confirmed", [None; 13]),
        ("failed", [None; 13]),
    ];
    for ((name, record), (row, wanted)) in situations().into_iter().zip(table) {
        assert_eq!(name, row);
        for (event, wanted) in events().into_iter().zip(wanted) {
            let next = step(&record, event.clone(), after(1), HOUR);
            assert_eq!(next.map(|next| next.stage), wanted, "{name}: {event:?}");
        }
    }
}

#[test]
fn a_tag_gets_another_nonce_only_when_the_first_has_come_to_nothing() {
    let tag = Tag::CreditScore;
    let under_way = situations().swap_remove(4).1;
    let again = Event::Signed { tag, nonce: 4, signed: signed(3, false) };
    assert_eq!(step(&under_way, again.clone(), now(), HOUR), None);
    let other = Event::NonceSpent { tag, nonce: 9, by: SpentBy::Foreign };
    assert_eq!(step(&under_way, other, now(), HOUR), None, "a nonce that the tag does not have");
    let free = step(&under_way, Event::NonceSpent { tag, nonce: 3, by: SpentBy::Foreign }, now(), HOUR).unwrap();
    let signed = step(&free, again, now(), HOUR).unwrap();
    assert_eq!((signed.feedback[0].slot.as_ref().unwrap().nonce, signed.feedback[0].lost.as_slice()), (4, &[3][..]));
}

#[test]
fn what_may_still_be_mined_is_drained_before_it_fails() {
    let draining = step(&situations().swap_remove(4).1, Event::Tick, after(3600), HOUR).unwrap();
    assert_eq!((draining.stage, draining.giving_up.is_some()), (Stage::Submitting, true));
    let cancelled = Event::NonceSpent { tag: Tag::CreditScore, nonce: 3, by: SpentBy::Cancellation(landed()) };
    let failed = step(&draining, cancelled, after(3700), HOUR).unwrap();
    assert_eq!(failed.stage, Stage::Failed);
    assert!(failed.error.unwrap().ends_with("; the units were given back"));
    let landed = step(&draining, Event::Landed { tag: Tag::CreditScore, landed: landed() }, after(3700), HOUR).unwrap();
    assert!(landed.error.unwrap().contains("of its tags only creditScore reached the chain"));
}

#[test]
fn a_wallet_that_cannot_be_scored_costs_its_read() {
    let failed = step(&situations().swap_remove(0).1, Event::Unscored("No activity".into()), now(), HOUR).unwrap();
    assert_eq!((failed.stage, failed.charged, failed.was_read), (Stage::Failed, false, true));
    let error = failed.error.unwrap();
    assert_eq!(error, "No activity; the read of the wallet costs 1 of the 10 units, and the others were given back");
}

#[test]
fn all_tags_together_are_a_confirmation_also_when_time_is_up() {
    let mut record = step(&situations().swap_remove(4).1, Event::Tick, after(3600), HOUR).unwrap();
    for feedback in &mut record.feedback {
        feedback.slot.get_or_insert(NonceRecord { nonce: 8, signed: vec![signed(7, false)] });
    }
    for tag in Tag::ALL {
        assert_eq!(record.stage, Stage::Submitting);
        record = step(&record, Event::Landed { tag, landed: landed() }, after(3700), HOUR).unwrap();
    }
    assert_eq!((record.stage, record.error, record.giving_up), (Stage::Confirmed, None, None));
}

#[test]
fn trouble_backs_off_within_bounds_and_ends() {
    let (mut record, mut at, mut tries) = (pending(), now(), 0);
    while !record.stage.is_terminal() {
        record = step(&record, Event::Retry("the node is away".into()), at, HOUR).unwrap();
        let wait = (record.next_at - at).to_std().unwrap_or_default();
        assert!(record.stage.is_terminal() || (BACKOFF..=MAX_BACKOFF).contains(&wait), "{wait:?}");
        at = record.next_at.max(at + Duration::from_millis(1));
        tries += 1;
    }
    assert!(tries < 400, "{tries}");
    assert!(record.error.unwrap().contains("the node is away"));
}

#[test]
fn a_lack_of_gas_is_tried_again_and_not_for_ever() {
    let tag = Tag::SybilRisk;
    for by in [SpentBy::OutOfGas(landed()), SpentBy::Cancellation(landed())] {
        let mut record = situations().swap_remove(3).1;
        for nonce in 0..3 {
            let under_way = step(&record, Event::Signed { tag, nonce, signed: signed(1, false) }, now(), HOUR).unwrap();
            record = step(&under_way, Event::NonceSpent { tag, nonce, by }, now(), HOUR).unwrap();
        }
        let error = record.error.unwrap();
        assert!(error.contains("for sybilRisk"), "{error}");
        // The owner of the agent can cause the refusal, and not the lack of gas.
        assert_eq!(record.charged, by == SpentBy::Cancellation(landed()), "{error}");
    }
}

#[test]
fn a_revert_ends_it_at_once_and_is_charged() {
    let tag = Tag::CreditScore;
    let under_way = situations().swap_remove(4).1;
    let reverted = Event::NonceSpent { tag, nonce: 3, by: SpentBy::Revert(landed()) };
    let failed = step(&under_way, reverted.clone(), now(), HOUR).unwrap();
    assert_eq!((failed.stage, failed.charged), (Stage::Failed, true));
    assert!(failed.error.unwrap().ends_with("; the scores were computed, so the units stay spent"));
    // Also where it had given up for a reason that gives the units back.
    let late = step(&under_way, Event::Tick, after(3600), HOUR).unwrap();
    assert!(step(&late, reverted, after(3601), HOUR).unwrap().charged);
}

#[test]
fn a_refusal_before_the_scores_costs_nothing_and_one_after_them_is_charged() {
    for (name, record) in situations().into_iter().take(4) {
        let failed = step(&record, Event::Declined("no".into()), now(), HOUR).unwrap();
        assert_eq!((failed.stage, failed.charged), (Stage::Failed, record.scores.is_some()), "{name}");
    }
}

#[test]
fn an_account_that_others_use_all_the_time_is_given_up() {
    let tag = Tag::CreditScore;
    let mut record = situations().swap_remove(3).1;
    for nonce in 0.. {
        let Some(next) = step(&record, Event::Signed { tag, nonce, signed: signed(1, false) }, now(), HOUR) else {
            break;
        };
        record = step(&next, Event::NonceSpent { tag, nonce, by: SpentBy::Foreign }, now(), HOUR).unwrap();
    }
    assert_eq!((record.stage, record.feedback[0].lost.len()), (Stage::Failed, MOST_LOST));
}

proptest! {
    #[test]
    fn whatever_happens_the_rules_hold(picks in prop::collection::vec((0..13_usize, 0..3_usize, 0..400_u64), 0..60)) {
        let (mut record, mut at) = (pending(), 0);
        for (pick, tag, pass) in picks {
            at += pass;
            let mut event = events().swap_remove(pick);
            if let Event::Signed { tag: of, .. }
            | Event::Replaced { tag: of, .. }
            | Event::Landed { tag: of, .. }
            | Event::NonceSpent { tag: of, .. } = &mut event
            {
                *of = Tag::ALL[tag];
            }
            let Some(next) = step(&record, event.clone(), after(at), HOUR) else { continue };
            prop_assert!(!record.stage.is_terminal(), "{:?} left {:?}", event, record.stage);
            prop_assert!(next.stage >= record.stage, "went back by {event:?}");
            for (before, now) in record.feedback.iter().zip(&next.feedback) {
                prop_assert!(before.landed.is_none() || before.landed == now.landed);
                // A nonce with signed transactions ends only by an event with its outcome.
                let spent = matches!(event, Event::NonceSpent { .. });
                prop_assert!(before.slot.is_none() || now.slot.is_some() || spent, "{event:?}");
            }
            let live = next.feedback.iter().any(|feedback| feedback.slot.is_some() && feedback.landed.is_none());
            prop_assert!(next.stage != Stage::Failed || (!live && next.error.is_some()),
                "failed with a transaction under way");
            let all_landed = next.feedback.iter().all(|feedback| feedback.landed.is_some());
            prop_assert!(next.stage != Stage::Confirmed || all_landed);
            prop_assert_eq!(&next.payer, &record.payer);
            record = next;
        }
    }
}
