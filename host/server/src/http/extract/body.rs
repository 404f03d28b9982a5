//! Request bodies: read up to a bound, and JSON objects whose fields are asked for one by one, so that every wrong
//! field is named and not the first alone.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, Request},
    http::header,
};
use futures::StreamExt;
use serde_json::{Map, Value};

use crate::http::{ApiError, App, validation::Place, validation::Violation};

/// What is read and thrown away of a body that is too large, so that the client gets to read the answer instead of a
/// reset connection.
const DRAINED: u64 = 64 << 20;

/// Wrong values of one list that are named: an answer must not be many times the request.
const NAMED: usize = 20;

/// The largest count taken: every reader of JSON has it exactly.
pub const MOST: u64 = (1 << 53) - 1;

/// A JSON object. An empty body counts as `{}`: every field that may be absent is. The content type is not looked at.
pub struct JsonObject {
    fields: Map<String, Value>,
    violations: Vec<Violation>,
}

impl FromRequest<App> for JsonObject {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let bytes = read(request.into_body(), app.limits.body, app.limits.arrival).await?;
        Self::parse(&bytes)
    }
}

impl JsonObject {
    fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        let refuse = |violation| Err(ApiError::invalid(vec![violation]));
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self { fields: Map::new(), violations: Vec::new() });
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(fields)) => Ok(Self { fields, violations: Vec::new() }),
            Ok(_) => refuse(Violation::not_an_object()),
            Err(error) => refuse(Violation::not_json(&error)),
        }
    }

    /// An amount that may be absent or null: finite and not negative.
    pub fn amount(&mut self, field: &'static str) -> Option<f64> {
        let violation = match self.fields.get(field)? {
            Value::Null => return None,
            Value::Number(number) => match number.as_f64() {
                Some(value) if !value.is_finite() => Violation::not_finite(field),
                Some(value) if value < 0.0 => Violation::negative(field),
                Some(value) => return Some(value),
                None => Violation::not_finite(field),
            },
            _ => Violation::not_a_number(field),
        };
        self.violations.push(violation);
        None
    }

    /// A count that may be absent or null: whole, not negative, and not beyond [`MOST`].
    pub fn count(&mut self, field: &'static str) -> Option<u64> {
        let violation = match self.fields.get(field)? {
            Value::Null => return None,
            Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(value), _) if value <= MOST => return Some(value),
                (None, Some(value)) if value < 0.0 => Violation::negative(field),
                (None, Some(value)) if value.fract() != 0.0 => Violation::not_whole(field),
                (None, Some(value)) if value <= MOST as f64 => return Some(value as u64),
                _ => Violation::beyond(field, MOST),
            },
            _ => Violation::not_an_int(field),
        };
        self.violations.push(violation);
        None
    }

    /// A text that may be absent, null or empty.
    pub fn text(&mut self, field: &'static str) -> Option<String> {
        match self.fields.get(field)? {
            Value::Null => return None,
            Value::String(text) => return Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            _ => self.violations.push(Violation::not_a_string(field)),
        }
        None
    }

    /// A flag that may be absent or null, which is false.
    pub fn flag(&mut self, field: &'static str) -> bool {
        match self.fields.get(field) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.violations.push(Violation::not_a_bool(Place::Body, field));
                false
            }
        }
    }

    /// Notes that `field` is not as it must be.
    pub fn refuse(&mut self, field: &'static str, why: impl std::fmt::Display) {
        self.violations.push(Violation::refused(Place::Body, field, why));
    }

    /// Whether nothing was found wrong so far.
    pub fn is_good(&self) -> bool {
        self.violations.is_empty()
    }

    /// A text that must be there and that `T` accepts.
    pub fn required<T: std::str::FromStr<Err: std::fmt::Display>>(&mut self, field: &'static str) -> Option<T> {
        let violation = match self.fields.get(field) {
            None => Violation::missing(Place::Body, field),
            Some(Value::String(text)) => match text.parse() {
                Ok(value) => return Some(value),
                Err(error) => Violation::refused(Place::Body, field, error),
            },
            Some(_) => Violation::not_a_string(field),
        };
        self.violations.push(violation);
        None
    }

    /// A list of such texts that may be absent or null, of which the first `most` are looked at.
    pub fn list<T: std::str::FromStr<Err: std::fmt::Display>>(
        &mut self,
        field: &'static str,
        most: usize,
    ) -> Option<Vec<T>> {
        match self.fields.get_mut(field)? {
            Value::Null => return None,
            Value::Array(items) => items.truncate(most),
            _ => {}
        }
        Some(self.required_list(field))
    }

    /// A list of such texts.
    pub fn required_list<T: std::str::FromStr<Err: std::fmt::Display>>(&mut self, field: &'static str) -> Vec<T> {
        let mut values = Vec::new();
        match self.fields.get(field) {
            None => self.violations.push(Violation::missing(Place::Body, field)),
            Some(Value::Array(items)) => {
                for item in items {
                    if self.violations.len() >= NAMED {
                        break;
                    }
                    match item.as_str().map(str::parse) {
                        Some(Ok(value)) => values.push(value),
                        Some(Err(error)) => self.violations.push(Violation::refused(Place::Body, field, error)),
                        None => self.violations.push(Violation::not_a_string(field)),
                    }
                }
            }
            Some(_) => self.violations.push(Violation::not_a_list(field)),
        }
        values
    }

    /// # Errors
    /// 422 with everything that was wrong with the fields asked for.
    pub fn finish(self) -> Result<(), ApiError> {
        if self.violations.is_empty() { Ok(()) } else { Err(ApiError::invalid(self.violations)) }
    }
}

