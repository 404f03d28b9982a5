//! The one error type that knows HTTP: the status, the body that the API defines, and the headers. Lower layers have
//! their own errors, without HTTP. A client gets a message without internal details. The cause of an internal error is
//! logged once, here; the client gets only its stable code.

use std::borrow::Cow;

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{route::BodyLimit, validation::Violation};
use assay_access::AccessError;
use assay_domain::InvalidAddress;
use assay_store::StoreError;

/// `Retry-After` of an overloaded server, in seconds.
const MOMENT: u64 = 1;

/// An error response.
#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    body: Body,
    headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Debug)]
enum Body {
    Detail(DetailBody),
    Error(ErrorBody),
    Validation(ValidationBody),
    /// A body of another crate, as JSON.
    Other(serde_json::Value),
    Quota(Box<QuotaBody>),
}

/// The body of most errors.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error, example = json!({ "detail": "Address not found or has no on-chain activity" }))]
pub struct DetailBody {
    /// The problem and, if possible, the remedy.
    detail: Cow<'static, str>,
    /// A stable code, present if a program may need to distinguish cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    code: Option<&'static str>,
}

/// The body of errors of requests with several addresses, of the chain summary and of the enhanced report.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MultiAddressError, example = json!({ "error": "No valid addresses provided", "status_code": 400 }))]
pub struct ErrorBody {
    error: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    status_code: Option<u16>,
}

/// A `detail` about the address, or an `error` about the rest of the request.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = DetailOrError)]
pub enum DetailOrError {
    Detail(DetailBody),
    Error(ErrorBody),
}

/// A `detail` with a message, or one that lists each value that does not have the documented form.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = DetailOrViolations)]
pub enum DetailOrViolations {
    Detail(DetailBody),
    Violations(ValidationBody),
}

/// The body of the error for a request that does not have the documented form.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ValidationError)]
pub struct ValidationBody {
    detail: Vec<Violation>,
}

/// The body of a 429. It is also a problem of RFC 9457, with the problem type that is registered for quotas.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = QuotaExceeded, example = json!({
    "type": "https://iana.org/assignments/http-problem-types#quota-exceeded", "title": "Quota exceeded", "status": 429,
    "detail": "This API key may make 600 requests a minute; try again in 1 s", "code": "too_many_requests",
    "violated-policies": ["key"]
}))]
pub struct QuotaBody {
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    problem: &'static str,
    #[schema(value_type = String)]
    title: &'static str,
    status: u16,
    /// Which quota is used up, and what to do.
    detail: Cow<'static, str>,
    /// `too_many_requests`, `units_used_up`, `feedback_reverted` or `transfers_reverted`.
    #[schema(value_type = String)]
    code: &'static str,
    /// The names of the quotas, as in `RateLimit-Policy`; `reverted-gas` for the last two codes.
    #[serde(rename = "violated-policies")]
    #[schema(value_type = Vec<String>)]
    violated: [&'static str; 1],
}

impl ApiError {
    /// `{detail}` with `status`.
    pub fn new(status: StatusCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { status, body: Body::Detail(DetailBody { detail: detail.into(), code: None }), headers: Vec::new() }
    }

    /// A `body` with `status`.
    pub fn with_body(status: StatusCode, body: &impl Serialize) -> Self {
        match serde_json::to_value(body) {
            Ok(body) => Self { status, body: Body::Other(body), headers: Vec::new() },
            Err(error) => Self::internal("serialize", error),
        }
    }

    /// `{detail, code}` with `status`.
    pub fn coded(status: StatusCode, code: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { status, body: Body::Detail(DetailBody { detail: detail.into(), code: Some(code) }), headers: Vec::new() }
    }

    /// `{error, status_code: 400}`: a request with several addresses that cannot be answered.
    pub fn several(error: impl Into<Cow<'static, str>>) -> Self {
        let status = StatusCode::BAD_REQUEST;
        let body = ErrorBody { error: error.into(), status_code: Some(status.as_u16()) };
        Self { status, body: Body::Error(body), headers: Vec::new() }
    }

    /// `{detail: [{type, loc, msg}]}`.
    pub fn invalid(violations: Vec<Violation>) -> Self {
        let body = Body::Validation(ValidationBody { detail: violations });
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, body, headers: Vec::new() }
    }

    /// 429: the quota that `policy` names is used up.
    pub fn exceeded(policy: &'static str, code: &'static str, detail: impl Into<Cow<'static, str>>) -> Self {
        let status = StatusCode::TOO_MANY_REQUESTS;
        let body = QuotaBody {
            problem: "https://iana.org/assignments/http-problem-types#quota-exceeded",
            title: "Quota exceeded",
            status: status.as_u16(),
            detail: detail.into(),
            code,
            violated: [policy],
        };
        Self { status, body: Body::Quota(Box::new(body)), headers: Vec::new() }
    }

    /// 500. `cause` is logged; the client gets `code`, which never changes.
    pub fn internal(code: &'static str, cause: impl std::fmt::Display) -> Self {
        tracing::error!(code, error = %cause, "request failed");
        Self::failed(code)
    }

    /// 500 for a failure that was already logged.
    pub fn failed(code: &'static str) -> Self {
        Self::coded(StatusCode::INTERNAL_SERVER_ERROR, code, "Internal server error")
    }

