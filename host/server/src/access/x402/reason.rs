//! The reasons why a payment is refused, as the protocol spells them.

use std::borrow::Cow;

use assay_domain::Address;

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

pub const VERSION: &str = "invalid_x402_version";
pub const SCHEME: &str = "unsupported_scheme";
pub const NETWORK: &str = "invalid_network";
pub const REQUIREMENTS: &str = "invalid_payment_requirements";
pub const SIGNATURE: &str = "invalid_exact_evm_payload_signature";
pub const RECIPIENT: &str = "invalid_exact_evm_payload_recipient_mismatch";
pub const VALUE: &str = "invalid_exact_evm_payload_authorization_value";
pub const VALID_AFTER: &str = "invalid_exact_evm_payload_authorization_valid_after";
pub const VALID_BEFORE: &str = "invalid_exact_evm_payload_authorization_valid_before";
pub const FUNDS: &str = "insufficient_funds";
/// Only the reference implementation defines it.
pub const USED: &str = "invalid_exact_evm_nonce_already_used";
pub const STATE: &str = "invalid_transaction_state";
pub const SETTLE: &str = "unexpected_settle_error";

impl Refused {
    pub fn new(reason: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self { reason: reason.into(), detail: detail.into(), tried: false }
    }

    /// The payment was used for another request.
    pub fn spent() -> Self {
        Self::new(USED, "The payment was presented for another request before; sign a new one")
    }

    /// The transfers of the payer have cost too much gas today without moving money.
    pub fn out_of_gas(payer: Address) -> Self {
        let detail = format!(
            "Transfers of {payer} were reverted on the chain and cost more gas than this server pays for in a day; pay from another account, or use an API key"
        );
        Self::new(STATE, detail)
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
