//! The writes about a payment: its claim, before any money moves, and each later state with what it bought.

use std::time::Duration;

use alloy::primitives::U256;
use chrono::Utc;

use super::{
    PayError, Payment, Refused, X402, reason,
    records::{self, OPEN_PAYMENTS, OrderRecord, PaymentRecord, PaymentState, PurchaseRecord},
    terms::Item,
    verify::unix_now,
};
use crate::token::AuthorizationUse;
use assay_domain::{PaymentId, Time};
use assay_outbox::gas::{Spent, Usd};
use assay_store::{Batch, Lease, StoreError};

/// Maximum number of open payments, and from one network: each is read in every round of the worker.
const MOST_OPEN: usize = 2_000;
const MOST_OF_NETWORK: usize = 100;

/// How long another payment for the same request finds a settled one that has bought nothing.
const UNFETCHED: Duration = Duration::from_secs(86_400);

impl X402 {
    /// Stores a payment as open, if it can be settled and no other process stored it, or another payment of the same
    /// payer for the same request, meanwhile.
    pub(super) async fn claim(
        &self,
        payment: &Payment,
        purchase: &PurchaseRecord,
        resource: &str,
    ) -> Result<(), PayError> {
        let mut record = self.open_record(payment, purchase, resource);
        let (id, key) = (record.id, records::payment(&record.id));
        let found = self.inner.store.read(&key).await?;
        // Another caller claimed it after this one looked. A second claim would settle and deliver once more.
        if found.value.as_ref().is_some_and(|earlier| !earlier.may_be_claimed()) {
            return Ok(());
        }
        let same = records::payment_for(&id, purchase);
        let sibling = self.inner.store.read(&same).await?;
        if let Some(place) = self.kept_place(sibling.value).await? {
            record.claimed_at = place;
        }
        let earlier = found.value.filter(|earlier| earlier.authorization == payment.authorization);
        let reverted = earlier.clone().filter(|earlier| earlier.reverted);
        if !self.arrived_late(earlier, &mut record).await? {
            // Its transfer was reverted, and anybody could send that transfer again.
            if let Some(PaymentRecord { state: PaymentState::Refused { reason, detail }, .. }) = reverted {
                return Err(Refused { tried: true, ..Refused::new(reason, detail) }.into());
            }
            // Another payment for the same request was claimed after this caller looked. Both would be settled.
            if self.sibling(payment, purchase).await?.is_some() {
                return Ok(());
            }
            self.require_room(&record).await?;
            match self.verify(payment, purchase, resource).await {
                Ok(start) => record.start = start,
                // Another caller claimed the same payment meanwhile and perhaps settled it: that is why it is refused
                // now.
                Err(PayError::Refused(_)) if self.inner.store.read(&key).await?.revision != found.revision => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        let batch = Batch::new().if_unchanged(&key, found.revision).if_unchanged(&same, sibling.revision);
        let batch = batch.put(&key, &record)?.put_expiring(&same, &id, life(&record))?;
        let is_open = record.is_open();
        let batch = if is_open { batch.put(&records::open_payment(record.claimed_at, &id), &id)? } else { batch };
        if self.inner.store.commit(batch).await? {
            self.inner.claimed.notify_one();
        }
        Ok(())
    }

    /// The time by which a new payment is ordered in the queue if the payment `before` of the same payer for the same
    /// request expired there.
    async fn kept_place(&self, before: Option<PaymentId>) -> Result<Option<Time>, StoreError> {
        let Some(id) = before else { return Ok(None) };
        let before = self.inner.store.get(&records::payment(&id)).await?;
        Ok(before.filter(PaymentRecord::expired_in_queue).map(|before| before.claimed_at))
    }

    /// Refuses a payment while too many are open, in all or from its network. A payer can move the same balance from
    /// one account to the next, so that open payments need not cost anything.
    async fn require_room(&self, record: &PaymentRecord) -> Result<(), PayError> {
        // Few are not worth a look at their networks.
        let open = self.inner.store.list(&OPEN_PAYMENTS).await?.len();
        if open < MOST_OF_NETWORK {
            return Ok(());
        }
        let of_network = || async {
            let open = self.open_payments().await?;
            Ok::<_, StoreError>(open.iter().filter(|other| other.network == record.network).count())
        };
        if open >= MOST_OPEN || of_network().await? >= MOST_OF_NETWORK {
            return Err(PayError::Full);
        }
        Ok(())
    }

    /// The record of a payment that is claimed now for `purchase`.
    fn open_record(&self, payment: &Payment, purchase: &PurchaseRecord, resource: &str) -> PaymentRecord {
        let now = Utc::now();
        PaymentRecord {
            id: self.id(payment),
            authorization: payment.authorization,
            signature: payment.signature.clone(),
            request: purchase.digest,
            purchase: Some(purchase.clone()),
            claimed_at: now,
            updated_at: now,
            start: None,
            state: PaymentState::Open,
            slot: None,
            by_contract: false,
            network: payment.network_address,
            waits: None,
            reverted: false,
            order: self.inner.facilitator.as_ref().map(|_| OrderRecord {
                version: payment.version.number(),
                payload: payment.payload.clone(),
                requirements: self.terms().requirements(purchase.item(), payment.version, resource),
            }),
            attempts: 0,
            next_at: now,
            trouble: None,
        }
    }

    /// Settles `record` by the transaction of `earlier`, a refused payment that arrived later, if there is one: a
    /// facilitator settled it after its error, or somebody sent a copy of the transfer.
    async fn arrived_late(&self, earlier: Option<PaymentRecord>, record: &mut PaymentRecord) -> Result<bool, PayError> {
        let start = earlier.and_then(|earlier| earlier.start);
        let (Some(asset), Some(from)) = (&self.inner.asset, start) else { return Ok(false) };
        let settled = asset.settled().await?;
        match asset.authorization_use(&record.authorization, from, settled).await? {
            AuthorizationUse::Paid { transaction, block } if block > from || !self.is_local() => {
                record.start = start;
                record.settled(transaction);
                Ok(true)
            }
            AuthorizationUse::Paid { .. } | AuthorizationUse::Elsewhere => Ok(false),
            // It was used and lacks confirmations: the client must not sign another payment now.
            AuthorizationUse::Unused | AuthorizationUse::Unknown
                if asset.authorization_state(&record.authorization).await?.used =>
            {
                Err(PayError::Pending)
            }
            AuthorizationUse::Unused | AuthorizationUse::Unknown => Ok(false),
        }
    }

    /// Every payment with work left, oldest first.
    pub(super) async fn open_payments(&self) -> Result<Vec<PaymentRecord>, StoreError> {
        let ids = self.inner.store.list(&OPEN_PAYMENTS).await?;
        let keys: Vec<_> = ids.into_iter().map(|(_, id)| records::payment(&id)).collect();
        metrics::gauge!("assay_payments_open").set(keys.len() as f64);
        Ok(self.inner.store.get_many(&keys).await?.into_iter().flatten().filter(PaymentRecord::is_open).collect())
    }

    /// The open payments of the payer of `payment`, without that payment.
    pub(super) async fn open_beside(&self, payment: &PaymentId) -> Result<Vec<PaymentRecord>, StoreError> {
        let ids = self.inner.store.list(&OPEN_PAYMENTS).await?.into_iter().map(|(_, id)| id);
        let beside = ids.filter(|id| id.from == payment.from && id != payment);
        let keys: Vec<_> = beside.map(|id| records::payment(&id)).collect();
        Ok(self.inner.store.get_many(&keys).await?.into_iter().flatten().filter(PaymentRecord::is_open).collect())
    }

    /// Saves an open payment with its new state, and with it what it bought and the gas of a transaction that ended;
    /// `false` when the lease is lost, and the caller must stop.
    pub(super) async fn save(
        &self,
        lease: &Lease,
        record: &mut PaymentRecord,
        spent: Spent,
    ) -> Result<bool, StoreError> {
        record.updated_at = Utc::now();
        let mut batch = Batch::new().if_leased(lease);
        if let PaymentState::Settled { bought: bought @ None, .. } = &mut record.state
            && let Some(purchase) = &record.purchase
        {
            (batch, *bought) = self.inner.goods.fulfil(batch, record.id, purchase).await?;
            if bought.is_none() {
                // A client that has paid and received nothing must not pay again.
                batch = batch.put_expiring(&records::payment_for(&record.id, purchase), &record.id, UNFETCHED)?;
            }
        }
        if let Some(purchase) = record.purchase.as_ref().filter(|_| record.expired_in_queue()) {
            batch = batch.put_expiring(&records::payment_for(&record.id, purchase), &record.id, reason::PLACE_KEPT)?;
        }
        let risk = record.risk(spent.cost);
        batch = match record.state {
            PaymentState::Settled { .. } => {
                let brought = Usd::of_token(record.authorization.value, self.terms().decimals);
                self.inner.gas.earned(batch, &risk.payer, brought, spent.cost)
            }
            PaymentState::Open | PaymentState::Refused { .. } => self.inner.gas.spent(batch, &risk, spent).await?,
        };
        if !record.is_open() {
            (record.network, record.waits) = (None, None);
        }
        batch = batch.put(&records::payment(&record.id), record)?;
        if !record.is_open() {
            batch = batch.remove(&records::open_payment(record.claimed_at, &record.id));
        }
        if !self.inner.store.commit(batch).await? {
            return Ok(false);
        }
        self.tell(record);
        Ok(true)
    }

    /// Reports the end of a payment.
    fn tell(&self, record: &PaymentRecord) {
        let (payer, nonce) = (record.id.from, record.id.nonce);
        match &record.state {
            PaymentState::Open => return,
            PaymentState::Settled { transaction, .. } => {
                metrics::counter!("assay_payments_total", "outcome" => "settled").increment(1);
                if record.purchase.as_ref().is_some_and(|purchase| purchase.item() == Item::Submission) {
                    metrics::counter!("assay_submissions_total", "status" => "pending").increment(1);
                }
                tracing::info!(%payer, %nonce, %transaction, "payment settled");
            }
            PaymentState::Refused { reason, detail } => {
                metrics::counter!("assay_payments_total", "outcome" => "refused").increment(1);
                tracing::info!(%payer, %nonce, reason, detail, "payment not settled");
            }
        }
        self.inner.changed.send_replace(());
    }
}

/// How long another payment for the same request finds this one: as long as its signature holds.
pub(super) fn life(record: &PaymentRecord) -> Duration {
    let left = record.authorization.valid_before.saturating_sub(U256::from(unix_now()));
    Duration::from_secs(u64::try_from(left).unwrap_or(u64::MAX).clamp(1, 2 * 86_400))
}

#[cfg(test)]
mod tests {
    use alloy::signers::{SignerSync, local::PrivateKeySigner};
    use tokio::sync::{Notify, watch};

    use super::*;
    use crate::{Fulfilment, Terms, Version, X402State, config, token::Facilitator};
    use assay_domain::{Address, Authorization, B256, Secret};
    use assay_outbox::gas::GasBook;
    use assay_store::Store;
    use futures::future::BoxFuture;

    /// A stub: it hands nothing over.
    struct Nothing;

    impl Fulfilment for Nothing {
        fn fulfil<'a>(
            &'a self,
            batch: Batch,
            _: PaymentId,
            _: &'a PurchaseRecord,
        ) -> BoxFuture<'a, Result<(Batch, Option<uuid::Uuid>), StoreError>> {
            Box::pin(async { Ok((batch, None)) })
        }
    }

