//! The weeks of one model, each compared with the training or with the first full week. Records come in the order of
//! weeks, and only one is in memory.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use assay_domain::stats::{Bins, INVESTIGATE, SIGNIFICANT, Sketch, chance};
use serde::Serialize;

use crate::{
    WEEK,
    cards::ModelInputs,
    outcomes::ENOUGH,
    records::{InputsRecord, Segment},
};

/// Weeks that are shown.
const WEEKS: usize = 13;
/// Bins of a week, without those of absent figures and of zero.
const BINS: u32 = 10;

/// How far an input of the wallets has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Drift {
    Stable,
    /// It deserves an investigation.
    Shifting,
    /// The wallets have changed.
    Drifted,
}

/// What the wallets of a week are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    Training,
    /// The first full week that has enough wallets.
    FirstWeek,
}

/// The wallets of one week in one segment.
#[derive(Debug, Clone, PartialEq)]
pub struct DriftWeek {
    /// Its first moment, in Unix seconds.
    pub from: u64,
    /// `None` for all wallets.
    pub segment: Option<Segment>,
    pub wallets: u64,
    pub inputs: Vec<InputShift>,
}

/// One input of the wallets of a week.
#[derive(Debug, Clone, PartialEq)]
pub struct InputShift {
    pub name: String,
    /// `None` if there is nothing to compare with.
    pub against: Option<Against>,
    /// The share of the wallets without a value, and the share that is expected.
    pub missing: Option<f64>,
    pub expected_missing: Option<f64>,
    /// With an error of at most 1.6 %.
    pub median: Option<f64>,
    /// `None` with fewer than 500 wallets.
    pub psi: Option<f64>,
    pub drift: Option<Drift>,
}

impl DriftWeek {
    /// Whether an input is compared.
    pub fn is_judged(&self) -> bool {
        self.inputs.iter().any(|input| input.drift.is_some())
    }
}

/// The weeks of one model while records are read.
pub(super) struct ModelWeeks {
    inputs: Arc<ModelInputs>,
    this_week: u64,
    /// The oldest week with a record; it may not be a full one.
    first: Option<u64>,
    /// By segment: the inputs of the first full week.
    baseline: BTreeMap<Option<Segment>, Vec<Bins>>,
    /// The oldest first.
    weeks: VecDeque<Vec<DriftWeek>>,
}

impl ModelWeeks {
    pub(super) fn new(inputs: Arc<ModelInputs>, this_week: u64) -> Self {
        Self { inputs, this_week, first: None, baseline: BTreeMap::new(), weeks: VecDeque::new() }
    }

    /// The judged weeks, the newest first.
    pub(super) fn judged(self) -> Vec<DriftWeek> {
        self.weeks.into_iter().rev().flatten().collect()
    }

    /// Judges the record of `week`, which is later than those before.
    pub(super) fn add(&mut self, week: u64, record: &InputsRecord) {
        let is_full = week > *self.first.get_or_insert(week) && week < self.this_week;
        let mut judged = Vec::new();
        for segment in std::iter::once(None).chain(Segment::ALL.map(Some)) {
            let sketches: Vec<_> = self.inputs.iter().map(|input| record.sketch(&input.name, segment)).collect();
            // Wallets that were counted before the card had these inputs have no values of them.
            let known = record.estimate(sketches.iter().map(Sketch::count).max().unwrap_or(0));
            let wallets = record.wallets(segment).min(known);
            if wallets == 0 {
                continue;
            }
            let baseline = self.baseline.get(&segment);
            let inputs = self.inputs.iter().zip(&sketches).enumerate().map(|(at, (input, actual))| {
                let training = input.training.as_ref().filter(|_| segment.is_none());
                let first_week = || Some((Against::FirstWeek, baseline?.get(at)?));
                let expected = training.map(|bins| (Against::Training, bins)).or_else(first_week);
                shift(&input.name, expected, actual, wallets)
            });
            judged.push(DriftWeek { from: week * WEEK, segment, wallets, inputs: inputs.collect() });
            if is_full && baseline.is_none() && wallets >= ENOUGH {
                let bins = sketches.iter().map(|sketch| Bins::of(sketch, BINS)).collect();
                self.baseline.insert(segment, bins);
            }
        }
        self.weeks.push_back(judged);
        if self.weeks.len() > WEEKS {
            self.weeks.pop_front();
        }
    }
}

