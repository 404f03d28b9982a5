//! The scorer of the Rust template as a plug-in of Extism: a line of a features file in, an answer in JSON out.

use assay_model::{CreditModel as _, Wallet};
use example::Repayments;
use extism_pdk::{FnResult, plugin_fn};
use serde_json::json;

#[plugin_fn]
pub fn score(line: String) -> FnResult<String> {
    let wallet = Wallet::read(&line).map_err(extism_pdk::Error::msg)?;
    let said = Repayments::score(wallet.features).map_err(|refusal| extism_pdk::Error::msg(format!("{refusal:?}")))?;
    let factor = |one: &assay_model::Factor| json!({ "label": one.label, "description": one.description,
        "points": one.points, "possible": one.possible });
    let factors: Vec<_> = said.factors.iter().map(factor).collect();
    Ok(json!({ "score": said.score, "decile": said.decile, "factors": factors }).to_string())
}
