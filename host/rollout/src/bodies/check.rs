//! The server's check of a component.

use serde::Serialize;
use utoipa::ToSchema;

use super::model::ReasonBody;
use assay_domain::{ModelInfo, ModelKind};
use assay_registry::{CheckReport, Class, Cost, Problem};

/// The result of a check.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Check, example = json!({
    "ok": false, "problems": [{ "code": "imports", "message": "it imports wasi:clocks; a model has no clock" }],
    "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "bytes": 81_203, "core_module": false,
    "component_bytes": 81_203, "class": "small", "lanes": null, "code_bytes": null, "compile_ms": 41, "model": null,
    "costs": []
}))]
pub struct CheckBody {
    /// Whether the server would take it.
    ok: bool,
    /// All problems, in the order of the steps.
    problems: Vec<ReasonBody>,
    /// SHA-256 of the bytes.
    digest: String,
    bytes: usize,
    /// Whether it is a core module, as cargo builds it; the server encodes it as a component.
    core_module: bool,
    component_bytes: usize,
    /// `small`, `medium` or `large`; null if it fits no class.
    #[schema(value_type = Option<String>)]
    class: Option<&'static str>,
    /// Engines that it would be loaded on; null if there are problems.
    lanes: Option<usize>,
    /// Compiled code of all lanes together, in bytes, without the sharing of medium and large models.
    code_bytes: Option<usize>,
    /// Milliseconds.
    compile_ms: u64,
    /// The description that it returns; null if it was not called.
    model: Option<DescriptionBody>,
    /// The cost of its calls; empty if there are problems.
    costs: Vec<CallCostBody>,
}

/// A model's description of itself.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ModelDescription)]
pub(crate) struct DescriptionBody {
    /// `credit`, `boost`, `sybil` or `sandbox`.
    #[schema(value_type = String)]
    kind: ModelKind,
    version: String,
    title: String,
    authors: Vec<String>,
    /// The inputs that it reads.
    reads: Vec<String>,
}

/// The cost of one call, with the start of its instance.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CallCost)]
pub(crate) struct CallCostBody {
    input: String,
    /// Approximate number of instructions: the same on every machine.
    fuel: u64,
    /// The largest linear memory, in bytes.
    memory_bytes: usize,
    /// On one core of the server, while it also does its other work.
    calls_per_second: u64,
}

impl From<CheckReport> for CheckBody {
    fn from(report: CheckReport) -> Self {
        Self {
            ok: report.ok,
            problems: report.problems.into_iter().map(ReasonBody::from).collect(),
            digest: report.digest.to_string(),
            bytes: report.bytes,
            core_module: report.core_module,
            component_bytes: report.component_bytes,
            class: report.class.map(Class::as_str),
            lanes: report.lanes,
            code_bytes: report.code_bytes,
            compile_ms: report.compile_ms,
            model: report.model.map(DescriptionBody::from),
            costs: report.costs.into_iter().map(CallCostBody::from).collect(),
        }
    }
}

impl From<Problem> for ReasonBody {
    fn from(Problem { code, message }: Problem) -> Self {
        Self { code, message }
    }
}

impl From<ModelInfo> for DescriptionBody {
    fn from(ModelInfo { kind, version, title, authors, reads, .. }: ModelInfo) -> Self {
        Self { kind, version: version.to_string(), title, authors, reads }
    }
}

impl From<Cost> for CallCostBody {
    fn from(Cost { input, fuel, memory, calls_per_second }: Cost) -> Self {
        Self { input, fuel, memory_bytes: memory, calls_per_second }
    }
}
