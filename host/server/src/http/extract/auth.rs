//! Who calls, and what it costs. A handler without a [`Caller`] or [`Payer`](super::Payer) among its arguments is
//! public.

use crate::access::records::Payer;
use std::{future::Future, marker::PhantomData, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};

use crate::{
    access::{self, AccessError, Route},
    http::{ApiError, App, bill::Bill, middleware::Identified},
};

/// What a call needs and costs, as a type: the row of the price table that it stands in.
pub trait Charge {
    const ROUTE: Route;
}

/// The rows of the price table.
pub mod charge {
    use super::{Charge, Route};

    macro_rules! rows {
        ($($name:ident),*) => { $(
            pub struct $name;
            impl Charge for $name {
                const ROUTE: Route = Route::$name;
            }
        )* };
    }

    rows!(Score, Report, Sandbox, Models, Agents, Status, Submission, Usage, Admin);
}

/// A caller whose key is good and may make this call. It is looked at before anything else of the request.
pub struct Caller<C> {
    caller: Arc<access::Caller>,
    bill: Bill,
    charge: PhantomData<fn() -> C>,
}

impl<C: Charge> FromRequestParts<App> for Caller<C> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        // What is free is open where one can pay without a key: who pays wants to see what for, and what became of it.
        let is_open = matches!(C::ROUTE, Route::Agents | Route::Status) && app.x402.is_some();
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
        // Found out when the request was counted.
        let identified = parts.extensions.get::<Identified>().map(|identified| identified.0.clone());
        let caller = identified.unwrap_or(Err(AccessError::MissingOrInvalid))?;
        caller.require(C::ROUTE.scopes())?;
        Ok(Self::of(caller, parts))
    }

    fn of(caller: Arc<access::Caller>, parts: &Parts) -> Self {
        Self { caller, bill: parts.extensions.get().cloned().unwrap_or_default(), charge: PhantomData }
    }

    /// Name of the key.
    pub fn name(&self) -> &str {
        &self.caller.name
    }

    /// Tells this key from every other.
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

    /// Writes on the bill what a call cost that was paid together with its work.
    ///
    /// # Errors
    /// 500 where the store fails.
    pub async fn charged(&self, app: &App) -> Result<(), ApiError> {
        let used = self.used(app).await?;
        let left = self.caller.units.zip(used).map(|(limit, used)| limit.saturating_sub(used));
        self.bill.write(app.access.cost(C::ROUTE), left);
        Ok(())
    }

    /// This caller as the one who pays for work that outlives the request.
    pub fn payer(&self, app: &App) -> Payer {
        self.caller.payer(app.access.cost(C::ROUTE))
    }

    /// Does `work` for this caller's units. They are set aside before it, spent by an answer (one that says "not found"
    /// too), and given back where the failure is ours or the caller has gone.
    ///
    /// # Errors
    /// 429 without units, otherwise those of `work`.
    pub async fn pay<T>(&self, app: &App, work: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
        self.pay_each(app, 1, work).await
    }

    /// As [`pay`](Self::pay), for an answer about so many subjects: all their units together, or none.
    ///
    /// # Errors
    /// As [`pay`](Self::pay).
    pub async fn pay_each<T>(
        &self,
        app: &App,
        subjects: usize,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let units = app.access.cost(C::ROUTE).saturating_mul(subjects as u64);
        let reservation = app.access.reserve(&self.caller, units).await.inspect_err(|error| {
            if let AccessError::UnitsExhausted { used, limit, .. } = error {
                self.bill.write(0, Some(limit.saturating_sub(*used)));
            }
        })?;
        let answer = work.await;
        let left = reservation.left();
        if answer.as_ref().is_err_and(ApiError::is_ours) {
            self.bill.write(0, left.map(|left| left.saturating_add(units)));
        } else {
            reservation.commit();
            self.bill.write(units, left);
        }
        answer
    }
}
