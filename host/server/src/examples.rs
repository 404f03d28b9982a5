//! An example response for each operation of the OpenAPI document, recorded on the devnet. Its address is
//! [`EXAMPLE`](assay_http::EXAMPLE), which `docs.address` replaces.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::Value;
use utoipa::openapi::{RefOr, path::Operation};

/// By operation id. A text that is not JSON is a string.
static EXAMPLES: LazyLock<BTreeMap<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples.json")).unwrap_or_default());

/// The example of an operation, or of a type of event.
pub(crate) fn of(name: &str) -> Option<Value> {
    EXAMPLES.get(name).cloned()
}

/// Adds the example to the successful response of `operation`, unless the response has one.
pub(crate) fn add(operation: &mut Operation) {
    let Some(example) = operation.operation_id.as_ref().and_then(|id| EXAMPLES.get(id)) else { return };
    let successes = operation.responses.responses.iter_mut().filter(|(status, _)| status.starts_with('2'));
    for (_, response) in successes {
        let RefOr::T(response) = response else { continue };
        for content in response.content.values_mut() {
            if let RefOr::T(content) = content {
                content.example.get_or_insert_with(|| example.clone());
            }
        }
    }
}
