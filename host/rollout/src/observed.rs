//! The scores of champion and challengers, kept for a later comparison with outcomes: of each model the first score of
//! a wallet in a week. They are stored by hour and process, so that hosts share them and a list stays short.
//!
//! A process keeps at most [`MOST`] scores of a model and week. If more wallets are scored, it keeps those of every
//! second wallet, then of every fourth, and so on. The address decides, so all weeks, hosts and models keep the same
//! wallets.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    num::NonZeroUsize,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use uuid::Uuid;

use super::{
    Rollout, Scored,
    records::{self, ETHER, OBSERVED, ObservedRecord, ObservedScore, SampleRecord},
    scored::Basis,
};
use assay_domain::{
    Address, Digest, EtherPrices, ModelPin, ModelRef, Score, Standing, features::Features, stats::split_mix,
};
use assay_lending::owes_in_vaults;
use assay_store::{Batch, Revision, Store, StoreError};

const HOUR: i64 = 3_600;
const DAY: u64 = 86_400;
/// Scores of one model and week that a process keeps.
const MOST: usize = 5_000;
/// Hours that wait while the store cannot be written; older ones are dropped.
const WAITING: usize = 48;
/// Records that are read at a time.
const PAGE: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Seconds of a week, the time in which a wallet counts once for a model.
pub const WEEK: u64 = 604_800;

/// The kept scores of one model.
#[derive(Debug, Clone, Default)]
pub struct Observations {
    /// In the order of weeks.
    pub scores: Vec<Observation>,
    /// How often the wallets of a week were halved; a week that is missing has all of them.
    pub halvings: BTreeMap<u64, u32>,
}

/// One score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    pub address: Address,
    pub as_of: u64,
    pub score: Score,
    pub standing: Standing,
    /// Later liquidations are not known.
    pub is_outcome_hidden: bool,
}

pub(super) struct Observed {
    kept: Mutex<ObservedScores>,
    /// Of the records. With zero nothing is kept.
    lifetime: Duration,
    process: String,
}

#[derive(Default)]
struct ObservedScores {
    hours: BTreeMap<i64, Vec<ObservedScore>>,
    weeks: HashMap<(Digest, u64), WeekSample>,
    /// Number of changes so far, and how many of them are stored.
    changes: u64,
    stored: u64,
}

/// The wallets of one model and week.
struct WeekSample {
    model: ModelPin,
    wallets: HashSet<Address>,
    halvings: u32,
}

impl Observed {
    pub(super) fn new(lifetime: Duration) -> Self {
        Self { kept: Mutex::default(), lifetime, process: Uuid::new_v4().simple().to_string() }
    }

    /// Keeps the score that `model` gives to the wallet of `scored`, which has these `features`.
    pub(super) fn see(&self, model: &ModelRef, scored: &Scored, features: &Features, score: Score) {
        let Basis::Wallet(standing) = scored.basis else { return };
        if self.lifetime.is_zero() {
            return;
        }
        let as_of = u64::try_from(scored.fresh.read_at.timestamp()).unwrap_or(0);
        let (address, is_outcome_hidden) = (scored.address, owes_in_vaults(features));
        let record = scored.record.filter(|_| scored.model.digest == model.digest);
        let score = ObservedScore { model: model.into(), address, as_of, score, standing, is_outcome_hidden, record };
        self.kept().add(chrono::Utc::now().timestamp().div_euclid(HOUR), score);
    }