fn shift(name: &str, expected: Option<(Against, &Bins)>, actual: &Sketch, wallets: u64) -> InputShift {
    let missing = (actual.count() > 0).then(|| actual.missing() as f64 / actual.count() as f64);
    let psi = expected.filter(|_| wallets >= ENOUGH).and_then(|(_, bins)| bins.psi(actual));
    let drift = expected.zip(psi).map(|((_, bins), psi)| {
        let chance = chance(bins.used(actual), bins.count(), actual.count());
        match () {
            () if psi >= SIGNIFICANT && psi > chance => Drift::Drifted,
            () if psi >= INVESTIGATE && psi > chance => Drift::Shifting,
            () => Drift::Stable,
        }
    });
    InputShift {
        name: name.to_owned(),
        against: expected.map(|(against, _)| against),
        missing,
        expected_missing: expected.and_then(|(_, bins)| bins.missing()),
        median: actual.quantile(0.5),
        psi,
        drift,
    }
}

#[cfg(test)]
mod tests {
    use assay_domain::{Address, Digest, ModelInfo, ModelKind, ModelPin, stats::split_mix};

    use super::*;
    use crate::cards;

    /// The loans of a wallet, which are absent for some, and its age in days.
    type Wallet = (Option<f64>, Option<f64>);

    /// The wallets of an economy.
    fn wallets(seed: u64, count: u64, loans: f64) -> impl Iterator<Item = Wallet> {
        let share = move |n: u64, of: u64| split_mix(seed, n * 2 + of) as f64 / u64::MAX as f64;
        let figures = move |n: u64| {
            let age = -(1.0 - share(n, 0)).ln() * 400.0;
            let loan = (share(n, 1) > 0.2).then(|| (share(n, 1) * loans * 10.0).floor());
            (loan, Some(age))
        };
        (0..count).map(figures)
    }

    fn record(week: u64, wallets: impl Iterator<Item = Wallet>) -> InputsRecord {
        let pin = ModelPin { version: "9.9".parse().unwrap(), digest: Digest([1; 32]) };
        let mut record = InputsRecord::new(pin);
        for (n, (loans, age)) in wallets.enumerate() {
            let address = Address::left_padding_from(&(week * 1_000_000 + n as u64).to_be_bytes());
            let segment = if n % 2 == 0 { Segment::Owes } else { Segment::OwesNothing };
            // A wallet that is scored often counts once.
            for _ in 0..3 {
                record.count(address, segment, [("loans", loans), ("age", age)].into_iter());
            }
        }
        record
    }

    fn inputs(training: Option<u64>) -> Arc<ModelInputs> {
        let bins = |of: fn(Wallet) -> Option<f64>, rows| {
            let mut sketch = Sketch::default();
            wallets(7, rows, 1.0).for_each(|wallet| sketch.add(of(wallet)));
            Bins::of(&sketch, BINS)
        };
        let text = |name: &str, is: &str, of| {
            let training = training.map_or_else(String::new, |rows| {
                let Bins { absent, zero, edges, counts } = bins(of, rows);
                format!("training = {{ absent = {absent}, zero = {zero}, edges = {edges:?}, counts = {counts:?} }}\n")
            });
            format!("[[input]]\nname = {name:?}\nis = {is:?}\n{training}")
        };
        let card = text("loans", "sum(markets.borrow)", |(loans, _)| loans) + &text("age", "as_of", |(_, age)| age);
        let info = ModelInfo {
            kind: ModelKind::Credit,
            version: "9.9".parse().unwrap(),
            title: "A model".into(),
            authors: Vec::new(),
            reads: Vec::new(),
            claims: None,
        };
        let shelf = tempfile::tempdir().unwrap();
        Arc::new(cards::inputs(shelf.path(), &info, Digest([1; 32]), Some(&card)).unwrap())
    }

