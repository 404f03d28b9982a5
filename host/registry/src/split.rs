//! The live split of a kind: versions that answer some wallets, or some keys, in place of the champion. A wallet has a
//! fixed slot, and each version the slots from one end on, so that a growing share only takes over slots of the
//! champion.

use std::sync::Arc;

use assay_domain::{Address, ModelVersion, Time};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{Model, RoleError, ScoreError};

/// Slots of the wallets; a share counts some of them.
pub const SLOTS: u16 = 10_000;

/// The split of one kind, as stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Split {
    /// Decides which slot a wallet has. Kept as long as a version has a share.
    pub seed: u64,
    /// At most one for each end.
    pub shares: Vec<SplitShare>,
    pub pins: Vec<KeyPin>,
    /// Names of the keys that may choose a version by a header.
    pub choosers: Vec<String>,
    /// Why the server took the last version out by itself.
    pub stopped: Option<String>,
}

/// The share of one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitShare {
    pub version: ModelVersion,
    /// Of [`SLOTS`].
    pub slots: u16,
    pub end: SlotEnd,
    /// How it grows by itself.
    #[serde(default)]
    pub ramp: Option<Ramp>,
    /// The bounds of promotion do not stop it.
    #[serde(default)]
    pub forced: bool,
}

/// A share that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewShare {
    pub version: ModelVersion,
    pub slots: u16,
    pub ramp: Option<Ramp>,
    pub forced: bool,
}

/// The growth of a share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ramp {
    /// The next shares, each of [`SLOTS`].
    pub steps: Vec<u16>,
    /// Seconds between two steps.
    pub step_seconds: u64,
    /// When the next one is due.
    pub next_at: Time,
}

/// The end at which the slots of a share begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotEnd {
    Low,
    High,
}

/// The version that answers one key, until a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPin {
    /// Name of the key.
    pub key: String,
    pub version: ModelVersion,
    pub until: Time,
}

/// Why a version answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chosen {
    /// By its role.
    Champion,
    /// The request named it.
    Requested,
    /// It is pinned for the key.
    Pinned,
    /// A header of the request named it.
    Header,
    /// By the slot of the wallet.
    Split,
}

impl Chosen {
    /// For an error message.
    pub(crate) fn cause(self) -> &'static str {
        match self {
            Self::Champion => "it is the champion",
            Self::Requested => "the request names it",
            Self::Pinned => "it is pinned for the key",
            Self::Header => "a header of the request names it",
            Self::Split => "the wallet is in its share",
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Champion => "champion",
            Self::Requested => "requested",
            Self::Pinned => "pinned",
            Self::Header => "header",
            Self::Split => "split",
        }
    }
}

impl NewShare {
    /// The share now, and the steps of its ramp.
    fn sizes(&self) -> impl Iterator<Item = u16> {
        let steps = self.ramp.iter().flat_map(|ramp| &ramp.steps);
        std::iter::once(&self.slots).chain(steps).copied()
    }
}

impl SplitShare {
    /// The share at the end of its ramp.
    pub fn final_slots(&self) -> u16 {
        self.ramp.as_ref().and_then(|ramp| ramp.steps.last()).copied().unwrap_or(self.slots)
    }

    fn has(&self, slot: u16) -> bool {
        match self.end {
            SlotEnd::Low => slot < self.slots,
            SlotEnd::High => slot >= SLOTS.saturating_sub(self.slots),
        }
    }
}

