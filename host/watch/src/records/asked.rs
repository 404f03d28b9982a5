//! Counts of what is free for an owner and costs others, each for a day.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use url::Url;
use uuid::Uuid;

use super::WatchRecord;
use assay_domain::Time;
use assay_store::{Family, Key};

/// Questions to a host in a day for one owner that are not agreed to, however often its watches are changed or resumed.
const CONSENT_OF_HOST: u32 = 20;
/// The same to all hosts: many names can lead to one host.
const CONSENT_OF_OWNER: u32 = 100;

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

    /// The counts of questions of consent that were not agreed to, with their limits: those to the host of `url`, for a
    /// key or for all payers without a key together, and those of the owner to all hosts. Each is kept for
    /// [`ASKED_FOR`] after the first question.
    pub(crate) fn asked(&self, url: &str) -> Option<[(Key<AskedRecord>, u32); 2]> {
        let url = Url::parse(url).ok()?;
        let host = url.host_str()?.trim_end_matches('.');
        let key = |of: String| Family::new("watch-asked/").key(hex::encode(Sha256::digest(of)));
        let all = key(format!("{}\n", self.owner));
        Some([(key(format!("{}\n{host}", self.lane())), CONSENT_OF_HOST), (all, CONSENT_OF_OWNER)])
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
        let rest = known.rest(now);
        (Self { count: known.count.saturating_add(1), ..known }, rest)
    }

    /// One less, and the time for which it is kept.
    pub(crate) fn given_back(self, now: Time) -> (Self, Duration) {
        let rest = self.rest(now);
        (Self { count: self.count.saturating_sub(1), ..self }, rest)
    }

    fn rest(&self, now: Time) -> Duration {
        let passed = (now - self.since).to_std().unwrap_or_default();
        ASKED_FOR.saturating_sub(passed).max(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{records::Role, watches::NewWatch};
    use assay_domain::time_from_unix;

    #[test]
    fn questions_are_counted_for_a_host_and_for_an_owner_and_all_payers_share_those_to_a_host() {
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
        let counts = |record: &WatchRecord, url: &str| record.asked(url).unwrap().map(|(key, _)| format!("{key:?}"));
        let asked = |record: &WatchRecord, url: &str| counts(record, url)[0].clone();
        let (one, other) = (record("x402:1", true), record("x402:2", true));
        let of_host = asked(&one, "https://victim.example/a");
        for url in ["https://victim.example/b?c", "https://victim.example:8443/", "https://VICTIM.example/"] {
            assert_eq!(asked(&other, url), of_host, "{url}");
        }
        assert_ne!(asked(&other, "https://lender.example/"), of_host);
        let (desk, key) = (record("desk", false), record("key", false));
        assert_ne!(asked(&desk, "https://victim.example/"), asked(&key, "https://victim.example/"));
        for url in ["https://victim.example:8443/", "https://victim.example./", "https://victim.example.:8443/a"] {
            assert_eq!(asked(&desk, "https://victim.example/"), asked(&desk, url), "{url}");
        }
        let all = |record: &WatchRecord, url: &str| counts(record, url)[1].clone();
        assert_eq!(all(&desk, "https://a.victim.example/"), all(&desk, "https://b.victim.example/"));
        assert_ne!(all(&one, "https://victim.example/"), all(&other, "https://victim.example/"));
        assert!(desk.asked("nothing").is_none());
    }

    #[test]
    fn a_count_ends_a_day_after_it_began() {
        let at = |seconds: u64| time_from_unix(1_790_000_000 + seconds);
        let (first, keep) = AskedRecord::after(None, at(0));
        assert_eq!((first.count, keep), (1, ASKED_FOR));
        let (second, keep) = AskedRecord::after(Some(first), at(3_600));
        assert_eq!((second.count, second.since, keep.as_secs()), (2, at(0), 82_800));
        let (back, keep) = second.clone().given_back(at(7_200));
        assert_eq!((back.count, back.since, keep.as_secs()), (1, at(0), 79_200));
        assert_eq!(AskedRecord::after(Some(second), at(1_000_000)).1.as_secs(), 1);
    }
}
