//! Counts requests against a rate and takes their units in one write. Concurrent callers with the same rate and counter
//! share a write. Each gets the outcome that it would get if the callers came one after the other.

use std::{num::NonZeroU32, time::Duration};

use super::{
    Redis, ScriptSteps, WriteOutcome,
    gather::Callback,
    rates::{RateCount, each},
    units::{WantedUnits, parted},
};
use crate::{
    Admission, Key, Metered, RateLimit, StoreError, Take, Told, Withdrawal,
    batch::{RecordChange, WriteCondition},
    keys::KeyName,
};

/// The rate and counter shared by the callers of one write.
#[derive(Clone)]
struct SharedCommands {
    key: KeyName,
    rate: NonZeroU32,
    window: Duration,
    meter: Key<u64>,
    limit: u64,
}

impl Redis {
    /// `None` if the servers do not answer; units already taken are refunded.
    pub(crate) fn admit_and_take(
        &self,
        RateLimit { key, rate, window }: RateLimit<'_>,
        Withdrawal { counter: meter, amount, limit }: Withdrawal<'_>,
        tell: Told<Option<Metered>>,
    ) {
        if !self.inner.link.is_up() {
            return tell(None);
        }
        let together = format!("{} {rate} {} {} {limit}", key.name().text, window.as_micros(), meter.as_str());
        let (this, shared) =
            (self.clone(), SharedCommands { key: key.name().clone(), rate, window, meter: meter.clone(), limit });
        let ask = move |amounts: Vec<u64>| {
            let (this, shared) = (this.clone(), shared.clone());
            async move { this.meter(&shared, &amounts).await }
        };
        self.inner.metered.tell(together, Callback { item: amount, tell }, ask);
    }

    async fn meter(&self, shared: &SharedCommands, amounts: &[u64]) -> Vec<Option<Metered>> {
        let sum = amounts.iter().fold(0_u64, |sum, amount| sum.saturating_add(*amount));
        let SharedCommands { key, rate, window, meter, limit } = shared;
        let mut steps = ScriptSteps::new(&self.inner.naming);
        steps.rate(key, each(*rate, *window), *rate, amounts.len());
        steps.condition(&WriteCondition::Left { key: meter.clone(), amount: sum, limit: *limit });
        steps.change(&RecordChange::Add { key: meter.clone(), amount: sum });
        let id = steps.id();
        match self.write_counted(&steps, self.patience()).await {
            Ok((outcome, counted)) => match RateCount::read(&counted) {
                Some(counted) if counted.allowed == amounts.len() => self.paid(shared, amounts, counted, outcome).await,
                _ => self.apart(shared, amounts).await,
            },
            Err(error) => {
                if matches!(error, StoreError::Unanswered { .. }) {
                    self.undo(id, self.inner.naming.of(meter.name()), sum);
                }
                vec![None; amounts.len()]
            }
        }
    }

    /// Called if all requests are within the rate.
    async fn paid(
        &self,
        shared: &SharedCommands,
        amounts: &[u64],
        counted: RateCount,
        outcome: WriteOutcome,
    ) -> Vec<Option<Metered>> {
        let batch: Vec<(usize, u64)> = amounts.iter().copied().enumerate().collect();
        let sum = amounts.iter().fold(0_u64, |sum, amount| sum.saturating_add(*amount));
        let mut takes = vec![None; amounts.len()];
        for (at, take) in parted(&batch, shared.limit, sum, &Ok(outcome)) {
            if let Some(slot) = takes.get_mut(at) {
                *slot = Some(take);
            }
        }
        // Callers for whose units the counter has room, although it has none for all.
        let open: Vec<usize> = (0..takes.len()).filter(|at| takes.get(*at).is_some_and(Option::is_none)).collect();
        let wanted = open.iter().filter_map(|at| amounts.get(*at)).map(|amount| shared.wanted(*amount));
        let later = self.take_for(&shared.meter, &wanted.collect::<Vec<_>>()).await;
        for (at, take) in open.into_iter().zip(later) {
            if let Some(slot) = takes.get_mut(at) {
                *slot = Some(take);
            }
        }
        let metered = |(at, take): (usize, Option<Result<Take, StoreError>>)| {
            take?.ok().map(|take| (counted.admission(at), Some(take)))
        };
        takes.into_iter().enumerate().map(metered).collect()
    }

    /// Called if not all requests are within the rate: they are counted first, and the allowed ones pay.
    async fn apart(&self, shared: &SharedCommands, amounts: &[u64]) -> Vec<Option<Metered>> {
        let name = self.inner.naming.of(&shared.key);
        let counted = self.ask(name, shared.rate, shared.window, amounts.len()).await;
        let is_allowed = |counted: &Result<Admission, StoreError>| matches!(counted, Ok(Admission::Allowed { .. }));
        let allowed = counted.iter().zip(amounts).filter(|(counted, _)| is_allowed(counted));
        let wanted: Vec<WantedUnits> = allowed.map(|(_, amount)| shared.wanted(*amount)).collect();
        let mut takes = self.take_for(&shared.meter, &wanted).await.into_iter();
        let metered = |counted: Result<Admission, StoreError>| match counted.ok()? {
            allowed @ Admission::Allowed { .. } => Some((allowed, Some(takes.next()?.ok()?))),
            refused @ Admission::Refused { .. } => Some((refused, None)),
        };
        counted.into_iter().map(metered).collect()
    }
}

impl SharedCommands {
    fn wanted(&self, amount: u64) -> WantedUnits {
        WantedUnits { amount, limit: self.limit }
    }
}
