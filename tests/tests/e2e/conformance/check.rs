//! Checks whether the document declares an answer.

use assay_tests::service::Answer;

use super::{
    document::{Document, Operation},
    request::Request,
    schema::Schema,
};

pub enum Verdict {
    /// The answer is declared; contains its status.
    Right(String),
    /// The answer is not declared; contains the reason.
    Wrong(String),
}

pub fn check(document: &Document, request: &Request, answer: &Answer) -> Verdict {
    match wrong(document, request, answer) {
        None => Verdict::Right(answer.status.as_str().to_owned()),
        Some(why) => Verdict::Wrong(format!(
            "{why}; the answer was {} {}",
            answer.status,
            answer.text.chars().take(400).collect::<String>()
        )),
    }
}

fn wrong(document: &Document, request: &Request, answer: &Answer) -> Option<String> {
    let status = answer.status.as_u16();
    // The chain or reputation is not configured on this host: the only 5xx that a request may cause here.
    let unconfigured = status == 502 && answer.text.contains("_not_configured\"");
    if status >= 500 && !unconfigured {
        return Some(format!("{status} is a failure of the server"));
    }
    if request.is_off_the_map() {
        return (status != 404)
            .then(|| "a path that is none is not 404".to_owned())
            .or_else(|| body(&document.error, "application/json", answer));
    }
    let methods = document.methods(&request.template);
    if !methods.contains(&request.method.as_str()) {
        let allowed = answer.headers.get("allow").and_then(|allow| allow.to_str().ok()).unwrap_or_default();
        let complete = methods.iter().all(|method| allowed.contains(method));
        return match status {
            // Of a preflight of another site, which no page describes.
            204 if request.method == "OPTIONS" && complete => None,
            405 if complete => body(&document.error, "application/json", answer),
            // A body above the limit is refused before any other check.
            413 if request.body.is_some() => body(&document.error, "application/json", answer),
            405 => Some(format!("Allow says {allowed:?}, the document {methods:?}")),
            _ => Some("a method that the path does not take is not 405".to_owned()),
        };
    }
    let same = |operation: &&Operation| operation.path == request.template && operation.method == request.method;
    let operation = document.operations.iter().find(same)?;
    // The document says of all paths that a body above the limit is refused, also where none is asked for.
    if status == 413 && request.body.is_some() && !operation.answers.contains_key(&status) {
        return body(&document.error, "application/json", answer);
    }
    undeclared(operation, answer)
}

/// The parts of an answer that the document does not declare for the operation.
pub fn undeclared(operation: &Operation, answer: &Answer) -> Option<String> {
    let status = answer.status.as_u16();
    match operation.answers.get(&status) {
        None => Some(format!("{status} is not declared")),
        Some(None) if answer.text.is_empty() => None,
        Some(None) => Some("a body where none is declared".to_owned()),
        Some(Some((kind, schema))) => body(schema, kind, answer),
    }
}

fn body(schema: &Schema, kind: &str, answer: &Answer) -> Option<String> {
    let given = answer.headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if given.split(';').next() != Some(kind) {
        return Some(format!("the content type is {given:?}, not {kind:?}"));
    }
    if kind != "application/json" {
        return answer.text.is_empty().then(|| "an empty body".to_owned());
    }
    let Ok(value) = serde_json::from_str(&answer.text) else { return Some("the body is no JSON".to_owned()) };
    let errors = schema.errors(&value);
    (!errors.is_empty()).then(|| errors.join("; "))
}
