//! `/v2`: the Open Inference Protocol of KServe and Triton, for credit models. A tensor of wallets, each a line of a
//! features file, becomes a tensor of scores and one of deciles. A request that names anything else is refused, in the
//! protocol's error body.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ScoreRoutes, reasoned, what_if::own_features};
use crate::{ScoringError, responses};
use assay_domain::{Assessment, ModelKind, ModelVersion, features::Features};
use assay_http::{
    ApiError, ErrorBody,
    extract::{Caller, JsonObject, in_path, param},
    fresh, parameters,
};
use assay_tasks::blocking;

/// The model of this name is the credit champion, or the version that is pinned for the key.
const NAME: &str = "credit";
/// The name and the type of the input.
const INPUT: (&str, &str) = ("features", "BYTES");
/// The names and types of the outputs.
const OUTPUTS: [(&str, &str); 2] = [("score", "UINT32"), ("decile", "UINT8")];
/// Maximum number of wallets of one tensor.
const MOST: usize = 100;

/// The credit models, or one version of them.
pub(crate) struct NamedModel(Option<ModelVersion>);

parameters!(NamedModel:
    in_path::<String>("name", "Name of the model: `credit`", NAME),
    in_path::<String>("version", "Version of the model", "1.1"),
);

impl<S: Send + Sync> FromRequestParts<S> for NamedModel {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        if param(parts, state, "name", |name| name == NAME).await != Some(true) {
            let words = "No model has this name; `credit` is the name of one";
            return Err(ApiError::plain(words).with_status(StatusCode::NOT_FOUND));
        }
        let version = param(parts, state, "version", str::parse).await.transpose();
        version.map(Self).map_err(|why| ApiError::plain(format!("version: {why}")))
    }
}

/// The server, as the protocol describes one.
#[derive(Serialize, ToSchema)]
#[schema(as = InferenceServer)]
pub(crate) struct ServerBody {
    #[schema(value_type = String)]
    name: &'static str,
    #[schema(value_type = String)]
    version: &'static str,
    extensions: Vec<String>,
}

/// Whether the server can take requests.
#[derive(Serialize, ToSchema)]
#[schema(as = InferenceHealth)]
pub(crate) struct HealthBody {
    live: bool,
}

/// Whether a model can answer.
#[derive(Serialize, ToSchema)]
#[schema(as = InferenceReadiness)]
pub(crate) struct ReadyBody {
    #[schema(value_type = String)]
    name: &'static str,
    ready: bool,
}

/// A model and its tensors.
#[derive(Serialize, ToSchema)]
#[schema(as = InferenceModel)]
pub(crate) struct ModelBody {
    #[schema(value_type = String)]
    name: &'static str,
    /// Versions that a path can name.
    versions: Vec<String>,
    #[schema(value_type = String)]
    platform: &'static str,
    inputs: Vec<TensorBody>,
    outputs: Vec<TensorBody>,
}

/// A tensor; −1 is a size that a request chooses.
#[derive(Serialize, ToSchema)]
#[schema(as = InferenceTensor)]
pub(crate) struct TensorBody {
    #[schema(value_type = String)]
    name: &'static str,
    #[schema(value_type = String)]
    datatype: &'static str,
    shape: Vec<i64>,
    /// Only of a result: one for each wallet, in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    data: Option<Vec<u32>>,
}

/// Wallets to be scored.
#[derive(Deserialize, ToSchema)]
#[schema(as = InferenceRequest, example = json!({
    "id": "1",
    "inputs": [{ "name": "features", "datatype": "BYTES", "shape": [1], "data": ["{\"as_of\": 1767225600}"] }],
    "outputs": [{ "name": "score" }]
}))]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestBody {
    /// Is in the response, too.
    id: Option<String>,
    #[expect(dead_code, reason = "none is known")]
    parameters: Option<NoParameters>,
    /// `features`, and nothing else.
    inputs: Vec<InputBody>,
    /// All of them by default.
    outputs: Option<Vec<OutputBody>>,
}