    /// Writes the changed hours to the store.
    async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let (hours, changes, samples) = {
            let kept = self.kept();
            if kept.changes == kept.stored {
                return Ok(());
            }
            (kept.hours.clone(), kept.changes, kept.samples())
        };
        let newest = hours.keys().next_back().copied().unwrap_or(0);
        let write = async {
            let mut batch = Batch::new();
            for (hour, scores) in hours {
                let key = records::observed(hour, &self.process);
                let record = ObservedRecord { scores, samples: samples.clone() };
                batch = batch.put_expiring(&key, &record, self.lifetime)?;
            }
            store.commit(batch).await
        };
        let stored = write.await;
        let mut kept = self.kept();
        if stored.is_ok() {
            kept.stored = kept.stored.max(changes);
            // A past hour does not change any more.
            kept.hours.retain(|hour, _| *hour >= newest);
        }
        while kept.hours.len() > WAITING {
            let lost = kept.hours.pop_first().map_or(0, |(_, scores)| scores.len());
            metrics::counter!("assay_outcome_records_dropped_total").increment(lost as u64);
        }
        stored.map(drop)
    }

    fn kept(&self) -> MutexGuard<'_, ObservedScores> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ObservedScores {
    fn add(&mut self, hour: i64, score: ObservedScore) {
        let (model, week) = (score.model.digest, score.as_of / WEEK);
        let before = self.weeks.get(&(model, week.saturating_sub(1)));
        let begin = before.map_or(0, |before| before.halvings.saturating_sub(u32::from(before.is_half_empty())));
        let new = || WeekSample { model: score.model.clone(), wallets: HashSet::new(), halvings: begin };
        let sample = self.weeks.entry((model, week)).or_insert_with(new);
        if halvings(score.address) < sample.halvings || !sample.wallets.insert(score.address) {
            return;
        }
        self.hours.entry(hour).or_default().push(score);
        self.changes += 1;
        while sample.wallets.len() > MOST {
            sample.halvings += 1;
            let is_kept = |address: Address| halvings(address) >= sample.halvings;
            sample.wallets.retain(|address| is_kept(*address));
            for scores in self.hours.values_mut() {
                let is_other = |score: &ObservedScore| (score.model.digest, score.as_of / WEEK) != (model, week);
                scores.retain(|score| is_other(score) || is_kept(score.address));
            }
        }
        // A score is minutes old at most, so two weeks can be open.
        self.weeks.retain(|(_, of), _| *of + 1 >= week);
    }

    fn samples(&self) -> Vec<SampleRecord> {
        let is_part = |(_, sample): &(_, &WeekSample)| sample.halvings > 0;
        let record = |(&(_, week), WeekSample { model, halvings, .. }): (&(Digest, u64), &WeekSample)| SampleRecord {
            model: model.clone(),
            week,
            halvings: *halvings,
        };
        self.weeks.iter().filter(is_part).map(record).collect()
    }
}

impl WeekSample {
    /// Whether twice as many wallets would fit.
    fn is_half_empty(&self) -> bool {
        self.wallets.len() * 2 < MOST
    }
}

/// How often all wallets can be halved and still have this one. An address can be chosen, so its bits are mixed.
fn halvings(address: Address) -> u32 {
    let [.., a, b, c, d, e, f, g, h] = address.into_array();
    split_mix(0, u64::from_be_bytes([a, b, c, d, e, f, g, h])).leading_zeros()
}

impl Rollout {
    pub(super) async fn flush_observed(&self) -> Result<(), StoreError> {
        self.inner.observed.flush(&self.inner.store).await
    }

    /// The kept scores of `models` by all hosts: of each model the first of a wallet in a week, and of a week only
    /// wallets that every host kept. Reads a few records at a time.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn observed(&self, models: &[Digest]) -> Result<HashMap<Digest, Observations>, StoreError> {
        self.flush_observed().await?;
        let mut all: HashMap<Digest, Joining> = models.iter().map(|model| (*model, Joining::default())).collect();
        let mut after = None;
        loop {
            let page = self.inner.store.page(&OBSERVED, after.as_deref(), PAGE).await?;
            for (_, record) in page.records {
                join(&mut all, record);
            }
            after = page.next;
            if after.is_none() {
                return Ok(all.into_iter().map(|(model, found)| (model, found.into())).collect());
            }
        }
    }
}

impl Rollout {
    /// Keeps the price of ether for the UTC day of `time`, unless this day has one. It decides later whether a claim's
    /// condition was met.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn see_ether(&self, time: u64, usd: f64) -> Result<(), StoreError> {
        let lifetime = self.inner.observed.lifetime;
        if lifetime.is_zero() {
            return Ok(());
        }
        let key = records::ether(time / DAY);
        let batch = Batch::new().if_unchanged(&key, Revision::ABSENT).put_expiring(&key, &usd, lifetime)?;
        self.inner.store.commit(batch).await.map(drop)
    }

    /// The kept prices of ether.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn ether(&self) -> Result<EtherPrices, StoreError> {
        let mut prices = EtherPrices::default();
        for (day, usd) in self.inner.store.list(&ETHER).await? {
            if let Ok(day) = day.parse::<u64>() {
                prices.add(day.saturating_mul(DAY), usd);
            }
        }
        Ok(prices)
    }
}

/// The scores of one model while records are read.
#[derive(Default)]
struct Joining {
    first: BTreeMap<(u64, Address), Observation>,
    halvings: BTreeMap<u64, u32>,
}

