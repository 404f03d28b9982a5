//! Settling payments from here, with the account of submissions: whoever works with that account calls this, under its
//! lease and with its view of the chain. Each payment has at most one nonce at a time, and every transaction is written
//! down before it is sent.

use crate::access::x402::records::PaymentRecord;
use assay_outbox::sender::{SignedRecord, SlotRecord};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use chrono::Utc;

use super::{Refused, X402, reason, verify::used};
use assay_domain::{Address, B256, U256, signer};
use assay_outbox::{
    payment::{Asset, AuthorizationUse},
    sender::{AccountView, Offer, SendOutcome, Sender, SenderError, Signed},
};
use assay_store::{Lease, StoreError};

/// Nonces that may come to nothing before the payment is given up.
const MOST_LOST: u32 = 3;
/// The dearest transfer that is made, in gas: one by a key takes some 90,000, and the wallet of a stranger may burn as
/// much as it likes.
const MOST_GAS: u64 = 500_000;
/// Nonces under way at once: nodes keep as many waiting transactions of one account.
const UNDER_WAY: usize = 16;
/// Time between two sendings of the same transaction.
const RESEND: Duration = Duration::from_secs(5);
/// Time that the chain's clock may be behind ours, in seconds.
const BEHIND: u64 = 60;

/// Nonces that are taken, and what payers have signed for in transfers under way.
type Taken<'a> = (&'a mut BTreeSet<u64>, &'a mut HashMap<Address, U256>);

/// The work of one account. Cheap to clone.
#[derive(Clone)]
pub struct Local {
    x402: X402,
    sender: Sender,
    replace_after: Duration,
    /// What was sent, and when. To lose it costs nothing but a transaction sent once more.
    sent: Arc<Mutex<HashMap<B256, Instant>>>,
}

impl Local {
    pub fn new(x402: X402, sender: Sender, replace_after: Duration) -> Self {
        Self { x402, sender, replace_after, sent: Arc::default() }
    }

    /// Completes when a payment may have been claimed.
    pub async fn news(&self) {
        self.x402.inner.news.notified().await;
    }

