//! Converts a batch to the form of the write script: its steps in order, each with its key.

use std::{num::NonZeroU32, time::Duration};

use redis::Cmd;
use uuid::Uuid;

use super::naming::KeyNaming;
use crate::{
    batch::{RecordChange, Revision, WriteCondition},
    clock::millis,
    keys::{KeyName, Placement},
};

/// Above this, numbers of the script are not exact.
const MOST: u64 = (1 << 53) - 1;
/// Maximum lifetime of a record, in milliseconds: a hundred years.
const LONGEST: u64 = 100 * 365 * 24 * 3_600 * 1_000;

pub(super) struct ScriptSteps {
    id: Uuid,
    naming: KeyNaming,
    steps: Vec<ScriptStep>,
}

struct ScriptStep {
    key: KeyName,
    what: &'static str,
    first: Vec<u8>,
    second: Vec<u8>,
}

impl ScriptSteps {
    pub(crate) fn new(naming: &KeyNaming) -> Self {
        Self { id: Uuid::new_v4(), naming: naming.clone(), steps: Vec::new() }
    }

    pub(crate) fn id(&self) -> Uuid {
        self.id
    }

    pub(crate) fn condition(&mut self, condition: &WriteCondition) {
        match condition {
            WriteCondition::Unchanged { key, seen: Revision(None) } => self.step(key, "unchanged", "0", ""),
            WriteCondition::Unchanged { key, seen: Revision(Some(bytes)) } => self.step(key, "unchanged", "1", bytes),
            WriteCondition::Leased { key, token } => self.step(key, "leased", token.to_string(), ""),
            // A larger amount exceeds every limit.
            WriteCondition::Left { key, amount, limit } => {
                self.step(key.name(), "left", (*amount).min(MOST + 1).to_string(), (*limit).min(MOST).to_string());
            }
        }
    }

    pub(crate) fn change(&mut self, change: &RecordChange) {
        match change {
            RecordChange::Put { key, value, ttl } => {
                let life = ttl.map(|ttl| life(ttl).to_string()).unwrap_or_default();
                self.step(key, "put", value, life);
            }
            RecordChange::Remove { key } => self.step(key, "remove", "", ""),
            RecordChange::Add { key, amount } => self.step(key.name(), "add", (*amount).min(MOST + 1).to_string(), ""),
            RecordChange::Refund { key, amount } => {
                self.step(key.name(), "give", (*amount).min(MOST + 1).to_string(), "");
            }
        }
    }

    /// Counts this many requests, all or none. One of `rate` requests returns every `each` microseconds.
    pub(crate) fn rate(&mut self, key: &KeyName, each: u128, rate: NonZeroU32, requests: usize) {
        self.step(key, "rate", each.to_string(), format!("{rate} {requests}"));
    }

    /// Acquires for `ttl` milliseconds.
    pub(crate) fn acquire(&mut self, key: &KeyName, holder: &str, ttl: u64) {
        self.step(key, "acquire", holder, ttl.min(LONGEST).to_string());
    }

    /// Renews for `ttl` milliseconds from now; releases without a `ttl`.
    pub(crate) fn renew(&mut self, key: &KeyName, token: u64, ttl: Option<u64>) {
        self.step(key, "renew", token.to_string(), ttl.map(|ttl| ttl.min(LONGEST).to_string()).unwrap_or_default());
    }

    fn step(&mut self, key: &KeyName, what: &'static str, first: impl AsRef<[u8]>, second: impl AsRef<[u8]>) {
        self.steps.push(ScriptStep {
            key: key.clone(),
            what,
            first: first.as_ref().to_vec(),
            second: second.as_ref().to_vec(),
        });
    }

    /// The script's KEYS.
    pub(crate) fn names(&self) -> Vec<String> {
        let own = [self.naming.write(&self.id.simple().to_string()), self.naming.index()];
        own.into_iter().chain(self.steps.iter().map(|step| self.naming.of(&step.key))).collect()
    }

    /// The script's ARGV.
    pub(crate) fn arguments(&self, remembered: Duration, command: &mut Cmd) {
        command.arg(life(remembered));
        for ScriptStep { key, what, first, second } in &self.steps {
            command
                .arg(*what)
                .arg(if key.placement == Placement::Listed { key.text.as_str() } else { "" })
                .arg(first)
                .arg(second);
        }
    }

    /// The key of a step, counted from 1.
    pub(crate) fn key(&self, step: u64) -> String {
        let step = usize::try_from(step).ok().and_then(|step| self.steps.get(step.checked_sub(1)?));
        step.map(|step| step.key.text.clone()).unwrap_or_default()
    }
}

/// The lifetime of a record, at least one millisecond.
pub(super) fn life(ttl: Duration) -> u64 {
    millis(ttl).clamp(1, LONGEST)
}
