//! Takes units from a counter. Concurrent callers of one counter share a write. Each gets the outcome that it would get
//! if the callers came one after the other.

use super::{Redis, ScriptSteps, WriteOutcome, gather::Callback};
use crate::{
    Key, StoreError, Take, Told, Withdrawal,
    batch::{RecordChange, WriteCondition},
};

/// One caller's part of a write.
#[derive(Clone, Copy)]
pub(super) struct WantedUnits {
    pub amount: u64,
    /// Maximum value of the counter afterwards.
    pub limit: u64,
}

impl Redis {
    /// No caller gets a result if the task that takes units panics.
    pub(crate) fn take(&self, withdrawal: Withdrawal<'_>, tell: Told<Result<Take, StoreError>>) {
        let Withdrawal { counter, amount, limit } = withdrawal;
        let (this, name) = (self.clone(), self.inner.naming.of(counter.name()));
        let key = counter.clone();
        self.inner.takes.tell(name, Callback { item: WantedUnits { amount, limit }, tell }, move |wanted| {
            let (this, key) = (this.clone(), key.clone());
            async move { this.take_for(&key, &wanted).await }
        });
    }

    /// The outcome for each caller in `wanted`. One write takes the units of all callers for whom the counter has room.
    pub(super) async fn take_for(&self, key: &Key<u64>, wanted: &[WantedUnits]) -> Vec<Result<Take, StoreError>> {
        let mut outcomes = vec![None; wanted.len()];
        // Callers of one key have the same limit, except while it changes.
        while let Some(limit) = first_open(wanted, &outcomes) {
            let open = |at: &usize| outcomes.get(*at).is_some_and(Option::is_none);
            let with_limit = wanted.iter().enumerate().filter(|(at, one)| one.limit == limit && open(at));
            let batch: Vec<(usize, u64)> = with_limit.map(|(at, one)| (at, one.amount)).collect();
            let sum = batch.iter().fold(0_u64, |sum, (_, amount)| sum.saturating_add(*amount));
            let outcome = self.take_at_once(key, sum, limit).await;
            for (at, outcome) in parted(&batch, limit, sum, &outcome) {
                if let Some(slot) = outcomes.get_mut(at) {
                    *slot = Some(outcome);
                }
            }
        }
        outcomes.into_iter().flatten().collect()
    }

    async fn take_at_once(&self, key: &Key<u64>, amount: u64, limit: u64) -> Result<WriteOutcome, StoreError> {
        let mut steps = ScriptSteps::new(&self.inner.naming);
        steps.condition(&WriteCondition::Left { key: key.clone(), amount, limit });
        steps.change(&RecordChange::Add { key: key.clone(), amount });
        let (id, counter) = (steps.id(), self.inner.naming.of(key.name()));
        let taken = self.write(steps).await;
        if let Err(StoreError::Unanswered { .. }) = &taken {
            self.undo(id, counter, amount);
        }
        taken
    }
}

/// The limit of the first caller without an outcome.
fn first_open(wanted: &[WantedUnits], outcomes: &[Option<Result<Take, StoreError>>]) -> Option<u64> {
    wanted.iter().zip(outcomes).find(|(_, outcome)| outcome.is_none()).map(|(wanted, _)| wanted.limit)
}

/// The outcome of each caller in `batch` after a write of their `sum` units. After a refusal, the callers for whose
/// units the counter still has room get no outcome yet: the next write takes for them.
pub(super) fn parted(
    batch: &[(usize, u64)],
    limit: u64,
    sum: u64,
    outcome: &Result<WriteOutcome, StoreError>,
) -> Vec<(usize, Result<Take, StoreError>)> {
    match outcome {
        Err(error) => batch.iter().map(|(at, _)| (*at, Err(error.clone()))).collect(),
        Ok(WriteOutcome::Done(after)) => {
            let mut used = after.saturating_sub(sum);
            let taken = batch.iter().map(|(at, amount)| {
                used = used.saturating_add(*amount);
                (*at, Ok(Take::Taken { used }))
            });
            taken.collect()
        }
        Ok(WriteOutcome::Refused(before)) => {
            let (mut used, mut refused) = (*before, Vec::new());
            for (at, amount) in batch {
                match used.checked_add(*amount).filter(|after| *after <= limit) {
                    Some(after) => used = after,
                    None => refused.push((*at, Ok(Take::Exhausted { used }))),
                }
            }
            refused
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_write_is_refused_for_those_without_room() {
        let batch = [(0, 4), (1, 5), (2, 3)];
        let all = |outcome| parted(&batch, 10, 12, &Ok(outcome));
        let taken = |used| Ok(Take::Taken { used });
        assert_eq!(all(WriteOutcome::Done(12)), [(0, taken(4)), (1, taken(9)), (2, taken(12))]);
        let exhausted = |used| Ok(Take::Exhausted { used });
        assert_eq!(all(WriteOutcome::Refused(0)), [(2, exhausted(9))]);
        assert_eq!(all(WriteOutcome::Refused(4)), [(1, exhausted(8)), (2, exhausted(8))]);
        assert_eq!(all(WriteOutcome::Refused(10)), [(0, exhausted(10)), (1, exhausted(10)), (2, exhausted(10))]);
    }
}