impl Split {
    /// The split with these shares. A version that had a share keeps its end, and the wallets their slots; another one
    /// gets the end where the fewest wallets have a version. Without any share before, `seed` decides the slots.
    ///
    /// # Errors
    /// Which rule the shares break.
    pub fn with_shares(&self, shares: &[NewShare], seed: u64) -> Result<Self, &'static str> {
        let of = |version: &ModelVersion| shares.iter().filter(|share| share.version == *version).count();
        if shares.len() > 2 {
            return Err("at most two versions have a share beside the champion");
        }
        if shares.iter().any(|share| of(&share.version) > 1) {
            return Err("each version has one share");
        }
        if shares.iter().any(|share| share.slots == 0 || !share.sizes().is_sorted_by(|one, next| one < next)) {
            return Err("a share is above 0, and each step of its ramp above the one before");
        }
        if shares.iter().filter_map(|share| share.sizes().last()).map(u32::from).sum::<u32>() > u32::from(SLOTS) {
            return Err("the shares are more than 100 percent together, at the end of their ramps");
        }
        let end_of = |version: &ModelVersion| self.shares.iter().find(|share| share.version == *version).map(|s| s.end);
        let kept: Vec<SlotEnd> = shares.iter().filter_map(|share| end_of(&share.version)).collect();
        let taken = |end: SlotEnd| self.shares.iter().find(|share| share.end == end).map_or(0, |share| share.slots);
        let mut free = vec![SlotEnd::Low, SlotEnd::High];
        free.retain(|end| !kept.contains(end));
        free.sort_by_key(|end| taken(*end));
        let mut free = free.into_iter();
        let shares = shares.iter().cloned().filter_map(|NewShare { version, slots, ramp, forced }| {
            let end = end_of(&version).or_else(|| free.next())?;
            Some(SplitShare { version, slots, end, ramp, forced })
        });
        let seed = if self.shares.is_empty() { seed } else { self.seed };
        Ok(Self { seed, shares: shares.collect(), ..self.clone() })
    }

    /// Takes the share of a version: its wallets return to the champion.
    pub fn forget_share(&mut self, version: &ModelVersion) {
        self.shares.retain(|share| share.version != *version);
    }

    /// Takes a version out: its wallets and keys return to the champion.
    pub(crate) fn forget(&mut self, version: &ModelVersion) {
        self.forget_share(version);
        self.pins.retain(|pin| pin.version != *version);
    }

    pub(crate) fn has(&self, version: &ModelVersion) -> bool {
        self.versions().any(|known| known == version)
    }

    /// Every version of the split; one may be named twice.
    pub fn versions(&self) -> impl Iterator<Item = &ModelVersion> {
        self.shares.iter().map(|share| &share.version).chain(self.pins.iter().map(|pin| &pin.version))
    }

    /// The slot of a wallet.
    fn slot(&self, wallet: Address) -> u16 {
        let digest = Sha256::new().chain_update(self.seed.to_be_bytes()).chain_update(wallet).finalize();
        let number = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        (number % u64::from(SLOTS)) as u16
    }
}

/// The split with its models.
#[derive(Debug, Default)]
pub(crate) struct ActiveSplit {
    split: Split,
    models: Vec<(ModelVersion, Result<Arc<Model>, RoleError>)>,
}

impl ActiveSplit {
    pub(crate) fn new(split: Split, in_service: impl Fn(&ModelVersion) -> Result<Arc<Model>, RoleError>) -> Self {
        let models = split.versions().map(|version| (version.clone(), in_service(version))).collect();
        Self { split, models }
    }

    /// The model of a version; `None` if the champion answers in its place.
    fn model(&self, version: &ModelVersion, chosen: Chosen) -> Option<Result<&Arc<Model>, ScoreError>> {
        match &self.models.iter().find(|(known, _)| known == version)?.1 {
            Ok(model) => Some(Ok(model)),
            Err(why) => why.gap(chosen).map(Err),
        }
    }

    /// The version that is pinned for `key` at `now`.
    ///
    /// # Errors
    /// [`ScoreError::Unavailable`].
    pub(crate) fn pinned(&self, key: &str, now: Time) -> Option<Result<&Arc<Model>, ScoreError>> {
        let pin = self.split.pins.iter().find(|pin| pin.key == key && now < pin.until)?;
        self.model(&pin.version, Chosen::Pinned)
    }

    pub(crate) fn lets_choose(&self, key: &str) -> bool {
        self.split.choosers.iter().any(|chooser| chooser == key)
    }

    /// The version that answers `wallet` by its slot.
    ///
    /// # Errors
    /// [`ScoreError::Unavailable`].
    pub(crate) fn of(&self, wallet: Address) -> Option<Result<&Arc<Model>, ScoreError>> {
        if self.split.shares.is_empty() {
            return None;
        }
        let slot = self.split.slot(wallet);
        self.model(&self.split.shares.iter().find(|share| share.has(slot))?.version, Chosen::Split)
    }
}

