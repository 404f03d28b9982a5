//! How old an answer is, and how long it stays valid.

use std::time::Duration;

use crate::Time;

/// How long an answer stays valid. An incomplete answer has its own lifetime, because it may soon be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    pub complete: Duration,
    pub incomplete: Duration,
}

impl Lifetimes {
    pub fn of(self, is_complete: bool) -> Duration {
        if is_complete { self.complete } else { self.incomplete }
    }
}

/// When the figures of an answer were read, and how long they stay valid after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    pub read_at: Time,
    pub life: Duration,
}

impl Freshness {
    /// Time since the read; 0 if the clock was turned back.
    pub fn age(self, now: Time) -> Duration {
        (now - self.read_at).to_std().unwrap_or_default()
    }

    /// The one that expires first: an answer combined from several is valid no longer than any of them.
    pub fn soonest(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let life = |fresh: &Self| i64::try_from(fresh.life.as_millis()).unwrap_or(i64::MAX);
        all.into_iter().min_by_key(|fresh| fresh.read_at.timestamp_millis().saturating_add(life(fresh)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_from_unix;

    #[test]
    fn the_first_to_end_decides() {
        let of = |read, life| Freshness { read_at: time_from_unix(read), life: Duration::from_secs(life) };
        assert_eq!(Freshness::soonest([of(100, 300), of(200, 30), of(50, 300)]), Some(of(200, 30)));
        let forever = Freshness { read_at: time_from_unix(1), life: Duration::MAX };
        assert_eq!(Freshness::soonest([forever, of(100, 300)]), Some(of(100, 300)));
        assert_eq!(Freshness::soonest([]), None);
        assert_eq!(of(100, 300).age(time_from_unix(160)), Duration::from_secs(60));
        assert_eq!(of(100, 300).age(time_from_unix(99)), Duration::ZERO);
    }
}
