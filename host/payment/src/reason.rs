//! The reasons why a payment is refused, as the protocol spells them.

use std::{borrow::Cow, time::Duration};

use chrono::Utc;

use super::{Payment, Version, terms::Terms};
use assay_domain::{Address, Authorization, B256, U256};
use assay_outbox::gas::Exhausted;

/// Seconds that a signature must remain valid when the payment is presented.
pub(super) const MARGIN: u64 = 20;
/// Seconds that it must remain valid when its transfer is signed: several blocks, so that no transfer reaches its last
/// block.
pub(super) const SIGNING_MARGIN: u64 = 12;
/// Seconds before the end of the signature at which a waiting transfer is cancelled.
pub(super) const CANCELLING_MARGIN: u64 = 6;

/// How long the place of a payment whose signature expired in the queue is kept for the next payment of its payer for
/// the same request.
pub(super) const PLACE_KEPT: Duration = Duration::from_secs(600);

/// A refused payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// As the specification or its reference implementation spells it.
    pub reason: Cow<'static, str>,
    /// The problem, and what to do.
    pub detail: String,
    /// Settlement was attempted.
    pub tried: bool,
}

pub(super) const VERSION: &str = "invalid_x402_version";
pub(crate) const SCHEME: &str = "unsupported_scheme";
pub(crate) const NETWORK: &str = "invalid_network";
pub(crate) const REQUIREMENTS: &str = "invalid_payment_requirements";
pub(super) const SIGNATURE: &str = "invalid_exact_evm_payload_signature";
pub(crate) const RECIPIENT: &str = "invalid_exact_evm_payload_recipient_mismatch";
pub(crate) const VALUE: &str = "invalid_exact_evm_payload_authorization_value";
pub(crate) const VALID_AFTER: &str = "invalid_exact_evm_payload_authorization_valid_after";
pub(crate) const VALID_BEFORE: &str = "invalid_exact_evm_payload_authorization_valid_before";
pub(crate) const FUNDS: &str = "insufficient_funds";
/// Only the reference implementation defines it.
pub(super) const USED: &str = "invalid_exact_evm_nonce_already_used";
pub(crate) const STATE: &str = "invalid_transaction_state";
pub(super) const SETTLE: &str = "unexpected_settle_error";

impl Refused {
    pub fn new(reason: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self { reason: reason.into(), detail: detail.into(), tried: false }
    }

    /// `wanted` is the only network.
    pub fn network(wanted: &str) -> Self {
        Self::new(NETWORK, format!("Payments are accepted only on the network {wanted:?}"))
    }

    pub fn recipient(pay_to: Address) -> Self {
        Self::new(RECIPIENT, format!("The recipient of the payment must be {pay_to}"))
    }

    pub fn value(terms: &Terms, wanted: U256, version: Version) -> Self {
        let at_least = if version == Version::One { "at least " } else { "exactly " };
        let price = terms.words(wanted);
        Self::new(VALUE, format!("The payment must be {at_least}{wanted} of the asset's smallest unit, {price}"))
    }

    pub(crate) fn not_yet_valid() -> Self {
        Self::new(VALID_AFTER, "The signature is not valid yet; check the clock of the signer")
    }

    pub fn expired() -> Self {
        let detail = format!("The signature expires in less than {MARGIN} seconds, or has expired; sign a new one");
        Self::new(VALID_BEFORE, detail)
    }

    /// No transfer was signed in time.
    pub(crate) fn expired_in_queue() -> Self {
        let minutes = PLACE_KEPT.as_secs() / 60;
        let detail = format!(
            "The signature expired before the transfer was sent; sign a new payment for the same request, which keeps \
             its place in the queue for {minutes} minutes"
        );
        Self::new(VALID_BEFORE, detail)
    }

    /// The key of the account `from` did not sign. `only_keys`: nothing else could have.
    pub fn signature(terms: &Terms, from: Address, only_keys: bool) -> Self {
        let domain = &terms.domain;
        let detail = format!(
            "The signature is not by {from} for this authorization, in the asset {} with the EIP-712 domain {:?} \
             version {:?} on chain {}{}",
            domain.asset,
            domain.name,
            domain.version,
            domain.chain,
            if only_keys { "; this server accepts payments only from accounts without code" } else { "" }
        );
        Self::new(SIGNATURE, detail)
    }

    /// `promised` is the sum of the payer's payments in progress.
    pub fn funds(terms: &Terms, payment: &Payment, promised: U256) -> Self {
        let Authorization { from, value, .. } = payment.authorization;
        let beside = match promised.is_zero() {
            true => String::new(),
            false => {
                format!(" and its open payments, {promised} of the smallest unit; wait until they are settled")
            }
        };
        Self::new(FUNDS, format!("{from} has less of the asset than the payment of {}{beside}", terms.words(value)))
    }

    pub fn used() -> Self {
        Self::new(USED, "The payment's nonce has been used or cancelled; sign a new payment with another nonce")
    }

    pub(crate) fn reverted_on_chain() -> Self {
        let detail = "The transfer was reverted on the chain, though the chain had confirmed it; sign a new one";
        Self::new(STATE, detail)
    }

    /// The transfer did not come to the chain.
    pub(crate) fn not_landed() -> Self {
        Self::new(SETTLE, "The transfer could not be sent to the chain; send the payment again")
    }

    /// This transaction made the transfer before the payment was presented here.
    pub(crate) fn paid_before(transaction: B256) -> Self {
        let detail = format!(
            "The money arrived in transaction {transaction}, before the payment was sent to this server; ask the \
             operator"
        );
        Self::new(USED, detail)
    }

    /// The payment was used for another request.
    pub fn spent() -> Self {
        Self::new(USED, "The payment was already sent with another request; sign a new one")
    }

    /// The transactions of the payer cost more gas than it may lose.
    pub(crate) fn out_of_gas(spent: &Exhausted) -> Self {
        Self::new(STATE, spent.why(Utc::now() + spent.wait))
    }

    /// The reason for the revert message of the asset: those of Circle's tokens and of common libraries.
    pub fn reverted(words: &str) -> Self {
        let lower = words.to_lowercase();
        let says = |part: &str| lower.contains(part);
        let reason = if says("not yet valid") {
            VALID_AFTER
        } else if says("expired") {
            VALID_BEFORE
        } else if says("used or canceled") || says("already used") {
            USED
        } else if says("signature") {
            SIGNATURE
        } else if says("exceeds balance") || says("insufficient balance") {
            FUNDS
        } else {
            STATE
        };
        let words = if words.is_empty() { "without a reason" } else { words };
        Self::new(reason, format!("The asset would refuse the transfer: {words}"))
    }
}
