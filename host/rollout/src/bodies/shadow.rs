//! The shadow report: challengers compared with the champion.

use assay_domain::{
    ModelKind, ModelPin, ModelRef, Time,
    stats::{Histogram, INVESTIGATE, Joint, SIGNIFICANT},
};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::ReferenceBody;
use crate::{Bound, Rollout, ScoreId, ShadowPair, Spread, config, records::CostRecord};
use assay_http::values::Moment;

/// The results of the challengers of one kind compared with the champion, of all hosts together.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ShadowReport)]
pub struct ShadowBody {
    #[schema(value_type = String)]
    pub kind: ModelKind,
    pub window_hours: u64,
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
    /// Share of the computed scores that are given to challengers on this host.
    pub share: f64,
    /// The requirements of a promotion.
    pub promotion: PromotionBody,
    /// One entry for each pair of a challenger and a champion in the window. Empty when nothing was scored in the
    /// shadow, and for kinds other than credit, which have no shadow.
    pub pairs: Vec<PairBody>,
    pub count: usize,
}

/// The requirements of `[promotion]`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Promotion)]
pub struct PromotionBody {
    /// Wallets in the shadow below which the bounds do not apply. A credit model with fewer is refused once the server
    /// itself has scored this many.
    min_scores: u64,
    /// Whether a version with fewer wallets is refused in any case.
    require_shadow: bool,
}

/// A figure of a challenger that has a bound.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PromotionBound)]
pub(crate) struct BoundBody {
    /// `failures`, `psi`, `migration` (share of wallets in another range) or `latency_ratio`.
    #[schema(value_type = String)]
    figure: &'static str,
    /// Null if it is unknown, which prevents nothing. PSI is unknown with fewer than `min_scores` wallets.
    value: Option<f64>,
    most: f64,
    met: bool,
}

/// One challenger compared with one champion.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ShadowPair)]
pub struct PairBody {
    champion: ReferenceBody,
    challenger: ReferenceBody,
    /// Scores that the champion computed. An answer from the cache is not computed.
    seen: u64,
    /// The computed scores that are in the sample.
    sampled: u64,
    /// Scores of the sample that were left out because the shadow was behind.
    dropped: u64,
    /// Scores of the sample that both models computed.
    scored: u64,
    /// Scores of the sample that the challenger refused to compute.
    refused: u64,
    /// Scores of the sample for which the challenger failed.
    failed: u64,
    /// Failures by their code.
    failures: Vec<FailureCount>,
    /// Wallets that the challenger scored or refused. The following figures count a wallet once, with its newest
    /// scores. For very many wallets this number is an estimate, and the figures are those of a sample.
    wallets: u64,
    /// Wallets that the challenger refused to score.
    refused_wallets: u64,
    champion_scores: ScoresSummary,
    challenger_scores: ScoresSummary,
    /// Population stability index of the scores, in tenths of the champion's scores; null when no wallet was scored by
    /// both.
    psi: Option<f64>,
    /// `no significant change` (below 0.1), `requires investigation` (below 0.25), `significant change`; null with
    /// fewer than `min_scores` wallets.
    #[schema(value_type = Option<String>)]
    psi_band: Option<&'static str>,
    /// Wallets by the champion's range (rows) and the challenger's (columns), low to excellent.
    range_migration: [[u64; 5]; 5],
    /// Share of wallets that both models put in the same range.
    same_range: Option<f64>,
    /// Share of calls that put the wallet in the same decile by both models, each model by its own table.
    same_decile: Option<f64>,
    /// Spearman's rank correlation; null when a model gives every wallet the same score.
    spearman: Option<f64>,
    /// Kendall's rank correlation (tau-b).
    kendall: Option<f64>,
    /// The challenger's score minus the champion's.
    difference: DifferenceBody,
    /// Calls in the shadow, failed ones included.
    calls: u64,
    /// Whether the wallets are enough for the bounds of promotion to apply.
    bounds_apply: bool,
    bounds: Vec<BoundBody>,
    factors: Vec<FactorDriftBody>,
    champion_cost: CostBody,
    challenger_cost: CostBody,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FailureCount)]
pub(crate) struct FailureCount {
    code: String,
    count: u64,
    /// The newest message of this code: for an exception of a script or a panic, with file, line and error. Null in
    /// results of older versions.
    message: Option<String>,
    /// The score of `message`, for `GET /api/v2/admin/scores/{score_id}` and `assay model try --score-id`; null if it
    /// was not recorded.
    score_id: Option<String>,
}

/// A distribution of scores.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScoresSummary)]
pub(crate) struct ScoresSummary {
    mean: Option<f64>,
    p10: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    /// Every score that occurred, with its count.
    #[schema(value_type = Vec<[u64; 2]>)]
    histogram: Vec<(u32, u64)>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScoreDifference)]
pub(crate) struct DifferenceBody {
    mean: Option<f64>,
    p50: Option<f64>,
    /// Of the absolute difference.
    p95_absolute: Option<f64>,
    higher: u64,
    equal: u64,
    lower: u64,
}