/// The whole of `body`, where it arrives in time.
///
/// # Errors
/// 413 beyond `limit` bytes, 400 where the client broke off, 408 after `longest`.
pub async fn read(body: Body, limit: u64, longest: Duration) -> Result<Bytes, ApiError> {
    tokio::time::timeout(longest, collect(body, limit)).await.unwrap_or_else(|_| Err(ApiError::body_too_slow()))
}

async fn collect(body: Body, limit: u64) -> Result<Bytes, ApiError> {
    let mut chunks = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| ApiError::new(http::StatusCode::BAD_REQUEST, "Request body broke off"))?;
        if (whole.len() + chunk.len()) as u64 > limit {
            discard(chunks).await;
            return Err(ApiError::too_large(limit));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.into())
}

/// Refuses a request whose declared length is beyond `limit`, after giving its body a bounded chance to arrive. A
/// client that asked first (`Expect: 100-continue`) is told before it sends anything.
///
/// # Errors
/// 413 beyond `limit` bytes.
pub async fn check_declared(request: Request, limit: u64) -> Result<Request, ApiError> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if length.is_none_or(|length| length <= limit) {
        return Ok(request);
    }
    if !request.headers().contains_key(header::EXPECT) {
        discard(request.into_body().into_data_stream()).await;
    }
    Err(ApiError::too_large(limit))
}

/// Lets a body that nobody wants arrive, up to a bound.
async fn discard(mut chunks: axum::body::BodyDataStream) {
    let mut seen = 0;
    while let Some(Ok(chunk)) = chunks.next().await {
        seen += chunk.len() as u64;
        if seen > DRAINED {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(body: &str) -> Result<Option<f64>, String> {
        let shown = |error: ApiError| format!("{error:?}");
        let mut object = JsonObject::parse(body.as_bytes()).map_err(shown)?;
        let amount = object.amount("total_asset_usd");
        object.finish().map_err(shown)?;
        Ok(amount)
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_is_the_clients_delay() {
        let never = Body::from_stream(futures::stream::pending::<Result<Bytes, std::io::Error>>());
        let error = read(never, 10, Duration::ZERO).await.unwrap_err();
        assert!(!error.is_ours() && format!("{error:?}").contains("408"), "{error:?}");
    }

    #[test]
    fn absent_amounts_are_absent() {
        for body in ["", " \n", "{}", r#"{"total_asset_usd":null}"#, r#"{"other":1}"#] {
            assert_eq!(amount(body), Ok(None), "{body}");
        }
        assert_eq!(amount(r#"{"total_asset_usd":50000}"#), Ok(Some(50_000.0)));
        assert_eq!(amount(r#"{"total_asset_usd":1e308}"#), Ok(Some(1e308)));
        assert_eq!(amount(r#"{"total_asset_usd":-0.0}"#), Ok(Some(-0.0)));
    }

    #[test]
    fn counts_are_whole_and_bounded() {
        let count = |body: &str| {
            let shown = |error: ApiError| format!("{error:?}");
            let mut object = JsonObject::parse(body.as_bytes()).map_err(shown)?;
            let count = object.count("n");
            object.finish().map_err(shown)?;
            Ok::<_, String>(count)
        };
        for (body, expected) in [
            ("{}", None),
            (r#"{"n":null}"#, None),
            (r#"{"n":7}"#, Some(7)),
            (r#"{"n":7.0}"#, Some(7)),
            (r#"{"n":-0.0}"#, Some(0)),
        ] {
            assert_eq!(count(body), Ok(expected), "{body}");
        }
        assert_eq!(count(&format!(r#"{{"n":{MOST}}}"#)), Ok(Some(MOST)));
        for (body, kind) in [
            (r#"{"n":-1}"#, "greater_than_equal"),
            (r#"{"n":-0.5}"#, "greater_than_equal"),
            (r#"{"n":1.5}"#, "int_from_float"),
            (r#"{"n":1e300}"#, "less_than_equal"),
            (r#"{"n":9007199254740992}"#, "less_than_equal"),
            (r#"{"n":"7"}"#, "int_type"),
            (r#"{"n":true}"#, "int_type"),
        ] {
            let error = count(body).unwrap_err();
            assert!(error.contains(kind), "{body}: {error}");
        }
    }

    #[test]
    fn every_other_form_is_named() {
        let nested = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        let long = format!(r#"{{"total_asset_usd":1{}}}"#, "0".repeat(500));
        for (body, kind) in [
            (r#"{"total_asset_usd":-1}"#, "greater_than_equal"),
            (r#"{"total_asset_usd":"5"}"#, "float_type"),
            (r#"{"total_asset_usd":true}"#, "float_type"),
            (r#"{"total_asset_usd":[]}"#, "float_type"),
            (r#"{"total_asset_usd":1e999}"#, "json_invalid"),
            (r#"{"total_asset_usd":NaN}"#, "json_invalid"),
            (r#"{"total_asset_usd":Infinity}"#, "json_invalid"),
            (r#"{"total_asset_usd":"#, "json_invalid"),
            (long.as_str(), "json_invalid"),
            (nested.as_str(), "json_invalid"),
            ("[]", "model_attributes_type"),
            ("7", "model_attributes_type"),
            ("null", "model_attributes_type"),
        ] {
            let error = amount(body).unwrap_err();
            assert!(error.contains(kind), "{body}: {error}");
        }
        assert!(JsonObject::parse(b"{\"a\":\"\xff\"}").is_err());
    }
}
