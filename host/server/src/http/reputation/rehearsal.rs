//! Submissions on a server in sandbox mode.

use axum::{Json, http::StatusCode, response::Response};

use super::{Form, refuse};
use crate::{
    http::{ApiError, App, agents, extract::Caller, fresh, mode, wire::SubmittedBody},
    reputation::{Rehearsal, Request},
};
use assay_registry::{Behaviour, MockSubject};

pub(super) async fn accept(
    rehearsal: &Rehearsal,
    caller: &Caller,
    app: &App,
    request: &Request,
    form: Form,
) -> Result<Response, ApiError> {
    app.agents.get(request.agent_id).await.map_err(|error| agents::read_error(error, Some(request.agent_id)))?;
    let sandbox = app.scoring.sandbox();
    let scores = sandbox.appraisal(request.address)?.into();
    let failing = |subject| match sandbox.behaviour(subject).transpose()? {
        Ok(Behaviour::SubmissionFails(phase)) => Some(Ok(phase)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    };
    let subjects = [MockSubject::Agent(request.agent_id), MockSubject::Address(request.address)];
    let fails = subjects.into_iter().find_map(failing).transpose()?;
    let record = rehearsal.submit(request, caller.owner(), scores, fails).await.map_err(refuse)?;
    let body = SubmittedBody::of(&record, Rehearsal::EXPECTED, form.status_url(record.agent_id, record.id));
    Ok(mode::marked((StatusCode::ACCEPTED, fresh::once(Json(body)))))
}
