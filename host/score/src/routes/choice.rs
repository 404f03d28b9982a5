//! The version that a request names: `model_version`, and the header that some keys may send instead.

use axum::{extract::FromRequestParts, http::request::Parts};
use utoipa::{
    IntoParams,
    openapi::path::{Parameter, ParameterIn},
};

use crate::Ask;
use assay_domain::ModelVersion;
use assay_http::{
    ApiError,
    extract::{VersionQuery, in_header, refused},
};

/// The header with a version, for keys that may choose one.
const HEADER: &str = "assay-model-version";

/// The versions that a request names.
pub(crate) struct ModelChoice {
    query: Option<ModelVersion>,
    header: Option<ModelVersion>,
}

impl ModelChoice {
    /// The request for a score by the key of this name.
    pub(crate) fn ask<'a>(&'a self, by: &'a str, factors: bool) -> Ask<'a> {
        Ask { version: self.query.as_ref(), header: self.header.as_ref(), ..Ask::by(by, factors) }
    }
}

/// Refuses a version in a header. The path does not read it, so another version than the chosen one would answer.
pub struct NoModelChoice;

impl<S: Send + Sync> FromRequestParts<S> for NoModelChoice {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        if parts.headers.contains_key(HEADER) {
            let why = "this path does not read it. Leave it out; statements and batch jobs take model_version";
            return Err(refused(HEADER, why.to_owned()));
        }
        Ok(Self)
    }
}

impl IntoParams for ModelChoice {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let about =
            "As `model_version`, for keys that may choose a version by a header; a pin of the key goes before it";
        let header = in_header("Assay-Model-Version", about).build();
        VersionQuery::into_params(place).into_iter().chain([header]).collect()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ModelChoice {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let VersionQuery(query) = VersionQuery::from_request_parts(parts, state).await?;
        let given = parts.headers.get(HEADER).map(|value| value.to_str().unwrap_or_default().trim().parse());
        let header = given.transpose().map_err(|why: String| refused(HEADER, why))?;
        Ok(Self { query, header })
    }
}
