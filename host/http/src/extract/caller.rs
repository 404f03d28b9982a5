//! The caller of a priced route, and the units that pay for the call.

use std::{future::Future, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts};
use tokio_util::sync::CancellationToken;

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

    /// Records the cost of a call whose units were charged together with its work.
    pub async fn charged(&self) {
        self.spent(self.gate.access.cost(self.price)).await;
    }

    /// As [`charged`](Self::charged), for a call that cost `units`. If the store cannot be read, the units left are
    /// omitted, because the work is already done.
    pub async fn spent(&self, units: u64) {
        let used = self.gate.access.used(&self.caller).await.unwrap_or_else(|error| {
            tracing::warn!(key = self.name(), %error, "the units left after a call were not read");
            None
        });
        let left = self.caller.units.zip(used).map(|(limit, used)| limit.saturating_sub(used));
        self.bill.record(units, left);
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
        let (reservation, units) = self.reserve(subjects).await?;
        let left = reservation.left();
        let (bill, stopping) = (self.bill.clone(), self.gate.stopping.clone());
        let begun = Begun { reservation: Some(reservation), bill, stopping };
        let done = work.await.map_err(Into::into);
        let is_free = done.as_ref().is_err_and(ApiError::is_server_error);
        begun.end(is_free);
        self.settled(units, left, is_free);
        done
    }

    /// As [`pay_each`](Self::pay_each), for a change that decides itself whether it costs anything. The change is
    /// completed even if the client disconnects, so it is paid exactly if it was made.
    ///
    /// # Errors
    /// As [`pay`](Self::pay).
    pub async fn pay_each_if<T: Send + 'static>(
        &self,
        subjects: usize,
        change: impl Future<Output = Result<(T, bool), ApiError>> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (reservation, units) = self.reserve(subjects).await?;
        let left = reservation.left();
        let made = async move {
            let done = change.await;
            let is_free = done.as_ref().map_or_else(ApiError::is_server_error, |(_, is_paid)| !is_paid);
            // A dropped reservation refunds its units.
            Some(reservation).filter(|_| !is_free).into_iter().for_each(Reservation::commit);
            (done, is_free)
        };
        let made = self.gate.access.complete("paid change", made).await;
        let (done, is_free) = made.map_err(|panic| ApiError::internal("paid_change", panic))?;
        self.settled(units, left, is_free);
        done.map(|(done, _)| done)
    }

    /// Does `work` if the caller has enough units for `subjects`, and charges nothing.
    ///
    /// # Errors
    /// As [`pay`](Self::pay).
    pub async fn afford<T>(
        &self,
        subjects: usize,
        work: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let (reservation, units) = self.reserve(subjects).await?;
        let done = work.await;
        self.settled(units, reservation.left(), true);
        done
    }

    /// Reserves the units for `subjects`. Dropping the reservation refunds them.
    async fn reserve(&self, subjects: usize) -> Result<(Reservation, u64), ApiError> {
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
        Ok((reservation, units))
    }

    /// Records what a call cost. `left` are the units left if it is not free.
    fn settled(&self, units: u64, left: Option<u64>, is_free: bool) {
        if is_free {
            self.bill.record(0, left.map(|left| left.saturating_add(units)));
        } else {
            self.bill.record(units, left);
        }
    }
}

/// The units of work that has begun. A drop means that the client disconnected: the work was done for it, so the units
/// are spent, unless the server ended the work itself, or is stopping and may have ended it.
struct Begun {
    reservation: Option<Reservation>,
    bill: Bill,
    stopping: CancellationToken,
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
        let ended_here = self.bill.is_given_up() || self.stopping.is_cancelled() || std::thread::panicking();
        let reservation = self.reservation.take().filter(|_| !ended_here);
        reservation.into_iter().for_each(Reservation::commit);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::{Notify, oneshot};

    use super::*;
    use crate::Components;
    use assay_access::{Access, config::KeyConfig};
    use assay_domain::{Scope, Secret};
    use assay_store::Store;

    async fn caller(store: Store) -> Caller {
        let defaults: toml::Table = toml::from_str(include_str!("../../../server/src/config/defaults.toml")).unwrap();
        let mut access: assay_access::config::Access<toml::Value> = defaults["access"].clone().try_into().unwrap();
        let (name, key) = ("lender".to_owned(), Secret::new("a-key"));
        access.keys = vec![KeyConfig { name, key, scopes: vec![Scope::Read], units: Some(100), rate: None }];
        let components = Components { largest: 1, large: 1, needs_large: |_, most| ApiError::too_large(most) };
        let http = defaults["http"].clone().try_into().unwrap();
        let gate = Gate::new(&http, components, Access::new(&access, store), false);
        let caller = gate.access.identify(Some("Bearer a-key")).await.unwrap();
        Caller { caller, gate, price: PriceClass::Score, bill: Bill::default(), prepaid: None }
    }

    /// Lets a client leave once its work has begun.
    async fn left<T>(call: impl Future<Output = Result<T, ApiError>>, begun: &Notify) {
        tokio::select! {
            _ = call => panic!("the work never ends"),
            () = begun.notified() => {}
        }
    }

    #[tokio::test]
    async fn who_leaves_pays_for_work_and_for_a_change_that_is_made_and_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&assay_store::config::Store::embedded(folder.path().join("store"))).await.unwrap();
        let caller = caller(store).await;
        let used = async || caller.used().await.unwrap();
        let begun = Arc::new(Notify::new());
        let endless = || async {
            begun.notify_one();
            std::future::pending::<Result<(), ApiError>>().await
        };
        left(caller.afford(7, endless()), &begun).await;
        caller.gate.access.settle().await;
        assert_eq!(used().await, Some(0));

        left(caller.pay_each(7, endless()), &begun).await;
        caller.gate.access.settle().await;
        assert_eq!(used().await, Some(7));

        for (is_paid, total) in [(true, 10), (false, 10)] {
            let (go, gone) = oneshot::channel();
            let began = begun.clone();
            let change = async move {
                began.notify_one();
                gone.await.unwrap();
                Ok(((), is_paid))
            };
            left(caller.pay_each_if(3, change), &begun).await;
            assert_eq!(used().await, Some(total + if is_paid { 0 } else { 3 }), "the change goes on");
            go.send(()).unwrap();
            while used().await != Some(total) {
                tokio::task::yield_now().await;
            }
        }

        // The server itself ends what is under way.
        caller.gate.stopping.cancel();
        left(caller.pay_each(7, endless()), &begun).await;
        caller.gate.access.settle().await;
        assert_eq!(used().await, Some(10));
    }
}
