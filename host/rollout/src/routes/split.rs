//! `/api/v2/admin/models/{kind}/split`: which versions answer some wallets or keys in place of the champion.

use axum::{extract::State, response::Response};
use chrono::Utc;
use serde::Deserialize;
use std::time::Duration;
use utoipa::ToSchema;

use super::admin::{by, to_its_end, why};
use crate::{RoleMove, WantedSplit, bodies::SplitBody, responses, routes::RolloutRoutes};
use assay_domain::{ModelKind, ModelVersion, Time};
use assay_http::{
    ApiError,
    extract::{Caller, JsonObject, KindPath},
    fresh::{Expected, tagged},
};
use assay_registry::{KeyPin, KindRoles, NewShare, Ramp, SLOTS};

/// Most pins and choosers.
const MOST_KEYS: usize = 1_000;
/// Longest time between two steps of a ramp.
const LONGEST_STEP: u64 = 90 * 86_400;

/// The whole split: what it does not name is removed.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewSplit, example = json!({
    "shares": [{ "version": "1.4", "percent": 5, "ramp": [25, 50], "step_seconds": 86_400 }],
    "pins": [{ "key": "lender", "version": "1.0", "until": "2026-07-01T00:00:00Z" }], "choosers": ["auditor"],
    "why": "a week in the shadow without a failure"
}))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSplit {
    /// At most two versions, beside the champion.
    shares: Option<Vec<NewShareBody>>,
    pins: Option<Vec<NewPinBody>>,
    /// Names of keys that may choose a version by the header `Assay-Model-Version`.
    choosers: Option<Vec<String>>,
    /// For the audit log.
    why: Option<String>,
    /// Gives shares although the shadow exceeds a bound of promotion, and lets no bound stop them; needs a `why`.
    force: Option<bool>,
}

/// The share of one version.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewShare)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewShareBody {
    #[schema(value_type = String, example = "1.4")]
    version: ModelVersion,
    /// Of the wallets, in steps of 0.01.
    #[schema(minimum = 0.01, maximum = 100)]
    percent: f64,
    /// The shares to which it grows, one after the other, while no bound of promotion is exceeded.
    #[serde(default)]
    ramp: Vec<f64>,
    /// Time between two steps; needed with a ramp.
    #[schema(minimum = 1, maximum = 7_776_000)]
    step_seconds: Option<u64>,
}

/// The version that answers one key.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewKeyPin)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPinBody {
    /// Name of a key that this server accepts.
    key: String,
    #[schema(value_type = String, example = "1.0")]
    version: ModelVersion,
    /// In UTC, and in the future; afterwards the key gets what everybody gets.
    #[schema(value_type = String, format = DateTime)]
    until: Time,
}

impl NewShareBody {
    fn share(self, forced: bool) -> Result<NewShare, String> {
        let slots = |percent: f64| {
            let slots = (percent * f64::from(SLOTS) / 100.0).round();
            let fits = (1.0..=f64::from(SLOTS)).contains(&slots);
            fits.then_some(slots as u16).ok_or_else(|| format!("{percent} is no percentage from 0.01 to 100"))
        };
        let steps = self.ramp.into_iter().map(slots).collect::<Result<Vec<_>, _>>()?;
        let ramp = match (steps.is_empty(), self.step_seconds) {
            (true, None) => None,
            (true, Some(_)) => return Err("`step_seconds` needs a `ramp`".to_owned()),
            (false, None) => return Err("a `ramp` needs `step_seconds`".to_owned()),
            (false, Some(step_seconds)) if (1..=LONGEST_STEP).contains(&step_seconds) => {
                Some(Ramp { steps, step_seconds, next_at: Utc::now() + Duration::from_secs(step_seconds) })
            }
            (false, Some(_)) => return Err(format!("`step_seconds` is from 1 to {LONGEST_STEP}")),
        };
        Ok(NewShare { version: self.version, slots: slots(self.percent)?, ramp, forced })
    }
}

/// Refuses names that no key has, and pins that have ended.
fn check_keys(body: &mut JsonObject, pins: &[NewPinBody], choosers: &[String], is_known: impl Fn(&str) -> bool) {
    let no_key = |key: &str| format!("no key has the name {key}; GET /api/v2/admin/keys lists the keys");
    if let Some(key) = choosers.iter().find(|key| !is_known(key)) {
        body.refuse("choosers", no_key(key));
    }
    if let Some(pin) = pins.iter().find(|pin| !is_known(&pin.key)) {
        body.refuse("pins", no_key(&pin.key));
    }
    if let Some(NewPinBody { key, until, .. }) = pins.iter().find(|pin| pin.until <= Utc::now()) {
        let until = until.format("%F %R UTC");
        body.refuse(
            "pins",
            format!("the pin of {key} ends in the past, at {until}; give a later moment, or leave it out"),
        );
    }
}

