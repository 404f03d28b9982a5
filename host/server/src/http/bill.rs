//! The cost of a call as response headers: `Assay-Units-Cost`, and for a metered key `Assay-Units-Left`.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};

const COST: HeaderName = HeaderName::from_static("assay-units-cost");
const LEFT: HeaderName = HeaderName::from_static("assay-units-left");

/// The cost of the current request, which the extractor [`Caller`](super::extract::Caller) records.
#[derive(Clone, Default)]
pub struct Bill(Arc<Mutex<Option<Entry>>>);

#[derive(Clone, Copy)]
struct Entry {
    units: u64,
    left: Option<u64>,
}

impl Bill {
    /// `units` were spent; a metered key has `left` remaining.
    pub fn record(&self, units: u64, left: Option<u64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Entry { units, left });
    }

    fn read(&self) -> Option<Entry> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the headers of the recorded cost to the response.
pub async fn add_headers(mut request: Request, next: Next) -> Response {
    let bill = Bill::default();
    request.extensions_mut().insert(bill.clone());
    let mut response = next.run(request).await;
    if let Some(Entry { units, left }) = bill.read() {
        let headers = response.headers_mut();
        headers.insert(COST, HeaderValue::from(units));
        headers.extend(left.map(|left| (LEFT, HeaderValue::from(left))));
    }
    response
}
