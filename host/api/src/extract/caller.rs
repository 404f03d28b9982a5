//! The caller of a priced route, and the units that pay for the call.

use std::{future::Future, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::{
    ApiError, App,
    call::{Bill, Call},
};
use assay_access::{AccessError, Prepaid, PriceClass, Reservation, records::Payer};

/// A caller with a valid key that may make this call.
pub(crate) struct Caller {
    caller: Arc<assay_access::Caller>,
    price: PriceClass,
    bill: Bill,
    prepaid: Option<Prepaid>,
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        Ok(Self::identified(parts)?)
    }
}

impl Caller {
    /// # Errors
    /// [`AccessError`] unless the key is known and may make this call.
    pub(super) fn identified(parts: &Parts) -> Result<Self, AccessError> {
        let call: &Call = parts.extensions.get().ok_or(AccessError::MissingOrInvalid)?;
        let (caller, price) = call.caller()?;
        Ok(Self { caller: caller.clone(), price, bill: call.bill.clone(), prepaid: call.prepaid.clone() })
    }

    /// Name of the key.
    pub(crate) fn name(&self) -> &str {
        &self.caller.name
    }

    /// The unique identity of the key.
    pub(crate) fn owner(&self) -> &str {
        self.caller.identity()
    }

    /// The key.
    pub(crate) fn key(&self) -> &assay_access::Caller {
        &self.caller
    }

    /// Units the key has used; `None` if it is not metered.
    ///
    /// # Errors
    /// 500 if the store fails.
    pub(crate) async fn used(&self, app: &App) -> Result<Option<u64>, ApiError> {
        Ok(app.access.used(&self.caller).await.map_err(AccessError::from)?)
    }

    /// Records the cost of a call whose units were charged together with its work. If the store cannot be read, the
    /// units left are omitted, because the work is already done.
    pub(crate) async fn charged(&self, app: &App) {
        let used = app.access.used(&self.caller).await.unwrap_or_else(|error| {
            tracing::warn!(key = self.name(), %error, "the units left after a submission were not read");
            None
        });
        let left = self.caller.units.zip(used).map(|(limit, used)| limit.saturating_sub(used));
        self.bill.record(app.access.cost(self.price), left);
    }

    /// The payer of work that continues after the request.
    pub(crate) fn payer(&self, app: &App) -> Payer {
        self.caller.payer(app.access.cost(self.price), app.access.cost(PriceClass::Score))
    }

    /// Runs `work` and charges the caller. The units are reserved first. Any response spends them, even "not found".
    /// A client that disconnects after the work has begun spends them too; a server error refunds them.
    ///
    /// # Errors
    /// 429 if too few units are left; otherwise the errors of `work`.
    pub(crate) async fn pay<T>(
        &self,
        app: &App,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        self.pay_each(app, 1, work).await
    }

    /// As [`pay`](Self::pay), for several subjects: charges all of them or none.
    ///
    /// # Errors
    /// As [`pay`](Self::pay).
    pub(crate) async fn pay_each<T>(
        &self,
        app: &App,
        subjects: usize,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        self.pay_each_if(app, subjects, async { Ok((work.await?, true)) }).await
    }

    /// As [`pay_each`](Self::pay_each), for work that finds out whether it is paid.
    ///
    /// # Errors
    /// As [`pay`](Self::pay).
    pub(crate) async fn pay_each_if<T>(
        &self,
        app: &App,
        subjects: usize,
        work: impl Future<Output = Result<(T, bool), ApiError>>,
    ) -> Result<T, ApiError> {
        let units = app.access.cost(self.price).saturating_mul(subjects as u64);
        let reserved = match self.prepaid.as_ref().and_then(|prepaid| prepaid.take(units)) {
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
        let is_free = response.as_ref().map_or_else(ApiError::is_server_error, |(_, is_paid)| !is_paid);
        begun.end(is_free);
        if is_free {
            self.bill.record(0, left.map(|left| left.saturating_add(units)));
        } else {
            self.bill.record(units, left);
        }
        response.map(|(done, _)| done)
    }
}

/// The units of work that has begun. A drop means that the client disconnected: the work was done for it, so the units
/// are spent, unless the server itself ended the work.
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
