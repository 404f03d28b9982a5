//! Shared by all sections of a configuration: durations in the unit that their key names, and the list of a section's
//! problems.

use std::{
    fmt,
    ops::{Bound, RangeBounds},
    time::Duration,
};

use serde::{Deserialize, Deserializer};
use url::Url;

use crate::Secret;

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

/// Whether the text is an http or https URL.
pub fn is_web(url: &Secret) -> bool {
    Url::parse(url.expose()).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// One problem, with the path of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub key: String,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.what)
    }
}

/// All problems of one section. Their keys are relative to that section.
#[derive(Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    pub fn add(&mut self, key: impl Into<String>, what: impl Into<String>) {
        self.0.push(Problem { key: key.into(), what: what.into() });
    }

    /// Adds the problem if `wrong` is true.
    pub fn add_if(&mut self, wrong: bool, key: impl Into<String>, what: &str) {
        if wrong {
            self.add(key, what);
        }
    }

    /// Adds the problems of the section at `path`. A problem with an empty key belongs to the section itself.
    pub fn section(&mut self, path: &str, section: Self) {
        self.0.extend(section.0.into_iter().map(|Problem { key, what }| {
            let key = if key.is_empty() { path.to_owned() } else { format!("{path}.{key}") };
            Problem { key, what }
        }));
    }

    /// Adds a problem if `value` is out of `bounds`.
    pub fn number(&mut self, key: &str, value: impl TryInto<u64>, bounds: impl RangeBounds<u64>) {
        let value = value.try_into().unwrap_or(u64::MAX);
        let what = match (bounds.start_bound(), bounds.end_bound()) {
            (Bound::Included(least), _) if value < *least => format!("{value}; must be at least {least}"),
            (_, Bound::Included(most)) if value > *most => format!("{value}; may be at most {most}"),
            _ => return,
        };
        self.add(key, what);
    }

    /// Adds a problem if `value` is out of `bounds`, which are in milliseconds.
    pub fn millis(&mut self, key: &str, value: Duration, bounds: impl RangeBounds<u64>) {
        self.number(key, value.as_millis(), bounds);
    }

    /// Adds a problem if `value` is out of `bounds`, which are in hours.
    pub fn hours(&mut self, key: &str, value: Duration, bounds: impl RangeBounds<u64>) {
        self.number(key, value.as_secs() / HOUR, bounds);
    }

    /// Adds a problem if `value` is out of `bounds`, which are in days.
    pub fn days(&mut self, key: &str, value: Duration, bounds: impl RangeBounds<u64>) {
        self.number(key, value.as_secs() / DAY, bounds);
    }

    /// Adds a problem if `value` is not a share from 0 to 1.
    pub fn share(&mut self, key: &str, value: f64) {
        if !(0.0..=1.0).contains(&value) {
            self.add(key, format!("{value}; a share is 0 to 1"));
        }
    }

    pub fn into_vec(self) -> Vec<Problem> {
        self.0
    }
}

/// Reads a duration, for a key such as `timeout_ms`.
///
/// # Errors
/// If the value is not a number of milliseconds.
pub fn millis<'de, D: Deserializer<'de>, T: From<Duration>>(deserializer: D) -> Result<T, D::Error> {
    u64::deserialize(deserializer).map(|millis| Duration::from_millis(millis).into())
}

/// Reads a duration, for a key in seconds.
///
/// # Errors
/// If the value is not a number of seconds.
pub fn seconds<'de, D: Deserializer<'de>, T: From<Duration>>(deserializer: D) -> Result<T, D::Error> {
    u64::deserialize(deserializer).map(|seconds| Duration::from_secs(seconds).into())
}

/// Reads a duration, for a key such as `window_hours`.
///
/// # Errors
/// If the value is not a number of hours.
pub fn hours<'de, D: Deserializer<'de>, T: From<Duration>>(deserializer: D) -> Result<T, D::Error> {
    u64::deserialize(deserializer).map(|hours| Duration::from_secs(hours.saturating_mul(HOUR)).into())
}

/// Reads a duration, for a key such as `provenance_days`.
///
/// # Errors
/// If the value is not a number of days.
pub fn days<'de, D: Deserializer<'de>, T: From<Duration>>(deserializer: D) -> Result<T, D::Error> {
    u64::deserialize(deserializer).map(|days| Duration::from_secs(days.saturating_mul(DAY)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_include_their_ends() {
        let mut found = Problems::default();
        found.number("a", 0_u64, 1..);
        found.number("b", 1_usize, 1..=2);
        found.number("c", 3_u32, 1..=2);
        found.millis("d", Duration::from_secs(1), ..=999);
        found.days("e", Duration::from_secs(2 * DAY), 1..=2);
        let mut all = Problems::default();
        all.section("s", found);
        let all: Vec<_> = all.into_vec().iter().map(Problem::to_string).collect();
        assert_eq!(all, ["s.a: 0; must be at least 1", "s.c: 3; may be at most 2", "s.d: 1000; may be at most 999"]);
    }
}
