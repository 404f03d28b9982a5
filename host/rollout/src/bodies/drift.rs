//! The drift of the inputs of models.

use serde::Serialize;
use utoipa::ToSchema;

use super::ReferenceBody;
use crate::{Against, Drift, DriftWeek, InputShift, ModelDrift, outcomes::ENOUGH, records::Segment};
use assay_domain::time_from_unix;
use assay_http::values::Moment;

/// The inputs of credit champion, versions of the split and challengers by week, compared with the training or with
/// the first full week.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InputDrift)]
pub struct DriftBody {
    #[schema(value_type = String, format = DateTime)]
    timestamp: Moment,
    /// Wallets below which a week is not compared.
    minimum_wallets: u64,
    models: Vec<ModelDriftBody>,
    count: usize,
}

/// The inputs of one model. A wallet counts once a week.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ModelInputDrift)]
pub(crate) struct ModelDriftBody {
    model: ReferenceBody,
    /// `champion`, `split` or `challenger`.
    #[schema(value_type = String)]
    role: &'static str,
    /// At most 13 weeks, the newest first, and of a week all wallets before the segments.
    weeks: Vec<DriftWeekBody>,
}

/// The wallets of one week in one segment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InputWeek)]
pub(crate) struct DriftWeekBody {
    #[schema(value_type = String, format = DateTime)]
    from: Moment,
    /// `all`, `owes`, `owes_nothing`, or `unread` if a debt may exist that was not read.
    #[schema(value_type = String)]
    segment: &'static str,
    /// An estimate if there are more than 2,000.
    wallets: u64,
    inputs: Vec<InputShiftBody>,
}

/// One input of the wallets of a week.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InputShift)]
pub(crate) struct InputShiftBody {
    name: String,
    /// `training`, or `first_week` for the first full week with enough wallets; null if there is neither. The training
    /// is only known of all wallets.
    #[schema(value_type = Option<String>)]
    against: Option<Against>,
    /// The share of the wallets without a value.
    missing: Option<f64>,
    /// The same share in the training or the first full week.
    expected_missing: Option<f64>,
    /// The middle value, with an error of at most 1.6 %.
    median: Option<f64>,
    /// Population stability index; null with too few wallets.
    psi: Option<f64>,
    /// `stable`, `shifting` from an index of 0.1, `drifted` from 0.25; null with too few wallets. An index that two
    /// samples of the same wallets exceed once in a thousand times is `stable`.
    #[schema(value_type = Option<String>)]
    drift: Option<Drift>,
}

impl From<Vec<ModelDrift>> for DriftBody {
    fn from(found: Vec<ModelDrift>) -> Self {
        let models: Vec<_> = found.into_iter().map(ModelDriftBody::from).collect();
        Self { timestamp: Moment::now(), minimum_wallets: ENOUGH, count: models.len(), models }
    }
}

impl From<ModelDrift> for ModelDriftBody {
    fn from(ModelDrift { model, role, weeks }: ModelDrift) -> Self {
        let weeks = weeks.into_iter().map(Into::into).collect();
        Self { model: model.into(), role: role.as_str(), weeks }
    }
}

impl From<DriftWeek> for DriftWeekBody {
    fn from(DriftWeek { from, segment, wallets, inputs }: DriftWeek) -> Self {
        let shift = |InputShift { name, against, missing, expected_missing, median, psi, drift }| InputShiftBody {
            name,
            against,
            missing,
            expected_missing,
            median,
            psi,
            drift,
        };
        Self {
            from: Moment(time_from_unix(from)),
            segment: segment.map_or("all", Segment::as_str),
            wallets,
            inputs: inputs.into_iter().map(shift).collect(),
        }
    }
}
