//! The order in which payments are checked, so that payments without progress leave room for the others.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use super::records::PaymentRecord;
use assay_domain::{Address, PaymentId};

/// Maximum number of concurrent first looks.
const NEW: usize = 48;
/// Maximum number of concurrent checks of payments of one payer.
const OF_PAYER: usize = 4;
/// Maximum number of concurrent checks of payments that an earlier check did not settle.
const AGAIN: usize = 16;
/// Age from which a look gives its place to a waiting payment.
const SLOW: Duration = Duration::from_secs(2);
/// Wait before the second check of a payment; it grows by half with each check.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);

/// The looks of one worker.
#[derive(Default)]
pub(super) struct Schedule {
    busy: HashMap<PaymentId, Visit>,
    /// Looks so far, and the time from which another one is due.
    looks: HashMap<PaymentId, (u32, Instant)>,
}

/// A look that has not ended.
struct Visit {
    since: Instant,
    leave: CancellationToken,
}

impl Schedule {
    /// The payments of `open` to check now: new ones first, then those that have waited longest. The token of a payment
    /// is cancelled when another payment needs its place.
    pub(super) fn due(&mut self, open: Vec<PaymentRecord>, now: Instant) -> Vec<(PaymentRecord, CancellationToken)> {
        let known: HashSet<PaymentId> = open.iter().map(|record| record.id).collect();
        self.looks.retain(|id, _| known.contains(id));
        let (mut again, mut new): (Vec<_>, Vec<_>) = open
            .into_iter()
            .filter(|record| !self.busy.contains_key(&record.id))
            .partition(|record| self.is_seen(record));
        again.retain(|record| self.looks.get(&record.id).is_none_or(|(_, due)| *due <= now));
        again.sort_by_key(|record| self.looks.get(&record.id).map(|(_, due)| *due));
        let mut of_payer: HashMap<Address, usize> = HashMap::new();
        self.busy.keys().for_each(|id| *of_payer.entry(id.from).or_default() += 1);
        let mut has_lane = |record: &PaymentRecord| {
            let lanes = of_payer.entry(record.id.from).or_default();
            *lanes += 1;
            *lanes <= OF_PAYER
        };
        new.retain(&mut has_lane);
        again.retain(&mut has_lane);
        let is_again = |id: &PaymentId| self.looks.contains_key(id);
        let busy_again = self.busy.keys().filter(|id| is_again(id)).count();
        let free_again = AGAIN.saturating_sub(busy_again);
        let free_new = NEW.saturating_sub(self.busy.len() - busy_again);
        self.make_room(again.len().saturating_sub(free_again), is_again, now);
        self.make_room(new.len().saturating_sub(free_new), |id| !is_again(id), now);
        let due: Vec<_> = new.into_iter().take(free_new).chain(again.into_iter().take(free_again)).collect();
        due.into_iter().map(|record| self.begin(record, now)).collect()
    }

    /// Cancels the oldest slow looks, up to `places` of them.
    fn make_room(&self, places: usize, may_end: impl Fn(&PaymentId) -> bool, now: Instant) {
        let is_slow = |look: &Visit| now.saturating_duration_since(look.since) >= SLOW;
        let mut slow: Vec<&Visit> =
            self.busy.iter().filter(|(id, look)| may_end(id) && is_slow(look)).map(|(_, look)| look).collect();
        slow.sort_by_key(|look| look.since);
        slow.into_iter().take(places).for_each(|look| look.leave.cancel());
    }

    fn begin(&mut self, record: PaymentRecord, now: Instant) -> (PaymentRecord, CancellationToken) {
        let leave = CancellationToken::new();
        self.busy.insert(record.id, Visit { since: now, leave: leave.clone() });
        if record.attempts > 0 {
            self.looks.entry(record.id).or_insert((0, now));
        }
        (record, leave)
    }

    /// A payment that an earlier worker sent to the facilitator is not new either.
    fn is_seen(&self, record: &PaymentRecord) -> bool {
        self.looks.contains_key(&record.id) || record.attempts > 0
    }

