//! The caller of a priced route, and the units that pay for the call.

use std::{future::Future, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::{ApiError, Call, Gate, call::Bill};
use assay_access::{AccessError, Prepaid, PriceClass, Reservation, records::Payer};

/// A caller with a valid key that may make this call.
pub struct Caller {
    caller: Arc<assay_access::Caller>,
    gate: Gate,
    price: PriceClass,
    bill: Bill,
    prepaid: Option<Prepaid>,
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::identified(parts)?)
    }
}

impl Caller {
    /// # Errors
    /// [`AccessError`] unless the key is known and may make this call.
    pub fn identified(parts: &Parts) -> Result<Self, AccessError> {
        let call: &Call = parts.extensions.get().ok_or(AccessError::MissingOrInvalid)?;
        let (caller, price) = call.caller()?;
        let gate = call.gate.clone();
        Ok(Self { caller: caller.clone(), gate, price, bill: call.bill.clone(), prepaid: call.prepaid.clone() })
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
    pub fn key(&self) -> &assay_access::Caller {
        &self.caller
    }

    /// Units the key has used; `None` if it is not metered.
    ///
    /// # Errors
    /// 500 if the store fails.
    pub async fn used(&self) -> Result<Option<u64>, ApiError> {
        Ok(self.gate.access.used(&self.caller).await.map_err(AccessError::from)?)
    }

    /// Records the cost of a call whose units were charged together with its work. If the store cannot be read, the
    /// units left are omitted, because the work is already done.
    pub async fn charged(&self) {
        let used = self.gate.access.used(&self.caller).await.unwrap_or_else(|error| {
            tracing::warn!(key = self.name(), %error, "the units left after a submission were not read");
            None
        });
        let left = self.caller.units.zip(used).map(|(limit, used)| limit.saturating_sub(used));
        self.bill.record(self.gate.access.cost(self.price), left);
    }

    /// Units of one call at `price`, for work that continues after the request.
    pub fn price(&self, price: PriceClass) -> u64 {
        self.gate.access.cost(price)
    }

    /// The payer of work that continues after the request.
    pub fn payer(&self) -> Payer {
        self.caller.payer(self.gate.access.cost(self.price), self.gate.access.cost(PriceClass::Score))
    }

    /// Runs `work` and charges the caller. The units are reserved first. Any response spends them, even "not found".
    /// A client that disconnects after the work has begun spends them too; a server error refunds them.
    ///
    /// # Errors
    /// 429 if too few units are left; otherwise the errors of `work`.
    pub async fn pay<T, E: Into<ApiError>>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, ApiError> {
        self.pay_each(1, work).await
    }

    /// As [`pay`](Self::pay), for several subjects: charges all of them or none.
    ///
    /// # Errors
    /// As [`pay`](Self::pay).
    pub async fn pay_each<T, E: Into<ApiError>>(
        &self,
        subjects: usize,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, ApiError> {
        self.pay_each_if(subjects, async { Ok((work.await.map_err(Into::into)?, true)) }).await
    }

    /// As [`pay_each`](Self::pay_each), for work that finds out whether it is paid.
    ///
    /// # Errors
    /// As [`pay`](Self::pay).
    pub async fn pay_each_if<T>(
        &self,
        subjects: usize,
        work: impl Future<Output = Result<(T, bool), ApiError>>,
    ) -> Result<T, ApiError> {
        let units = self.gate.access.cost(self.price).saturating_mul(subjects as u64);
        let reserved = match self.prepaid.as_ref().and_then(|prepaid| prepaid.take(units)) {
            Some(reserved) => reserved,
            None => self.gate.access.reserve(&self.caller, units).await,
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
