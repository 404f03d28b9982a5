//! The pace against simulated endpoints that count requests or calls: over the last second, over clock seconds, or with
//! a bucket that refills evenly.

mod endpoint;

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use endpoint::{Counting, Endpoint, SECOND};

/// Maximum requests in progress.
const PERMITS: usize = 15;

/// A request in progress.
struct InProgress {
    sent: SentRequest,
    calls: usize,
    arrives: u64,
    returns: u64,
    answers: bool,
}

#[derive(Debug, Default)]
struct Tally {
    sent: usize,
    refused: usize,
    calls: usize,
}

impl Tally {
    fn answered(&self, unit: LoadUnit) -> usize {
        if unit == LoadUnit::Calls { self.calls } else { self.sent - self.refused }
    }
}

/// Readers that always want more, in batches with these numbers of calls.
struct Readers<'a> {
    pace: Pace,
    batches: &'a [usize],
    next: usize,
    waiting: VecDeque<usize>,
}

impl Readers<'_> {
    /// The number of calls of the next request, at most what the pace accepts at once.
    fn next(&mut self) -> usize {
        let wanted = self.waiting.pop_front().unwrap_or_else(|| {
            self.next += 1;
            self.batches[self.next % self.batches.len()]
        });
        let calls = wanted.min(self.pace.ceiling());
        if wanted > calls {
            self.waiting.push_front(wanted - calls);
        }
        calls
    }
}

fn simulate(mut endpoint: Endpoint, bound: Option<u32>, batches: &[usize], length: u64) -> (Tally, Pace) {
    let start = Instant::now();
    let at = |millis| start + Duration::from_millis(millis);
    let mut readers = Readers { pace: Pace::new(bound), batches, next: 0, waiting: VecDeque::new() };
    let mut tally = Tally::default();
    let mut in_progress = Vec::<InProgress>::new();
    for now in 0..length {
        for request in in_progress.iter_mut().filter(|request| request.arrives == now) {
            request.answers = endpoint.answers(request.calls, now);
        }
        for request in in_progress.extract_if(.., |request| request.returns <= now) {
            if request.answers {
                tally.calls += request.calls;
                readers.pace.on_answered(&request.sent, at(now));
            } else {
                tally.refused += 1;
                let after = endpoint.says_when.then(|| endpoint.until_next(now));
                readers.pace.on_refused(&request.sent, after, at(now));
                readers.waiting.push_front(request.calls);
            }
        }
        while in_progress.len() < PERMITS {
            let calls = readers.next();
            if !readers.pace.delay(calls, at(now)).is_zero() {
                readers.waiting.push_front(calls);
                break;
            }
            let sent = readers.pace.on_sent(calls, at(now));
            tally.sent += 1;
            // Times vary by a tenth.
            let takes = endpoint.takes + endpoint.takes * (tally.sent as u64 % 3) / 20;
            let (arrives, returns) = (now + takes / 2 + 1, now + takes + 2);
            in_progress.push(InProgress { sent, calls, arrives, returns, answers: false });
        }
    }
    (tally, readers.pace)
}

/// Asserts that at most a twentieth of the requests is refused, and that at least this percentage of the limit is used.
fn keeps_to(endpoint: &Endpoint, batch: usize, percent: usize) -> Result<(), TestCaseError> {
    const LENGTH: u64 = 120;
    let (tally, pace) = simulate(endpoint.clone(), None, &[1, 1, batch], LENGTH * SECOND);
    prop_assert!(tally.refused * 20 <= tally.sent, "{tally:?}");
    let possible = PERMITS as u64 * LENGTH * SECOND / endpoint.takes;
    let allowed = (endpoint.limit as u64 * LENGTH).min(possible) as usize;
    prop_assert!(tally.answered(endpoint.unit) * 100 >= allowed * percent, "{tally:?} of {allowed}");
    prop_assert!(tally.refused == 0 || pace.is_limited());
    Ok(())
}