    /// A look has ended.
    pub(super) fn done(&mut self, id: PaymentId, now: Instant) {
        self.busy.remove(&id);
        let looks = self.looks.get(&id).map_or(0, |(looks, _)| *looks).saturating_add(1);
        let mut wait = FIRST;
        for _ in 1..looks.min(20) {
            wait = (wait * 3 / 2).min(LONGEST);
        }
        self.looks.insert(id, (looks, now + wait));
    }
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Bytes, U256};

    use super::*;
    use crate::records::PaymentState;
    use assay_domain::{Authorization, B256, time_from_unix};

    fn payment(payer: u8, number: u64) -> PaymentRecord {
        let authorization = Authorization {
            from: Address::with_last_byte(payer),
            to: Address::with_last_byte(1),
            value: U256::from(1),
            valid_after: U256::ZERO,
            valid_before: U256::MAX,
            nonce: B256::from(U256::from(u64::from(payer) << 32 | number)),
        };
        let at = time_from_unix(number);
        PaymentRecord {
            id: PaymentId { chain: 1, asset: Address::ZERO, from: authorization.from, nonce: authorization.nonce },
            authorization,
            claimed_at: at,
            updated_at: at,
            next_at: at,
            state: PaymentState::Open,
            signature: Bytes::new(),
            request: B256::ZERO,
            purchase: None,
            start: None,
            slot: None,
            by_contract: false,
            network: None,
            waits: None,
            reverted: false,
            order: None,
            attempts: 0,
            trouble: None,
        }
    }

    #[test]
    fn one_payer_has_few_places_and_a_slow_look_gives_its_place_to_a_new_payment() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        let mut open: Vec<_> = (0..40).map(|number| payment(1, number)).collect();
        assert_eq!(schedule.due(open.clone(), start).len(), OF_PAYER, "of one payer");
        open.push(payment(2, 0));
        let due = schedule.due(open.clone(), start);
        assert_eq!(due.iter().map(|(record, _)| record.id.from).collect::<Vec<_>>(), [Address::with_last_byte(2)]);

        // One payer for each place.
        let (mut schedule, crowd) =
            (Schedule::default(), (0..NEW as u8).map(|payer| payment(payer, 0)).collect::<Vec<_>>());
        let tokens: Vec<_> =
            schedule.due(crowd.clone(), start).into_iter().map(|(record, leave)| (record.id, leave)).collect();
        assert_eq!(tokens.len(), NEW);
        let late: Vec<_> = crowd.into_iter().chain([payment(200, 0)]).collect();
        let gone = || tokens.iter().filter(|(_, leave)| leave.is_cancelled()).map(|(id, _)| *id).collect::<Vec<_>>();
        assert!(schedule.due(late.clone(), start).is_empty() && gone().is_empty(), "a quick look is not cancelled");
        assert!(schedule.due(late.clone(), start + SLOW).is_empty());
        let left = gone();
        assert_eq!(left.len(), 1, "one place for one payment");
        schedule.done(left[0], start + SLOW);
        assert_eq!(schedule.due(late, start + SLOW)[0].0.id.from, Address::with_last_byte(200));
    }

    #[test]
    fn a_slow_second_look_gives_its_place_to_another_second_look() {
        let (mut schedule, start) = (Schedule::default(), Instant::now());
        let asked: Vec<_> = (0..=AGAIN as u8).map(|payer| PaymentRecord { attempts: 1, ..payment(payer, 0) }).collect();
        let begun = schedule.due(asked.clone(), start);
        assert_eq!(begun.len(), AGAIN);
        let cancelled = || begun.iter().filter(|(_, leave)| leave.is_cancelled()).count();
        assert!(schedule.due(asked.clone(), start).is_empty());
        assert_eq!(cancelled(), 0);
        assert!(schedule.due(asked.clone(), start + SLOW).is_empty());
        assert_eq!(cancelled(), 1);
        // Second checks take no slot of a payment that was not checked yet.
        let due = schedule.due(asked.into_iter().chain([payment(200, 0)]).collect(), start + SLOW);
        assert_eq!(due.iter().map(|(record, _)| record.id.from).collect::<Vec<_>>(), [Address::with_last_byte(200)]);
    }
}
