//! Having payments settled by a facilitator: one process of a fleet asks, and what it is told is held against the chain
//! where that can be asked. An answer that is lost, late or a lie costs nobody anything: the chain says what became of
//! the payment, or the facilitator is asked once more.

use crate::access::x402::records::{OrderRecord, PaymentRecord};
use std::{collections::HashSet, time::Duration};

use chrono::Utc;
use futures::{StreamExt, stream::FuturesUnordered};

use super::{Refused, X402, reason, verify::used};
use assay_domain::{B256, U256};
use assay_outbox::payment::{AuthorizationUse, Facilitator, Settlement};
use assay_store::{Lease, Lost};

/// How long a worker that is gone holds up its successor on another host.
const LEASE: Duration = Duration::from_secs(8);
/// Wait for a lease that somebody else has, and after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);
/// Time between two looks at payments on their way.
const LOOK: Duration = Duration::from_millis(250);
/// Payments asked about at once.
const AT_ONCE: usize = 16;
/// First wait before the facilitator is asked again; doubled with each further time.
const BACKOFF: Duration = Duration::from_secs(2);
const MAX_BACKOFF: Duration = Duration::from_secs(60);
/// Seconds after a signature has expired in which nobody can use it any more, by all clocks.
const BEHIND: u64 = 60;
/// Seconds after which a facilitator that tells nothing of an expired payment is asked no more, where the chain cannot
/// be.
const FORGOTTEN: u64 = 3_600;

impl X402 {
    pub(super) async fn work(&self) {
        let name = format!("x402/{}", self.terms().domain.chain);
        self.inner
            .store
            .lead(&name, (LEASE, RETRY), "payments", |lease| async move { self.rounds(&lease).await })
            .await;
    }

