//! Refusals in the forms that providers use: as an error of each call, as one answer to the whole request, as a page.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// How a refusal is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// An error for each call.
    Object,
    /// One error to the whole request.
    Single,
    /// The node's result beside `"error": null`.
    NullError,
    /// The error beside `"result": null`.
    NullResult,
    /// The error object without a JSON-RPC response around it.
    Bare,
    /// A list of one error without an id.
    List,
    /// A page of HTML.
    Html,
    /// Plain text.
    Text,
}

/// What a provider says instead of an answer.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The HTTP status of a response that has only this refusal.
    pub status: u16,
    /// The JSON-RPC error; a text is the whole body of a page.
    pub error: Value,
    pub form: Form,
}

impl Refusal {
    pub fn new(code: i64, message: &str) -> Self {
        Self { status: 200, error: json!({ "code": code, "message": message }), form: Form::Object }
    }

    /// Its JSON-RPC response to a call; `None` if the refusal is not an error of one call.
    pub(super) fn to_call(&self, id: &Value) -> Option<Value> {
        match self.form {
            Form::Object => Some(json!({ "jsonrpc": "2.0", "id": id, "error": self.error })),
            Form::NullResult => Some(json!({ "jsonrpc": "2.0", "id": id, "result": null, "error": self.error })),
            _ => None,
        }
    }

    /// Its response to the whole request, whose first call has this id.
    pub(super) fn to_request(&self, id: &Value, is_single: bool) -> Response {
        let nameless = json!({ "jsonrpc": "2.0", "id": null, "error": self.error });
        let body = match self.form {
            Form::Html | Form::Text => self.error.as_str().unwrap_or_default().to_owned(),
            Form::Bare => self.error.to_string(),
            Form::List if !is_single => Value::Array(vec![nameless]).to_string(),
            _ if is_single => json!({ "jsonrpc": "2.0", "id": id, "error": self.error }).to_string(),
            _ => nameless.to_string(),
        };
        self.response(body)
    }

    pub(super) fn response(&self, body: String) -> Response {
        let kind = match self.form {
            Form::Html => "text/html",
            Form::Text => "text/plain",
            _ => "application/json",
        };
        let status = StatusCode::from_u16(self.status).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, kind)], body).into_response()
    }
}
