//! The payer of a submission or a statement: a key, which pays with its units, or any client that pays by x402 where
//! that is enabled.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, StatusCode, header, request::Parts},
};

use super::{
    AgentPath, Caller,
    parameter::{in_header, parameters},
};
use crate::{ApiError, App, call::Call};
use assay_access::{AccessError, PriceClass};
use assay_submissions::x402::{Item, Payment, Version};

/// A known key that may make the call, or a payment that is not verified yet.
pub(crate) enum Payer {
    Key(Caller),
    Payment(Box<Offered>),
}

parameters!(Payer:
    in_header("X-PAYMENT", "A payment by x402, version 1, instead of a key, if the server accepts payments"),
    in_header("PAYMENT-SIGNATURE", "A payment by x402, version 2, instead of a key, if the server accepts payments"),
);

/// A payment for `item`, at the absolute URL `resource`.
pub(crate) struct Offered {
    pub payment: Payment,
    pub item: Item,
    pub resource: String,
}

impl FromRequestParts<App> for Payer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let error = match Caller::identified(parts) {
            Ok(caller) => return Ok(Self::Key(caller)),
            Err(error) => error,
        };
        if error != AccessError::MissingOrInvalid {
            return Err(error.into());
        }
        let network = parts.extensions.get::<Call>().and_then(|call| call.network);
        let item = match parts.extensions.get::<Call>().and_then(|call| call.price) {
            Some(PriceClass::Attestation) => Item::Statement,
            _ => Item::Submission,
        };
        let x402 = match &app.x402 {
            Some(x402) if item == Item::Submission || app.attestor.is_some() => x402,
            _ => {
                let agent = AgentPath::from_request_parts(parts, app).await.ok();
                let scripted = agent.and_then(|AgentPath(id)| app.refuses_payments(id));
                scripted.ok_or(AccessError::MissingOrInvalid)?.0
            }
        };
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let resource = x402.resource(host, parts.uri.path().trim_end_matches('/'));
        let Some((version, text)) = presented(&parts.headers)? else {
            let price = x402.terms().price(item);
            let detail = format!("{error}; this call can also be paid for by x402, {price} as `accepts` says");
            let missing = |version: Version| format!("{} header is required", version.request_header());
            return Err(ApiError::payment_required(x402.terms().demand(item, &resource, missing, detail)));
        };
        let payment =
            x402.read(version, text, network).map_err(|malformed| ApiError::bad_payment(malformed.to_string()))?;
        Ok(Self::Payment(Box::new(Offered { payment, item, resource })))
    }
}

/// The header with a payment. When a client sends both versions, version 2 is used.
fn presented(headers: &HeaderMap) -> Result<Option<(Version, &str)>, ApiError> {
    for version in [Version::Two, Version::One] {
        let mut values = headers.get_all(version.request_header()).iter();
        let Some(value) = values.next() else { continue };
        let name = version.request_header();
        if values.next().is_some() {
            return Err(ApiError::bad_payment(format!("Send {name} once")));
        }
        let text = value.to_str().map_err(|_| ApiError::bad_payment(format!("{name} is not base64")))?;
        return Ok(Some((version, text)));
    }
    Ok(None)
}

impl ApiError {
    fn bad_payment(what: String) -> Self {
        Self::coded(StatusCode::BAD_REQUEST, "malformed_payment", what)
    }
}
