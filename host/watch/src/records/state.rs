//! The state of a watch.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    exposure::Exposure,
    series::{PastEvent, TriggerState},
    trigger::Trigger,
};
use assay_domain::{Address, Time};
use assay_store::{Revision, StoreError};

/// The state of a watch, written by the host that evaluates it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StateRecord {
    /// The generation of the triggers that `triggers` has the states of.
    pub generation: u32,
    pub address: Option<Address>,
    pub evaluated_at: Option<Time>,
    /// Time until the next evaluation, if it can wait for longer than its owner asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Duration>,
    pub triggers: Vec<TriggerState>,
    /// What `triggers` has the states of.
    #[serde(default)]
    pub of: Vec<Trigger>,
    /// Events of states that were replaced, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<PastEvent>,
    /// The number of the next event, from 1.
    pub next: u64,
    pub ended_at: Option<Time>,
    /// Why it ended; its time was over if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<Ended>,
    /// It ended, and still counts as one of the watches of its key: a group, which costs nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_place: bool,
    /// The debts of the wallet when they were last read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<Exposure>,
}

/// Why a watch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ended {
    /// The time of `until` came.
    Until,
    /// Its key was revoked.
    KeyRevoked,
}

impl Ended {
    /// The reason as answers and events have it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Until => "until",
            Self::KeyRevoked => "key_revoked",
        }
    }
}

impl StateRecord {
    /// Lets the state of each trigger begin anew.
    pub(crate) fn replace_triggers(&mut self) {
        for (trigger, state) in self.of.iter().zip(&mut self.triggers) {
            state.begin_anew(trigger, &mut self.past);
        }
    }

    /// Its revision in the store.
    pub(crate) fn revision(&self, id: Uuid) -> Result<Revision, StoreError> {
        // The state of a watch that was never evaluated is not stored.
        if *self == Self::default() { Ok(Revision::ABSENT) } else { Revision::of(&super::state(id), self) }
    }
}