    /// Every payment on its way, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn open(&self) -> Result<Vec<PaymentRecord>, StoreError> {
        self.x402.on_the_way().await
    }

    /// Does what is next for each of `open`, and adds the nonces it takes to `held`, which has all that are taken.
    /// `false` where the lease is lost.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn run(
        &self,
        lease: &Lease,
        view: &AccountView,
        held: &mut BTreeSet<u64>,
        open: Vec<PaymentRecord>,
    ) -> Result<bool, StoreError> {
        let Some(asset) = &self.x402.inner.asset else { return Ok(true) };
        let uses = open.iter().map(|record| {
            asset.authorization_use(&record.authorization, record.start.unwrap_or_default(), view.settled)
        });
        let uses = futures::future::join_all(uses).await;
        let mut promised = HashMap::<Address, U256>::new();
        for record in open.iter().filter(|record| record.slot.is_some()) {
            *promised.entry(record.id.from).or_default() += record.authorization.value;
        }
        for (mut record, used) in open.into_iter().zip(uses) {
            let before = record.clone();
            let sent = match used {
                Ok(used) => self.next(asset, view, (held, &mut promised), &mut record, used).await,
                Err(error) => Err(SenderError::Chain(error.to_string())),
            };
            let mut send = None;
            match sent {
                Ok(raw) => send = raw,
                Err(error) => record.trouble = Some(error.to_string()),
            }
            if record != before && !self.x402.write(lease, &mut record).await? {
                return Ok(false);
            }
            if let Some(signed) = send {
                self.send(&record, &signed).await;
            }
        }
        Ok(true)
    }

    /// What `record` says next, and the transaction to send once that is written down.
    async fn next(
        &self,
        asset: &Asset,
        view: &AccountView,
        taken: Taken<'_>,
        record: &mut PaymentRecord,
        outcome: AuthorizationUse,
    ) -> Result<Option<SignedRecord>, SenderError> {
        match outcome {
            AuthorizationUse::Paid(transaction) => record.settled(transaction),
            AuthorizationUse::Elsewhere => record.refused(used()),
            AuthorizationUse::Unknown => {
                return Err(SenderError::Chain("the node does not show how the payment was used".into()));
            }
            AuthorizationUse::Unused => match record.slot.clone() {
                None => return self.begin(asset, view, taken, record).await,
                Some(slot) if slot.nonce < view.settled_nonce => {
                    // Reverted, cancelled, or taken by a transaction from elsewhere: the payment has not moved.
                    (record.slot, record.attempts) = (None, record.attempts + 1);
                    if record.attempts >= MOST_LOST {
                        record.refused(Refused::new(
                            reason::SETTLE,
                            "The transfer could not be brought to the chain; present the payment again",
                        ));
                    }
                }
                // By what it was used up a moment ago will be seen once that is settled.
                Some(slot) if slot.nonce < view.used_nonce => {}
                Some(slot) => return self.press(asset, view, record, slot).await,
            },
        }
        Ok(None)
    }

    /// Signs the first transaction of a nonce. The chain is asked again whether it would go through.
    async fn begin(
        &self,
        asset: &Asset,
        view: &AccountView,
        (held, promised): Taken<'_>,
        record: &mut PaymentRecord,
    ) -> Result<Option<SignedRecord>, SenderError> {
        let (payer, value) = (record.id.from, record.authorization.value);
        let under_way = promised.get(&payer).copied().unwrap_or_default();
        // Whoever signs for more than they have is not to make us pay for transfers that are reverted.
        if held.len() >= UNDER_WAY
            || (!under_way.is_zero() && !self.has(asset, record, under_way.saturating_add(value)).await?)
        {
            return Ok(None);
        }
        let call = asset.call(&record.authorization, &record.signature, self.by_key(record));
        let gas = match self.sender.estimate_gas(asset.contract(), &call).await? {
            Ok(gas) if gas <= MOST_GAS => gas,
            Ok(gas) => {
                record.refused(Refused::new(
                    reason::STATE,
                    format!("The transfer would take {gas} gas, and may take {MOST_GAS} at most"),
                ));
                return Ok(None);
            }
            Err(words) => {
                let refused = Refused::reverted(&words);
                // Used a moment ago, by whomever: how is seen once that has its confirmations.
                if refused.reason != reason::USED {
                    record.refused(refused);
                }
                return Ok(None);
            }
        };
        let dear = || SenderError::Chain("gas costs more than reputation.max_fee_gwei at the moment".into());
        let offer = view.market.offer(self.sender.ceiling()).ok_or_else(dear)?;
        let nonce = (view.next_nonce..).find(|nonce| !held.contains(nonce)).unwrap_or(view.next_nonce);
        let signed = kept(self.sender.sign_call(nonce, gas, offer, asset.contract(), call)?, offer, false);
        held.insert(nonce);
        *promised.entry(payer).or_default() += value;
        (record.slot, record.trouble) = (Some(SlotRecord { nonce, signed: vec![signed.clone()] }), None);
        Ok(Some(signed))
    }

    /// Sends a waiting transaction again, or one that offers more in its place, or one that gives its nonce to nothing
    /// once the signature has expired.
    async fn press(
        &self,
        asset: &Asset,
        view: &AccountView,
        record: &mut PaymentRecord,
        mut slot: SlotRecord,
    ) -> Result<Option<SignedRecord>, SenderError> {
        let Some(last) = slot.signed.last().cloned() else { return Ok(None) };
        let now = u64::try_from(Utc::now().timestamp()).unwrap_or_default();
        let expired = record.authorization.valid_before < U256::from(now.saturating_sub(BEHIND));
        let old = (Utc::now() - last.at).to_std().is_ok_and(|age| age >= self.replace_after);
        // Later nonces wait for the first, not for more gas.
        let stuck = old && slot.nonce == view.used_nonce;
        let cancel = expired && !last.cancels;
        let offered = Offer { max_fee: last.max_fee, priority_fee: last.priority_fee };
        let offer = if stuck || cancel { view.market.replacement(offered, self.sender.ceiling()) } else { None };
        let Some(offer) = offer else { return Ok(Some(last)) };
        let call = asset.call(&record.authorization, &record.signature, self.by_key(record));
        let gas = self.sender.estimate_gas(asset.contract(), &call).await?;
        let (signed, cancels) = match gas {
            Ok(gas) if !expired && gas <= MOST_GAS => {
                (self.sender.sign_call(slot.nonce, gas, offer, asset.contract(), call)?, false)
            }
            // It would be reverted: the nonce is worth no more than that.
            _ => (self.sender.sign_cancellation(slot.nonce, offer)?, true),
        };
        metrics::counter!("assay_transactions_replaced_total").increment(1);
        let signed = kept(signed, offer, cancels);
        slot.signed.push(signed.clone());
        record.slot = Some(slot);
        Ok(Some(signed))
    }

    /// Whether the payer has as much.
    async fn has(&self, asset: &Asset, record: &PaymentRecord, amount: U256) -> Result<bool, SenderError> {
        let standing = asset
            .authorization_state(&record.authorization)
            .await
            .map_err(|error| SenderError::Chain(error.to_string()))?;
        Ok(standing.balance >= amount)
    }

    fn by_key(&self, record: &PaymentRecord) -> bool {
        signer(self.x402.terms().domain.hash(&record.authorization), &record.signature)
            == Some(record.authorization.from)
    }

    fn is_due(&self, hash: B256) -> bool {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.retain(|_, at| at.elapsed() < RESEND);
        let is_due = !sent.contains_key(&hash);
        sent.entry(hash).or_insert_with(Instant::now);
        is_due
    }

    async fn send(&self, record: &PaymentRecord, signed: &SignedRecord) {
        if !self.is_due(signed.hash) {
            return;
        }
        let payer = record.id.from;
        match self.sender.send(&signed.raw).await {
            Ok(SendOutcome::Accepted | SendOutcome::NonceUsed) => {}
            Ok(SendOutcome::Underpriced) => {
                tracing::info!(%payer, max_fee = signed.max_fee, "the transfer of a payment offers too little at the moment");
            }
            Ok(SendOutcome::InsufficientFunds) => {
                tracing::error!(%payer, account = %self.sender.address(), "the account cannot pay for the transfer of a payment");
            }
            // Whether the node has it is seen with the next look.
            Err(error) => tracing::warn!(%payer, %error, "the transfer of a payment was not sent"),
        }
    }
}

fn kept(signed: Signed, offer: Offer, cancels: bool) -> SignedRecord {
    SignedRecord {
        hash: signed.hash,
        raw: signed.raw,
        max_fee: offer.max_fee,
        priority_fee: offer.priority_fee,
        at: Utc::now(),
        cancels,
    }
}
