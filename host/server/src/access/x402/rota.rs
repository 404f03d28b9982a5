//! Which payments are looked at next, so that payments that do not move leave room for the others.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use super::records::PaymentRecord;
use assay_domain::PaymentId;

/// Payments looked at at once, and those of them that were looked at before without an end.
const AT_ONCE: usize = 16;
const AGAIN: usize = 8;
/// Wait before the second look at a payment; it grows by half with each look.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);

/// The looks of one worker.
#[derive(Default)]
pub(super) struct Rota {
    busy: HashSet<PaymentId>,
    /// Looks so far, and the time from which another one is due.
    looks: HashMap<PaymentId, (u32, Instant)>,
}

impl Rota {
    /// The payments of `open` to look at now: new ones first, then those that have waited longest.
    pub fn due(&mut self, open: Vec<PaymentRecord>, now: Instant) -> Vec<PaymentRecord> {
        let known: HashSet<PaymentId> = open.iter().map(|record| record.id).collect();
        self.looks.retain(|id, _| known.contains(id));
        let (mut again, new): (Vec<_>, Vec<_>) =
            open.into_iter().filter(|record| !self.busy.contains(&record.id)).partition(|record| self.is_seen(record));
        again.retain(|record| self.looks.get(&record.id).is_none_or(|(_, due)| *due <= now));
        again.sort_by_key(|record| self.looks.get(&record.id).map(|(_, due)| *due));
        let busy_again = self.busy.iter().filter(|id| self.looks.contains_key(id)).count();
        again.truncate(AGAIN.saturating_sub(busy_again));
        let free = AT_ONCE.saturating_sub(self.busy.len());
        let due: Vec<_> = new.into_iter().take(free.saturating_sub(again.len())).chain(again).take(free).collect();
        for record in &due {
            self.busy.insert(record.id);
            if record.attempts > 0 {
                self.looks.entry(record.id).or_insert((0, now));
            }
        }
        due
    }

    /// A payment that an earlier worker asked the facilitator about is not new either.
    fn is_seen(&self, record: &PaymentRecord) -> bool {
        self.looks.contains_key(&record.id) || record.attempts > 0
    }

    /// A look has ended.
    pub fn done(&mut self, id: PaymentId, now: Instant) {
        self.busy.remove(&id);
        let looks = self.looks.get(&id).map_or(0, |(looks, _)| *looks).saturating_add(1);
        let mut wait = FIRST;
        for _ in 1..looks.min(20) {
            wait = (wait * 3 / 2).min(LONGEST);
        }
        self.looks.insert(id, (looks, now + wait));
    }
}
