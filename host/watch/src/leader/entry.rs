//! A watch of the leader: when it is due, and whether its key may watch.

use chrono::{TimeDelta, Utc};

use crate::{
    records::{StateRecord, WatchRecord, receiver},
    watches::Watch,
};
use assay_access::Lapse;
use assay_domain::Time;

pub(super) struct Entry {
    pub watch: Watch,
    pub due: Time,
    /// Its key may not watch any more.
    pub suspended: Option<Lapse>,
    /// There was no event to deliver when it was last looked for.
    pub idle: bool,
    /// Changes with every new event and every request of the owner: what an evaluation or a delivery began with may be
    /// old at its end.
    pub epoch: u64,
    /// Where its events go.
    pub receiver: Option<String>,
}

impl Entry {
    pub(super) fn new(watch: Watch, epoch: u64) -> Self {
        let due = due(&watch.record, &watch.state, Utc::now());
        let receiver = watch.record.url.as_deref().and_then(receiver);
        Self { watch, due, suspended: None, idle: false, epoch, receiver }
    }

    /// The order of a sweep at `now`: groups that are about to end come first, because their watches end after them,
    /// then the entries that have been due the longest.
    pub(super) fn order(&self, now: Time) -> (bool, Time) {
        let Watch { record, state, .. } = &self.watch;
        let ends = record.is_group() && record.until <= now && state.ended_at.is_none();
        (!ends, self.due)
    }

    /// Whether something may have to be sent at `now`.
    pub(super) fn is_waiting(&self, now: Time) -> bool {
        let Watch { record, delivery, .. } = &self.watch;
        let is_barred = record.paused || self.suspended.is_some() || self.idle && delivery.confirmed;
        !is_barred && delivery.is_due(now)
    }
}

/// When a watch is evaluated next. It is due at once if its last evaluation is later than `now`: the clock went back.
pub(crate) fn due(record: &WatchRecord, state: &StateRecord, now: Time) -> Time {
    if record.is_group() {
        return digest_due(record, state, now);
    }
    let wait = record.every.max(state.wait.unwrap_or_default());
    let every = TimeDelta::from_std(wait).unwrap_or(TimeDelta::days(1));
    let begun = record.created_at.min(now);
    let next = state.evaluated_at.filter(|at| *at <= now).map_or(begun, |at| at + every);
    match state.ended_at {
        // Only to be forgotten.
        Some(ended) => ended + TimeDelta::days(1),
        None if record.paused => record.until,
        None if state.generation != record.generation => begun,
        None => next.min(record.until),
    }
}

/// When the next digest of a group is due, or its end.
fn digest_due(record: &WatchRecord, state: &StateRecord, now: Time) -> Time {
    let day = TimeDelta::days(1);
    match state.ended_at {
        // Only to be forgotten.
        Some(ended) => ended + day,
        None if record.paused => record.until,
        None => (state.evaluated_at.unwrap_or(record.created_at).min(now) + day).min(record.until),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{evaluate::Evaluated, records::Role, watches::NewWatch};
    use std::time::Duration;

    fn record(role: Role, until: Time) -> WatchRecord {
        let new = NewWatch {
            owner: "key".into(),
            by: "key".into(),
            subject: "Loans".into(),
            triggers: Vec::new(),
            every: Duration::from_secs(60),
            fires_at_once: false,
            statement: false,
            url: None,
            until,
            role,
            label: None,
        };
        new.record().unwrap()
    }

    fn evaluated(at: Time) -> StateRecord {
        StateRecord { evaluated_at: Some(at), ..StateRecord::default() }
    }

    #[test]
    fn a_digest_is_due_a_day_after_the_last_one_and_never_after_the_end() {
        let (hours, until) = (TimeDelta::hours, Utc::now() + TimeDelta::hours(30));
        let mut record = record(Role::Group, until);
        let made = record.created_at;
        let due = |record: &WatchRecord, state: &StateRecord| due(record, state, until);
        assert_eq!(due(&record, &StateRecord::default()), made + hours(24));
        assert_eq!(due(&record, &evaluated(made + hours(2))), made + hours(26));
        assert_eq!(due(&record, &evaluated(made + hours(24))), until);
        record.paused = true;
        assert_eq!(due(&record, &StateRecord::default()), until);
    }

    #[test]
    fn a_watch_is_due_at_once_if_the_clock_goes_back() {
        let hours = TimeDelta::hours;
        let mut single = record(Role::Single, Utc::now() + hours(90));
        let made = single.created_at;
        let minute = TimeDelta::minutes(1);
        assert_eq!(due(&single, &evaluated(made + hours(5)), made + hours(5)), made + hours(5) + minute);
        assert!(due(&single, &evaluated(made + hours(5)), made + hours(2)) <= made + hours(2));
        assert!(due(&single, &StateRecord::default(), made - hours(2)) <= made - hours(2));
        single.paused = true;
        assert_eq!(due(&single, &evaluated(made + hours(5)), made), single.until, "a pause goes on");
        let group = record(Role::Group, made + hours(90));
        assert_eq!(due(&group, &evaluated(made + hours(50)), made + hours(2)), made + hours(26));
    }

    #[test]
    fn a_watch_that_has_ended_is_looked_at_once_a_day() {
        let now = Utc::now();
        for (role, hours) in [(Role::Single, 3), (Role::Group, 3), (Role::Single, 700), (Role::Group, 700)] {
            let (record, day) = (record(role, now), TimeDelta::days(1));
            let state = StateRecord { ended_at: Some(now - TimeDelta::hours(hours)), ..StateRecord::default() };
            let mut entry = Entry::new(Watch::new(record, None), 0);
            entry.watch.state = state.clone();
            // One that is loaded may have to be forgotten by now.
            assert_eq!(due(&entry.watch.record, &state, now), now - TimeDelta::hours(hours) + day);
            entry.take(Evaluated::Stored { state, told: false });
            assert!(entry.due >= now + day, "{} after {hours} h", entry.due);
        }
    }

    #[test]
    fn a_watch_that_waits_for_the_end_of_its_group_is_due_soon_and_not_at_once() {
        let (over, second) = (Utc::now() - TimeDelta::seconds(5), TimeDelta::seconds(1));
        let group = record(Role::Group, over);
        let member = record(Role::Member(group.id), over);
        let mut entry = Entry::new(Watch::new(member, Some(group.into())), 3);
        let (state, before) = (entry.watch.state.clone(), Utc::now());
        assert!(entry.due <= before);
        entry.take(Evaluated::Waiting);
        assert!((before + second..=Utc::now() + second).contains(&entry.due), "{}", entry.due);
        assert_eq!((entry.watch.state, entry.epoch), (state, 3));
    }

    #[test]
    fn a_group_that_ends_is_swept_before_its_watches() {
        let until = Utc::now() - TimeDelta::seconds(1);
        let group = record(Role::Group, until);
        let mut member = record(Role::Member(group.id), until);
        member.created_at = until - TimeDelta::hours(1);
        let member = Watch::new(member, Some(group.clone().into()));
        let (mut group, member) = (Entry::new(Watch::new(group, None), 0), Entry::new(member, 0));
        assert!(member.due < group.due, "the watch was never evaluated");
        let now = Utc::now();
        assert!(group.order(now) < member.order(now));
        assert!(group.order(until - TimeDelta::seconds(1)) > member.order(now), "its time is not over");
        group.watch.state.ended_at = Some(now);
        assert!(group.order(now) > member.order(now), "it has ended");
    }
}
