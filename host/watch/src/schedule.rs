//! When a delivery is tried again, and when it is given up: ten attempts over about three days.

use std::time::Duration;

use crate::records::{AttemptRecord, DeliveryRecord, Stopped};
use assay_domain::Time;

/// Time after each failed attempt.
const AFTER: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// Maximum time that a receiver can ask for by `Retry-After`, in seconds.
const MOST: u64 = 86_400;
/// Share of the time by which it varies at random.
const JITTER: f64 = 0.1;
/// Attempts to get the consent of a receiver, who may be a victim.
const CONSENT: u32 = 3;
/// Attempts that are kept for the owner.
const KEPT: usize = 20;

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Taken: 2xx.
    Taken,
    /// 410.
    Gone,
    /// Anything else; with the time of `Retry-After`.
    Failed(Option<Duration>),
}

impl DeliveryRecord {
    /// The number of the event that is sent next.
    pub(crate) fn next(&self) -> u64 {
        self.replay.map_or(self.through + 1, |(from, _)| from)
    }

    /// A delivery is also due if its last attempt is later than `now`: the clock went back.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        let went_back = self.latest.last().is_some_and(|last| last.at > now);
        self.stopped.is_none() && (went_back || self.next_at.is_none_or(|at| at <= now))
    }

    /// After an attempt at `now`, which was of `replay` if that is given. `dice`, from 0 to 1, decides the jitter.
    ///
    /// The record may have changed since the attempt began: a replay that was requested meanwhile begins at its own
    /// first event.
    pub(crate) fn tried(
        &mut self,
        (attempt, replay): (AttemptRecord, Option<(u64, u64)>),
        outcome: Outcome,
        (now, dice): (Time, f64),
    ) {
        // The attempts before were of another event.
        if self.latest.last().is_some_and(|last| last.seq != attempt.seq) {
            self.begin_schedule();
        }
        match outcome {
            Outcome::Taken => {
                self.begin_schedule();
                match (attempt.seq, replay) {
                    (None, _) => self.confirmed = true,
                    (Some(seq), None) => self.through = self.through.max(seq),
                    (Some(seq), Some((_, to))) => {
                        if self.replay == replay {
                            self.replay = (seq < to).then_some((seq + 1, to));
                        }
                        // Events before it may not have been delivered.
                        self.through += u64::from(seq == self.through + 1);
                    }
                }
            }
            Outcome::Gone => self.stopped = Some(Stopped::Gone),
            Outcome::Failed(asked) => {
                let after = usize::try_from(self.attempts).ok().and_then(|tried| AFTER.get(tried));
                self.attempts += 1;
                let after = after.filter(|_| attempt.seq.is_some() || self.attempts < CONSENT);
                match after {
                    None => self.stopped = Some(Stopped::Failing),
                    Some(seconds) => {
                        let varied = *seconds as f64 * (1.0 - JITTER + 2.0 * JITTER * dice.clamp(0.0, 1.0));
                        let asked = asked.map_or(0, |asked| asked.as_secs().min(MOST));
                        let wait = Duration::from_secs_f64(varied).max(Duration::from_secs(asked));
                        self.next_at = Some(now + wait);
                    }
                }
            }
        }
        self.latest.push(attempt);
        let more = self.latest.len().saturating_sub(KEPT);
        self.latest.drain(..more);
    }

    /// Begins the schedule anew, for another event.
    pub(crate) fn begin_schedule(&mut self) {
        (self.attempts, self.next_at) = (0, None);
    }

    /// Starts delivery at the event `next`. There was no receiver for earlier events.
    pub(crate) fn begin(&mut self, next: u64) {
        (self.through, self.replay) = (next.saturating_sub(1), None);
    }

    /// Resumes a stopped delivery at once, and begins its schedule anew.
    pub(crate) fn resume(&mut self) {
        self.stopped = None;
        self.begin_schedule();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::time_from_unix;

    const NOW: u64 = 1_790_000_000;

    fn attempt(seq: Option<u64>) -> AttemptRecord {
        AttemptRecord { seq, at: time_from_unix(NOW), delivered: false, outcome: "status 500".into(), took_ms: 1 }
    }

    #[test]
    fn ten_attempts_take_about_three_days_and_then_it_stops() {
        for dice in [0.0, 1.0] {
            let (mut record, mut now, mut tries) = (DeliveryRecord::default(), time_from_unix(NOW), 0);
            while record.stopped.is_none() {
                assert!(record.is_due(now));
                record.tried((attempt(Some(1)), None), Outcome::Failed(None), (now, dice));
                tries += 1;
                now = record.next_at.unwrap_or(now);
            }
            let hours = (now - time_from_unix(NOW)).num_hours();
            assert!(tries == 10 && (66..=84).contains(&hours), "{tries} tries in {hours} hours");
            assert_eq!((record.stopped, record.next()), (Some(Stopped::Failing), 1));
            record.resume();
            assert!(record.is_due(now));
        }
    }

    #[test]
    fn another_event_has_its_own_attempts() {
        let mut record = DeliveryRecord::default();
        for (seq, attempts) in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)] {
            record.tried((attempt(Some(seq)), None), Outcome::Failed(None), (time_from_unix(NOW), 0.5));
            assert_eq!((record.attempts, record.stopped), (attempts, None));
        }
        assert_eq!(record.next_at, Some(time_from_unix(NOW + 300)));
    }

    #[test]
    fn a_retry_does_not_wait_for_a_clock_that_went_back() {
        let mut record = DeliveryRecord::default();
        record.tried((attempt(Some(1)), None), Outcome::Failed(None), (time_from_unix(NOW), 0.5));
        assert_eq!(
            [NOW, NOW + 4, NOW + 5, NOW - 1].map(|now| record.is_due(time_from_unix(now))),
            [false, false, true, true]
        );
    }

    #[test]
    fn a_receiver_that_asks_for_time_gets_it_up_to_a_day() {
        let wait = |asked| {
            let mut record = DeliveryRecord::default();
            let outcome = Outcome::Failed(Some(Duration::from_secs(asked)));
            record.tried((attempt(Some(1)), None), outcome, (time_from_unix(NOW), 0.5));
            (record.next_at.unwrap() - time_from_unix(NOW)).num_seconds()
        };
        assert_eq!([wait(0), wait(120), wait(1_000_000)], [5, 120, 86_400]);
    }

    #[test]
    fn a_receiver_that_does_not_agree_is_asked_three_times() {
        let (mut record, mut now) = (DeliveryRecord::default(), time_from_unix(NOW));
        for _ in 0..3 {
            assert!(record.is_due(now));
            record.tried((attempt(None), None), Outcome::Failed(None), (now, 0.5));
            now = record.next_at.unwrap_or(now);
        }
        assert_eq!((record.stopped, record.confirmed), (Some(Stopped::Failing), false));
    }

    #[test]
    fn gone_ends_it() {
        let mut record = DeliveryRecord::default();
        record.tried((attempt(Some(1)), None), Outcome::Gone, (time_from_unix(NOW), 0.5));
        assert!(!record.is_due(time_from_unix(NOW + 1_000_000)));
    }

    #[test]
    fn a_replay_comes_before_the_next_event_and_skips_none() {
        let mut record = DeliveryRecord { through: 5, replay: Some((2, 3)), ..DeliveryRecord::default() };
        let mut sent = Vec::new();
        for _ in 0..4 {
            sent.push(record.next());
            let sent = (attempt(Some(record.next())), record.replay);
            record.tried(sent, Outcome::Taken, (time_from_unix(NOW), 0.5));
        }
        assert_eq!((sent, record.through), (vec![2, 3, 6, 7], 7));
    }

    #[test]
    fn a_replay_of_events_that_are_still_to_come_skips_none_before_them() {
        let mut record = DeliveryRecord { through: 5, replay: Some((7, 8)), ..DeliveryRecord::default() };
        let mut sent = Vec::new();
        for _ in 0..5 {
            sent.push(record.next());
            let attempt = (attempt(Some(record.next())), record.replay);
            record.tried(attempt, Outcome::Taken, (time_from_unix(NOW), 0.5));
        }
        assert_eq!(sent, [7, 8, 6, 7, 8]);
    }

    #[test]
    fn a_replay_that_was_requested_during_an_attempt_is_whole() {
        for (of, replay) in [(None, Some((2, 4))), (None, Some((2, 20))), (Some((9, 12)), Some((2, 4)))] {
            let mut record = DeliveryRecord { through: 8, replay, ..DeliveryRecord::default() };
            record.tried((attempt(Some(9)), of), Outcome::Taken, (time_from_unix(NOW), 0.5));
            assert_eq!((record.replay, record.through), (replay, 9));
        }
    }

    #[test]
    fn the_latest_attempts_are_kept() {
        let mut record = DeliveryRecord::default();
        for seq in 1..=50 {
            record.tried((attempt(Some(seq)), None), Outcome::Taken, (time_from_unix(NOW), 0.5));
        }
        assert_eq!((record.latest.len(), record.latest[0].seq), (KEPT, Some(31)));
    }
}