/// Mean points of one factor; null for a model without a factor of this label.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FactorDrift)]
pub(crate) struct FactorDriftBody {
    label: String,
    champion_points: Option<f64>,
    challenger_points: Option<f64>,
}

/// Cost of calls in the shadow, which measures both models in the same way. The champion is measured only for some
/// calls. The figures are accurate to 1.6 %.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ShadowCost)]
pub(crate) struct CostBody {
    calls: u64,
    latency_us_p50: Option<f64>,
    latency_us_p99: Option<f64>,
    fuel_p50: Option<f64>,
    fuel_p99: Option<f64>,
}

impl ShadowBody {
    pub fn new(kind: ModelKind, window_hours: u64, at: Time, rollout: &Rollout, pairs: Vec<ShadowPair>) -> Self {
        let bounds = rollout.promotion();
        // No caller is this owner: the id opens the record for an auditor only.
        let named = |record| rollout.bound(record, "");
        let pairs: Vec<PairBody> = pairs.into_iter().map(|pair| PairBody::new(kind, pair, bounds, named)).collect();
        Self {
            kind,
            window_hours,
            timestamp: Moment(at),
            share: rollout.shadow_share(),
            promotion: PromotionBody { min_scores: bounds.min_scores, require_shadow: bounds.require_shadow },
            count: pairs.len(),
            pairs,
        }
    }
}

impl PairBody {
    fn new(kind: ModelKind, pair: ShadowPair, bounds: &config::Promotion, named: impl Fn(Uuid) -> ScoreId) -> Self {
        let evidence = pair.evidence();
        let ShadowPair { record, scores, champion_scores, challenger_scores, psi, migration } = pair;
        let model = |ModelPin { version, digest }: ModelPin| ReferenceBody::from(ModelRef { kind, version, digest });
        let scored = record.scores.count();
        let factors = record.factors.iter().map(|(label, (champion, challenger))| FactorDriftBody {
            label: label.clone(),
            champion_points: champion.mean(),
            challenger_points: challenger.mean(),
        });
        let failures = record.failures.iter().map(|(code, count)| FailureCount {
            code: code.clone(),
            count: *count,
            message: record.messages.get(code).cloned(),
            score_id: record.failed_scores.get(code).map(|score| named(*score).to_string()),
        });
        Self {
            seen: record.counts.seen,
            sampled: record.counts.sampled,
            dropped: record.counts.dropped,
            scored,
            refused: record.counts.refused,
            failed: record.failed(),
            failures: failures.collect(),
            wallets: evidence.wallets,
            refused_wallets: record.wallets.refused(),
            champion_scores: ScoresSummary::of(&champion_scores),
            challenger_scores: ScoresSummary::of(&challenger_scores),
            psi,
            psi_band: psi.filter(|_| bounds.applies(&evidence)).map(band),
            range_migration: scores.migration(),
            same_range: migration.map(|moved| 1.0 - moved),
            same_decile: (scored > 0).then(|| record.counts.same_decile as f64 / scored as f64),
            spearman: scores.spearman(),
            kendall: scores.kendall(),
            difference: DifferenceBody::of(&scores),
            calls: evidence.calls,
            bounds_apply: bounds.applies(&evidence),
            bounds: bounds.bounds(&evidence).into_iter().map(Into::into).collect(),
            factors: factors.collect(),
            champion_cost: CostBody::of(&record.champion_cost),
            challenger_cost: CostBody::of(&record.challenger_cost),
            champion: model(record.champion),
            challenger: model(record.challenger),
        }
    }
}

impl From<Bound> for BoundBody {
    fn from(bound: Bound) -> Self {
        Self { figure: bound.name, value: bound.value, most: bound.most, met: bound.is_met() }
    }
}

impl DifferenceBody {
    fn of(scores: &Joint) -> Self {
        let differences = scores.differences();
        let (higher, equal, lower) = differences.signs();
        Self {
            mean: differences.mean(),
            p50: differences.quantile(0.5),
            p95_absolute: differences.absolute_quantile(0.95),
            higher,
            equal,
            lower,
        }
    }
}

impl ScoresSummary {
    fn of(scores: &Histogram) -> Self {
        let [p10, p50, p90] = [0.1, 0.5, 0.9].map(|p| scores.quantile(p));
        Self { mean: scores.mean(), p10, p50, p90, histogram: scores.given().collect() }
    }
}

impl CostBody {
    fn of(cost: &CostRecord) -> Self {
        let (latency, fuel) = (Spread::of(&cost.latency_us), Spread::of(&cost.fuel));
        Self {
            calls: cost.latency_us.count(),
            latency_us_p50: latency.p50,
            latency_us_p99: latency.p99,
            fuel_p50: fuel.p50,
            fuel_p99: fuel.p99,
        }
    }
}

fn band(psi: f64) -> &'static str {
    if psi < INVESTIGATE {
        "no significant change"
    } else if psi < SIGNIFICANT {
        "requires investigation"
    } else {
        "significant change"
    }
}
