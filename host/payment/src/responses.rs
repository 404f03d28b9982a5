//! Error responses of calls that can be paid, in groups that the rows name.

use utoipa::IntoResponses;

use crate::bodies::PaymentRequiredBody;
use assay_http::DetailBody;
pub use assay_http::responses::*;

/// A call that can be paid by x402, if the server accepts it.
#[derive(IntoResponses)]
pub enum Payable {
    /// No key and no payment, or a payment that was not accepted; the body has the reason and the terms
    #[response(status = 402, headers(
        ("PAYMENT-REQUIRED" = String, description = "The terms for x402, version 2"),
        ("X-PAYMENT-RESPONSE" = Option<String>, description = "Outcome of version 1, if settlement was attempted"),
        ("PAYMENT-RESPONSE" = Option<String>, description = "Outcome of version 2, if settlement was attempted"),
    ))]
    Required(PaymentRequiredBody),
    /// The payment is being settled: send the same payment again, and do not sign another one
    #[response(status = 503)]
    Pending(DetailBody),
}