    type Figures = (u64, Option<Segment>, u64, Vec<Option<Drift>>);

    fn judged(
        inputs: Arc<ModelInputs>,
        this_week: u64,
        records: &[(u64, InputsRecord)],
    ) -> (Vec<Figures>, Vec<DriftWeek>) {
        let mut weeks = ModelWeeks::new(inputs, this_week);
        records.iter().for_each(|(week, record)| weeks.add(*week, record));
        let found = weeks.judged();
        let figures = |week: &DriftWeek| {
            let drifts = week.inputs.iter().map(|input| input.drift).collect();
            (week.from / WEEK, week.segment, week.wallets, drifts)
        };
        (found.iter().map(figures).collect(), found)
    }

    #[test]
    fn a_drifted_economy_is_found_and_a_control_is_not() {
        let (mut drifted, mut worst) = (0, 0.0_f64);
        for seed in 0..200 {
            let control = record(11, wallets(1_000 + seed, 500, 1.0));
            let (_, found) = judged(inputs(Some(1_000)), 11, &[(11, control)]);
            for input in &found[0].inputs {
                worst = worst.max(input.psi.unwrap());
                drifted += u64::from(input.drift != Some(Drift::Stable));
            }
            let moved = record(11, wallets(2_000 + seed, 500, 2.5));
            let (_, found) = judged(inputs(Some(1_000)), 11, &[(11, moved)]);
            let drifts: Vec<_> = found[0].inputs.iter().map(|input| input.drift.unwrap()).collect();
            assert_eq!(drifts, [Drift::Drifted, Drift::Stable], "seed {seed}: {found:?}");
        }
        assert!(drifted == 0 && worst < 0.12, "{drifted} of 400 inputs of a control, {worst}");
    }

    #[test]
    fn without_training_the_first_full_week_is_the_baseline() {
        let week = |week: u64, count, loans| (week, record(week, wallets(week, count, loans)));
        // Week 9 may be partial, week 10 has too few wallets, and week 14 is not over.
        let weeks = [
            week(9, 2_000, 3.0),
            week(10, 400, 1.0),
            week(11, 1_200, 1.0),
            week(12, 1_200, 1.0),
            week(13, 1_200, 2.5),
            week(14, 480, 2.5),
        ];
        let (found, all) = judged(inputs(None), 14, &weeks);
        let of = |week: u64, segment| {
            let found = found.iter().find(|found| found.0 == week && found.1 == segment);
            found.map(|found| (found.2, found.3.clone()))
        };
        use Drift::{Drifted, Stable};
        let none = vec![None, None];
        assert_eq!(of(14, None), Some((480, none.clone())), "too few wallets are not judged");
        assert_eq!(of(13, None), Some((1_200, vec![Some(Drifted), Some(Stable)])));
        assert_eq!(of(13, Some(Segment::Owes)), Some((600, vec![Some(Drifted), Some(Stable)])));
        assert_eq!(of(12, None), Some((1_200, vec![Some(Stable); 2])));
        assert_eq!([9, 10, 11].map(|week| of(week, None).unwrap().1), [none.clone(), none.clone(), none]);
        assert_eq!(of(13, Some(Segment::Unread)), None);
        let input = &all.iter().find(|week| week.from / WEEK == 13).unwrap().inputs[0];
        let missing = [input.missing, input.expected_missing].map(Option::unwrap);
        assert!(missing.iter().all(|share| (0.15..0.25).contains(share)), "{missing:?}");
        assert_eq!(input.against, Some(Against::FirstWeek));
    }
}
