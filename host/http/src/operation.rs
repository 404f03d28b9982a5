//! A route in the OpenAPI document.

use axum::http::Method;
use utoipa::openapi;

use crate::Admission;

/// The address in the examples.
pub const EXAMPLE: &str = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";

/// A route in the document.
pub struct Operation {
    pub method: Method,
    pub path: &'static str,
    pub admission: Admission,
    /// Replaces the operation id of the handler.
    pub id: Option<&'static str>,
    /// A document with the handler's own operation, and the schemas that it names.
    pub handler: openapi::OpenApi,
}
