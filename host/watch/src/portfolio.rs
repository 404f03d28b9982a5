//! Several watches together: how many are beyond their bounds or near them, and what their wallets owe.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::{
    exposure::{Exposure, FALLS},
    trigger::{Measure, Trigger},
    watches::Watch,
};
use assay_domain::{Address, Time};

/// A value is near its bound at this share of the bound away from it, or less.
const NEAR: f64 = 0.1;
/// Values that are listed.
const NEAREST: usize = 10;

/// Watches together.
#[derive(Debug, Default)]
pub(crate) struct Portfolio {
    /// Watches that have not ended.
    pub watches: u64,
    pub paused: u64,
    /// Watches with a bound that is crossed and has not cleared.
    pub crossed: u64,
    /// Watches with a value near a bound, and none beyond.
    pub near: u64,
    /// Watches of which `watch.stale` was told.
    pub stale: u64,
    /// Watches that were not evaluated since their bounds were set, or whose last evaluation could not read everything.
    pub unread: u64,
    /// The values nearest to their bounds, which they have not crossed.
    pub nearest: Vec<NearBound>,
    pub debts: Debts,
}

/// A value and the bound that it has not crossed.
#[derive(Debug, Clone)]
pub(crate) struct NearBound {
    pub watch: Uuid,
    pub subject: String,
    pub label: Option<String>,
    pub measure: Measure,
    pub market: Option<String>,
    pub value: f64,
    pub bound: f64,
    /// The distance to the bound, as a share of it.
    pub distance: f64,
    pub at: Time,
}

/// The debts of all wallets, each counted once.
#[derive(Debug, Default)]
pub(crate) struct Debts {
    /// Wallets whose debts are in the sums.
    pub read: u64,
    /// Wallets whose debts were never read; they are in no sum.
    pub unread: u64,
    /// When the oldest of the debts was read.
    pub oldest: Option<Time>,
    pub owed_usd: f64,
    pub at_risk_now_usd: f64,
    pub at_risk_usd: [f64; FALLS.len()],
    pub unknown_usd: f64,
}

impl Portfolio {
    pub(crate) fn of<'a>(watches: impl IntoIterator<Item = &'a Watch>) -> Self {
        let (mut found, mut near) = (Self::default(), Vec::new());
        let (mut read, mut unread) = (BTreeMap::<Address, &Exposure>::new(), BTreeSet::new());
        for watch in watches.into_iter().filter(|watch| watch.state.ended_at.is_none() && !watch.record.is_group()) {
            found.watches += 1;
            found.paused += u64::from(watch.record.paused);
            let states = watch.trigger_states();
            let is_crossed = states.iter().flat_map(|state| state.series.values()).any(|series| series.fired);
            let of_watch = bounds(watch);
            found.crossed += u64::from(is_crossed);
            found.near += u64::from(!is_crossed && of_watch.iter().any(|near| near.distance <= NEAR));
            found.stale += u64::from(states.iter().any(|state| state.is_stale));
            let is_read = !states.is_empty() && states.iter().all(|state| state.unread.is_empty());
            found.unread += u64::from(!is_read);
            near.extend(of_watch);
            match (watch.state.address, &watch.state.exposure) {
                (Some(address), Some(exposure)) => {
                    let newest = read.entry(address).or_insert(exposure);
                    if newest.at < exposure.at {
                        *newest = exposure;
                    }
                }
                (address, _) => _ = unread.insert((address, address.is_none().then_some(&watch.record.subject))),
            }
        }
        near.sort_by(|one, other| one.distance.total_cmp(&other.distance));
        near.truncate(NEAREST);
        unread.retain(|(address, _)| address.is_none_or(|address| !read.contains_key(&address)));
        found.debts = Debts::of(read.into_values(), unread.len() as u64);
        Self { nearest: near, ..found }
    }
}

impl Debts {
    fn of<'a>(read: impl Iterator<Item = &'a Exposure>, unread: u64) -> Self {
        let mut found = Self { unread, ..Self::default() };
        for exposure in read {
            found.read += 1;
            found.oldest = Some(found.oldest.map_or(exposure.at, |oldest| oldest.min(exposure.at)));
            found.owed_usd += exposure.owed_usd;
            found.at_risk_now_usd += exposure.at_risk_now_usd;
            found.unknown_usd += exposure.unknown_usd;
            for (sum, at_risk) in found.at_risk_usd.iter_mut().zip(exposure.at_risk_usd) {
                *sum += at_risk;
            }
        }
        found
    }
}

/// The values of `watch` that have not crossed their bounds.
fn bounds(watch: &Watch) -> Vec<NearBound> {
    let record = &watch.record;
    let states = record.triggers.iter().zip(watch.trigger_states());
    // A coverage is no number, and its distance to another one means nothing.
    let states = states.filter(|(trigger, _)| trigger.measure != Measure::Coverage);
    let all = states.flat_map(|(trigger, state)| {
        let series = state.series.iter().filter(|(_, series)| !series.fired);
        series.filter_map(move |(market, series)| {
            let (value, bound) = (series.last.value?, bound(trigger)?);
            Some(NearBound {
                watch: record.id,
                subject: record.subject.clone(),
                label: record.label.clone(),
                measure: trigger.measure,
                market: Some(market.clone()).filter(|market| !market.is_empty()),
                value,
                bound,
                distance: (value - bound).abs() / bound,
                at: series.last.at,
            })
        })
    });
    all.filter(|near| near.distance.is_finite()).collect()
}

fn bound(trigger: &Trigger) -> Option<f64> {
    trigger.limit.map(|limit| limit.bounds().0)
}

#[cfg(test)]
mod tests;
