//! A watch or a group, as its owner has set it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{secret::WebhookSecret, trigger::Trigger};
use assay_domain::Time;

/// A watch as its owner has set it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WatchRecord {
    pub id: Uuid,
    /// The identity of the API key, and its name.
    pub owner: String,
    pub by: String,
    /// An address or a name.
    pub subject: String,
    pub triggers: Vec<Trigger>,
    /// One more for each change of the triggers, whose states then begin anew.
    pub generation: u32,
    pub every: Duration,
    /// The first evaluation fires if a bound is crossed already.
    pub fires_at_once: bool,
    pub url: Option<String>,
    pub secret: WebhookSecret,
    /// Secrets that were replaced, each of which signs too until then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<(WebhookSecret, Time)>,
    /// Events of a score have its signed statement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub statement: bool,
    /// Neither evaluated nor delivered.
    pub paused: bool,
    pub created_at: Time,
    pub until: Time,
    /// The end of the terms that a payment without a key has bought; absent for the watch of a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_until: Option<Time>,
    /// The end that the key has paid for, if `until` is now an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bought_until: Option<Time>,
    #[serde(default, skip_serializing_if = "Role::is_single")]
    pub role: Role,
    /// The owner's own words for the wallet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Changes of `url` and resumptions so far, which the deliveries of a group's watches follow.
    #[serde(default, skip_serializing_if = "Course::is_first")]
    pub course: Course,
}

/// What a [`WatchRecord`] is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// A watch by itself.
    #[default]
    Single,
    /// A watch of this group, which has its bounds, its pace, its receiver, its secret and its end from the group.
    Member(Uuid),
    /// A group, whose `subject` is its name. Its own events are digests.
    Group,
}

/// Counts what a delivery has to begin anew for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Course {
    pub receivers: u32,
    pub resumptions: u32,
    /// Changes of `url` from none to one, after which delivery begins with the next event.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub beginnings: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Role {
    fn is_single(&self) -> bool {
        *self == Self::Single
    }
}

impl Course {
    pub(super) fn is_first(&self) -> bool {
        *self == Self::default()
    }
}

impl WatchRecord {
    pub(crate) fn is_group(&self) -> bool {
        self.role == Role::Group
    }

    /// The group that it is in.
    pub(crate) fn group(&self) -> Option<Uuid> {
        match self.role {
            Role::Member(group) => Some(group),
            Role::Single | Role::Group => None,
        }
    }

    /// A watch of `group` as it is evaluated.
    pub(crate) fn of_group(self, group: &Self) -> Self {
        let Self { triggers, generation, every, fires_at_once, statement, .. } = group.clone();
        let Self { url, secret, replaced, until, course, .. } = group.clone();
        let paused = self.paused || group.paused;
        let own = Self { triggers, generation, every, fires_at_once, statement, ..self };
        Self { url, secret, replaced, until, course, paused, ..own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watches::NewWatch;
    use assay_domain::time_from_unix;

    #[test]
    fn a_watch_of_a_group_has_its_settings_and_a_pause_of_its_own() {
        let record = |subject: &str, role, every| {
            let new = NewWatch {
                owner: "key".into(),
                by: "key".into(),
                subject: subject.into(),
                triggers: Vec::new(),
                every: Duration::from_secs(every),
                fires_at_once: false,
                statement: false,
                url: Some(format!("https://{subject}.example/")),
                until: time_from_unix(every),
                role,
                label: Some(subject.into()),
            };
            new.record().unwrap()
        };
        let mut group = record("loans", Role::Group, 60);
        group.generation = 3;
        let mut own = record("ada", Role::Member(group.id), 300);
        let watch = own.clone().of_group(&group);
        assert_eq!((&watch.url, watch.every, watch.until), (&group.url, group.every, group.until));
        assert!(watch.secret == group.secret && watch.generation == 3 && !watch.paused);
        assert_eq!((watch.id, &watch.subject, &watch.label), (own.id, &own.subject, &own.label));
        own.paused = true;
        assert!(own.of_group(&group).paused && !group.paused);
    }
}
