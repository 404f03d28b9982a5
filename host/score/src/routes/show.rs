//! What a request wants to see of how a score was made.

use axum::{extract::FromRequestParts, http::request::Parts};
use utoipa::{
    IntoParams,
    openapi::path::{Parameter, ParameterIn},
};

use assay_http::{
    ApiError,
    extract::{IncludeFactors, IncludeReasons},
};

/// `include_factors` and `include_reasons`.
#[derive(Clone, Copy)]
pub(crate) struct Show {
    pub factors: bool,
    pub reasons: bool,
}

impl Show {
    /// Whether the model is called for words.
    pub(crate) fn words(self) -> bool {
        self.factors || self.reasons
    }
}

impl IntoParams for Show {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        [IncludeFactors::into_params(&place), IncludeReasons::into_params(&place)].concat()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Show {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let IncludeFactors(factors) = IncludeFactors::from_request_parts(parts, state).await?;
        let IncludeReasons(reasons) = IncludeReasons::from_request_parts(parts, state).await?;
        Ok(Self { factors, reasons })
    }
}
