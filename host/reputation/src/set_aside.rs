//! Whose feedback is not given for a while: agents whose feedback was reverted, and owners and payers whose feedback
//! has cost too much gas. Feedback is signed only if the chain confirms it, but the owner of an agent can make it fail
//! afterwards, as by naming this service's account an operator.

use std::time::Duration;

use chrono::Utc;
use serde::{Deserialize, Serialize};

use super::{
    Reputation,
    records::SubmissionRecord,
    step::{Event, SpentBy},
};
use crate::feedback::Registries;
use assay_access::records::Payer;
use assay_domain::{Address, B256, Time};
use assay_outbox::{
    gas::{Class, Exhausted, NativePrice, Party, Risk, Spent, Usd},
    nonce::LandedRecord,
};
use assay_store::{Batch, Family, Key, StoreError};

/// How long an agent is set aside.
const SET_ASIDE: Duration = Duration::from_secs(86_400);

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
        "Reverted feedback for the agents of {owner} cost more gas than this server pays for. Submit for the agent of \
         another owner, or after {}",
        minute(.until)
    )]
    Owner { owner: Address, until: Time },
    #[error("{}", .spent.why(*.until))]
    Payer { spent: Exhausted, until: Time },
}

impl Barred {
    pub fn until(&self) -> Time {
        match self {
            Self::Agent { until, .. } | Self::Owner { until, .. } | Self::Payer { until, .. } => *until,
        }
    }

    /// The refusal for a party whose losses have reached their limit.
    pub(super) fn by(spent: Exhausted, owner: Option<Address>) -> Self {
        let until = Utc::now() + spent.wait;
        match owner.filter(|owner| Party::owner(*owner) == spent.party) {
            Some(owner) => Self::Owner { owner, until },
            None => Self::Payer { spent, until },
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

/// The gas of the transactions that ended with some events, and the last one that the owner of the agent can have made
/// revert.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    spent: Vec<(LandedRecord, Ending)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Given,
    /// It brought nothing, and no party is to blame.
    Vain,
    Reverted,
}

impl Ends {
    pub(crate) fn add(&mut self, event: &Event) {
        let end = match *event {
            Event::Landed { landed, .. } => (landed, Ending::Given),
            Event::NonceSpent { by: SpentBy::Revert(landed), .. } => (landed, Ending::Reverted),
            Event::NonceSpent { by: SpentBy::OutOfGas(landed) | SpentBy::Cancellation(landed), .. } => {
                (landed, Ending::Vain)
            }
            _ => return,
        };
        self.spent.push(end);
    }

    fn reverted(&self) -> Option<LandedRecord> {
        self.spent.iter().rev().find(|(_, outcome)| *outcome == Ending::Reverted).map(|(landed, _)| *landed)
    }

    pub(crate) fn gas(&self, price: NativePrice) -> Spent {
        self.spent.iter().fold(Spent::default(), |sum, (landed, outcome)| {
            let cost = price.usd(landed.cost.into());
            let part = |counts: bool| if counts { cost } else { Usd::ZERO };
            Spent {
                cost: sum.cost + cost,
                lost: sum.lost + part(*outcome != Ending::Given),
                blamed: sum.blamed + part(*outcome == Ending::Reverted),
            }
        })
    }
}

impl SubmissionRecord {
    /// The parties that can cause a loss: the payer, and the owner of the agent.
    pub(super) fn parties(&self) -> impl Iterator<Item = Party> {
        let owner = self.start.and_then(|start| start.owner).map(Party::owner);
        std::iter::once(Party::from(&self.payer)).chain(owner)
    }

    /// The feedback of one tag, which can cost `most`.
    pub(crate) fn risk(&self, most: Usd) -> Risk {
        let owner = self.start.and_then(|start| start.owner).map(Party::owner);
        Risk { class: Class::Feedback, payer: Party::from(&self.payer), owner, network: None, most }
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
        let store = &self.inner.store;
        if let Some(SetAsideRecord { transaction, until }) =
            store.get(&set_aside(self.inner.effects.client().registries, agent)).await?
        {
            return Ok(Some(Barred::Agent { agent, transaction, until }));
        }
        let parties = owner.map(Party::owner).into_iter().chain([Party::from(payer)]).collect();
        let exhausted = self.inner.gas.exhausted(parties).await?;
        Ok(exhausted.map(|spent| Barred::by(spent, owner)))
    }

    /// Adds to `batch` the gas of the transactions of `record` that ended. After a revert that the owner of the agent
    /// can have caused, the agent is set aside.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn count(
        &self,
        mut batch: Batch,
        record: &SubmissionRecord,
        ends: &Ends,
    ) -> Result<Batch, StoreError> {
        if ends.spent.is_empty() {
            return Ok(batch);
        }
        if let Some(landed) = ends.reverted() {
            let (agent, transaction, until) = (record.agent_id, landed.hash, Utc::now() + SET_ASIDE);
            let key = set_aside(self.inner.effects.client().registries, agent);
            batch = batch.put_expiring(&key, &SetAsideRecord { transaction, until }, SET_ASIDE)?;
            tracing::warn!(submission = %record.id, agent, gas = landed.gas_used, %transaction,
                "feedback was reverted; the agent is set aside for a day");
        }
        let spent = ends.gas(self.inner.gas.native_price().await);
        self.inner.gas.spent(batch, &record.risk(spent.cost), spent).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        document::{self, Beside},
        records::{Stage, Start},
        sample,
    };
    use assay_outbox::nonce::NonceRecord;

    #[tokio::test]
    async fn two_losses_in_one_round_count_twice() {
        let (reputation, _folder) = sample::reputation().await;
        let lease = reputation.inner.store.acquire("work", "test", SET_ASIDE).await.unwrap().unwrap();
        let mut feedback = document::feedback(&sample::pending(), &sample::scores(), &Beside::default()).unwrap();
        for (nonce, feedback) in (0..).zip(&mut feedback) {
            feedback.slot = Some(NonceRecord { nonce, signed: Vec::new() });
        }
        let start = Some(Start { block: 1, given: 0, owner: Some(Address::with_last_byte(9)) });
        let record = SubmissionRecord { stage: Stage::Submitting, feedback, start, ..sample::pending() };
        // Each costs 4,000 millionths of a dollar.
        let landed = LandedRecord { hash: B256::repeat_byte(1), block: 5, gas_used: 6, cost: 1_000_000_000_000 };
        let reverts = record.tags.iter().zip(0..).take(2);
        let reverts = reverts.map(|(tag, nonce)| Event::NonceSpent { tag: *tag, nonce, by: SpentBy::Revert(landed) });
        reputation.advance_all(&lease, &record, reverts.collect()).await.unwrap().unwrap();
        let ledger = reputation.inner.gas.ledger(&[], record.parties()).await.unwrap();
        let lost =
            [ledger.lost_in(Class::Feedback)].into_iter().chain(record.parties().map(|party| ledger.debt(&party)));
        assert!(lost.into_iter().all(|lost| lost > Usd(4_500)), "{ledger:?}");
    }
}
