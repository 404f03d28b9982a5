//! The roles of each kind: one champion, any number of challengers, the live split, and the earlier champions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Split;
use assay_domain::{Digest, ModelKind, ModelVersion, Time};

/// The digest of each version that has a role, as stored. Such a version is not loaded with other bytes.
pub type Released = BTreeMap<(ModelKind, ModelVersion), Digest>;

/// The roles of every kind, as stored. They may name versions that are not on the shelf.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles(BTreeMap<ModelKind, KindRoles>);

/// The roles of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindRoles {
    /// The version that answers. `None` until the first model of this kind is loaded.
    pub champion: Option<ModelVersion>,
    /// Earlier champions, latest last. An automatic return restores one of them.
    #[serde(default)]
    pub previous: Vec<ModelVersion>,
    /// Versions that score in the shadow.
    #[serde(default)]
    pub challengers: Vec<ModelVersion>,
    /// Versions that answer some wallets or keys in place of the champion.
    #[serde(default)]
    pub split: Split,
    /// When an operator last made each version champion or challenger. A new time returns a version to service.
    #[serde(default)]
    pub assigned: BTreeMap<ModelVersion, Time>,
}

impl KindRoles {
    /// The versions that answer requests: the champion and those of the split. One may be named twice.
    pub fn answering(&self) -> impl Iterator<Item = &ModelVersion> {
        self.champion.iter().chain(self.split.versions())
    }

    /// What decides which version answers whom, the same on all hosts: the champion and the split.
    pub fn split_state(&self) -> impl Serialize {
        (&self.champion, &self.split)
    }

    /// Notes that an operator made these versions champion or challengers at `now`.
    pub fn note_assigned(&mut self, versions: &[ModelVersion], now: Time) {
        let Self { champion, challengers, assigned, .. } = self;
        assigned.extend(versions.iter().map(|version| (version.clone(), now)));
        assigned.retain(|version, _| champion.as_ref() == Some(version) || challengers.contains(version));
    }

    /// The versions that an operator made champion or challenger since the roles were `before`.
    pub fn assigned_since(&self, before: &Self) -> Vec<ModelVersion> {
        let new = self.assigned.iter().filter(|(version, at)| before.assigned.get(*version) != Some(*at));
        new.map(|(version, _)| version.clone()).collect()
    }
}

impl Roles {
    /// Maximum number of earlier champions.
    const HISTORY: usize = 8;

    /// The roles of `kind`; empty before the first decision.
    pub fn of(&self, kind: ModelKind) -> KindRoles {
        self.0.get(&kind).cloned().unwrap_or_default()
    }

    /// Replaces the roles of `kind`.
    pub fn set(&mut self, kind: ModelKind, roles: KindRoles) {
        self.0.insert(kind, roles);
    }

    pub fn champion(&self, kind: ModelKind) -> Option<&ModelVersion> {
        self.0.get(&kind)?.champion.as_ref()
    }

    pub(crate) fn split(&self, kind: ModelKind) -> Option<&Split> {
        self.0.get(&kind).map(|roles| &roles.split)
    }

    pub fn challengers(&self, kind: ModelKind) -> &[ModelVersion] {
        self.0.get(&kind).map_or(&[], |roles| roles.challengers.as_slice())
    }

    /// Makes `version` the champion, and the current champion an earlier one. A champion is not a challenger.
    pub fn promote(&mut self, kind: ModelKind, version: &ModelVersion) {
        let roles = self.0.entry(kind).or_default();
        if roles.champion.as_ref() == Some(version) {
            return;
        }
        roles.previous.retain(|known| known != version);
        roles.previous.extend(roles.champion.replace(version.clone()));
        if roles.previous.len() > Self::HISTORY {
            roles.previous.remove(0);
        }
        roles.challengers.retain(|challenger| challenger != version);
        roles.split.forget_share(version);
    }

    /// Makes `version` the champion again. The current champion does not become an earlier one.
    pub fn roll_back(&mut self, kind: ModelKind, version: &ModelVersion) {
        let roles = self.0.entry(kind).or_default();
        roles.previous.retain(|known| known != version);
        roles.champion = Some(version.clone());
        roles.challengers.retain(|challenger| challenger != version);
        roles.split.forget_share(version);
    }

    pub fn set_challengers(&mut self, kind: ModelKind, versions: &[ModelVersion]) {
        let challengers = &mut self.0.entry(kind).or_default().challengers;
        challengers.clear();
        for version in versions {
            if !challengers.contains(version) {
                challengers.push(version.clone());
            }
        }
    }

    /// Removes a deleted version.
    pub fn forget(&mut self, kind: ModelKind, version: &ModelVersion) {
        if let Some(roles) = self.0.get_mut(&kind) {
            roles.previous.retain(|known| known != version);
            roles.challengers.retain(|known| known != version);
            roles.split.forget(version);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::time_from_unix;

    const KIND: ModelKind = ModelKind::Credit;

    fn v(minor: usize) -> ModelVersion {
        format!("1.{minor}").parse().unwrap()
    }

    #[test]
    fn a_rollback_forgets_the_champion_that_failed() {
        let mut roles = Roles::default();
        (0..3).for_each(|minor| roles.promote(KIND, &v(minor)));
        assert_eq!(roles.of(KIND).previous, [v(0), v(1)]);
        roles.roll_back(KIND, &v(1));
        assert_eq!((roles.champion(KIND), roles.of(KIND).previous), (Some(&v(1)), vec![v(0)]));
    }

    #[test]
    fn a_champion_is_no_challenger_and_the_history_is_bounded() {
        let mut roles = Roles::default();
        roles.set_challengers(KIND, &[v(7), v(7), v(8)]);
        (0..20).for_each(|minor| roles.promote(KIND, &v(minor)));
        assert!(roles.challengers(KIND).is_empty());
        assert_eq!(roles.of(KIND).previous.len(), Roles::HISTORY);
        roles.promote(KIND, &v(18));
        assert_eq!(roles.of(KIND).previous.last(), Some(&v(19)));
    }

    #[test]
    fn a_version_is_assigned_again_when_it_returns_to_a_role_or_is_given_the_same_once_more() {
        let mut roles = KindRoles { challengers: vec![v(1), v(2)], ..KindRoles::default() };
        roles.note_assigned(&[v(1), v(2)], time_from_unix(1));
        let before = roles.clone();
        assert_eq!(before.assigned_since(&KindRoles::default()), [v(1), v(2)]);
        assert!(roles.assigned_since(&before).is_empty());
        roles.note_assigned(&[v(2)], time_from_unix(2));
        assert_eq!(roles.assigned_since(&before), [v(2)]);
        roles.challengers.clear();
        roles.note_assigned(&[], time_from_unix(3));
        assert!(roles.assigned.is_empty(), "a version without a role is forgotten");
        roles.champion = Some(v(1));
        roles.note_assigned(&[v(1)], time_from_unix(4));
        assert_eq!(roles.assigned_since(&before), [v(1)]);
    }

    #[test]
    fn roles_are_equal_after_a_round_trip_through_json() {
        let mut roles = Roles::default();
        roles.promote(KIND, &v(1));
        roles.set_challengers(ModelKind::Sandbox, &[v(2)]);
        let mut sandbox = roles.of(ModelKind::Sandbox);
        sandbox.note_assigned(&[v(2)], time_from_unix(1));
        roles.set(ModelKind::Sandbox, sandbox);
        let text = serde_json::to_string(&roles).unwrap();
        assert_eq!(serde_json::from_str::<Roles>(&text).unwrap(), roles, "{text}");
    }
}
