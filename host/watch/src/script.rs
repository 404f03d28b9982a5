//! Values that a script says instead of the chains, on a clock that a tester sets: the watches of a sandbox.

use std::{collections::HashMap, sync::Arc, time::Duration};

use chrono::TimeDelta;

use crate::{reading::Readings, records::WatchRecord, series::ChainFacts, trigger::Trigger};
use assay_domain::{Address, Time};
use assay_score::ScoringError;

/// The moment of a script: its clock, and when that showed 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptMoment {
    pub begun: Time,
    pub clock: Duration,
}

impl ScriptMoment {
    /// The time so long after the clock showed 0.
    pub fn after(&self, time: Duration) -> Time {
        self.begun + TimeDelta::from_std(time).unwrap_or_default()
    }

    pub fn now(&self) -> Time {
        self.after(self.clock)
    }
}

/// Wallets whose values follow a script. A wallet has the same values at the same time of the clock, whoever watches it
/// and whenever.
pub trait WatchScript: Send + Sync {
    /// # Errors
    /// [`ScoringError::Sandbox`] if no script is about the wallet.
    fn require(&self, wallet: Address) -> Result<(), ScoringError>;

    fn readings(&self, wallet: Address, trigger: &Trigger, at: &ScriptMoment) -> Readings;

    /// What became of the blocks in earlier readings.
    fn facts(&self, wallet: Address, at: &ScriptMoment) -> ChainFacts;
}

/// A script as the watches of a sweep meet it.
pub(crate) struct ScriptReading {
    script: Arc<dyn WatchScript>,
    /// The clock of each owner.
    clocks: HashMap<String, Duration>,
}

impl ScriptReading {
    pub(crate) fn new(script: Arc<dyn WatchScript>, clocks: HashMap<String, Duration>) -> Self {
        Self { script, clocks }
    }

    pub(crate) fn moment(&self, watch: &WatchRecord) -> ScriptMoment {
        let clock = self.clocks.get(&watch.owner).copied().unwrap_or_default();
        ScriptMoment { begun: watch.created_at, clock }
    }

    pub(crate) fn readings(&self, watch: &WatchRecord, trigger: &Trigger, wallet: Address) -> Readings {
        self.script.readings(wallet, trigger, &self.moment(watch))
    }

    pub(crate) fn facts(&self, watch: &WatchRecord, wallet: Address) -> ChainFacts {
        self.script.facts(wallet, &self.moment(watch))
    }
}
