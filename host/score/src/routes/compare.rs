//! `/api/v2/models/compare/address/{address}`: several versions of the credit model on one subject.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
    response::Response,
};

use super::ScoreRoutes;
use crate::{MOST_VERSIONS, bodies::ComparisonBody, responses};
use assay_domain::ModelVersion;
use assay_http::{
    ApiError,
    extract::{Caller, IncludeReasons, SubjectPath, limited, optional, refused, values},
    fresh, parameters,
};

/// `versions`, a comma-separated list: the distinct versions in order; empty by default.
pub(crate) struct VersionsQuery(pub Vec<ModelVersion>);

parameters!(VersionsQuery: limited(
    optional::<String>("versions", "Up to 8 versions joined by commas; champion and challengers by default")
        .example(Some("1.0,1.1".into())),
    |schema| schema.pattern = Some(VERSIONS.to_owned()),
));

// With at most seven digits per number, no version is longer than `ModelVersion::MAX_LEN`.
const VERSIONS: &str = r"^[0-9]{1,7}(\.[0-9]{1,7}){1,3}(,[0-9]{1,7}(\.[0-9]{1,7}){1,3}){0,7}$";

impl<S: Send + Sync> FromRequestParts<S> for VersionsQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut versions: Vec<ModelVersion> = Vec::new();
        for list in values(parts, "versions") {
            for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
                let version = item.parse().map_err(|why: String| refused("versions", why))?;
                if !versions.contains(&version) {
                    versions.push(version);
                }
                if versions.len() > MOST_VERSIONS {
                    return Err(refused("versions", format!("more than {MOST_VERSIONS} versions in one comparison")));
                }
            }
        }
        Ok(Self(versions))
    }
}

/// The results of several versions of the credit model for one address, all from the same reading.
///
/// Differences are relative to the first version. A version that fails has a reason instead of a score; the others
/// still have theirs. Each version costs the units of one score.
#[utoipa::path(
    get, path = "/api/v2/models/compare/address/{address}", tag = "models", operation_id = "compare_models",
    params(SubjectPath, VersionsQuery, IncludeReasons),
    responses(
        (status = 200, description = "The comparison", body = ComparisonBody),
        responses::BadAddress, responses::Validated, responses::Keyed, responses::Units, responses::NotFound,
        responses::OfChains, responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn compare(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    SubjectPath(subject): SubjectPath,
    VersionsQuery(mut versions): VersionsQuery,
    IncludeReasons(show_reasons): IncludeReasons,
) -> Result<Response, ApiError> {
    let scoring = scores.source.of_chains("compares no versions")?;
    if versions.is_empty() {
        versions = scoring.default_versions()?;
    }
    let comparison = caller.pay_each(versions.len(), scoring.compare(&subject, versions)).await?;
    let mut reasons = Vec::new();
    for compared in comparison.versions.iter().filter(|_| show_reasons) {
        reasons.push(match (&compared.model, &compared.answer) {
            (Some(model), Ok(answer)) => {
                let registry = scores.rollout.registry();
                scores.cards.reasons_of(registry, model, &answer.factors, &comparison.standing).await
            }
            _ => None,
        });
    }
    Ok(fresh::once(Json(ComparisonBody::from(comparison).reasoned(reasons))))
}
