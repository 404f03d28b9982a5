//! An admitted call, shared by middleware and extractors, and its cost as response headers: `Assay-Units-Cost`, and
//! `Assay-Units-Left` for a metered key.

use std::{
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use axum::http::{HeaderMap, HeaderName, HeaderValue, request::Parts};

use crate::{ApiError, Gate, route::BodyLimit};
use assay_access::{AccessError, Caller, Prepaid, PriceClass};

const COST: HeaderName = HeaderName::from_static("assay-units-cost");
const LEFT: HeaderName = HeaderName::from_static("assay-units-left");

/// An admitted request, for the extractors.
#[derive(Clone)]
pub struct Call {
    pub gate: Gate,
    pub caller: Result<Arc<Caller>, AccessError>,
    pub price: Option<PriceClass>,
    /// The units of the call, if they were reserved together with its count.
    pub prepaid: Option<Prepaid>,
    pub bill: Bill,
    pub body: BodyLimit,
    /// The handler decides whether a caller without a key may make the call.
    pub admits_holders: bool,
    /// The network of the client; `None` for operations, whose clients are not distinguished.
    pub network: Option<IpAddr>,
}

impl Call {
    /// The call of a request.
    ///
    /// # Errors
    /// 500 outside of a router of this crate.
    pub fn of(parts: &Parts) -> Result<&Self, ApiError> {
        parts.extensions.get().ok_or_else(Self::none)
    }

    pub(crate) fn none() -> ApiError {
        ApiError::internal("call", "the request passed no gate")
    }

    /// The caller, with the price of the call.
    ///
    /// # Errors
    /// [`AccessError`] for anything but a known key that may make this call.
    pub fn caller(&self) -> Result<(&Arc<Caller>, PriceClass), AccessError> {
        let price = self.price.ok_or(AccessError::MissingOrInvalid)?;
        let caller = self.caller.as_ref().map_err(AccessError::clone)?;
        caller.require(price.scopes())?;
        Ok((caller, price))
    }
}

/// The cost of the current request, which the extractor [`Caller`](crate::extract::Caller) records.
#[derive(Clone, Default)]
pub struct Bill {
    entry: Arc<Mutex<Option<Cost>>>,
    given_up: Arc<AtomicBool>,
}

#[derive(Clone, Copy)]
struct Cost {
    units: u64,
    left: Option<u64>,
}

impl Bill {
    /// `units` more were spent; a metered key has `left` remaining.
    pub fn record(&self, units: u64, left: Option<u64>) {
        let mut entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        let units = entry.map_or(0, |before| before.units).saturating_add(units);
        *entry = Some(Cost { units, left });
    }

    /// Marks the request as ended by the server before its handler answered. It then costs nothing, except for a change
    /// that is completed anyway.
    pub fn give_up(&self) {
        self.given_up.store(true, Relaxed);
    }

    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Relaxed)
    }

    /// Adds the recorded cost to the headers of the response.
    pub fn add_headers(&self, headers: &mut HeaderMap) {
        let entry = *self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Cost { units, left }) = entry {
            headers.insert(COST, HeaderValue::from(units));
            headers.extend(left.map(|left| (LEFT, HeaderValue::from(left))));
        }
    }
}