/// A tensor of wallets.
#[derive(Deserialize, ToSchema)]
#[schema(as = InferenceInput)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputBody {
    name: String,
    /// One dimension with at most 100 wallets.
    shape: Vec<u64>,
    datatype: String,
    #[expect(dead_code, reason = "none is known")]
    parameters: Option<NoParameters>,
    /// Lines of a features file, each a JSON object as text.
    data: Vec<String>,
}

/// An output that is asked for.
#[derive(Deserialize, ToSchema)]
#[schema(as = InferenceOutput)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputBody {
    name: String,
    #[expect(dead_code, reason = "none is known")]
    parameters: Option<NoParameters>,
}

/// Parameters, of which this server knows none.
#[derive(Deserialize, ToSchema)]
#[schema(as = InferenceParameters)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParameters {}

/// Scores of wallets.
#[derive(Serialize, ToSchema)]
#[schema(as = InferenceResponse)]
pub(crate) struct ResponseBody {
    #[schema(value_type = String)]
    model_name: &'static str,
    model_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id: Option<String>,
    outputs: Vec<TensorBody>,
}

/// The wallets of a request, and the outputs that it asks for.
struct Asked {
    id: Option<String>,
    wallets: Vec<Features>,
    outputs: Vec<(&'static str, &'static str)>,
}

impl RequestBody {
    fn read(self) -> Result<Asked, String> {
        let Self { id, inputs, outputs, .. } = self;
        let output = |OutputBody { name, .. }: OutputBody| {
            let known = OUTPUTS.into_iter().find(|(known, _)| *known == name);
            known.ok_or_else(|| format!("There is no output {name:.100}; there are score and decile"))
        };
        let outputs = match outputs {
            None => OUTPUTS.to_vec(),
            Some(named) => named.into_iter().map(output).collect::<Result<_, _>>()?,
        };
        let Ok([InputBody { name, shape, datatype, data, .. }]) = <[InputBody; 1]>::try_from(inputs) else {
            return Err("There is one input, features".to_owned());
        };
        if name != INPUT.0 {
            return Err(format!("There is no input {name:.100}; there is features"));
        }
        if datatype != INPUT.1 {
            return Err(format!("The datatype of features is {datatype:.100}, and must be BYTES"));
        }
        if shape != [data.len() as u64] || data.is_empty() || data.len() > MOST {
            let found = format!("The shape of features is {shape:?}, with {} elements", data.len());
            return Err(format!("{found}; it must be [n] with n elements, from 1 to {MOST}"));
        }
        let wallet =
            |(at, text): (usize, String)| own_features(&text).map_err(|why| format!("Element {at} of features: {why}"));
        let wallets = data.into_iter().enumerate().map(wallet).collect::<Result<_, _>>()?;
        Ok(Asked { id, wallets, outputs })
    }
}

/// The server, in the Open Inference Protocol.
#[utoipa::path(
    get, path = "/v2", tag = "inference", operation_id = "get_inference_server",
    responses((status = 200, description = "The server", body = ServerBody)),
)]
pub(crate) async fn server() -> Json<ServerBody> {
    Json(ServerBody { name: "assay", version: env!("CARGO_PKG_VERSION"), extensions: Vec::new() })
}

/// The server takes requests of the Open Inference Protocol.
#[utoipa::path(
    get, path = "/v2/health/live", tag = "inference", operation_id = "get_inference_health",
    responses((status = 200, description = "Alive", body = HealthBody)),
)]
pub(crate) async fn live() -> Json<HealthBody> {
    Json(HealthBody { live: true })
}

/// A credit model is in service.
#[utoipa::path(
    get, path = "/v2/health/ready", tag = "inference", operation_id = "get_inference_readiness",
    responses(
        (status = 200, description = "Ready", body = HealthBody),
        (status = 503, description = "No credit model answers", body = ErrorBody),
    ),
)]
pub(crate) async fn ready(State(scores): State<ScoreRoutes>) -> Result<Json<HealthBody>, ApiError> {
    match scores.rollout.registry().vacancy(ModelKind::Credit) {
        None => Ok(Json(HealthBody { live: true })),
        Some(why) => Err(ApiError::plain(why).with_status(StatusCode::SERVICE_UNAVAILABLE)),
    }
}