    fn config() -> config::X402 {
        config::X402 {
            enabled: true,
            pay_to: Some(Address::with_last_byte(0xe2)),
            asset: None,
            network: "base".to_owned(),
            facilitator: Secret::new("http://127.0.0.1:9"),
            price: 100_000,
            statement_price: None,
            watch_price: None,
            decimals: 6,
            domain_name: None,
            domain_version: "2".to_owned(),
            offer_v2: true,
            base_url: None,
            valid: Duration::from_secs(300),
            settle: Duration::from_secs(1),
            contract_signatures: false,
            facilitator_timeout: Duration::from_secs(1),
        }
    }

    /// The service on a separate store, behind a facilitator that does not exist.
    async fn service() -> (X402, tempfile::TempDir) {
        let (config, folder) = (config(), tempfile::tempdir().unwrap());
        let path = folder.path().join("assay.redb");
        let store = Store::open(&assay_store::config::Store::embedded(path)).await.unwrap();
        let state = X402State {
            terms: Terms::new(&config).unwrap(),
            gas: GasBook::new(&Default::default(), store.clone(), None),
            store,
            asset: None,
            facilitator: Facilitator::new(&config.facilitator, config.facilitator_timeout),
            base_url: None,
            goods: Box::new(Nothing),
            contract_signatures: config.contract_signatures,
            settle_timeout: config.settle,
            claimed: Notify::new(),
            changed: watch::Sender::new(()),
        };
        (X402 { inner: state.into() }, folder)
    }

