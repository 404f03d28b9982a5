//! The OpenAPI document: its validity, and its operations with the schema of each declared answer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use super::schema::Schema;

const METHODS: [&str; 5] = ["get", "post", "put", "delete", "patch"];

pub struct Document {
    pub operations: Vec<Operation>,
    /// The body of errors that belong to no operation: unknown paths and methods.
    pub error: Schema,
}

pub struct Operation {
    /// In upper case.
    pub method: String,
    pub path: String,
    pub parameters: Vec<Parameter>,
    /// Content type and schema.
    pub body: Option<(String, Value)>,
    /// Content type and schema by status; `None` for an answer without a body.
    pub answers: BTreeMap<u16, Option<(String, Schema)>>,
}

pub struct Parameter {
    pub name: String,
    pub in_path: bool,
    pub kind: String,
}

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        METHODS.iter().filter_map(move |method| Some((path.as_str(), *method, item.get(*method)?)))
    })
}

fn refs<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            into.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| refs(value, into));
        }
        Value::Array(items) => items.iter().for_each(|value| refs(value, into)),
        _ => {}
    }
}

/// All errors of the document.
pub fn faults(document: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut found = Vec::new();
    refs(document, &mut found);
    for reference in found {
        if reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer)).is_none() {
            faults.push(format!("{reference} refers to nothing"));
        }
    }
    if !document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")) {
        faults.push("it is no OpenAPI 3.1".to_owned());
    }
    let mut names = BTreeSet::new();
    for (path, method, operation) in operations(document) {
        let mut fault = |what: String| faults.push(format!("{method} {path}: {what}"));
        match operation["operationId"].as_str() {
            Some(name) if names.insert(name) => {}
            other => fault(format!("the operationId {other:?} is missing or taken")),
        }
        let in_path: BTreeSet<&str> =
            path.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).collect();
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        let declared = parameters.iter().filter(|one| one["in"] == "path" && one["required"] == true);
        let declared: BTreeSet<&str> = declared.filter_map(|one| one["name"].as_str()).collect();
        if in_path != declared {
            fault(format!("the path has {in_path:?}, its parameters {declared:?}"));
        }
        if parameters.iter().any(|one| !one["schema"].is_object()) {
            fault("a parameter has no schema".to_owned());
        }
        let answers = operation["responses"].as_object().cloned().unwrap_or_default();
        if !answers.keys().any(|status| status.starts_with('2')) {
            fault("no answer is a success".to_owned());
        }
        for (status, answer) in &answers {
            let has_schema = answer["content"]
                .as_object()
                .is_some_and(|content| content.values().all(|media| media["schema"].is_object()));
            if !has_schema && !["204", "304"].contains(&status.as_str()) {
                fault(format!("{status} has no schema"));
            }
            if answer["description"].as_str().is_none_or(str::is_empty) {
                fault(format!("{status} has no description"));
            }
        }
        let keyed = operation["security"].as_array().is_some_and(|security| !security.is_empty());
        if (path.starts_with("/api/v2") || path.starts_with("/v2/models")) && !keyed {
            fault("it takes no key".to_owned());
        }
        let body = &operation["requestBody"];
        let wanted = [
            (keyed, &["401", "403", "500", "504"][..]),
            (body.is_object(), &["408", "413"]),
            // Another protocol has 400 for it.
            (body["content"]["application/json"].is_object() && !path.starts_with("/v2/"), &["422"]),
        ];
        for status in wanted.iter().filter(|(applies, _)| *applies).flat_map(|(_, statuses)| *statuses) {
            if !answers.contains_key(*status) {
                fault(format!("{status} is missing"));
            }
        }
    }
    faults
}

impl Document {
    pub fn read(document: &Value) -> Self {
        let components = Arc::new(document["components"]["schemas"].as_object().cloned().unwrap_or_default());
        let schema = |schema: &Value| Schema::new(schema, &components);
        let operations = operations(document)
            .map(|(path, method, operation)| Operation {
                method: method.to_ascii_uppercase(),
                path: path.to_owned(),
                parameters: operation["parameters"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|parameter| parameter["in"] != "header")
                    .map(Parameter::read)
                    .collect(),
                body: media(&operation["requestBody"]).map(|(kind, schema)| (kind, resolved(document, &schema))),
                answers: (operation["responses"].as_object().into_iter().flatten())
                    .map(|(status, answer)| {
                        let media = media(answer).map(|(kind, of)| (kind, schema(&of)));
                        (status.parse().expect("a status is a number"), media)
                    })
                    .collect(),
            })
            .collect();
        Self { operations, error: schema(&json!({ "$ref": "#/components/schemas/Error" })) }
    }

    /// The methods of a path.
    pub fn methods(&self, path: &str) -> Vec<&str> {
        self.operations
            .iter()
            .filter(|operation| operation.path == path)
            .map(|operation| operation.method.as_str())
            .collect()
    }
}

impl Parameter {
    fn read(parameter: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            name: text(&parameter["name"]),
            in_path: parameter["in"] == "path",
            kind: text(&parameter["schema"]["type"]),
        }
    }
}

fn media(of: &Value) -> Option<(String, Value)> {
    let (kind, media) = of["content"].as_object()?.iter().next()?;
    Some((kind.clone(), media["schema"].clone()))
}

fn resolved(document: &Value, schema: &Value) -> Value {
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema).clone()
}
