//! The regime in which a claim holds, and the daily prices of ether that decide whether a date belongs to it.

use std::{collections::BTreeMap, convert::Infallible, fmt, str::FromStr};

const DAY: u64 = 86_400;
const FALLS: &str = "if ether falls by ";
const HOLDS: &str = "if ether does not fall by ";
const WITHIN: &str = " % within the horizon";

/// The condition of a claim. A card states it as a sentence, which is also how it is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// `if ether falls by 30 % within the horizon`, or `if ether does not fall by 30 % within the horizon`: compares
    /// the lowest daily price within the horizon with the price on the date.
    Ether { percent: f64, falls: bool },
    /// Any other sentence: no rule decides it.
    Words(String),
}

impl FromStr for Condition {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let percent = |begin: &str| {
            let percent = text.strip_prefix(begin)?.strip_suffix(WITHIN)?.parse::<f64>().ok()?;
            (percent > 0.0 && percent < 100.0).then_some(percent)
        };
        let ether = |(begin, falls)| percent(begin).map(|percent| Self::Ether { percent, falls });
        Ok([(FALLS, true), (HOLDS, false)].into_iter().find_map(ether).unwrap_or_else(|| Self::Words(text.to_owned())))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ether { percent, falls } => write!(f, "{}{percent}{WITHIN}", if *falls { FALLS } else { HOLDS }),
            Self::Words(words) => f.write_str(words),
        }
    }
}

impl Condition {
    /// Whether the condition was met in the `days` after `as_of`; `None` if no rule decides it, or if it needs the
    /// price of a day that is not known.
    pub fn is_met(&self, ether: &EtherPrices, as_of: u64, days: u32) -> Option<bool> {
        match self {
            Self::Ether { percent, falls } => Some(ether.falls(as_of, days, percent / 100.0)? == *falls),
            Self::Words(_) => None,
        }
    }
}

/// The price of ether in dollars at the start of each UTC day. A day may be missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EtherPrices(BTreeMap<u64, f64>);

impl EtherPrices {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the price of the UTC day of `time`, unless it is known.
    pub fn add(&mut self, time: u64, usd: f64) {
        self.0.entry(time / DAY).or_insert(usd);
    }

    /// Whether a price of the `days` after the day of `as_of` is lower than its price by `share` or more. `None` if the
    /// price of one of these days, or of that day, is missing.
    fn falls(&self, as_of: u64, days: u32, share: f64) -> Option<bool> {
        let first = as_of / DAY;
        let border = self.0.get(&first)? * (1.0 - share);
        let after = || self.0.range(first + 1..=first + u64::from(days));
        let is_complete = after().count() == usize::try_from(days).ok()?;
        is_complete.then(|| after().any(|(_, usd)| *usd <= border))
    }
}

/// Reads lines of a date and a price, such as `2020-08-01,346.0`, after a line with the names `date,price`.
impl FromStr for EtherPrices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next().map(str::trim) != Some("date,price") {
            return Err("its first line must be `date,price`".to_owned());
        }
        let mut prices = Self::default();
        for (index, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (date, price) = line.trim().split_once(',').unwrap_or_default();
            let day = chrono::NaiveDate::parse_from_str(date, "%Y-%m-%d").ok().and_then(|day| day.and_hms_opt(0, 0, 0));
            let time = day.and_then(|start| u64::try_from(start.and_utc().timestamp()).ok());
            let usd = price.parse::<f64>().ok().filter(|usd| usd.is_finite() && *usd > 0.0);
            let Some((time, usd)) = time.zip(usd) else {
                return Err(format!("line {}: {line:?} is no date and price, such as 2020-08-01,346.0", index + 2));
            };
            if prices.0.insert(time / DAY, usd).is_some_and(|before| before != usd) {
                return Err(format!("line {}: {date} has two prices", index + 2));
            }
        }
        Ok(prices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_shown_as_it_was_stated() {
        for (text, rule) in [
            ("if ether does not fall by 30 % within the horizon", Some((30.0, false))),
            ("if ether falls by 12.5 % within the horizon", Some((12.5, true))),
            ("if ether falls by 0 % within the horizon", None),
            ("if ether falls by 30% within the horizon", None),
            ("if bitcoin falls by 30 % within the horizon", None),
            ("in calm markets", None),
        ] {
            let condition: Condition = text.parse().unwrap();
            assert_eq!(condition.to_string(), text);
            let found = match condition {
                Condition::Ether { percent, falls } => Some((percent, falls)),
                Condition::Words(_) => None,
            };
            assert_eq!(found, rule, "{text}");
        }
    }

    #[test]
    fn a_regime_needs_the_price_of_every_day() {
        let text = "date,price\n2020-08-01,100\n2020-08-02,90\n2020-08-03,70.0\n2020-08-04,95\n2020-08-06,60\n";
        let ether: EtherPrices = text.parse().unwrap();
        let day = 1_596_240_000;
        let met = |text: &str, at, days| text.parse::<Condition>().unwrap().is_met(&ether, at, days);
        let calm = "if ether does not fall by 30 % within the horizon";
        let fall = "if ether falls by 30 % within the horizon";
        for (at, days, is_fall) in [
            (day, 1, Some(false)),
            // A loss of exactly 30 % is a fall. The time of day does not count.
            (day, 2, Some(true)),
            (day + DAY - 1, 2, Some(true)),
            (day + DAY, 2, Some(false)),
            // 5 August is missing.
            (day, 4, None),
            (day + 3 * DAY, 2, None),
            (day + 4 * DAY, 1, None),
            (day + 5 * DAY, 1, None),
        ] {
            assert_eq!(met(fall, at, days), is_fall, "{at} {days}");
            assert_eq!(met(calm, at, days), is_fall.map(|is_fall| !is_fall), "{at} {days}");
        }
        assert_eq!(met("in calm markets", day, 1), None);
        for (text, words) in [
            ("2020-08-01,1\n", "must be `date,price`"),
            ("date,price\n2020-08-01\n", "line 2"),
            ("date,price\n2020-08-01,1\n2020-08-02,nan\n", "line 3"),
            ("date,price\n2020-08-01,1\n2020-08-01,2\n", "2020-08-01 has two prices"),
        ] {
            let why = text.parse::<EtherPrices>().unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
