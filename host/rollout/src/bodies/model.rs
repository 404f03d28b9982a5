//! Models and their roles.

use serde::Serialize;
use utoipa::ToSchema;

use assay_domain::{Claim, Claims, ModelKind, ModelRef, Rate};
use assay_http::values::Moment;
use assay_registry::{ModelStatus, Price, Registry};

/// One model, or one file that could not be loaded as a model.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Model, example = json!({
    "kind": "credit", "version": "1.1", "title": "Five-factor scorecard", "authors": ["Assay"],
    "reads": ["chains.first-transaction"],
    "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "role": "champion", "state": "ready",
    "reason": null, "file": "credit-1.1.wasm", "loaded_at": "2026-01-15T10:30:00Z", "class": "small",
    "cost": { "lanes": 2, "memory_bytes": 65536, "code_bytes": 278528, "compile_ms": 41, "call_us": 11 },
    "calls": 1201, "failures": 0, "card": null, "claims": null, "all_claims": []
}))]
pub struct ModelBody {
    /// `credit`, `boost`, `sybil` or `sandbox`; null when the file does not declare it.
    #[schema(value_type = Option<String>)]
    kind: Option<ModelKind>,
    version: Option<String>,
    title: Option<String>,
    authors: Vec<String>,
    /// The inputs that this model reads.
    reads: Vec<String>,
    /// SHA-256 of the component's bytes.
    digest: Option<String>,
    /// `champion` (answers), `split` (answers some wallets or keys), `challenger` (scores in the shadow), `available`,
    /// or `none` when it is not loaded.
    #[schema(value_type = String)]
    role: &'static str,
    /// `ready`, `benched` (taken out of service), `compiling` (a large model, not loaded yet) or `failed` (not loaded).
    #[schema(value_type = String)]
    state: &'static str,
    /// Why it is not ready.
    reason: Option<ReasonBody>,
    /// File on the shelf.
    file: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    loaded_at: Option<Moment>,
    /// `small`, `medium` or `large`: what it may use of the server. Null when it is not loaded.
    #[schema(value_type = Option<String>)]
    class: Option<&'static str>,
    /// Its cost on this host; null if it is not loaded.
    cost: Option<PriceBody>,
    /// Calls since it was loaded.
    calls: u64,
    /// Calls that failed because of the model.
    failures: u64,
    /// Path of its model card; null if it has none.
    card: Option<String>,
    /// The rates that the component itself states; null if it states none.
    claims: Option<ClaimsBody>,
    /// Every claim of the model's card, one for each population, condition and horizon.
    all_claims: Vec<ClaimsBody>,
}

/// The share of wallets to which the outcome happens within the time, by range, as the model itself states it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Claims)]
pub(crate) struct ClaimsBody {
    outcome: String,
    horizon_days: u32,
    population: String,
    /// The regime in which the rates hold; absent if they hold in any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    condition: Option<String>,
    rates: Vec<RateBody>,
}

/// The share in one range, 0 to 1, with its 95 % interval.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Rate)]
pub(crate) struct RateBody {
    range: &'static str,
    low: f64,
    estimate: f64,
    high: f64,
}

/// The cost of a loaded model on this host.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ModelCost)]
pub(crate) struct PriceBody {
    /// Engines that it is loaded on: the number of calls that run at the same time at full speed.
    lanes: usize,
    /// The most memory of a call so far, in bytes; each lane keeps about as much.
    memory_bytes: usize,
    /// Compiled code of all lanes together, in bytes.
    code_bytes: usize,
    /// How long it took to compile, on this host.
    compile_ms: u64,
    /// The median of nine ordinary calls when it was loaded, in microseconds.
    call_us: u64,
}

/// A stable code and a message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reason)]
pub(crate) struct ReasonBody {
    #[schema(value_type = String)]
    pub code: &'static str,
    pub message: String,
}

