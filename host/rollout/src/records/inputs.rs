//! The wallets of one week as a model sees them: its inputs in sketches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::WalletSample;
use assay_domain::{Address, ModelPin, Standing, stats::Sketch};

/// The least debt of a wallet that owes, in dollars.
const OWES: f64 = 10.0;

/// The wallets that were scored in one week, as one model sees them. All processes count in the same record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputsRecord {
    pub model: ModelPin,
    /// The segment of each wallet.
    wallets: WalletSample<Segment>,
    /// By the number of halvings that the wallets of a sketch survive, so each halving drops the sketches of the
    /// wallets that it drops.
    levels: BTreeMap<u32, Level>,
}

/// Sketches by segment and by the name of the input.
type Level = BTreeMap<Segment, BTreeMap<String, Sketch>>;

/// A part of the wallets; each is in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    Owes,
    OwesNothing,
    /// A debt may exist that was not read.
    Unread,
}

impl Segment {
    pub const ALL: [Self; 3] = [Self::Owes, Self::OwesNothing, Self::Unread];

    pub fn of(standing: &Standing) -> Self {
        match () {
            () if standing.is_debt_unread => Self::Unread,
            () if standing.owes(OWES) => Self::Owes,
            () => Self::OwesNothing,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owes => "owes",
            Self::OwesNothing => "owes_nothing",
            Self::Unread => "unread",
        }
    }
}

impl InputsRecord {
    pub fn new(model: ModelPin) -> Self {
        Self { model, wallets: WalletSample::default(), levels: BTreeMap::new() }
    }

    /// Counts a wallet with its inputs, if it is in the sample and was not before. Returns whether the wallet was
    /// counted.
    pub fn count<'a>(
        &mut self,
        address: Address,
        segment: Segment,
        inputs: impl Iterator<Item = (&'a str, Option<f64>)>,
    ) -> bool {
        let hash = self.wallets.see_first(address, segment);
        self.levels.retain(|level, _| *level >= self.wallets.halvings());
        let Some(hash) = hash else { return false };
        let sketches = self.levels.entry(hash.leading_zeros()).or_default().entry(segment).or_default();
        for (name, value) in inputs {
            match sketches.get_mut(name) {
                Some(sketch) => sketch.add(value),
                None => sketches.entry(name.to_owned()).or_default().add(value),
            }
        }
        true
    }

    /// An input of the wallets in a segment, or of all.
    pub fn sketch(&self, name: &str, segment: Option<Segment>) -> Sketch {
        let mut merged = Sketch::default();
        let segments = self.levels.values().flatten().filter(|(of, _)| segment.is_none_or(|wanted| wanted == **of));
        segments.filter_map(|(_, sketches)| sketches.get(name)).for_each(|sketch| merged.merge(sketch));
        merged
    }

    /// The number of all wallets, of which the sample has `kept`.
    pub fn estimate(&self, kept: u64) -> u64 {
        self.wallets.estimate(kept)
    }

    /// The number of wallets in a segment, or of all; an estimate if not all are kept.
    pub fn wallets(&self, segment: Option<Segment>) -> u64 {
        self.wallets.with(|of| segment.is_none_or(|wanted| wanted == of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(wallets: impl Iterator<Item = u64>) -> InputsRecord {
        let digest = assay_domain::Digest([1; 32]);
        let mut record = InputsRecord::new(ModelPin { version: "1.4".parse().unwrap(), digest });
        for n in wallets {
            let segment = if n % 4 == 0 { Segment::Owes } else { Segment::OwesNothing };
            let inputs = [("loans", Some(n as f64)), ("age", None)];
            record.count(Address::left_padding_from(&n.to_be_bytes()), segment, inputs.into_iter());
        }
        record
    }

    #[test]
    fn a_wallet_counts_once_in_its_first_segment() {
        let mut record = counted((0..400).chain(0..400));
        let again = Address::left_padding_from(&0_u64.to_be_bytes());
        assert!(!record.count(again, Segment::Unread, [("loans", None)].into_iter()));
        assert_eq!(record, counted(0..400));
        assert_eq!([None, Some(Segment::Owes), Some(Segment::Unread)].map(|of| record.wallets(of)), [400, 100, 0]);
        assert_eq!(
            (record.sketch("loans", None).count(), record.sketch("age", Some(Segment::Owes)).missing()),
            (400, 100)
        );
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<InputsRecord>(&text).unwrap(), record);
    }

    #[test]
    fn of_many_wallets_a_share_is_kept_that_does_not_depend_on_their_order() {
        let one = counted(0..30_000);
        let (count, kept) = (one.wallets(None), one.sketch("loans", None).count());
        assert!((27_000..33_000).contains(&count) && (900..=2_000).contains(&kept), "{count} {kept}");
        assert_eq!((one.estimate(kept), one.sketch("age", None).missing()), (count, kept));
        let median = one.sketch("loans", None).quantile(0.5).unwrap();
        assert!((13_000.0..17_000.0).contains(&median), "{median}");
        assert_eq!(counted((10_000..30_000).chain(0..20_000)), one);
        let text = serde_json::to_string(&one).unwrap();
        assert!(text.len() < 100_000, "{} bytes", text.len());
    }
}
