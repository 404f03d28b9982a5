//! The live split of a kind.

use serde::Serialize;
use utoipa::ToSchema;

use crate::split::percent;
use assay_domain::ModelKind;
use assay_http::values::Moment;
use assay_registry::{KeyPin, KindRoles, Ramp, Split, SplitShare};

/// The versions that answer some wallets or keys in place of the champion.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Split, example = json!({
    "kind": "credit", "champion": "1.1",
    "shares": [{ "version": "1.4", "percent": 5.0, "forced": false,
        "ramp": { "percents": [25.0, 50.0], "step_seconds": 86_400, "next_at": "2026-01-16T10:30:00Z" } }],
    "pins": [{ "key": "lender", "version": "1.0", "until": "2026-07-01T00:00:00Z" }], "choosers": [], "stopped": null
}))]
pub struct SplitBody {
    #[schema(value_type = String)]
    kind: ModelKind,
    /// The champion, which answers all others; null if there is none.
    champion: Option<String>,
    shares: Vec<ShareBody>,
    pins: Vec<PinBody>,
    /// Names of the keys that may choose a version by the header `Assay-Model-Version`.
    choosers: Vec<String>,
    /// Why the server took the last version out of the split by itself; null if it did not since the last change.
    stopped: Option<String>,
}

/// The share of one version.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SplitShare)]
pub(crate) struct ShareBody {
    version: String,
    /// Of the wallets, 0.01 to 100.
    percent: f64,
    /// The bounds of promotion do not stop it.
    forced: bool,
    /// How it grows; null if it does not.
    ramp: Option<RampBody>,
}

/// The growth of a share.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SplitRamp)]
pub(crate) struct RampBody {
    /// The next shares.
    percents: Vec<f64>,
    step_seconds: u64,
    #[schema(value_type = String, format = DateTime)]
    next_at: Moment,
}

/// The version that answers one key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyPin)]
pub(crate) struct PinBody {
    /// Name of the key.
    key: String,
    version: String,
    #[schema(value_type = String, format = DateTime)]
    until: Moment,
}

impl SplitBody {
    /// The split in the roles of `kind`.
    pub fn of(kind: ModelKind, KindRoles { champion, split, .. }: KindRoles) -> Self {
        let Split { shares, pins, choosers, stopped, .. } = split;
        let ramp = |Ramp { steps, step_seconds, next_at }| RampBody {
            percents: steps.into_iter().map(percent).collect(),
            step_seconds,
            next_at: Moment(next_at),
        };
        let share = |SplitShare { version, slots, ramp: growing, forced, .. }: SplitShare| ShareBody {
            version: version.to_string(),
            percent: percent(slots),
            forced,
            ramp: growing.map(ramp),
        };
        let pin = |KeyPin { key, version, until }: KeyPin| PinBody {
            key,
            version: version.to_string(),
            until: Moment(until),
        };
        Self {
            kind,
            champion: champion.map(|version| version.to_string()),
            shares: shares.into_iter().map(share).collect(),
            pins: pins.into_iter().map(pin).collect(),
            choosers,
            stopped,
        }
    }
}