fn join(all: &mut HashMap<Digest, Joining>, record: ObservedRecord) {
    for SampleRecord { model, week, halvings } in record.samples {
        let Some(of) = all.get_mut(&model.digest) else { continue };
        let known = of.halvings.entry(week).or_default();
        *known = halvings.max(*known);
    }
    for ObservedScore { model, address, as_of, score, standing, is_outcome_hidden, .. } in record.scores {
        let Some(of) = all.get_mut(&model.digest) else { continue };
        let found = Observation { address, as_of, score, standing, is_outcome_hidden };
        let known = of.first.entry((as_of / WEEK, address)).or_insert(found);
        if as_of < known.as_of {
            *known = found;
        }
    }
}

impl From<Joining> for Observations {
    fn from(Joining { first, halvings: by_week }: Joining) -> Self {
        let is_kept = |week: u64, address| halvings(address) >= by_week.get(&week).copied().unwrap_or(0);
        let own = first.into_iter().filter(|((week, address), _)| is_kept(*week, *address));
        Self { scores: own.map(|(_, found)| found).collect(), halvings: by_week }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(wallet: usize, model: u8, as_of: u64) -> ObservedScore {
        ObservedScore {
            model: ModelPin { version: "1.1".parse().unwrap(), digest: Digest([model; 32]) },
            address: Address::left_padding_from(&wallet.to_be_bytes()),
            as_of,
            score: Score::new(700).unwrap(),
            standing: Standing::default(),
            is_outcome_hidden: false,
            record: None,
        }
    }

    fn wallets(scores: &[Observation], week: u64) -> HashSet<Address> {
        scores.iter().filter(|found| found.as_of / WEEK == week).map(|found| found.address).collect()
    }

    /// The scores of these wallets, as one process keeps them and stores them at each thousandth.
    fn process(
        kept: &mut ObservedScores,
        wallets: std::ops::Range<usize>,
        model: u8,
        as_of: u64,
        to: &mut Vec<ObservedRecord>,
    ) {
        let mut stored = BTreeMap::new();
        let hour = i64::try_from(as_of).unwrap() / HOUR;
        for (index, wallet) in wallets.enumerate() {
            kept.add(hour, score(wallet, model, as_of));
            if index % 1_000 == 999 {
                let scores = kept.hours.get(&hour).cloned().unwrap_or_default();
                stored.insert(hour, ObservedRecord { scores, samples: kept.samples() });
            }
        }
        to.extend(stored.into_values());
    }

    #[test]
    fn many_wallets_are_halved_until_they_fit_the_same_on_every_host_and_in_every_week() {
        let (mut one, mut other, mut records) = (ObservedScores::default(), ObservedScores::default(), Vec::new());
        process(&mut one, 0..30_000, 1, 10 * WEEK, &mut records);
        process(&mut one, 0..4_000, 2, 10 * WEEK, &mut records);
        process(&mut other, 20_000..32_000, 1, 10 * WEEK + 9, &mut records);
        process(&mut one, 0..30_000, 1, 11 * WEEK, &mut records);
        assert!(one.weeks.values().chain(other.weeks.values()).all(|sample| sample.wallets.len() <= MOST));
        let stored: Vec<_> = records.iter().map(|record| record.scores.len()).collect();
        // The second week begins with the share of the first.
        assert!(stored.iter().all(|stored| *stored <= MOST * 2), "{stored:?}");

        let mut all: HashMap<_, _> = [1, 2].map(|model| (Digest([model; 32]), Joining::default())).into();
        records.into_iter().rev().for_each(|record| join(&mut all, record));
        let mut found = |model| Observations::from(all.remove(&Digest([model; 32])).unwrap());
        let (first, second) = (found(1), found(2));
        assert_eq!((second.scores.len(), second.halvings.len()), (4_000, 0), "a model with few wallets keeps all");
        let [ten, eleven] = [10, 11].map(|week| wallets(&first.scores, week));
        let halved = first.halvings[&10];
        assert!(halved >= 3, "{:?}", first.halvings);
        // Exactly the wallets of the share, whichever process scored them, each with its first score.
        let own = |n: &usize| halvings(Address::left_padding_from(&n.to_be_bytes())) >= halved;
        assert_eq!(ten.len(), (0..32_000).filter(own).count());
        assert!(first.scores.iter().filter(|found| found.as_of == 10 * WEEK + 9).count() < ten.len() / 8);
        let both = ten.intersection(&eleven).count();
        assert!(both * 2 > eleven.len() && both > 1_000, "{both} of {}", eleven.len());
        assert!(one.hours.values().map(Vec::len).sum::<usize>() <= 3 * MOST);
    }
}
