//! `PUT /api/v2/sandbox/clock`.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::WatchRoutes;
use crate::{responses, watches::WatchError};
use assay_http::{
    ApiError,
    extract::{Caller, JsonObject},
};

/// Latest time of a clock: a year.
const LATEST: u64 = 366 * 86_400;

/// What the clock is to show.
#[derive(Deserialize, ToSchema)]
#[schema(as = SetSandboxClock, example = json!({ "seconds": 60 }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub(crate) struct SetClockBody {
    /// Seconds since the script began.
    #[schema(maximum = 31_622_400)]
    seconds: u64,
}

/// The clock of a key in a sandbox.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SandboxClock)]
pub(crate) struct ClockBody {
    seconds: u64,
    /// Watches of the key, each of which was evaluated at this time.
    watches: usize,
}

/// Sets the clock that the watches of this key follow, on a server in sandbox mode.
///
/// The answer comes once each watch was evaluated at that time: its events are there. A time that is skipped is not
/// seen, as a time between two evaluations in production. The clock begins at 0 and goes forward; it goes back only
/// while the key has no watches. Deliveries follow at once, whatever the clock shows.
#[utoipa::path(
    put, path = "/api/v2/sandbox/clock", tag = "sandbox", operation_id = "set_sandbox_clock",
    request_body = SetClockBody,
    responses(
        (status = 200, description = "The clock", body = ClockBody),
        responses::Clock, responses::Validated, responses::Bodied, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn set(
    caller: Caller,
    State(state): State<WatchRoutes>,
    mut body: JsonObject,
) -> Result<Json<ClockBody>, ApiError> {
    let seconds = body.count("seconds");
    if seconds.is_none_or(|seconds| seconds > LATEST) && body.is_good() {
        body.refuse("seconds", format_args!("must be 0 to {LATEST}"));
    }
    body.finish()?;
    let seconds = seconds.unwrap_or_default();
    if state.watches.0.script.is_none() {
        return Err(WatchError::NoClock.into());
    }
    let watches = state.watches.set_clock(caller.owner(), seconds).await?;
    Ok(Json(ClockBody { seconds, watches }))
}