    async fn rounds(&self, lease: &Lease) -> Lost {
        let (mut busy, mut asking) = (HashSet::new(), FuturesUnordered::new());
        loop {
            let open = match self.on_the_way().await {
                Ok(open) => open,
                Err(error) => return error.into(),
            };
            let idle = open.is_empty();
            for record in open {
                if asking.len() < AT_ONCE && busy.insert(record.id) {
                    let id = record.id;
                    asking.push(async move { (id, self.follow(lease, record).await) });
                }
            }
            let pause = if idle { Duration::from_secs(1) } else { LOOK };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.inner.news.notified() => {}
                Some((id, done)) = asking.next() => {
                    busy.remove(&id);
                    if let Err(lost) = done { return lost }
                    // What was just looked at is looked at again in a moment, not at once.
                    tokio::time::sleep(LOOK / 10).await;
                }
            }
        }
    }

    /// Does what is next for one payment.
    async fn follow(&self, lease: &Lease, mut record: PaymentRecord) -> Result<(), Lost> {
        let before = record.clone();
        if !self.seen_on_chain(&mut record).await && record.next_at <= Utc::now() {
            let (Some(facilitator), Some(order)) = (&self.inner.facilitator, record.order.clone()) else {
                return Ok(());
            };
            // Written down before it is asked: after a crash it is known that it may have been.
            record.attempts = record.attempts.saturating_add(1);
            record.next_at =
                Utc::now() + BACKOFF.saturating_mul(1 << record.attempts.saturating_sub(1).min(8)).min(MAX_BACKOFF);
            if !self.write(lease, &mut record).await? {
                return Err(Lost::Lease);
            }
            self.ask(facilitator, &order, &mut record).await;
        }
        if record != before && !self.write(lease, &mut record).await? {
            return Err(Lost::Lease);
        }
        Ok(())
    }

    /// What the chain says; `false` where the facilitator may be asked.
    async fn seen_on_chain(&self, record: &mut PaymentRecord) -> bool {
        let expired_for =
            |now: u64| now.checked_sub(u64::try_from(record.authorization.valid_before).unwrap_or(u64::MAX));
        let ours = u64::try_from(Utc::now().timestamp()).unwrap_or_default();
        let (Some(asset), Some(start)) = (&self.inner.asset, record.start) else {
            if expired_for(ours).is_some_and(|seconds| seconds > FORGOTTEN) {
                tracing::error!(payer = %record.id.from, nonce = %record.id.nonce, "the facilitator never told what became of a payment");
                record.refused(Refused::new(
                    reason::SETTLE,
                    "The facilitator never told what became of the payment; ask the operator of this service",
                ));
                return true;
            }
            return false;
        };
        let told = async {
            let (settled, time) = asset.settled().await?;
            Ok::<_, assay_outbox::payment::PaymentError>((
                asset.authorization_use(&record.authorization, start, settled).await?,
                time,
                asset.authorization_state(&record.authorization).await?,
            ))
        };
        match told.await {
            Ok((AuthorizationUse::Paid(transaction), ..)) => record.settled(transaction),
            Ok((AuthorizationUse::Elsewhere, ..)) => record.refused(used()),
            Ok((AuthorizationUse::Unused, time, standing)) => {
                if U256::from(time) > record.authorization.valid_before
                    && expired_for(ours).is_some_and(|seconds| seconds > BEHIND)
                {
                    record.refused(Refused::new(
                        reason::VALID_BEFORE,
                        "The facilitator did not settle the payment before it expired",
                    ));
                    return true;
                }
                // Used a moment ago; how is seen once that has its confirmations.
                return standing.used;
            }
            Ok((AuthorizationUse::Unknown, ..)) => {
                record.trouble = Some("the node does not show how the payment was used".into())
            }
            Err(error) => {
                record.trouble = Some(error.to_string());
                return false;
            }
        }
        true
    }

    async fn ask(&self, facilitator: &Facilitator, order: &OrderRecord, record: &mut PaymentRecord) {
        let settlement = match facilitator.settle(order.version, &order.payload, &order.requirements).await {
            Ok(settlement) => settlement,
            Err(error) => {
                tracing::warn!(payer = %record.id.from, nonce = %record.id.nonce, %error, "a payment may or may not have been settled");
                record.trouble = Some(error.to_string());
                return;
            }
        };
        if let Some(reason) = settlement.error_reason.clone() {
            self.denied(reason, record).await;
            return;
        }
        match self.inner.asset {
            // The chain will show it, or that it is not so.
            Some(_) => {
                record.trouble = Some("the facilitator says that it is settled, the chain does not show it yet".into())
            }
            None => match self.believed(&settlement, record) {
                Some(transaction) => record.settled(transaction),
                None => record.trouble = Some("the facilitator says that it settled something else".into()),
            },
        }
    }

    /// The facilitator says that it did not settle the payment.
    async fn denied(&self, reason: String, record: &mut PaymentRecord) {
        let used = match &self.inner.asset {
            Some(asset) => asset.authorization_state(&record.authorization).await.map(|standing| standing.used),
            None => Ok(false),
        };
        match used {
            // It is used, whatever it says; or that cannot be told now.
            Ok(true) | Err(_) => record.trouble = Some(format!("the facilitator says {reason}")),
            // Asked before without an answer, it may mean the payment that it settled then.
            Ok(false) if self.inner.asset.is_none() && record.attempts > 1 && reason.contains("used") => {
                record.trouble = Some(format!("the facilitator says {reason}, and did not answer before"));
            }
            Ok(false) if reason == "settlement_pending" => {
                record.trouble = Some("the facilitator is settling it".into())
            }
            Ok(false) => record.refused(Refused::new(reason, "The facilitator did not settle the payment")),
        }
    }

    /// The transaction of a settlement that nobody can check, where it is at least one of this payment.
    fn believed(&self, settlement: &Settlement, record: &PaymentRecord) -> Option<B256> {
        let Settlement { transaction, network, payer, .. } = settlement;
        let terms = self.terms();
        let same_network =
            network.as_deref().is_none_or(|network| network == terms.network || network == terms.caip2());
        let same_payer = payer.as_deref().is_none_or(|payer| payer.eq_ignore_ascii_case(&record.id.from.to_string()));
        transaction.as_deref()?.parse().ok().filter(|_| same_network && same_payer)
    }
}
