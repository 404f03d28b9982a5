//! Who calls, and what it costs. A handler without a [`Caller`] or [`Payer`](super::Payer) among its arguments is public.

use std::{future::Future, marker::PhantomData, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};

use crate::{
    access::{self, AccessError, Route},
    http::{ApiError, App},
    store::records::Payer,
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

    rows!(Score, Report, Sandbox, Models, Agents, Submission, Admin);
}

/// A caller whose key is good and may make this call. It is looked at before anything else of the request.
pub struct Caller<C> {
    caller: Arc<access::Caller>,
    charge: PhantomData<fn() -> C>,
}

impl<C: Charge> FromRequestParts<App> for Caller<C> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        // What is free is open where one can pay without a key: who pays wants to see what for, and what became of it.
        if C::ROUTE == Route::Agents && app.x402.is_some() && !parts.headers.contains_key(header::AUTHORIZATION) {
            return Ok(Self { caller: Arc::new(access::Caller::guest()), charge: PhantomData });
        }
        Ok(Self::identify(parts, app).await?)
    }
}

impl<C: Charge> Caller<C> {
    /// # Errors
    /// [`AccessError`] for anything but a known key that may make this call.
    pub(super) async fn identify(parts: &Parts, app: &App) -> Result<Self, AccessError> {
        let header = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let caller = app.access.identify(header).await?;
        caller.require(C::ROUTE.scope())?;
        Ok(Self { caller, charge: PhantomData })
    }

    /// Name of the key.
    pub fn name(&self) -> &str {
        &self.caller.name
    }

    /// Tells this key from every other.
    pub fn owner(&self) -> &str {
        self.caller.identity()
    }

    /// This caller as the one who pays for work that outlives the request.
    pub fn payer(&self, app: &App) -> Payer {
        self.caller.payer(app.access.cost(C::ROUTE))
    }

    /// Does `work` for this caller's units. They are set aside before it, spent by an answer (one that says "not found" too),
    /// and given back where the failure is ours or the caller has gone.
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
    pub async fn pay_each<T>(&self, app: &App, subjects: usize, work: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
        let units = app.access.cost(C::ROUTE).saturating_mul(subjects as u64);
        let reservation = app.access.reserve(&self.caller, units).await?;
        let answer = work.await;
        if !answer.as_ref().is_err_and(ApiError::is_ours) {
            reservation.commit();
        }
        answer
    }
}