/// The credit models, and the tensors that they take and give.
#[utoipa::path(
    get, path = "/v2/models/{name}", tag = "inference", operation_id = "get_inference_model", params(NamedModel),
    responses((status = 200, description = "The model", body = ModelBody), responses::Keyed, responses::Tensors),
    security(("key" = [])),
)]
pub(crate) async fn model(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    NamedModel(version): NamedModel,
) -> Result<Json<ModelBody>, ApiError> {
    scores.for_features(&caller, version.as_ref()).map_err(plainly)?;
    let active = scores.rollout.registry().active();
    let tensor = |(name, datatype)| TensorBody { name, datatype, shape: vec![-1], data: None };
    Ok(Json(ModelBody {
        name: NAME,
        versions: active.loaded(ModelKind::Credit).iter().map(|model| model.version().to_string()).collect(),
        platform: "assay-wasm",
        inputs: vec![tensor(INPUT)],
        outputs: OUTPUTS.map(tensor).into(),
    }))
}

/// A credit model answers this key.
#[utoipa::path(
    get, path = "/v2/models/{name}/ready", tag = "inference", operation_id = "get_inference_model_readiness",
    params(NamedModel),
    responses((status = 200, description = "Ready", body = ReadyBody), responses::Keyed, responses::Tensors),
    security(("key" = [])),
)]
pub(crate) async fn model_ready(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    NamedModel(version): NamedModel,
) -> Result<Json<ReadyBody>, ApiError> {
    scores.for_features(&caller, version.as_ref()).map_err(plainly)?;
    Ok(Json(ReadyBody { name: NAME, ready: true }))
}

/// Scores of wallets, by the version of the path, or the one that is pinned for the key, or the champion.
///
/// Each wallet costs the units of one score. Nothing is read from a chain, and nothing is recorded.
#[utoipa::path(
    post, path = "/v2/models/{name}/infer", tag = "inference", operation_id = "score_tensor", params(NamedModel),
    request_body(content = RequestBody, content_type = "application/json"),
    responses(
        (status = 200, description = "The scores", body = ResponseBody),
        responses::Bodied, responses::Keyed, responses::Units, responses::Tensors,
    ),
    security(("key" = [])),
)]
pub(crate) async fn infer(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    NamedModel(version): NamedModel,
    body: Result<JsonObject, ApiError>,
) -> Result<Response, ApiError> {
    scored(&caller, &scores, version.as_ref(), body).await.map_err(ApiError::plainly)
}

async fn scored(
    caller: &Caller,
    scores: &ScoreRoutes,
    version: Option<&ModelVersion>,
    body: Result<JsonObject, ApiError>,
) -> Result<Response, ApiError> {
    let Asked { id, wallets, outputs } = body?.rest::<RequestBody>()?.read().map_err(ApiError::plain)?;
    let count = wallets.len();
    let work = async {
        let (model, chosen) = scores.for_features(caller, version)?;
        let scorer = model.clone();
        let score = move |(at, wallet): (usize, Features)| {
            let said = scorer.score_uncounted(&wallet).0.map_err(ScoringError::from);
            said.map_err(|error| ApiError::from(error).advise(&format!("this is element {at} of features")))
        };
        let answers =
            blocking(move || wallets.into_iter().enumerate().map(score).collect::<Result<Vec<_>, _>>()).await?;
        Ok::<_, ApiError>((model, chosen, answers))
    };
    let (model, chosen, answers) = caller.pay_each(count, work).await?;
    let result = |(name, datatype): (&'static str, &'static str)| {
        let figure = |said: &Assessment| if name == "score" { said.score.get() } else { said.decile.get().into() };
        let data = answers.iter().map(figure).collect();
        TensorBody { name, datatype, shape: vec![count as i64], data: Some(data) }
    };
    let outputs = outputs.into_iter().map(result).collect();
    let body = ResponseBody { model_name: NAME, model_version: model.version().to_string(), id, outputs };
    Ok(reasoned(fresh::once(Json(body)), [chosen]))
}

fn plainly(error: ScoringError) -> ApiError {
    ApiError::from(error).plainly()
}
