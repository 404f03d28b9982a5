//! The outcomes of the scored wallets.

use serde::Serialize;
use utoipa::ToSchema;

use super::{ReferenceBody, model::RateBody};
use crate::outcomes::{Joined, OfModel, Realised, RealisedRange, Week};
use assay_domain::{ClaimVerdict, stats::Interval, time_from_unix};
use assay_http::values::{Moment, RangeName};

/// The kept scores of credit champion and challengers joined with the liquidations after them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Outcomes)]
pub struct OutcomesBody {
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
    /// Liquidations are known up to this moment; null without an index of markets.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub known_until: Option<Moment>,
    /// Why nothing was joined.
    pub reason: Option<String>,
    pub models: Vec<ModelOutcomesBody>,
    pub count: usize,
}

/// One model. A wallet counts once a week, with its first score.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ModelOutcomes)]
pub struct ModelOutcomesBody {
    model: ReferenceBody,
    /// `champion` or `challenger`.
    #[schema(value_type = String)]
    role: &'static str,
    scores: u64,
    wallets: u64,
    /// One table for each claim of the model; of a model that claims nothing, for wallets that owe.
    realised: Vec<RealisedBody>,
    /// The weeks with a score, the oldest first.
    weeks: Vec<WeekBody>,
}

/// How often wallets of one population were liquidated within one horizon.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Realised)]
pub(crate) struct RealisedBody {
    population: String,
    horizon_days: u32,
    /// Scores whose whole horizon is known; only these are counted.
    known: u64,
    /// Scores that wait for the end of their horizon.
    waiting: u64,
    /// Scores that are not counted, because part of the wallet's debt was in vaults, whose liquidations are not known.
    hidden: u64,
    /// Scores that are not counted, because the condition of the claim was not met; 0 without a condition.
    other_regime: u64,
    /// Scores that are not counted, because it is not known whether the condition was met: the server kept no price of
    /// ether on one of the days, or the condition is only in words.
    undecided: u64,
    ranges: Vec<RealisedRangeBody>,
}

/// One range of the score.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RealisedRange)]
pub(crate) struct RealisedRangeBody {
    range: RangeName,
    scores: u64,
    wallets: u64,
    /// Scores after which the wallet was liquidated within the horizon.
    liquidated: u64,
    /// Null without scores.
    rate: Option<f64>,
    /// The 95 % interval over wallets; none counts more than once.
    low: Option<f64>,
    high: Option<f64>,
    /// The rate that the model claims; null if it claims none.
    claimed: Option<RateBody>,
    /// `holds`, `fails` or `not_shown`; null without a claim. With fewer than 50 scores it is `not_shown`.
    #[schema(value_type = Option<String>)]
    verdict: Option<ClaimVerdict>,
}

/// The scores of one week.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScoreWeek)]
pub(crate) struct WeekBody {
    #[schema(value_type = String, format = DateTime)]
    from: Moment,
    scores: u64,
    /// The share of the scored wallets whose scores are kept: 1, or a half, a quarter and so on if there are too many.
    share: f64,
    mean: Option<f64>,
    /// Population stability index against the first week with 500 scores; null with fewer.
    psi: Option<f64>,
}

impl From<Joined> for OutcomesBody {
    fn from(Joined { known_until, reason, models }: Joined) -> Self {
        Self {
            timestamp: Moment::now(),
            known_until: known_until.map(time_from_unix).map(Moment),
            reason,
            count: models.len(),
            models: models.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<OfModel> for ModelOutcomesBody {
    fn from(OfModel { model, role, scores, wallets, realised, weeks }: OfModel) -> Self {
        let week = |Week { from, scores, share, mean, psi }: Week| WeekBody {
            from: Moment(time_from_unix(from)),
            scores,
            share,
            mean,
            psi,
        };
        Self {
            model: model.into(),
            role: role.as_str(),
            scores,
            wallets,
            realised: realised.into_iter().map(Into::into).collect(),
            weeks: weeks.into_iter().map(week).collect(),
        }
    }
}

impl From<Realised> for RealisedBody {
    fn from(found: Realised) -> Self {
        let Realised { population, horizon_days, known, waiting, hidden, other_regime, undecided, ranges } = found;
        let ranges = ranges.into_iter().map(Into::into).collect();
        Self { population, horizon_days, known, waiting, hidden, other_regime, undecided, ranges }
    }
}

impl From<RealisedRange> for RealisedRangeBody {
    fn from(found: RealisedRange) -> Self {
        let RealisedRange { range, scores, wallets, liquidated, rate, interval, claimed, verdict } = found;
        let end = |end: fn(Interval) -> f64| interval.map(end);
        let (low, high) = (end(|interval| interval.low), end(|interval| interval.high));
        let claimed = claimed.map(Into::into);
        Self { range: range.into(), scores, wallets, liquidated, rate, low, high, claimed, verdict }
    }
}