prop_compose! {
    fn endpoint(limits: std::ops::Range<usize>)(
        limit in limits,
        is_for_calls in any::<bool>(),
        counting in prop_oneof![Just(Counting::Sliding), (0..SECOND).prop_map(Counting::Clock), Just(Counting::Bucket)],
        counts_refused in any::<bool>(),
        says_when in any::<bool>(),
        takes in 1..=800_u64,
    ) -> Endpoint {
        let unit = if is_for_calls { LoadUnit::Calls } else { LoadUnit::Requests };
        Endpoint { limit, unit, counting, counts_refused, says_when, takes, counted: Vec::new() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_limit_of_ten_is_kept_and_used(endpoint in endpoint(10..11), batch in 1..=20_usize) {
        keeps_to(&endpoint, batch, 60)?;
    }

    /// If large batches share a second with few others, it takes longer to learn that calls are counted.
    #[test]
    fn any_limit_is_kept_and_used(endpoint in endpoint(5..300), batch in 1..=20_usize) {
        keeps_to(&endpoint, batch, 50)?;
    }

    #[test]
    fn a_configured_bound_is_kept(bound in 1..=50_u32, batch in 1..=20_usize) {
        let (tally, _) = simulate(steady(1_000, LoadUnit::Calls, 5), Some(bound), &[1, batch], 20 * SECOND);
        prop_assert!(tally.calls <= bound as usize * 20 && tally.refused == 0, "{tally:?}");
        prop_assert!(tally.calls * 10 >= bound as usize * 20 * 6, "{tally:?}");
    }
}

fn steady(limit: usize, unit: LoadUnit, takes: u64) -> Endpoint {
    Endpoint {
        limit,
        unit,
        counting: Counting::Sliding,
        counts_refused: true,
        says_when: false,
        takes,
        counted: Vec::new(),
    }
}

#[test]
fn an_endpoint_without_a_limit_is_soon_asked_at_full_speed() {
    let (tally, pace) = simulate(steady(usize::MAX, LoadUnit::Calls, 50), None, &[1, 100], 5 * SECOND);
    assert!(tally.sent > PERMITS * 20 * 4 && !pace.is_limited(), "{tally:?}");
}

#[test]
fn calls_that_are_counted_make_batches_smaller() {
    let (tally, pace) = simulate(steady(10, LoadUnit::Calls, 50), None, &[1, 14], 30 * SECOND);
    assert!((1..=4).contains(&pace.ceiling()), "{}", pace.ceiling());
    assert!(tally.calls > 180, "{tally:?}");
    let (_, pace) = simulate(steady(10, LoadUnit::Requests, 50), None, &[1, 14], 30 * SECOND);
    assert_eq!(pace.ceiling(), usize::MAX);
}

#[test]
fn a_limit_that_refuses_nothing_any_more_is_forgotten() {
    let (_, mut pace) = simulate(steady(10, LoadUnit::Requests, 50), None, &[1], 10 * SECOND);
    assert!(pace.is_limited());
    let later = Instant::now() + FORGET + Duration::from_secs(60);
    assert!(pace.delay(1, later).is_zero() && !pace.is_limited());
}

#[test]
fn a_refusal_holds_all_requests_as_long_as_the_endpoint_says() {
    let (mut pace, now) = (Pace::new(None), Instant::now());
    let sent = pace.on_sent(1, now);
    let seconds = Duration::from_secs;
    pace.on_refused(&sent, Some(seconds(3)), now);
    assert_eq!(pace.delay(1, now), seconds(3) + pauses::RATE_MARGIN);
    // A pause that proves too short no longer counts.
    let mut now = now + seconds(4);
    for expected in
        [pauses::RATE_HOLD, 2 * pauses::RATE_HOLD, 4 * pauses::RATE_HOLD, pauses::MAX_RATE_HOLD, pauses::MAX_RATE_HOLD]
    {
        let sent = pace.on_sent(1, now);
        assert!(pace.delay(1, now) > Duration::ZERO, "one request at a time");
        pace.on_refused(&sent, Some(Duration::ZERO), now);
        let hold = pace.delay(1, now);
        assert_eq!(hold, expected);
        now += hold;
    }
    assert_eq!(pace.ceiling(), usize::MAX);
}
