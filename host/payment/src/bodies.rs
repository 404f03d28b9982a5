//! The payment that a client without a key must make: the body of x402 version 1, with a `detail` as in every other
//! error.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The terms of a payment. The header `PAYMENT-REQUIRED` contains them for x402 version 2.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PaymentRequired, example = json!({
    "x402Version": 1, "error": "X-PAYMENT header is required",
    "accepts": [{
        "scheme": "exact", "network": "base", "maxAmountRequired": "100000",
        "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "payTo": "0x00000000000000000000000000000000000000AA",
        "resource": "https://assay.example/api/v2/agents/1/reputation",
        "description": "Submission of an agent's reputation to the ERC-8004 Reputation Registry",
        "mimeType": "application/json",
        "maxTimeoutSeconds": 300, "extra": { "name": "USD Coin", "version": "2" }
    }],
    "detail": "Invalid or missing API key; this call can also be paid for by x402, 0.1 USD Coin as `accepts` says"
}))]
pub struct PaymentRequiredBody {
    /// Always 1: the body is that of version 1.
    #[schema(minimum = 1, maximum = 1)]
    pub x402_version: u8,
    /// Why no payment was accepted, as an error code of the x402 protocol.
    pub error: String,
    /// How to pay.
    #[schema(value_type = Vec<Object>)]
    pub accepts: Vec<Value>,
    /// The reason as a sentence for people, and what to do.
    pub detail: String,
}
