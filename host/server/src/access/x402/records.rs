//! A payment by signature as it stands in the store, from the moment before it is settled. One that is here is never
//! taken anew.

use alloy::primitives::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use assay_domain::{Authorization, B256, PaymentId, Time};
use assay_outbox::sender::SlotRecord;
use assay_store::{Family, Key};

/// Payments on their way to the chain. In the order of the keys the oldest is first.
pub const OPEN_PAYMENTS: Family<PaymentId> = Family::listed("payment-open/");

/// A payment by signature. It is kept for ever, so that it is spent once.
pub fn payment(PaymentId { chain, asset, from, nonce }: &PaymentId) -> Key<PaymentRecord> {
    Family::new("payment/").key(format_args!("{chain}/{asset:#x}/{from:#x}/{nonce:#x}"))
}

/// That a payment is on its way to the chain.
pub fn open_payment(claimed_at: Time, PaymentId { asset, from, nonce, .. }: &PaymentId) -> Key<PaymentId> {
    OPEN_PAYMENTS.key(format_args!("{:015}-{asset:#x}-{from:#x}-{nonce:#x}", claimed_at.timestamp_millis().max(0)))
}

/// One payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRecord {
    pub id: PaymentId,
    pub authorization: Authorization,
    pub signature: Bytes,
    /// Digest of the request that it pays for. Absent once the submission failed: it then pays for any other.
    pub request: Option<B256>,
    pub claimed_at: Time,
    pub updated_at: Time,
    /// The authorization was used in no block up to this one. Absent where no endpoint of the chain is configured.
    #[serde(default)]
    pub start: Option<u64>,
    pub state: PaymentState,
    /// The account's transactions for it, all with one nonce, where it is settled from here.
    #[serde(default)]
    pub slot: Option<SlotRecord>,
    /// What the facilitator is asked, where one settles it.
    #[serde(default)]
    pub order: Option<OrderRecord>,
    /// Nonces that came to nothing, or questions to the facilitator.
    #[serde(default)]
    pub attempts: u32,
    /// The facilitator is not to be asked before.
    pub next_at: Time,
    /// The last obstacle, in words.
    #[serde(default)]
    pub trouble: Option<String>,
}

/// How far a payment is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum PaymentState {
    /// On its way to the chain.
    Open,
    /// The money has arrived, by this transaction. `submission` is what was bought with it.
    Settled { transaction: B256, submission: Option<Uuid> },
    /// It did not, as far as could be seen.
    Refused { reason: String, detail: String },
}

/// The body of what a facilitator is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderRecord {
    pub version: u8,
    pub payload: Value,
    pub requirements: Value,
}

impl PaymentRecord {
    pub fn is_open(&self) -> bool {
        self.state == PaymentState::Open
    }
}
