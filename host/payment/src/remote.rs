//! Settles payments through a facilitator. One process of a fleet calls it, and compares its responses with the chain
//! if the chain is configured. A lost, late or false response costs nothing: the chain shows the outcome, or the
//! facilitator is called again.

use std::time::{Duration, Instant};

use chrono::Utc;
use futures::{StreamExt, stream::FuturesUnordered};
use tokio_util::sync::CancellationToken;

use super::{
    Refused, X402, reason,
    records::{OrderRecord, PaymentRecord},
    schedule::Schedule,
    verify::unix_now,
};
use crate::token::{AuthorizationUse, Facilitator, FacilitatorError, PaymentError, Settlement};
use assay_domain::{B256, U256};
use assay_outbox::gas::Spent;
use assay_store::{Lease, Lost, StoreError};

/// How long the lease of a lost worker delays its successor on another host.
const LEASE: Duration = Duration::from_secs(8);
/// Wait for a lease of another worker, and after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);
/// Time between two reads of the open payments.
const POLL: Duration = Duration::from_millis(250);
/// First wait before the next call of the facilitator; doubled with each call.
const BACKOFF: Duration = Duration::from_secs(2);
const MAX_BACKOFF: Duration = Duration::from_secs(60);
/// Maximum difference of two clocks, in seconds: after it an expired signature is unusable.
const CLOCK_SKEW: u64 = 60;
/// Seconds after the expiry of a payment without an outcome until it is refused, if the chain is not configured.
const FORGOTTEN: u64 = 3_600;

impl X402 {
    pub(super) async fn work(&self) {
        let name = format!("x402/{}", self.terms().domain.chain);
        self.inner.store.lead(&name, LEASE, RETRY, "payments", |lease| async move { self.rounds(&lease).await }).await;
    }

