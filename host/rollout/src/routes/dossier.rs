//! `/api/v2/admin/models/{kind}/{version}/dossier`: the validation pack of a model in service.

use std::{borrow::Cow, sync::Arc};

use axum::{
    extract::{FromRequestParts, State},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{
    RolloutRoutes,
    models::{bytes_of, described, status_of},
};
use crate::{
    bodies::{AuditEntryBody, DriftBody, OutcomesBody, ShadowBody, SplitBody},
    cards, responses,
};
use assay_domain::ModelKind;
use assay_http::{
    ApiError,
    extract::{KindPath, VersionPath, limited, optional, refused, single},
    parameters,
};
use assay_registry::Notes;
use assay_statement::ValidationPack;
use assay_tasks::blocking;

/// The window of the shadow report in hours: a year. Hours that are not kept any more are not in it.
const WINDOW: u64 = 8_760;

/// How much depends on the model.
pub(crate) struct TierQuery(Option<String>);

parameters!(TierQuery: limited(
    optional::<String>("tier", "`high`, `medium` or `low`: the materiality of the model, by your policy for models")
        .example(Some("high".into())),
    |schema| schema.pattern = Some("^(high|medium|low)$".to_owned()),
));

impl<S: Send + Sync> FromRequestParts<S> for TierQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match single(parts, "tier")? {
            Some(tier) if !matches!(&*tier, "high" | "medium" | "low") => {
                Err(refused("tier", "give high, medium or low"))
            }
            tier => Ok(Self(tier.map(Cow::into_owned))),
        }
    }
}

/// An archive.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "the schema of a body that is sent as it is")]
pub(crate) struct Archive(Vec<u8>);

/// The validation pack of a model: what a bank's validator asks about it, in one archive that is read offline.
///
/// It has the model's description and card, the component, the digest of its training data, outcomes, the drift of
/// inputs, the shadow report, the split, the audit log of the kind, and up to 100 of its newest scores, of different
/// wallets, computed again from their records. A part that cannot be had is named with the reason. It is signed with
/// `attestation.signer`; `assay verify` checks it.
#[utoipa::path(
    get, path = "/api/v2/admin/models/{kind}/{version}/dossier", tag = "admin", operation_id = "get_model_dossier",
    params(KindPath, VersionPath, TierQuery),
    responses(
        (
            status = 200, description = "The pack, a tar", body = inline(Archive),
            content_type = "application/octet-stream",
        ),
        responses::NoComponent, responses::Unsigned, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn get(
    State(state): State<RolloutRoutes>,
    KindPath(kind): KindPath,
    VersionPath(version): VersionPath,
    TierQuery(tier): TierQuery,
) -> Result<Response, ApiError> {
    let key = state.signer.clone().ok_or_else(|| {
        let words = "A pack is signed with attestation.signer, which this server does not have";
        ApiError::coded(StatusCode::BAD_GATEWAY, "attestation_not_configured", words)
    })?;
    let none = || {
        let detail = format!("The model {kind} {version} is not on the shelf");
        ApiError::coded(StatusCode::NOT_FOUND, "no_component", detail)
    };
    let status = status_of(&state, kind, &version).ok_or_else(none)?;
    let digest = status.digest.ok_or_else(none)?;
    let mut pack = ValidationPack::default();
    if tier.is_none() {
        pack.add("materiality tier", Err("no tier was given".to_owned()));
    }
    let (info, packed) = (status.info.clone().ok_or_else(none)?, status.card.clone());
    let (shelf, seen) = (Arc::clone(&state.cards), status.clone());
    let read = move || {
        let card = cards::markdown(shelf.shelf(), &info, digest, packed.as_deref());
        (described(shelf.shelf(), seen.clone()), card, bytes_of(shelf.shelf(), &seen))
    };
    let (model, card, component) = blocking(read).await;
    pack.add("model.json", pretty(&json!({ "model": model, "materiality_tier": tier })));
    let card = card.map_err(|error| error.to_string()).and_then(|card| card.ok_or("the model has no card".to_owned()));
    pack.add("card.md", card.map(String::into_bytes));
    if let Some(bytes) = &component {
        pack.training(Notes::of(bytes).training);
    }
    pack.add("component.wasm", component.ok_or("its file is not on the shelf any more".to_owned()));
    evidence(&state, kind, &mut pack).await?;
    pack.add("replay.jsonl", state.rollout.replayed(&version, digest).await.map_err(ApiError::store)?);
    let now = chrono::Utc::now().timestamp().unsigned_abs();
    let model = format!("{kind} {version}");
    let signed = blocking(move || pack.sign(&model, digest.to_string(), key.expose(), now)).await;
    let signed = signed.map_err(|why| ApiError::internal("attestation", why))?;
    let name = format!("attachment; filename=\"{kind}-{version}.tar\"");
    let headers = [(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, signed.archive).into_response())
}

/// The parts about the model in service.
async fn evidence(state: &RolloutRoutes, kind: ModelKind, pack: &mut ValidationPack) -> Result<(), ApiError> {
    let rollout = &state.rollout;
    let pairs = rollout.shadow_pairs(kind, WINDOW).await.map_err(ApiError::store)?;
    pack.add("shadow.json", pretty(&ShadowBody::new(kind, WINDOW, chrono::Utc::now(), rollout, pairs)));
    let joined = state.outcomes.joined().await.map_err(ApiError::store)?;
    pack.add("outcomes.json", pretty(&OutcomesBody::from(joined)));
    let drift = state.drift.found().await.map_err(ApiError::store)?;
    pack.add("drift.json", pretty(&DriftBody::from(drift)));
    pack.add("split.json", pretty(&SplitBody::of(kind, rollout.registry().roles().of(kind))));
    let (entries, _) = rollout.audit(1, u64::MAX).await.map_err(ApiError::store)?;
    let own = entries.into_iter().filter(|entry| entry.step.kind == kind);
    let own: Vec<AuditEntryBody> = own.map(Into::into).collect();
    pack.add("audit.json", pretty(&json!({ "entries": own })));
    Ok(())
}

fn pretty(part: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec_pretty(part).map_err(|error| error.to_string())
}