fn split_kind(kind: ModelKind) -> Result<ModelKind, ApiError> {
    if kind == ModelKind::Credit {
        return Ok(kind);
    }
    let detail = format!("Only credit models are split; a {kind} model answers as champion");
    Err(ApiError::coded(axum::http::StatusCode::NOT_FOUND, "no_split", detail))
}

/// The split of a kind: which versions answer some wallets or keys in place of the champion.
#[utoipa::path(
    get, path = "/api/v2/admin/models/{kind}/split", tag = "admin", operation_id = "get_split",
    params(KindPath),
    responses(
        (
            status = 200, description = "The current split", body = SplitBody,
            headers(("ETag" = String, description = "Names this state of the split, for `If-Match`")),
        ),
        responses::NoKind, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn get(State(state): State<RolloutRoutes>, KindPath(kind): KindPath) -> Result<Response, ApiError> {
    let kind = split_kind(kind)?;
    shown(kind, state.rollout.registry().roles().of(kind))
}

/// Replaces the split of the credit models.
///
/// A wallet has a fixed slot: as long as a version has a share, its wallets stay with it, and a share that grows takes
/// over wallets of the champion only. A request about several wallets gets one version: the key's pin, or the champion.
/// `model_version` goes before a pin, a pin before the header, the header before the share. Every answer says in
/// `Assay-Model-Reason` why its version answered.
///
/// A pinned version that cannot answer is 503 `version_unavailable`: no other version stands in for it.
///
/// The shadow measures versions with a share. One that exceeds a bound of `[promotion]`, goes out of service or is not
/// on the shelf is taken out once, with the reason in `stopped` and in the audit log. 409 if a version exceeds one
/// already, unless `force` is given with a `why`.
///
/// With `If-Match`, the split is replaced only if that is still its `ETag`; otherwise the answer is 412
/// `changed_meanwhile`, and nothing changes.
#[utoipa::path(
    put, path = "/api/v2/admin/models/{kind}/split", tag = "admin", operation_id = "set_split",
    params(KindPath, Expected),
    request_body = NewSplit,
    responses(
        (
            status = 200, description = "The current split", body = SplitBody,
            headers(("ETag" = String, description = "Names this state of the split, for `If-Match`")),
        ),
        responses::NoModel, responses::ChangedMeanwhile, responses::Validated, responses::Bodied, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn put(
    caller: Caller,
    State(state): State<RolloutRoutes>,
    KindPath(kind): KindPath,
    expected: Expected,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let kind = split_kind(kind)?;
    let (why, force) = (why(&mut body), body.flag("force"));
    if force && why.is_none() {
        body.refuse("why", "a forced split needs a `why`");
    }
    let shares: Vec<NewShareBody> = body.objects("shares", 2).unwrap_or_default();
    let shares = shares.into_iter().map(|share| share.share(force)).collect::<Result<Vec<_>, _>>();
    let shares = shares.unwrap_or_else(|why| {
        body.refuse("shares", why);
        Vec::new()
    });
    let pins: Vec<NewPinBody> = body.objects("pins", MOST_KEYS).unwrap_or_default();
    let choosers: Vec<String> = body.objects("choosers", MOST_KEYS).unwrap_or_default();
    let named = |pin: &NewPinBody| pins.iter().filter(|other| other.key == pin.key).count();
    if pins.iter().any(|pin| named(pin) > 1) {
        body.refuse("pins", "each key has one pin");
    }
    if body.is_good() && !(pins.is_empty() && choosers.is_empty()) {
        let known = state.access.known_keys().await.map_err(ApiError::store)?;
        check_keys(&mut body, &pins, &choosers, |key| known.iter().any(|known| known.name == key));
    }
    body.finish()?;
    let pins = pins.into_iter().map(|NewPinBody { key, version, until }| KeyPin { key, version, until }).collect();
    let (rollout, with) = (state.rollout.clone(), RoleMove { why, force, ..by(&caller) });
    let wanted = WantedSplit { shares, pins, choosers };
    let roles = to_its_end(async move { rollout.set_split(kind, wanted, &expected, with).await }).await??;
    shown(kind, roles)
}

fn shown(kind: ModelKind, roles: KindRoles) -> Result<Response, ApiError> {
    tagged(&roles.split_state(), &SplitBody::of(kind, roles.clone()))
}