    async fn rounds(&self, lease: &Lease) -> Lost {
        let (mut schedule, mut asking) = (Schedule::default(), FuturesUnordered::new());
        loop {
            let open = match self.open_payments().await {
                Ok(open) => open,
                Err(error) => return error.into(),
            };
            let idle = open.is_empty();
            for (record, leave) in schedule.due(open, Instant::now()) {
                let id = record.id;
                asking.push(async move { (id, self.follow(lease, record, &leave).await) });
            }
            let pause = if idle { Duration::from_secs(1) } else { POLL };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.inner.claimed.notified() => {}
                Some((id, done)) = asking.next() => {
                    schedule.done(id, Instant::now());
                    if let Err(lost) = done { return lost }
                }
            }
        }
    }

    /// Takes the next step of one payment. Cancelling `leave` ends its call of the facilitator if the chain shows the
    /// outcome.
    async fn follow(&self, lease: &Lease, mut record: PaymentRecord, leave: &CancellationToken) -> Result<(), Lost> {
        let before = record.clone();
        if !self.seen_on_chain(&mut record).await && record.next_at <= Utc::now() {
            let (Some(facilitator), Some(order)) = (&self.inner.facilitator, record.order.clone()) else {
                return Ok(());
            };
            // Recorded before the request: after a crash the request may have been sent.
            record.attempts = record.attempts.saturating_add(1);
            record.next_at =
                Utc::now() + BACKOFF.saturating_mul(1 << record.attempts.saturating_sub(1).min(8)).min(MAX_BACKOFF);
            if !self.save(lease, &mut record, Spent::default()).await? {
                return Err(Lost::Lease);
            }
            self.ask(facilitator, &order, &mut record, leave).await;
        }
        if record.trouble != before.trouble
            && let Some(trouble) = &record.trouble
        {
            tracing::warn!(payer = %record.id.from, trouble, "a payment waits");
        }
        if record != before && !self.save(lease, &mut record, Spent::default()).await? {
            return Err(Lost::Lease);
        }
        Ok(())
    }

    /// Applies the state of the chain to `record`; `false` when the facilitator may be called.
    async fn seen_on_chain(&self, record: &mut PaymentRecord) -> bool {
        let (Some(asset), Some(start)) = (&self.inner.asset, record.start) else { return give_up(record) };
        let authorization = record.authorization;
        let read = async {
            let settled = asset.settled().await?;
            let outcome = asset.authorization_use(&authorization, start, settled).await?;
            Ok::<_, PaymentError>((outcome, settled.time, asset.authorization_state(&authorization).await?))
        };
        match read.await {
            Ok((AuthorizationUse::Paid { transaction, .. }, ..)) => record.settled(transaction),
            Ok((AuthorizationUse::Elsewhere, ..)) => record.refused(Refused::used()),
            Ok((AuthorizationUse::Unused, time, standing)) => {
                let expired = seconds_expired(record).is_some_and(|seconds| seconds > CLOCK_SKEW);
                if U256::from(time) > authorization.valid_before && expired {
                    record.refused(Refused::new(
                        reason::VALID_BEFORE,
                        "The facilitator did not settle the payment before it expired",
                    ));
                    return true;
                }
                // A used authorization may lack confirmations: its events show the outcome later.
                if standing.used {
                    return true;
                }
                match self.promised_before(record).await {
                    Ok(promised) if standing.balance >= promised.saturating_add(authorization.value) => return false,
                    Ok(_) => {
                        record.trouble =
                            Some("the payer's balance does not cover this payment and the earlier ones".into());
                    }
                    Err(error) => record.trouble = Some(error.to_string()),
                }
            }
            Ok((AuthorizationUse::Unknown, ..)) => {
                record.trouble = Some("the node does not show how the payment was used".into());
            }
            Err(error) => {
                record.trouble = Some(error.to_string());
                return false;
            }
        }
        true
    }

    /// The sum of the payer's earlier payments that the facilitator may be settling.
    async fn promised_before(&self, record: &PaymentRecord) -> Result<U256, StoreError> {
        let before = |other: &&PaymentRecord| {
            other.attempts > 0 && (other.claimed_at, other.id.nonce) < (record.claimed_at, record.id.nonce)
        };
        let open = self.open_beside(&record.id).await?;
        let values = open.iter().filter(before).map(|other| other.authorization.value);
        Ok(values.fold(U256::ZERO, U256::saturating_add))
    }

    async fn ask(
        &self,
        facilitator: &Facilitator,
        order: &OrderRecord,
        record: &mut PaymentRecord,
        leave: &CancellationToken,
    ) {
        let call = facilitator.settle(order.version, &order.payload, &order.requirements);
        let answer = match self.inner.asset {
            Some(_) => leave.run_until_cancelled(call).await.unwrap_or(Err(FacilitatorError::Unreachable)),
            // Only its answer shows the outcome.
            None => call.await,
        };
        let settlement = match answer {
            Ok(settlement) => settlement,
            Err(error) => {
                tracing::warn!(payer = %record.id.from, nonce = %record.id.nonce, %error,
                    "a payment may or may not have been settled");
                record.trouble = Some(error.to_string());
                return;
            }
        };
        if let Some(reason) = settlement.error_reason.clone() {
            self.denied(reason, record).await;
            return;
        }
        match self.inner.asset {
            // The events of the chain decide.
            Some(_) => {
                record.trouble = Some("the facilitator reports settlement, which the chain does not show yet".into());
            }
            None => match self.matching(&settlement, record) {
                Some(transaction) => record.settled(transaction),
                None => record.trouble = Some("the facilitator reports another payment".into()),
            },
        }
    }

    /// The facilitator reports that it did not settle the payment.
    async fn denied(&self, reason: String, record: &mut PaymentRecord) {
        let used = match &self.inner.asset {
            Some(asset) => asset.authorization_state(&record.authorization).await.map(|standing| standing.used),
            None => Ok(false),
        };
        match used {
            // The authorization is used despite the report, or its use cannot be read now.
            Ok(true) | Err(_) => record.trouble = Some(format!("the facilitator says {reason}")),
            // After a lost response, "used" may mean that the facilitator itself settled the payment.
            Ok(false) if self.inner.asset.is_none() && record.attempts > 1 && reason.contains("used") => {
                record.trouble = Some(format!("the facilitator says {reason}, and did not answer before"));
            }
            Ok(false) if reason == "settlement_pending" => {
                record.trouble = Some("the facilitator is settling it".into());
            }
            Ok(false) => record.refused(Refused::new(reason, "The facilitator did not settle the payment")),
        }
    }

    /// The transaction of a settlement that cannot be checked, if its network and payer are those of the payment.
    fn matching(&self, settlement: &Settlement, record: &PaymentRecord) -> Option<B256> {
        let Settlement { transaction, network, payer, .. } = settlement;
        let terms = self.terms();
        let same_network =
            network.as_deref().is_none_or(|network| network == terms.network || network == terms.caip2());
        let same_payer = payer.as_deref().is_none_or(|payer| payer.eq_ignore_ascii_case(&record.id.from.to_string()));
        transaction.as_deref()?.parse().ok().filter(|_| same_network && same_payer)
    }
}

/// Refuses a payment that expired long ago without an outcome, if the chain cannot be read.
fn give_up(record: &mut PaymentRecord) -> bool {
    let is_over = seconds_expired(record).is_some_and(|seconds| seconds > FORGOTTEN);
    if is_over {
        tracing::error!(payer = %record.id.from, nonce = %record.id.nonce, "the facilitator never reported the outcome \
                                                                            of a payment");
        record.refused(Refused::new(
            reason::SETTLE,
            "The facilitator never reported the outcome of the payment; ask the operator of this service",
        ));
    }
    is_over
}

/// Seconds since the authorization expired, by the clock of this host.
fn seconds_expired(record: &PaymentRecord) -> Option<u64> {
    unix_now().checked_sub(u64::try_from(record.authorization.valid_before).unwrap_or(u64::MAX))
}
