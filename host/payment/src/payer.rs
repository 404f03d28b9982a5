//! The payer of a submission or a statement: a key, which pays with its units, or any client that pays by x402, if
//! enabled.

use std::sync::Arc;

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderMap, StatusCode, header, request::Parts},
};

use crate::{Item, Payment, Refused, Version, X402, refusal::payment_required};
use assay_access::{AccessError, PriceClass};
use assay_agents::AgentPath;
use assay_http::{
    ApiError, Call, PAYMENT_HEADERS,
    extract::{Caller, in_header},
    parameters,
};

/// A known key that may make the call, or a payment that is not verified yet.
pub enum Payer {
    Key(Caller),
    Payment(Box<Offered>),
}

parameters!(Payer:
    in_header(PAYMENT_HEADERS[0], "A payment by x402, version 1, instead of a key, if the server accepts payments"),
    in_header(PAYMENT_HEADERS[1], "A payment by x402, version 2, instead of a key, if the server accepts payments"),
);

/// A known key that may make the call, or a client that can pay for it. The price depends on the rest of the request.
pub enum Buyer {
    Key(Caller),
    Client(Box<Client>),
}

parameters!(Buyer:
    in_header(PAYMENT_HEADERS[0], "A payment by x402, version 1, instead of a key, if the server accepts payments"),
    in_header(PAYMENT_HEADERS[1], "A payment by x402, version 2, instead of a key, if the server accepts payments"),
);

/// A client without a key, with its payment if it presents one.
pub struct Client {
    x402: X402,
    payment: Option<Payment>,
    /// The absolute URL that it called.
    resource: String,
    /// Why it has no key.
    error: AccessError,
}

/// A payment for `item`, at the absolute URL `resource`.
pub struct Offered {
    pub payment: Payment,
    pub item: Item,
    pub resource: String,
}

/// The means of payment, and the agents whose payments a scenario decides about. Cheap to clone.
#[derive(Clone, Default)]
pub struct Payments {
    /// Payment by call; absent when not enabled.
    pub x402: Option<X402>,
    /// The payments that scenarios of a sandbox accept and refuse.
    pub script: Option<Arc<dyn PaymentScript>>,
}

/// Decides about the payments for some agents, as scenarios of a sandbox say.
pub trait PaymentScript: Send + Sync {
    /// The service for payments for the agent, if a scenario decides about them.
    fn x402(&self, agent_id: u64) -> Option<&X402>;

    /// The refusal of `payment` for the agent.
    fn refusal(&self, agent_id: u64, payment: &Payment) -> Option<Refused>;
}

impl Payments {
    /// Whether a client without a key can pay for anything.
    pub fn are_taken(&self) -> bool {
        self.x402.is_some() || self.script.is_some()
    }

    /// The service that takes payments for the agent.
    pub fn of_agent(&self, agent_id: u64) -> Option<&X402> {
        self.x402.as_ref().or_else(|| self.script.as_ref()?.x402(agent_id))
    }

    /// # Errors
    /// 402 for a payment that a scenario refuses.
    pub fn refuse_scripted(&self, agent_id: u64, offered: &Offered) -> Result<(), ApiError> {
        let script = self.script.as_ref().and_then(|script| {
            Some(offered.refused(script.x402(agent_id)?, &script.refusal(agent_id, &offered.payment)?))
        });
        script.map_or(Ok(()), Err)
    }
}

impl<S> FromRequestParts<S> for Payer
where
    S: Send + Sync,
    Payments: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let error = match Caller::identified(parts) {
            Ok(caller) => return Ok(Self::Key(caller)),
            Err(error) => error,
        };
        if error != AccessError::MissingOrInvalid {
            return Err(error.into());
        }
        let price = Call::of(parts)?.price;
        let item = if price == Some(PriceClass::Attestation) { Item::Statement } else { Item::Submission };
        let payments = Payments::from_ref(state);
        let x402 = match &payments.x402 {
            Some(x402) => x402,
            None => {
                let agent = AgentPath::from_request_parts(parts, state).await.ok();
                agent.and_then(|AgentPath(id)| payments.of_agent(id)).ok_or(AccessError::MissingOrInvalid)?
            }
        };
        let (_, offered) = Client::read(parts, x402, error)?.offer(item)?;
        Ok(Self::Payment(Box::new(offered)))
    }
}

impl<S> FromRequestParts<S> for Buyer
where
    S: Send + Sync,
    Payments: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match (Caller::identified(parts), Payments::from_ref(state).x402) {
            (Ok(caller), _) => Ok(Self::Key(caller)),
            (Err(error @ AccessError::MissingOrInvalid), Some(x402)) => {
                Ok(Self::Client(Box::new(Client::read(parts, &x402, error)?)))
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

impl Client {
    fn read(parts: &Parts, x402: &X402, error: AccessError) -> Result<Self, ApiError> {
        let network = Call::of(parts)?.network;
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let resource = x402.resource(host, parts.uri.path().trim_end_matches('/'));
        let read = |(version, text)| x402.read(version, text, network);
        let payment = presented(&parts.headers)?.map(read).transpose();
        let payment = payment.map_err(|malformed| bad_payment(malformed.to_string()))?;
        Ok(Self { x402: x402.clone(), payment, resource, error })
    }

    pub fn has_payment(&self) -> bool {
        self.payment.is_some()
    }

    /// The payment that it presents for `item`.
    ///
    /// # Errors
    /// 402 with the terms if it presents none.
    pub fn offer(self, item: Item) -> Result<(X402, Offered), ApiError> {
        let Self { x402, payment, resource, error } = self;
        if let Some(payment) = payment {
            return Ok((x402, Offered { payment, item, resource }));
        }
        let price = x402.terms().price(item);
        let detail = format!("{error}; this call can also be paid for by x402, {price} as `accepts` says");
        let missing = |version: Version| format!("{} header is required", version.request_header());
        Err(payment_required(x402.terms().demand(item, &resource, missing, detail)))
    }
}

/// The header with a payment. When a client sends both versions, version 2 is used.
fn presented(headers: &HeaderMap) -> Result<Option<(Version, &str)>, ApiError> {
    for version in [Version::Two, Version::One] {
        let mut values = headers.get_all(version.request_header()).iter();
        let Some(value) = values.next() else { continue };
        let name = version.request_header();
        if values.next().is_some() {
            return Err(bad_payment(format!("Send {name} once")));
        }
        let text = value.to_str().map_err(|_| bad_payment(format!("{name} is not base64")))?;
        return Ok(Some((version, text)));
    }
    Ok(None)
}

fn bad_payment(what: String) -> ApiError {
    ApiError::coded(StatusCode::BAD_REQUEST, "malformed_payment", what)
}
