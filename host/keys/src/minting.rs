//! `/api/v2/admin/keys`: the keys that this server accepts; mints and revokes those in the store.

use axum::{
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    KeysState,
    bodies::{KeyBody, KeysBody, MintedKeyBody},
    responses,
};
use assay_access::{Changed, KeyChange, MintError, Minted, Revoked};
use assay_domain::Scope;
use assay_http::{
    ApiError,
    extract::{Caller, JsonObject, in_path, limited, param},
    fresh, parameters,
};

/// The name of a key.
pub(crate) struct KeyPath(pub String);

parameters!(KeyPath: limited(in_path::<String>("name", "Name of the key", "lender"), |schema| {
    (schema.pattern, schema.max_length) = (Some("^[A-Za-z0-9._-]{1,64}$".to_owned()), Some(64));
}));

impl<S: Send + Sync> FromRequestParts<S> for KeyPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        // No key has a name that is not UTF-8.
        Ok(Self(param(parts, state, "name", str::to_owned).await.unwrap_or_default()))
    }
}

/// Scopes that are read of one request; there are three, and a request may repeat them.
const MOST_SCOPES: usize = 100;

/// A new key.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewKey, example = json!({ "name": "lender", "scopes": ["read"], "units": 10000, "rate": 60 }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKeyBody {
    /// Names the key in logs and usage; no other key may have it.
    #[schema(pattern = "^[._-]*[A-Za-z0-9][A-Za-z0-9._-]*$", max_length = 64)]
    name: String,
    /// `read`, `submit`, `admin`; `read` by default. No scope includes another.
    scopes: Option<Vec<ScopeName>>,
    /// Units that it may use in all; without it, the key is not metered.
    units: Option<u64>,
    /// Requests per minute; `access.default_rate` by default, 0 for no limit.
    rate: Option<u32>,
}

/// The scopes of the key.
#[derive(Deserialize, ToSchema)]
#[schema(as = Scope, rename_all = "lowercase")]
pub(crate) enum ScopeName {
    Read,
    Submit,
    Admin,
}

