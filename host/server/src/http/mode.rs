//! Production paths of a sandbox server: their answers cost no units, carry no cache headers and are marked as mocks.

use axum::{
    Json,
    http::{HeaderName, HeaderValue},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    ApiError, App,
    extract::Caller,
    fresh::{self, Known},
};
use crate::scoring::ScoringError;
use assay_domain::Freshness;

const SANDBOX: HeaderName = HeaderName::from_static("x-assay-sandbox");

impl App {
    /// Does `work` about so many subjects for the caller's units.
    ///
    /// # Errors
    /// Those of `work`, and 429 without units.
    pub(super) async fn charged<T>(
        &self,
        caller: &Caller,
        subjects: usize,
        work: impl Future<Output = Result<T, ScoringError>>,
    ) -> Result<T, ApiError> {
        let work = async { work.await.map_err(|error| self.refuse(error)) };
        if self.source.is_sandbox() { work.await } else { caller.pay_each(self, subjects, work).await }
    }

    /// `body` as an answer that may be stored for as long as its figures are fresh.
    ///
    /// # Errors
    /// 500 for a body that cannot be serialized.
    pub(super) fn answer(
        &self,
        known: &Known,
        freshness: Freshness,
        body: &impl Serialize,
    ) -> Result<Response, ApiError> {
        if self.source.is_sandbox() { Ok(marked(Json(body))) } else { known.answer(freshness, body) }
    }

    /// `body` as an answer to this request alone.
    pub(super) fn answer_once(&self, body: &impl Serialize) -> Response {
        if self.source.is_sandbox() { marked(Json(body)) } else { fresh::once(Json(body)) }
    }

    /// Marks `response` on a sandbox server.
    pub(super) fn mark(&self, response: Response) -> Response {
        if self.source.is_sandbox() { marked(response) } else { response }
    }
}

/// `response` with the header that marks a mock.
pub fn marked(response: impl IntoResponse) -> Response {
    let mut response = response.into_response();
    response.headers_mut().insert(SANDBOX, HeaderValue::from_static("true"));
    response
}