    /// Payment `n` of `from`, signed by `signer`.
    fn payment(x402: &X402, from: Address, signer: &PrivateKeySigner, n: u8) -> Payment {
        let authorization = Authorization {
            from,
            to: x402.terms().pay_to,
            value: U256::from(100_000),
            valid_after: U256::ZERO,
            valid_before: U256::from(unix_now() + 300),
            nonce: B256::repeat_byte(n),
        };
        let signature = signer.sign_hash_sync(&x402.terms().domain.hash(&authorization)).unwrap();
        Payment {
            version: Version::One,
            said_version: 1,
            scheme: "exact".to_owned(),
            network: "base".to_owned(),
            offered: None,
            authorization,
            signature: signature.as_bytes().into(),
            payload: serde_json::Value::Null,
            network_address: None,
        }
    }

    #[tokio::test]
    async fn a_payment_is_not_claimed_beside_another_for_the_same_request() {
        let (x402, _folder) = service().await;
        let (payer, thief) = (PrivateKeySigner::random(), PrivateKeySigner::random());
        let from = payer.address();
        let purchase = PurchaseRecord::statement("a score".to_owned());
        let first = x402.open_record(&payment(&x402, from, &payer, 1), &purchase, "");
        let same = records::payment_for(&first.id, &purchase);
        let batch = Batch::new().put(&records::payment(&first.id), &first).unwrap().put(&same, &first.id).unwrap();
        assert!(x402.inner.store.commit(batch).await.unwrap());
        // Its caller looked before the first was claimed. A claim would ask the facilitator, which is not there.
        x402.claim(&payment(&x402, from, &payer, 2), &purchase, "").await.unwrap();
        // A client that did not sign learns of no payment.
        let forged = x402.claim(&payment(&x402, from, &thief, 3), &purchase, "").await;
        assert!(matches!(forged, Err(PayError::Refused(_))), "{forged:?}");
        let other = PurchaseRecord::statement("another score".to_owned());
        let asked = x402.claim(&payment(&x402, from, &payer, 4), &other, "").await;
        assert!(matches!(asked, Err(PayError::Unavailable(_))), "{asked:?}");
    }
}