impl RoleError {
    /// The error of a request that the split gives to this version. `None` for a share whose version failed: the
    /// champion answers at once, and the version is taken out of the split.
    pub(crate) fn gap(&self, chosen: Chosen) -> Option<ScoreError> {
        let (kind, version) = match self {
            Self::OutOfService { .. } if chosen == Chosen::Split => return None,
            Self::Unknown { kind, version, .. }
            | Self::Starting { kind, version }
            | Self::OutOfService { kind, version, .. }
            | Self::NotLoaded { kind, version, .. } => (*kind, version.clone()),
            _ => return None,
        };
        Some(ScoreError::Unavailable { kind, version, chosen, why: self.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(minor: u8) -> ModelVersion {
        format!("1.{minor}").parse().unwrap()
    }

    fn wallet(n: u64) -> Address {
        let mut bytes = [0; 20];
        bytes[12..].copy_from_slice(&n.to_be_bytes());
        Address::from(bytes)
    }

    fn share(minor: u8, slots: u16) -> NewShare {
        NewShare { version: v(minor), slots, ramp: None, forced: false }
    }

    fn answers(split: &Split) -> Vec<Option<ModelVersion>> {
        let of = |n| {
            let slot = split.slot(wallet(n));
            split.shares.iter().find(|share| share.has(slot)).map(|share| share.version.clone())
        };
        (0..5_000).map(of).collect()
    }

    #[test]
    fn a_share_that_grows_takes_only_wallets_of_the_champion() {
        let mut split = Split::default();
        let mut before = answers(&split);
        let steps: [&[(u8, u16)]; 10] = [
            &[(4, 100)],
            &[(4, 500)],
            &[(4, 500), (5, 100)],
            &[(4, 2_500), (5, 100)],
            &[(4, 2_500), (5, 7_500)],
            &[(5, 7_500)],
            // A version takes the place of another, at the other end.
            &[(6, 2_500)],
            &[(7, 5_000)],
            &[(8, 5_000)],
            &[(8, 5_000), (9, 5_000)],
        ];
        for step in steps {
            let shares: Vec<_> = step.iter().map(|(minor, slots)| share(*minor, *slots)).collect();
            split = split.with_shares(&shares, 7).unwrap();
            let after = answers(&split);
            for (n, (before, after)) in before.iter().zip(&after).enumerate() {
                let stays = before == after || before.is_none();
                let was_removed = after.is_none() && before.as_ref().is_some_and(|version| !split.has(version));
                assert!(stays || was_removed, "wallet {n} flips from {before:?} to {after:?}");
            }
            for NewShare { version, slots, .. } in shares {
                let count = after.iter().filter(|answer| **answer == Some(version.clone())).count() as f64;
                let wanted = f64::from(slots) / f64::from(SLOTS) * 5_000.0;
                assert!((count - wanted).abs() < 5.0 * wanted.sqrt(), "{version}: {count} of {wanted}");
            }
            before = after;
        }
    }

    /// Slots that leave a version for another if shares replace others in one call.
    #[test]
    fn a_version_takes_slots_of_another_only_if_no_end_is_free_or_both_are_more_than_all() {
        let at = |end, slots| SplitShare { version: v(4), slots, end, ramp: None, forced: false };
        let (low, high) = (|slots| at(SlotEnd::Low, slots), |slots| at(SlotEnd::High, slots));
        let other = |slots| SplitShare { version: v(5), ..high(slots) };
        for (shares, wanted, moved) in [
            (vec![low(5_000)], vec![share(6, 5_000)], 0),
            (vec![high(5_000)], vec![share(6, 5_000)], 0),
            (vec![low(8_000)], vec![share(6, 5_000)], 3_000),
            (vec![low(1_000), other(9_000)], vec![share(4, 1_000), share(6, 100)], 100),
            (vec![low(3_000), other(2_000)], vec![share(6, 2_500)], 2_000),
            (vec![low(3_000)], vec![share(6, 1_000), share(7, 500)], 500),
        ] {
            let before = Split { shares, ..Split::default() };
            let after = before.with_shares(&wanted, 7).unwrap();
            let of = |split: &Split, slot| {
                split.shares.iter().find(|share| share.has(slot)).map(|share| share.version.clone())
            };
            let moves = |slot: &u16| {
                let (from, to) = (of(&before, *slot), of(&after, *slot));
                from.is_some() && to.is_some() && from != to
            };
            assert_eq!((0..SLOTS).filter(moves).count(), moved, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_new_split_begins_with_other_wallets() {
        let one = Split::default().with_shares(&[share(4, 5_000)], 7).unwrap();
        let none = one.with_shares(&[], 8).unwrap();
        let other = none.with_shares(&[share(4, 5_000)], 8).unwrap();
        assert_eq!((one.seed, other.seed), (7, 8));
        assert_ne!(answers(&one), answers(&other));
    }

    #[test]
    fn shares_that_break_a_rule_are_refused() {
        let ramp = |slots, steps: &[u16]| {
            let ramp = Ramp { steps: steps.to_vec(), step_seconds: 60, next_at: assay_domain::time_from_unix(0) };
            NewShare { ramp: Some(ramp), ..share(1, slots) }
        };
        for wrong in [
            vec![share(1, 1), share(2, 1), share(3, 1)],
            vec![share(1, 0)],
            vec![share(1, 1), share(1, 2)],
            vec![share(1, 6_000), share(2, 4_001)],
            vec![ramp(500, &[500])],
            vec![ramp(500, &[700, 600])],
            vec![ramp(500, &[9_000]), share(2, 1_001)],
        ] {
            assert!(Split::default().with_shares(&wrong, 1).is_err(), "{wrong:?}");
        }
    }
}
