//! What path and query parameters may look like, said once for all routes that have them. Whatever a schema can say: of
//! an address in mixed case the checksum has to be right besides, and a name has to be one that ENSIP-15 allows.

use serde_json::Value;
use utoipa::{
    Modify,
    openapi::{
        self, RefOr, Schema,
        path::{Operation, Parameter, ParameterIn},
        schema::Object,
    },
};

use crate::http::state::{REPORT_CHAINS, SUMMARY_CHAINS};
use assay_domain::{ModelVersion, Name};

const ADDRESS: &str = "^0x[0-9a-fA-F]{40}$";
const ADDRESS_OR_NAME: &str = r"^(0x[0-9a-fA-F]{40}|[^\s./,]+(\.[^\s./,]+)+)$";

const VERSION: &str = r"^[0-9]{1,9}(\.[0-9]{1,9}){1,3}$";
/// Up to eight of them.
const VERSIONS: &str = r"^[0-9]{1,7}(\.[0-9]{1,7}){1,3}(,[0-9]{1,7}(\.[0-9]{1,7}){1,3}){0,7}$";
/// Up to a year.
const WINDOW: &str = "^([1-9][0-9]{0,2}h|[1-7][0-9]{3}h|8[0-6][0-9]{2}h|87[0-5][0-9]h|8760h|[1-9][0-9]?d|[1-2][0-9]{2}d|3[0-5][0-9]d|36[0-5]d)$";

/// Patterns, lengths and lists of values.
pub(super) struct Parameters;

impl Modify for Parameters {
    fn modify(&self, document: &mut openapi::OpenApi) {
        for (path, item) in &mut document.paths.paths {
            let operations = [&mut item.get, &mut item.post, &mut item.put, &mut item.delete];
            for parameter in operations.into_iter().flatten().flat_map(parameters) {
                let Parameter { name, parameter_in, schema: Some(RefOr::T(Schema::Object(schema))), .. } = parameter
                else {
                    continue;
                };
                match (name.as_str(), parameter_in) {
                    ("address", ParameterIn::Path) if path.contains("/sandbox/") => {
                        schema.pattern = Some(ADDRESS.to_owned());
                    }
                    ("address", ParameterIn::Path) => {
                        (schema.pattern, schema.max_length) = (Some(ADDRESS_OR_NAME.to_owned()), Some(Name::MAX));
                    }
                    ("address", ParameterIn::Query) => schema.min_length = Some(1),
                    ("agent_id", _) => schema.minimum = Some(1.into()),
                    ("version" | "model_version", _) => {
                        (schema.pattern, schema.max_length) = (Some(VERSION.to_owned()), Some(ModelVersion::MAX_LEN));
                    }
                    ("versions", _) => schema.pattern = Some(VERSIONS.to_owned()),
                    ("window", _) => schema.pattern = Some(WINDOW.to_owned()),
                    ("chain_id", _) if path.ends_with("/summary") => one_of(schema, &SUMMARY_CHAINS),
                    ("chain_id", _) if !path.contains("/sandbox/") => one_of(schema, &REPORT_CHAINS),
                    _ => {}
                }
            }
        }
    }
}

fn parameters(operation: &mut Operation) -> impl Iterator<Item = &mut Parameter> {
    operation.parameters.iter_mut().flatten().filter_map(|parameter| match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    })
}

fn one_of(schema: &mut Object, chains: &[u64]) {
    let mut chains = chains.to_vec();
    chains.sort_unstable();
    schema.enum_values = Some(chains.into_iter().map(Value::from).collect());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn parameters_say_what_they_may_be() {
        let document = serde_json::to_value(crate::http::document()).unwrap();
        let schema = |path: &str, index: usize| document["paths"][path]["get"]["parameters"][index]["schema"].clone();
        let address = schema("/api/v2/score/address/{address}", 0);
        assert_eq!((&address["pattern"], &address["maxLength"]), (&json!(super::ADDRESS_OR_NAME), &json!(255)));
        assert_eq!(schema("/api/v2/sandbox/score/address/{address}", 0)["pattern"], super::ADDRESS);
        let chain = |tail: &str| {
            schema(&format!("/api/v2/report/address/{{address}}/chain/{{chain_id}}{tail}"), 1)["enum"].clone()
        };
        assert_eq!(chain(""), json!([1, 10, 56, 137, 250, 324, 8453, 42161, 43114, 59144]));
        assert_eq!(chain("/summary"), json!([1, 10, 56, 137, 8453, 42161, 42220, 43114, 59144, 534352]));
        assert_eq!(schema("/api/v2/report/", 0)["minLength"], 1);
        let agent = "/api/v2/reputation/{agent_id}/status/{submission_id}";
        assert_eq!(schema(agent, 0)["minimum"], 1);
        assert_eq!(schema("/api/v2/models/{kind}/report", 1)["pattern"], super::WINDOW);
        assert_eq!(schema("/api/v2/models/compare/address/{address}", 1)["pattern"], super::VERSIONS);
    }
}
