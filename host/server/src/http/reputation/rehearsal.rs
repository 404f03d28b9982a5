//! Submissions on a server in sandbox mode.

use axum::{Json, http::StatusCode, response::Response};

use super::{Form, refuse};
use crate::{
    http::{
        ApiError, App, agents,
        extract::{Caller, charge},
        fresh, mode,
        wire::SubmittedBody,
    },
    reputation::{Rehearsal, Request},
};

pub(super) async fn accept(
    rehearsal: &Rehearsal,
    caller: &Caller<charge::Submission>,
    app: &App,
    request: &Request,
    form: Form,
) -> Result<Response, ApiError> {
    app.agents.get(request.agent_id).await.map_err(|error| agents::read_error(error, Some(request.agent_id)))?;
    let scores = app.scoring.sandbox().appraisal(request.address)?.into();
    let record = rehearsal.submit(request, caller.owner(), scores).await.map_err(refuse)?;
    let body = SubmittedBody::of(&record, Rehearsal::EXPECTED, form.status_url(record.agent_id, record.id));
    Ok(mode::marked((StatusCode::ACCEPTED, fresh::once(Json(body)))))
}
