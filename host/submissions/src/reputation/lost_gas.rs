//! Gas that reverted feedback cost: by agent, by the agent's owner, by payer and in all; and the agents that are set
//! aside for it. Feedback is signed only if the chain confirms it, but the owner of an agent can make it fail
//! afterwards, as by naming this service's account an operator.

use std::time::Duration;

use chrono::{DurationRound, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::{
    Reputation,
    records::SubmissionRecord,
    step::{Event, SpentBy},
};
use crate::{config, feedback::Registries};
use assay_access::records::Payer;
use assay_domain::{Address, B256, Time};
use assay_outbox::nonce::LandedRecord;
use assay_store::{Batch, Family, Key, StoreError};

/// How long the sum of a day or an hour is stored.
const KEPT: Duration = Duration::from_secs(2 * 86_400);
/// How long an agent is set aside.
const SET_ASIDE: Duration = Duration::from_secs(86_400);

/// The gas that may be lost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// In a day, for the agents of one owner or the submissions of one payer.
    pub payer: u64,
    /// In an hour.
    pub all: u64,
}

impl Limits {
    pub fn new(config: &config::Reputation) -> Self {
        Self { payer: config.payer_reverted_gas, all: config.reverted_gas }
    }
}

/// Why no feedback is given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Barred {
    #[error(
        "Agent {agent} is set aside until {}: the Reputation Registry reverted feedback for it in transaction \
         {transaction}. Submit for another agent, or after that time",
        minute(.until)
    )]
    Agent { agent: u64, transaction: B256, until: Time },
    #[error(
        "Reverted feedback for the agents of {owner} cost more gas than this server pays for in a day. Submit for the \
         agent of another owner, or after {}",
        minute(.until)
    )]
    Owner { owner: Address, until: Time },
    #[error(
        "Reverted feedback of this caller cost more gas than this server pays for in a day. Submit again after {}",
        minute(.until)
    )]
    Payer { until: Time },
    #[error(
        "Reverted feedback cost more gas than this server pays for in an hour. Submit again after {}",
        minute(.until)
    )]
    All { until: Time },
}

impl Barred {
    pub fn until(&self) -> Time {
        match self {
            Self::Agent { until, .. } | Self::Owner { until, .. } | Self::Payer { until } | Self::All { until } => {
                *until
            }
        }
    }
}

fn minute(time: &Time) -> impl std::fmt::Display {
    time.format("%F %R UTC")
}

/// An agent for which no feedback is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SetAsideRecord {
    /// The reverted transaction.
    transaction: B256,
    until: Time,
}

fn set_aside(registries: Registries, agent: u64) -> Key<SetAsideRecord> {
    let Registries { chain, identity, .. } = registries;
    Family::new("agent-set-aside/").key(format_args!("{chain}/{identity:#x}/{agent}"))
}

/// Gas of reverted feedback in the day of `now`.
fn reverted(now: Time, whose: &str) -> Key<u64> {
    Family::new("feedback-reverted/").key(format_args!("day/{}/{whose}", now.timestamp().div_euclid(86_400)))
}

/// Gas of all reverted feedback in the hour of `now`.
fn reverted_in_hour(now: Time) -> Key<u64> {
    Family::new("feedback-reverted/").key(format_args!("hour/{}", now.timestamp().div_euclid(3_600)))
}

fn of_owner(owner: Address) -> String {
    format!("owner/{owner:#x}")
}

fn of_payer(payer: &Payer) -> String {
    match payer {
        Payer::Key { meter, .. } => format!("key/{meter}"),
        Payer::Payment(payment) => format!("payer/{:#x}", payment.from),
    }
}

/// A reverted transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loss {
    landed: LandedRecord,
    /// The owner of the agent can have caused it.
    by_owner: bool,
}

impl Loss {
    pub(super) fn of(event: &Event) -> Option<Self> {
        let Event::NonceSpent { by, .. } = event else { return None };
        match *by {
            SpentBy::Revert(landed) => Some(Self { landed, by_owner: true }),
            SpentBy::OutOfGas(landed) => Some(Self { landed, by_owner: false }),
            SpentBy::Cancellation | SpentBy::Foreign => None,
        }
    }
}

impl Reputation {
    /// Why no feedback is given now for the agent of `owner`, submitted by `payer`; `None` if it is given.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn barred(
        &self,
        agent: u64,
        owner: Option<Address>,
        payer: &Payer,
    ) -> Result<Option<Barred>, StoreError> {
        let (now, limits, store) = (Utc::now(), self.inner.settings.limits, &self.inner.store);
        if let Some(SetAsideRecord { transaction, until }) =
            store.get(&set_aside(self.inner.effects.client().registries, agent)).await?
        {
            return Ok(Some(Barred::Agent { agent, transaction, until }));
        }
        let keys = [
            reverted(now, &of_payer(payer)),
            reverted_in_hour(now),
            reverted(now, &owner.map(of_owner).unwrap_or_default()),
        ];
        let spent = store.get_many(&keys).await?;
        let is_over = |at: usize, limit: u64| spent.get(at).copied().flatten().is_some_and(|spent| spent >= limit);
        let (day, hour) = (end_of(now, TimeDelta::days(1)), end_of(now, TimeDelta::hours(1)));
        Ok(match owner {
            Some(owner) if is_over(2, limits.payer) => Some(Barred::Owner { owner, until: day }),
            _ if is_over(0, limits.payer) => Some(Barred::Payer { until: day }),
            _ if is_over(1, limits.all) => Some(Barred::All { until: hour }),
            _ => None,
        })
    }

    /// Adds to `batch` the gas of a reverted transaction of `record`. After a revert that the owner of the agent can
    /// have caused, the agent is set aside.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn count(
        &self,
        mut batch: Batch,
        record: &SubmissionRecord,
        loss: Loss,
    ) -> Result<Batch, StoreError> {
        let (now, gas, agent) = (Utc::now(), loss.landed.gas_used, record.agent_id);
        let mut keys = vec![reverted_in_hour(now)];
        if loss.by_owner {
            keys.extend([reverted(now, &format!("agent/{agent}")), reverted(now, &of_payer(&record.payer))]);
            let owner = record.start.and_then(|start| start.owner);
            keys.extend(owner.map(|owner| reverted(now, &of_owner(owner))));
            let (transaction, until) = (loss.landed.hash, now + SET_ASIDE);
            let key = set_aside(self.inner.effects.client().registries, agent);
            batch = batch.put_expiring(&key, &SetAsideRecord { transaction, until }, SET_ASIDE)?;
            tracing::warn!(submission = %record.id, agent, owner = ?owner, gas, %transaction,
                "feedback was reverted; the agent is set aside for a day");
        }
        let spent = self.inner.store.get_many(&keys).await?;
        for (key, spent) in keys.iter().zip(spent) {
            batch = batch.put_expiring(key, &spent.unwrap_or_default().saturating_add(gas), KEPT)?;
        }
        Ok(batch)
    }
}

/// The end of the day or hour of `now`.
fn end_of(now: Time, span: TimeDelta) -> Time {
    now.duration_trunc(span).unwrap_or(now) + span
}
