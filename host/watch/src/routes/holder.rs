//! Who manages a watch: its key, or the payer that has its token.

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};

use super::WatchRoutes;
use crate::{
    records::{self, OWN},
    secret::TOKEN,
};
use assay_access::AccessError;
use assay_http::{ApiError, extract::Caller};

/// A known key, or the token of a watch that was paid for.
pub(crate) enum Holder {
    Key(Caller),
    Payer { owner: String },
}

impl Holder {
    pub(crate) fn owner(&self) -> &str {
        match self {
            Self::Key(caller) => caller.owner(),
            Self::Payer { owner } => owner,
        }
    }

    /// Its name in the log.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Key(caller) => caller.name(),
            Self::Payer { .. } => "x402",
        }
    }
}

impl FromRequestParts<WatchRoutes> for Holder {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &WatchRoutes) -> Result<Self, ApiError> {
        let error = match Caller::identified(parts) {
            Ok(caller) => return Ok(Self::Key(caller)),
            Err(error) => error,
        };
        let Some(token) = token(parts).filter(|_| error == AccessError::MissingOrInvalid) else {
            return Err(error.into());
        };
        let owner = records::payer(token);
        let own = state.watches.0.ids(&OWN, &records::own_prefix(&owner)).await.map_err(ApiError::store)?;
        if own.is_empty() { Err(error.into()) } else { Ok(Self::Payer { owner }) }
    }
}

/// The token of a watch that a request has instead of a key.
fn token(parts: &Parts) -> Option<&str> {
    let (scheme, token) = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && token.starts_with(TOKEN))
}
