//! What an answer cost its caller, on the answer itself: `Assay-Units-Cost`, and where the key is metered
//! `Assay-Units-Left`.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};

const COST: HeaderName = HeaderName::from_static("assay-units-cost");
const LEFT: HeaderName = HeaderName::from_static("assay-units-left");

/// Where a handler's caller writes down what the answer costs.
#[derive(Clone, Default)]
pub struct Bill(Arc<Mutex<Option<Entry>>>);

#[derive(Clone, Copy)]
struct Entry {
    units: u64,
    left: Option<u64>,
}

impl Bill {
    /// `units` were spent, and `left` are left to a metered key.
    pub fn write(&self, units: u64, left: Option<u64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Entry { units, left });
    }

    fn read(&self) -> Option<Entry> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows on the answer what was written down while it was made.
pub async fn show(mut request: Request, next: Next) -> Response {
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
