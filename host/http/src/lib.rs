//! The HTTP server, without routes: connections and their limits, admission, extractors, error responses, and routes as
//! data. A handler extracts, charges, acts and responds; its arguments state who may call it and what the call costs.
//!
//! Each crate of the API declares its handlers with [`rows!`], and the server puts the rows together.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod call;
pub mod config;
mod error;
pub mod extract;
pub mod fresh;
mod gate;
mod middleware;
mod operation;
pub mod responses;
mod route;
mod router;
pub mod separated;
mod server;
pub mod twice;
mod validation;
pub mod values;

pub use call::Call;
pub use error::{ApiError, DetailBody, DetailOrError, DetailOrViolations, ErrorBody, QuotaBody, ValidationBody};
pub use gate::{Components, Gate, RequestLimits};
pub use middleware::{PAYMENT_HEADERS, refused_for};
pub use operation::{EXAMPLE, Operation};
pub use route::{Admission, BodyLimit, BodySize, Route};
pub use router::{Row, router};
pub use server::{ConnectionBounds, serve};
pub use validation::{Location, Violation};

#[doc(hidden)]
pub use assay_access::PriceClass;
#[doc(hidden)]
pub use axum::http::Method;