/// The keys of the configuration and the minted keys, by name, with their usage.
///
/// The text of a key is not in the response: the server has only its hash.
#[utoipa::path(
    get, path = "/api/v2/admin/keys", tag = "admin", operation_id = "list_keys",
    responses((status = 200, description = "The keys", body = KeysBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn list(State(keys): State<KeysState>) -> Result<Response, ApiError> {
    let known = keys.access.known_keys().await.map_err(ApiError::store)?;
    let keys: Vec<KeyBody> = known.into_iter().map(KeyBody::from).collect();
    Ok(fresh::once(axum::Json(KeysBody { count: keys.len(), keys })))
}

/// Mints a key of 256 random bits. Every host of the server accepts it at once.
///
/// `secret` is the text of the key, which only this response has: the server keeps its hash.
#[utoipa::path(
    post, path = "/api/v2/admin/keys", tag = "admin", operation_id = "mint_key",
    request_body = NewKeyBody,
    responses(
        (status = 201, description = "The new key", body = MintedKeyBody),
        responses::NewKey, responses::Validated, responses::Bodied, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn mint(
    caller: Caller,
    State(keys): State<KeysState>,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let name: Option<String> = body.required("name");
    let scopes = body.list::<Scope>("scopes", MOST_SCOPES).unwrap_or_else(|| vec![Scope::Read]);
    let (units, rate) = (body.count("units"), per_minute(&mut body));
    if scopes.is_empty() && body.is_good() {
        body.refuse("scopes", MintError::NoScope);
    }
    let name = name.unwrap_or_default();
    if body.is_good()
        && let Err(error @ MintError::Name { .. }) = assay_access::check_name(&name)
    {
        body.refuse("name", error);
    }
    body.finish()?;
    let mut each_once = Vec::new();
    for scope in scopes {
        if !each_once.contains(&scope) {
            each_once.push(scope);
        }
    }
    let Minted { key, record } = keys.access.mint(&name, each_once, units, rate).await.map_err(refuse)?;
    let scopes = record.scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" ");
    tracing::info!(by = caller.name(), key = name, scopes, units, rate, "API key minted");
    let body = MintedKeyBody { secret: key.expose().to_owned(), key: keys.access.fresh_key(record).into() };
    Ok((StatusCode::CREATED, fresh::once(axum::Json(body))).into_response())
}

/// What a key may spend from now on.
#[derive(Deserialize, ToSchema)]
#[schema(as = KeyChange, example = json!({ "units": 20000 }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyChangeBody {
    /// Units that it may use in all, those that it has used included; null for a key that is not metered.
    units: Option<u64>,
    /// Requests per minute; null for `access.default_rate`, 0 for no limit.
    rate: Option<u32>,
}

/// Changes the units or the rate of a minted key, in force on every host within two seconds.
///
/// A field that is absent stays. Units that the key has used stay used, so a key that has used all of them needs a
/// larger number.
#[utoipa::path(
    patch, path = "/api/v2/admin/keys/{name}", tag = "admin", operation_id = "change_key",
    params(KeyPath),
    request_body = KeyChangeBody,
    responses(
        (status = 200, description = "The key", body = KeyBody),
        responses::OneKey, responses::Validated, responses::Bodied, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn change(
    caller: Caller,
    State(keys): State<KeysState>,
    KeyPath(name): KeyPath,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let units = body.has("units").then(|| body.count("units"));
    let rate = body.has("rate").then(|| per_minute(&mut body));
    body.finish()?;
    match keys.access.change(&name, KeyChange { units, rate }).await.map_err(ApiError::store)? {
        Changed::Done(record) => {
            tracing::info!(by = caller.name(), key = name, ?units, ?rate, "API key changed");
            let known = keys.access.known_keys().await.map_err(ApiError::store)?;
            let known = known.into_iter().find(|key| key.name == record.name);
            Ok(fresh::once(axum::Json(KeyBody::from(known.ok_or_else(unknown)?))))
        }
        Changed::Configured => Err(configured(&name)),
        Changed::Unknown => Err(unknown()),
    }
}

/// `rate`.
fn per_minute(body: &mut JsonObject) -> Option<u32> {
    let rate = body.count("rate")?;
    let found = u32::try_from(rate);
    if found.is_err() {
        body.refuse("rate", format!("a key may make at most {} requests a minute", u32::MAX));
    }
    found.ok()
}

fn configured(name: &str) -> ApiError {
    let detail = format!("The key {name} is in the configuration; change it there and start the server again");
    ApiError::coded(StatusCode::CONFLICT, "key_in_configuration", detail)
}

fn unknown() -> ApiError {
    ApiError::coded(StatusCode::NOT_FOUND, "unknown_key", "No minted key has this name")
}

/// Revokes a minted key. Every host refuses it within two seconds.
///
/// A key of the configuration cannot be revoked here: remove it there, and start the server again.
#[utoipa::path(
    delete, path = "/api/v2/admin/keys/{name}", tag = "admin", operation_id = "revoke_key",
    params(KeyPath),
    responses((status = 204, description = "The key is revoked"), responses::OneKey, responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn revoke(
    caller: Caller,
    State(keys): State<KeysState>,
    KeyPath(name): KeyPath,
) -> Result<StatusCode, ApiError> {
    match keys.access.revoke(&name).await.map_err(ApiError::store)? {
        Revoked::Done => {
            tracing::info!(by = caller.name(), key = name, "API key revoked");
            Ok(StatusCode::NO_CONTENT)
        }
        Revoked::Configured => Err(configured(&name)),
        Revoked::Unknown => Err(unknown()),
    }
}

fn refuse(error: MintError) -> ApiError {
    match error {
        MintError::NameTaken { name } => {
            let detail = format!("Another key is named {name}; choose another name, or revoke that key first");
            ApiError::coded(StatusCode::CONFLICT, "name_taken", detail)
        }
        MintError::Store(error) => ApiError::store(error),
        error => ApiError::internal("mint", error),
    }
}
