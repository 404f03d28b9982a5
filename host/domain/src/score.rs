//! The score scale: 300 to 1000, its deciles and its named ranges.

use std::{fmt, str::FromStr};

/// A credit score, 300 to 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub struct Score(u16);

impl Score {
    pub const MIN: Self = Self(300);
    pub const MAX: Self = Self(1000);

    /// `None` if the value is outside 300..=1000.
    pub fn new(value: u32) -> Option<Self> {
        u16::try_from(value).ok().map(Self).filter(|s| (Self::MIN..=Self::MAX).contains(s))
    }

    pub fn get(self) -> u32 {
        u32::from(self.0)
    }

    /// The range of this score in the table of the API contract.
    pub fn range(self) -> Range {
        Range::ALL.into_iter().rev().find(|range| self >= range.lowest()).unwrap_or(Range::Low)
    }

    /// The score one point below; `None` for the lowest.
    pub fn below(self) -> Option<Self> {
        self.get().checked_sub(1).and_then(Self::new)
    }

    /// The mean, rounded half up; `None` if there are no scores.
    pub fn mean(scores: &[Self]) -> Option<Self> {
        let count = u32::try_from(scores.len()).ok().filter(|n| *n > 0)?;
        let sum: u32 = scores.iter().map(|s| s.get()).sum();
        Self::new((2 * sum + count) / (2 * count))
    }
}

impl From<Score> for u32 {
    fn from(score: Score) -> Self {
        score.get()
    }
}

impl TryFrom<u32> for Score {
    type Error = String;

    fn try_from(value: u32) -> Result<Self, String> {
        Self::new(value).ok_or_else(|| format!("score {value} is outside 300..=1000"))
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A tenth of the population, 1 (lowest) to 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decile(u8);

impl Decile {
    pub const MIN: Self = Self(1);

    /// `None` if the value is outside 1..=10.
    pub fn new(value: u8) -> Option<Self> {
        (1..=10).contains(&value).then_some(Self(value))
    }

    pub fn get(self) -> u8 {
        self.0
    }
}

/// The named ranges of the API contract, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Range {
    Low,
    Fair,
    Good,
    VeryGood,
    Excellent,
}

impl Range {
    pub const ALL: [Self; 5] = [Self::Low, Self::Fair, Self::Good, Self::VeryGood, Self::Excellent];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Fair => "fair",
            Self::Good => "good",
            Self::VeryGood => "very_good",
            Self::Excellent => "excellent",
        }
    }
}

impl Range {
    /// The lowest score of this range.
    pub fn lowest(self) -> Score {
        match self {
            Self::Low => Score::MIN,
            Self::Fair => Score(640),
            Self::Good => Score(750),
            Self::VeryGood => Score(840),
            Self::Excellent => Score(920),
        }
    }

    /// The range above; `None` for the highest.
    pub fn above(self) -> Option<Self> {
        Self::ALL.into_iter().find(|range| *range > self)
    }
}

impl FromStr for Range {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|range| range.as_str() == text).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_the_contract_at_every_edge() {
        let range = |n| Score::new(n).unwrap().range();
        assert_eq!([300, 639].map(range), [Range::Low; 2]);
        assert_eq!([640, 749].map(range), [Range::Fair; 2]);
        assert_eq!([750, 839].map(range), [Range::Good; 2]);
        assert_eq!([840, 919].map(range), [Range::VeryGood; 2]);
        assert_eq!([920, 1000].map(range), [Range::Excellent; 2]);
        assert_eq!([299, 1001].map(Score::new), [None; 2]);
        assert!(Range::ALL.into_iter().all(|range| range.lowest().range() == range));
        assert_eq!((Range::Low.above(), Range::Excellent.above()), (Some(Range::Fair), None));
    }

    #[test]
    fn the_mean_rounds_half_up() {
        let scores = |list: &[u32]| list.iter().map(|n| Score::new(*n).unwrap()).collect::<Vec<_>>();
        assert_eq!(Score::mean(&scores(&[847, 765])), Score::new(806));
        assert_eq!(Score::mean(&scores(&[700, 701])), Score::new(701));
        assert_eq!(Score::mean(&[]), None);
    }
}