    pub fn invalid_address(error: &InvalidAddress) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error.to_string())
    }

    pub fn invalid_chain() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Invalid chain id")
    }

    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Invalid or missing API key")
            .with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// The name of the kind does not exist.
    pub fn no_kind() -> Self {
        Self::coded(
            StatusCode::NOT_FOUND,
            "unknown_kind",
            "No such kind of model; expected credit, boost, sybil or sandbox",
        )
    }

    pub fn page_out_of_range() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Page must be >= 1")
    }

    pub fn limit_out_of_range() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Limit must be between 1 and 100")
    }

    pub fn no_valid_address() -> Self {
        Self::several("No valid addresses provided")
    }

    /// `{error}` with 400.
    pub fn plain(error: impl Into<Cow<'static, str>>) -> Self {
        let body = ErrorBody { error: error.into(), status_code: None };
        Self { status: StatusCode::BAD_REQUEST, body: Body::Error(body), headers: Vec::new() }
    }

    /// The same error with another status.
    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// A refused request in the form `{error}`, which protocols of others have. Errors of the key, of its limits and of
    /// the server stay as they are on every path.
    #[must_use]
    pub fn plainly(self) -> Self {
        let error = match &self.body {
            Body::Detail(DetailBody { detail, .. }) => detail.clone(),
            Body::Validation(ValidationBody { detail }) => {
                detail.iter().map(Violation::words).collect::<Vec<_>>().join("; ").into()
            }
            Body::Error(_) | Body::Other(_) | Body::Quota(_) => return self,
        };
        let status = match self.status {
            StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
            status @ (StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::CONFLICT) => status,
            _ => return self,
        };
        Self { status, body: Body::Error(ErrorBody { error, status_code: None }), headers: self.headers }
    }

    pub fn no_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, "No such path; /docs lists every path")
    }

    pub fn too_large(most: u64) -> Self {
        Self::coded(StatusCode::PAYLOAD_TOO_LARGE, "too_large", format!("Request body is larger than {most} bytes"))
    }

    pub fn body_too_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "Request body did not arrive in time")
            .with_header(header::CONNECTION, HeaderValue::from_static("close"))
    }

    pub fn too_slow() -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "The answer took too long; try again. Data read so far is kept")
    }

    /// The maximum number of requests is in progress.
    pub fn busy() -> Self {
        let words = "Too many requests are in progress; try again";
        Self::coded(StatusCode::SERVICE_UNAVAILABLE, "busy", words).retry_after(MOMENT)
    }

    /// Adds what to do to the message.
    #[must_use]
    pub fn advise(mut self, advice: &str) -> Self {
        if let Body::Detail(body) = &mut self.body {
            body.detail = format!("{}; {advice}", body.detail).into();
        }
        self
    }

    /// The call may be repeated after `seconds`.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Adds the quota that was reached: its size and what is left of it.
    #[must_use]
    pub fn quota(self, name: &'static str, size: u64, left: u64) -> Self {
        let text = |text: String| HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("?"));
        self.with_header(HeaderName::from_static("ratelimit-policy"), text(format!("\"{name}\";q={size}")))
            .with_header(HeaderName::from_static("ratelimit"), text(format!("\"{name}\";r={left}")))
    }

    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Whether the server is at fault and not the request.
    pub fn is_server_error(&self) -> bool {
        self.status.is_server_error()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = match self.body {
            Body::Detail(body) => (self.status, Json(body)).into_response(),
            Body::Error(body) => (self.status, Json(body)).into_response(),
            Body::Validation(body) => (self.status, Json(body)).into_response(),
            Body::Other(body) => (self.status, Json(body)).into_response(),
            Body::Quota(body) => (self.status, Json(body)).into_response(),
        };
        response.headers_mut().extend(self.headers);
        response
    }
}

impl ApiError {
    /// The store has failed.
    pub fn store(error: StoreError) -> Self {
        let not_now =
            |code, detail: &'static str| Self::coded(StatusCode::SERVICE_UNAVAILABLE, code, detail).retry_after(MOMENT);
        match error {
            StoreError::Away { .. } => {
                not_now("store_away", "The store cannot be reached, so nothing was done; try again")
            }
            StoreError::Unwritable { .. } => {
                not_now("store_unwritable", "The store cannot be written, so nothing was done; try again")
            }
            StoreError::Unanswered { .. } => not_now(
                "store_unanswered",
                "It is unknown whether this was done, because the store's answer was lost. Check the result before \
                 you repeat the request; one with an Idempotency-Key may be repeated with the same key",
            ),
            error => Self::internal("store", error),
        }
    }
}

impl From<AccessError> for ApiError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::MissingOrInvalid => Self::unauthorized(),
            AccessError::Scope { .. } => Self::coded(StatusCode::FORBIDDEN, "scope", error.to_string()),
            AccessError::UnitsExhausted { used, limit, .. } => {
                let left = limit.saturating_sub(used);
                // Without `Retry-After`: no time helps, an operator has to raise the limit.
                Self::exceeded("units", "units_used_up", error.to_string()).quota("units", limit, left)
            }
            AccessError::Store(error) => Self::store(error),
        }
    }
}

impl ApiError {
    /// A body of `length` bytes, if known, or of more than the limit.
    pub(crate) fn beyond(BodyLimit { most, with_large, needs_large }: BodyLimit, length: Option<u64>) -> Self {
        if most == with_large || length.is_some_and(|length| length > with_large) {
            return Self::too_large(most);
        }
        let size = length.map_or_else(|| format!("more than {most}"), |length| length.to_string());
        needs_large(&size, most)
    }

    /// As [`ApiError::coded`], for the words of an error of a lower crate, which begin with a small letter.
    pub fn worded(status: StatusCode, code: &'static str, error: impl std::fmt::Display) -> Self {
        let text = error.to_string();
        let mut letters = text.chars();
        let capital: String =
            letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default();
        Self::coded(status, code, capital)
    }
}
