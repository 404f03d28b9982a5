//! The stored payments, from before their settlement. A stored payment is never accepted as a new one.

use std::net::IpAddr;

use alloy::primitives::{Bytes, keccak256};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use assay_domain::{Address, Authorization, B256, PaymentId, Tag, Time};
use assay_outbox::{
    gas::{Class, Party, Risk, Usd},
    nonce::NonceRecord,
};
use assay_statement::Signed;
use assay_store::{Family, Key};

use super::{reason, terms::Item};

/// The payments with work left. The keys are in order of age.
pub const OPEN_PAYMENTS: Family<PaymentId> = Family::listed("payment-open/");

/// A payment. It is stored for ever, so it is spent once.
pub fn payment(PaymentId { chain, asset, from, nonce }: &PaymentId) -> Key<PaymentRecord> {
    Family::new("payment/").key(format_args!("{chain}/{asset:#x}/{from:#x}/{nonce:#x}"))
}

/// The entry of an open payment.
pub fn open_payment(claimed_at: Time, PaymentId { asset, from, nonce, .. }: &PaymentId) -> Key<PaymentId> {
    OPEN_PAYMENTS.key(format_args!("{:015}-{asset:#x}-{from:#x}-{nonce:#x}", claimed_at.timestamp_millis().max(0)))
}

/// The payment that a payer presented for this purchase; stored as long as its signature holds. Two values of
/// `Idempotency-Key` are two purchases.
pub fn payment_for(PaymentId { chain, asset, from, .. }: &PaymentId, purchase: &PurchaseRecord) -> Key<PaymentId> {
    let same = keccak256(format!("{:#x}|{:?}", purchase.digest, purchase.retry_key));
    Family::new("payment-for/").key(format_args!("{chain}/{asset:#x}/{from:#x}/{same:#x}"))
}

/// The statement that a payment bought; kept as long as it holds.
pub fn sold(PaymentId { chain, asset, from, nonce }: &PaymentId) -> Key<SoldRecord> {
    Family::new("payment-statement/").key(format_args!("{chain}/{asset:#x}/{from:#x}/{nonce:#x}"))
}

/// One payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRecord {
    pub id: PaymentId,
    pub authorization: Authorization,
    pub signature: Bytes,
    /// Digest of the request that it pays for. It pays for no other: once its transfer was sent, anybody can read its
    /// signature.
    pub request: B256,
    /// The item that it buys.
    #[serde(default)]
    pub purchase: Option<PurchaseRecord>,
    /// When it was presented first; for a payment that keeps the place of an expired one, when that one was.
    pub claimed_at: Time,
    pub updated_at: Time,
    /// The authorization is unused up to this block. Absent when the chain is not configured.
    #[serde(default)]
    pub start: Option<u64>,
    pub state: PaymentState,
    /// The transactions of our account, all with one nonce, when this server settles it.
    #[serde(default)]
    pub slot: Option<NonceRecord>,
    /// The payer had code when its transaction was signed, and decides by it whether the transfer succeeds.
    #[serde(default)]
    pub by_contract: bool,
    /// The network that it was presented from, until it ends.
    #[serde(default)]
    pub network: Option<IpAddr>,
    /// Why it has no transaction yet.
    #[serde(default)]
    pub waits: Option<Waits>,
    /// It cannot be presented again: its transfer was reverted on the chain, or somebody else made it.
    #[serde(default)]
    pub reverted: bool,
    /// The call of the facilitator, when one settles it.
    #[serde(default)]
    pub order: Option<OrderRecord>,
    /// Lost nonces, or calls of the facilitator.
    #[serde(default)]
    pub attempts: u32,
    /// The time of the next call of the facilitator.
    pub next_at: Time,
    /// The last problem, in words.
    #[serde(default)]
    pub trouble: Option<String>,
}

/// The reason why a payment without a transaction waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Waits {
    /// The budget of the class has no room for a transaction that can cost this much. It is signed in its turn.
    Turn { most: Usd },
    /// Gas can cost more than the sale brings, or than the whole budget.
    Price { cost: Usd, limit: Usd },
}

/// The state of a payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum PaymentState {
    /// Not settled yet.
    Open,
    /// The money arrived with this transaction.
    Settled {
        transaction: B256,
        /// The item: a submission, or the score of a statement.
        #[serde(rename = "submission")]
        bought: Option<Uuid>,
    },
    /// The money did not arrive, as far as known.
    Refused { reason: String, detail: String },
}

/// A request, as it was paid for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PurchaseRecord {
    #[serde(flatten)]
    pub order: Purchased,
    /// The caller's `Idempotency-Key`.
    pub retry_key: Option<String>,
    /// Digest of what is ordered.
    pub digest: B256,
}

/// The ordered item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Purchased {
    Submission {
        agent_id: u64,
        address: Address,
        tags: Vec<Tag>,
    },
    /// A statement of a score; the words tell two orders apart.
    Statement {
        statement: String,
    },
    /// A watch for so many terms; the words tell two orders apart.
    Watch {
        watch: String,
        terms: u32,
    },
}

/// A statement that a payment bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SoldRecord {
    pub score_id: String,
    pub signed: Signed,
}

/// The body of a call of the facilitator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderRecord {
    pub version: u8,
    pub payload: Value,
    pub requirements: Value,
}

impl PurchaseRecord {
    /// The order of a statement; the words tell two orders apart.
    pub fn statement(words: String) -> Self {
        let digest = keccak256(&words);
        Self { order: Purchased::Statement { statement: words }, retry_key: None, digest }
    }

    /// The order of a watch. Only a client with the same `secret` has ordered it: the payment is public once its
    /// transfer was sent.
    pub fn watch(words: String, secret: &str, terms: u32) -> Self {
        let digest = keccak256(format!("{words}\n{secret}"));
        Self { order: Purchased::Watch { watch: words, terms }, retry_key: None, digest }
    }

    pub fn item(&self) -> Item {
        match self.order {
            Purchased::Submission { .. } => Item::Submission,
            Purchased::Statement { .. } => Item::Statement,
            Purchased::Watch { terms, .. } => Item::Watch(terms),
        }
    }
}

impl PaymentRecord {
    pub fn is_open(&self) -> bool {
        self.state == PaymentState::Open
    }

    /// No transfer of it was signed before its signature expired.
    pub(super) fn expired_in_queue(&self) -> bool {
        let is_expired =
            matches!(&self.state, PaymentState::Refused { reason, .. } if reason.as_str() == reason::VALID_BEFORE);
        is_expired && self.attempts == 0 && self.slot.is_none()
    }

    /// The budget of its class has no room for its transaction now.
    pub fn is_in_turn(&self) -> bool {
        self.slot.is_none() && matches!(self.waits, Some(Waits::Turn { .. }))
    }

    pub fn class(&self) -> Class {
        if self.by_contract { Class::Contract } else { Class::Account }
    }

    /// Its transfer, which can cost `most`.
    pub fn risk(&self, most: Usd) -> Risk {
        let network = self.network.map(Party::network);
        Risk { class: self.class(), payer: Party::payer(self.id.from), owner: None, network, most }
    }
}
