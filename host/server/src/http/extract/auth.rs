//! The caller of a request, and the price of the call. A handler without a [`Caller`] or
//! [`Payer`](super::Payer) among its arguments needs no key.

use std::{future::Future, marker::PhantomData, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};

use crate::{
    access::{self, AccessError, Ahead, Price, Reservation, records::Payer},
    http::{ApiError, App, bill::Bill},
};

/// The result of identifying the caller. The middleware does it once, to count the request.
#[derive(Clone)]
pub struct Identified(pub Result<Arc<access::Caller>, AccessError>);

/// The price of a call as a type: a row of the price table.
pub trait Charge {
    const PRICE: Price;
}

/// The rows of the price table as types.
pub mod charge {
    use super::{Charge, Price};

    macro_rules! rows {
        ($($name:ident),*) => { $(
            pub struct $name;
            impl Charge for $name {
                const PRICE: Price = Price::$name;
            }
        )* };
    }

    rows!(Score, Report, Sandbox, Models, Agents, Status, Submission, Usage, Admin);
}

/// A caller with a valid key that may make this call. The key is checked before anything else of the request.
pub struct Caller<C> {
    caller: Arc<access::Caller>,
    bill: Bill,
    ahead: Option<Ahead>,
    charge: PhantomData<fn() -> C>,
}

impl<C: Charge> FromRequestParts<App> for Caller<C> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        // With x402 a client without a key can submit: it needs the agents beforehand and the status afterwards.
        let is_open = matches!(C::PRICE, Price::Agents | Price::Status) && app.x402.is_some();
        if is_open && !parts.headers.contains_key(header::AUTHORIZATION) {
            return Ok(Self::of(access::Caller::guest().into(), parts));
        }
        Ok(Self::identified(parts)?)
    }
}

impl<C: Charge> Caller<C> {
    /// # Errors
    /// [`AccessError`] for anything but a known key that may make this call.
    pub(super) fn identified(parts: &Parts) -> Result<Self, AccessError> {
        let identified = parts.extensions.get::<Identified>().map(|identified| identified.0.clone());
        let caller = identified.unwrap_or(Err(AccessError::MissingOrInvalid))?;
        caller.require(C::PRICE.scopes())?;
        Ok(Self::of(caller, parts))
    }

    fn of(caller: Arc<access::Caller>, parts: &Parts) -> Self {
        let (bill, ahead) = (parts.extensions.get().cloned().unwrap_or_default(), parts.extensions.get().cloned());
        Self { caller, bill, ahead, charge: PhantomData }
    }

    /// Name of the key.
    pub fn name(&self) -> &str {
        &self.caller.name
    }

    /// The unique identity of the key.
    pub fn owner(&self) -> &str {
        self.caller.identity()
    }

    /// The key.
    pub fn key(&self) -> &access::Caller {
        &self.caller
    }

    /// Units the key has used; `None` where it is not metered.
    ///
    /// # Errors
    /// 500 where the store fails.
    pub async fn used(&self, app: &App) -> Result<Option<u64>, ApiError> {
        Ok(app.access.used(&self.caller).await.map_err(AccessError::from)?)
    }

    /// Records the cost of a call whose units were taken together with its work.
    ///
    /// # Errors
    /// 500 where the store fails.
    pub async fn charged(&self, app: &App) -> Result<(), ApiError> {
        let used = self.used(app).await?;
        let left = self.caller.units.zip(used).map(|(limit, used)| limit.saturating_sub(used));
        self.bill.record(app.access.cost(C::PRICE), left);
        Ok(())
    }

    /// The payer of work that continues after the request.
    pub fn payer(&self, app: &App) -> Payer {
        self.caller.payer(app.access.cost(C::PRICE))
    }

    /// Does `work` for the units of this caller. The units are reserved before it. They are spent by a response, also by
    /// "not found", and by a client that leaves once the work has begun; a server error refunds them.
    ///
    /// # Errors
    /// 429 without units, otherwise those of `work`.
    pub async fn pay<T>(&self, app: &App, work: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
        self.pay_each(app, 1, work).await
    }

    /// As [`pay`](Self::pay), for several subjects: the units of all of them, or none.
    ///
    /// # Errors
    /// As [`pay`](Self::pay).
    pub async fn pay_each<T>(
        &self,
        app: &App,
        subjects: usize,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let units = app.access.cost(C::PRICE).saturating_mul(subjects as u64);
        let reserved = match self.ahead.as_ref().and_then(|ahead| ahead.take(units)) {
            Some(reserved) => reserved,
            None => app.access.reserve(&self.caller, units).await,
        };
        let reservation = reserved.inspect_err(|error| {
            if let AccessError::UnitsExhausted { used, limit, .. } = error {
                self.bill.record(0, Some(limit.saturating_sub(*used)));
            }
        })?;
        let left = reservation.left();
        let begun = Begun { reservation: Some(reservation), bill: self.bill.clone() };
        let response = work.await;
        let failed = response.as_ref().is_err_and(ApiError::is_server_error);
        begun.end(failed);
        if failed {
            self.bill.record(0, left.map(|left| left.saturating_add(units)));
        } else {
            self.bill.record(units, left);
        }
        response
    }
}

/// The units of work that has begun. A dropped one is that of a client that left: the work was done for it, so the units
/// are spent, unless the server ended the work itself.
struct Begun {
    reservation: Option<Reservation>,
    bill: Bill,
}

impl Begun {
    fn end(mut self, failed: bool) {
        let reservation = self.reservation.take().filter(|_| !failed);
        // After a failure the reservation is dropped, which refunds the units.
        reservation.into_iter().for_each(Reservation::commit);
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let ended_here = self.bill.is_given_up() || std::thread::panicking();
        let reservation = self.reservation.take().filter(|_| !ended_here);
        reservation.into_iter().for_each(Reservation::commit);
    }
}
