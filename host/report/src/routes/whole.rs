//! `/api/v2/report/address/{address}` and `/api/v2/report/`: the report of one subject, and the sums of several.

use axum::{extract::State, response::Response};

use super::ReportRoutes;
use crate::{
    bodies::{AggregatedBody, ReportBody},
    responses,
};
use assay_domain::Claimed;
use assay_http::{
    ApiError,
    extract::{Caller, SubjectList, SubjectPath},
    fresh::Known,
};
use assay_score::{NoModelChoice, identified, reasoned};

/// The credit report of one address: assets, lending positions, activity and lending events.
///
/// An address without activity on any chain has a report of zeros; a name that does not resolve has none. If the model
/// refuses the address, `score` has nulls and `refused`.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}", tag = "reports", operation_id = "get_report",
    params(SubjectPath),
    responses(
        (status = 200, description = "The report", body = ReportBody),
        responses::Unchanged, responses::BadAddress, responses::Keyed, responses::Units, responses::NotFound,
        responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn get(
    caller: Caller,
    State(reports): State<ReportRoutes>,
    known: Known,
    _: NoModelChoice,
    SubjectPath(subject): SubjectPath,
) -> Result<Response, ApiError> {
    let report = caller.pay(reports.source.report(&subject, caller.name())).await?;
    let claimed = match &report.scored {
        Ok(scored) => reports.cards.claimed(reports.rollout.registry(), scored).await,
        Err(_) => Claimed::Nothing,
    };
    let id = report.scored.as_ref().ok().and_then(|scored| reports.rollout.score_id(scored, caller.owner()));
    let chosen = report.scored.as_ref().ok().map(|scored| scored.chosen);
    let (fresh, not_covered) = (report.fresh, reports.networks.not_covered(&report.contents));
    let answer = known.answer(fresh, &ReportBody::of(report, claimed, not_covered))?;
    Ok(reasoned(identified(answer, [id]), chosen))
}

/// Totals of several addresses: dollars and counts are added, attestations are merged, and the earliest and the latest
/// transaction are given.
///
/// Items that are neither an address nor a name are skipped, as `skipped` says; an address that occurs twice counts
/// once. Each address costs the units of one report.
#[utoipa::path(
    get, path = "/api/v2/report/", tag = "reports", operation_id = "get_aggregated_report",
    params(SubjectList),
    responses(
        (status = 200, description = "The sums", body = AggregatedBody),
        responses::Unchanged, responses::NoValidAddress, responses::Validated, responses::Keyed, responses::Units,
        responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn aggregated(
    caller: Caller,
    State(reports): State<ReportRoutes>,
    known: Known,
    SubjectList(subjects, invalid): SubjectList,
) -> Result<Response, ApiError> {
    let count = subjects.len();
    let mut all = caller.pay_each(count, reports.source.aggregate(subjects)).await?;
    all.skipped = all.skipped.after(invalid);
    known.answer(all.fresh, &AggregatedBody::from(all))
}
