//! Counts of what is free for an owner and costs others, each for a day.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Url;
use uuid::Uuid;

use super::WatchRecord;
use assay_domain::Time;
use assay_store::{Family, Key};

/// The test events of a watch, kept for [`ASKED_FOR`] after the first one.
pub(crate) fn tests(id: Uuid) -> Key<AskedRecord> {
    Family::new("watch-tests/").key(id)
}

/// The part of a URL that one delivery at a time goes to.
pub(crate) fn receiver(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
}

impl WatchRecord {
    /// Those who share the limits of an owner. All payers without a key do: each of their watches has its own owner,
    /// and costs little.
    pub(crate) fn lane(&self) -> &str {
        if self.paid_until.is_some() { &self.by } else { &self.owner }
    }

    /// How often the receiver at `url` was asked for its consent in vain, kept for [`ASKED_FOR`] after the first time:
    /// for a key, by host and port; for all payers without a key together, by host.
    pub(crate) fn asked(&self, url: &str) -> Option<Key<AskedRecord>> {
        let asked = match self.paid_until {
            None => receiver(url)?,
            Some(_) => Url::parse(url).ok()?.host_str()?.to_owned(),
        };
        Some(Family::new("watch-asked/").key(hex::encode(Sha256::digest(format!("{}\n{asked}", self.lane())))))
    }
}

/// Time for which what an owner asked for is counted together.
pub(crate) const ASKED_FOR: Duration = Duration::from_secs(86_400);

/// A count that ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AskedRecord {
    pub count: u32,
    pub since: Time,
}

impl AskedRecord {
    /// One more than `known` at `now`, and the time for which it is kept.
    pub(crate) fn after(known: Option<Self>, now: Time) -> (Self, Duration) {
        let known = known.unwrap_or(Self { count: 0, since: now });
        let passed = (now - known.since).to_std().unwrap_or_default();
        let rest = ASKED_FOR.saturating_sub(passed).max(Duration::from_secs(1));
        (Self { count: known.count.saturating_add(1), since: known.since }, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{records::Role, watches::NewWatch};
    use assay_domain::time_from_unix;

    #[test]
    fn all_payers_without_a_key_share_the_questions_to_a_host_and_no_key_does() {
        let record = |owner: &str, paid: bool| {
            let new = NewWatch {
                owner: owner.into(),
                by: if paid { "x402".into() } else { owner.into() },
                subject: "ada".into(),
                triggers: Vec::new(),
                every: Duration::from_secs(60),
                fires_at_once: false,
                statement: false,
                url: None,
                until: time_from_unix(0),
                role: Role::Single,
                label: None,
            };
            WatchRecord { paid_until: paid.then(|| time_from_unix(9)), ..new.record().unwrap() }
        };
        let asked = |record: &WatchRecord, url: &str| format!("{:?}", record.asked(url).unwrap());
        let (one, other) = (record("x402:1", true), record("x402:2", true));
        let of_host = asked(&one, "https://victim.example/a");
        for url in ["https://victim.example/b?c", "https://victim.example:8443/", "https://VICTIM.example/"] {
            assert_eq!(asked(&other, url), of_host, "{url}");
        }
        assert_ne!(asked(&other, "https://lender.example/"), of_host);
        let (desk, key) = (record("desk", false), record("key", false));
        assert_ne!(asked(&desk, "https://victim.example/"), asked(&key, "https://victim.example/"));
        assert_ne!(asked(&desk, "https://victim.example/"), asked(&desk, "https://victim.example:8443/"));
        assert!(desk.asked("nothing").is_none());
    }

    #[test]
    fn a_count_ends_a_day_after_it_began() {
        let at = |seconds: u64| time_from_unix(1_790_000_000 + seconds);
        let (first, keep) = AskedRecord::after(None, at(0));
        assert_eq!((first.count, keep), (1, ASKED_FOR));
        let (second, keep) = AskedRecord::after(Some(first), at(3_600));
        assert_eq!((second.count, second.since, keep.as_secs()), (2, at(0), 82_800));
        assert_eq!(AskedRecord::after(Some(second), at(1_000_000)).1.as_secs(), 1);
    }
}
