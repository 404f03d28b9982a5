//! `/api/v2/identity/…`: who an address is said to belong to.

use axum::{extract::State, response::Response};

use super::ReportRoutes;
use crate::{bodies::IdentityBody, responses};
use assay_http::{
    ApiError,
    extract::{Caller, SubjectPath},
    fresh::Known,
};

/// The names of an address, and what is attested about its owner.
///
/// Everything is checked again at each reading: a name has to stand for this very address, an attestation must be
/// neither revoked nor expired and of the attester that is named here. An address of which nothing is said has an empty
/// list.
#[utoipa::path(
    get, path = "/api/v2/identity/address/{address}/attestations", tag = "identity", operation_id = "list_attestations",
    params(SubjectPath),
    responses(
        (status = 200, description = "The attestations", body = IdentityBody),
        responses::Unchanged, responses::BadAddress, responses::Keyed, responses::Units, responses::NotFound,
        responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn attestations(
    caller: Caller,
    State(reports): State<ReportRoutes>,
    known: Known,
    SubjectPath(subject): SubjectPath,
) -> Result<Response, ApiError> {
    let report = caller.pay(reports.source.identity(&subject)).await?;
    known.answer(report.fresh, &IdentityBody::of(&report))
}