/// All models on the shelf.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Models)]
pub struct ModelsBody {
    pub models: Vec<ModelBody>,
    pub count: usize,
    /// Of each kind that can be rolled back, the earlier champion that would answer again.
    pub previous: Vec<ReferenceBody>,
}

/// A model that was named in a request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ModelReference, example = json!({
    "kind": "credit", "version": "1.1", "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
}))]
pub struct ReferenceBody {
    #[schema(value_type = String)]
    kind: ModelKind,
    version: String,
    digest: String,
}

/// The roles of one kind after a change.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Roles, example = json!({
    "kind": "credit", "champion": "1.1", "challengers": ["1.0"], "previous": null
}))]
pub struct RolesBody {
    #[schema(value_type = String)]
    pub kind: ModelKind,
    pub champion: Option<String>,
    pub challengers: Vec<String>,
    /// The earlier champion that a rollback would bring back; null if there is none.
    pub previous: Option<String>,
}

impl ModelBody {
    pub fn new(card: Option<String>, claims: Vec<Claim>, status: ModelStatus) -> Self {
        let info = status.info;
        Self {
            kind: info.as_ref().map(|info| info.kind),
            version: info.as_ref().map(|info| info.version.to_string()),
            title: info.as_ref().map(|info| info.title.clone()),
            authors: info.as_ref().map(|info| info.authors.clone()).unwrap_or_default(),
            claims: info.as_ref().and_then(|info| info.claims.clone()).map(Into::into),
            all_claims: claims.into_iter().map(Into::into).collect(),
            reads: info.map(|info| info.reads).unwrap_or_default(),
            digest: status.digest.map(|digest| digest.to_string()),
            role: status.role.as_str(),
            state: status.state.as_str(),
            reason: status.reason.map(|reason| ReasonBody { code: reason.code, message: reason.message }),
            file: status.file,
            loaded_at: status.loaded_at.map(Moment),
            class: status.price.map(|price| price.class.as_str()),
            cost: status.price.map(PriceBody::from),
            calls: status.calls,
            failures: status.failures,
            card,
        }
    }
}

impl From<Claims> for ClaimsBody {
    fn from(claims: Claims) -> Self {
        let Claims { outcome, horizon_days, population, rates } = claims;
        let rates = rates.into_iter().map(Into::into).collect();
        Self { outcome, horizon_days, population, condition: None, rates }
    }
}

impl From<Claim> for ClaimsBody {
    fn from(Claim { condition, claims, .. }: Claim) -> Self {
        Self { condition: condition.map(|condition| condition.to_string()), ..claims.into() }
    }
}

impl From<Rate> for RateBody {
    fn from(Rate { range, low, estimate, high }: Rate) -> Self {
        Self { range: range.as_str(), low, estimate, high }
    }
}

impl From<Price> for PriceBody {
    fn from(Price { lanes, memory, code, compile, call, .. }: Price) -> Self {
        Self {
            lanes,
            memory_bytes: memory,
            code_bytes: code,
            compile_ms: u64::try_from(compile.as_millis()).unwrap_or(u64::MAX),
            call_us: u64::try_from(call.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

impl From<ModelRef> for ReferenceBody {
    fn from(model: ModelRef) -> Self {
        Self { kind: model.kind, version: model.version.to_string(), digest: model.digest.to_string() }
    }
}

impl RolesBody {
    /// The roles of `kind` in `registry`.
    pub fn of(kind: ModelKind, registry: &Registry) -> Self {
        use assay_registry::Role;
        let models = registry.list();
        let with = |role: Role| {
            let infos = models.iter().filter(move |model| model.role == role).filter_map(|model| model.info.as_ref());
            infos.filter(move |info| info.kind == kind).map(|info| info.version.to_string())
        };
        Self {
            kind,
            champion: with(Role::Champion).next(),
            challengers: with(Role::Challenger).collect(),
            previous: registry.previous(kind).map(|model| model.version.to_string()),
        }
    }
}
