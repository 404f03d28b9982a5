//! Request bodies: read up to a size limit, and JSON objects that are read field by field, so that a response names
//! every wrong field.

use std::{collections::BTreeSet, fmt, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, Request},
    http::header,
};
use futures::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    ApiError, Call,
    route::BodyLimit,
    twice::given_twice,
    validation::{Location, Violation},
};
use assay_domain::display_text;

/// The most bytes discarded of a body that is too large. Without discarding, many clients see a reset connection
/// instead of the response.
const DISCARDED: u64 = 64 << 20;

/// The most wrong values named for one list: a response must not be many times the size of the request.
const NAMED: usize = 20;

/// Maximum length of the words about one item, in characters.
const SHOWN: usize = 300;

/// The largest count: every JSON parser reads numbers up to it exactly.
pub const MOST: u64 = (1 << 53) - 1;

/// The bytes of a whole body.
pub struct Upload(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Upload {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let call = request.extensions().get::<Call>().ok_or_else(Call::none)?;
        let (limit, longest) = (call.body, call.gate.limits.arrival);
        read(request.into_body(), limit, longest).await.map(Self)
    }
}

/// A JSON object. An empty body counts as `{}`. The content type is ignored.
pub struct JsonObject {
    fields: Map<String, Value>,
    /// The fields that were read. At the end, each other field is a violation.
    known: BTreeSet<&'static str>,
    violations: Vec<Violation>,
}

impl<S: Send + Sync> FromRequest<S> for JsonObject {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        Self::parse(&Upload::from_request(request, state).await?.0)
    }
}

impl JsonObject {
    fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        let refuse = |violation| Err(ApiError::invalid(vec![violation]));
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self { fields: Map::new(), known: BTreeSet::new(), violations: Vec::new() });
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(fields)) => {
                let duplicate = |field: &String| Violation::duplicate(Location::Body, field);
                let violations = given_twice(bytes).iter().take(NAMED).map(duplicate).collect();
                Ok(Self { fields, known: BTreeSet::new(), violations })
            }
            Ok(_) => refuse(Violation::not_an_object()),
            Err(error) => refuse(Violation::not_json(&error)),
        }
    }

    fn field(&mut self, name: &'static str) -> Option<&Value> {
        self.known.insert(name);
        self.fields.get(name)
    }

    /// Accepts fields that other bodies of the API contract have, and that this one ignores.
    pub fn ignore(&mut self, fields: &[&'static str]) {
        self.known.extend(fields);
    }

    /// An optional amount: finite and not negative.
    pub fn amount(&mut self, field: &'static str) -> Option<f64> {
        let violation = match self.field(field)? {
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

    /// An optional count: whole, not negative, at most [`MOST`].
    pub fn count(&mut self, field: &'static str) -> Option<u64> {
        let violation = match self.field(field)? {
            Value::Null => return None,
            Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(value), _) if value <= MOST => return Some(value),
                (None, Some(value)) if value < 0.0 => Violation::negative(field),
                (None, Some(value)) if value.fract() != 0.0 => Violation::not_whole(field),
                (None, Some(value)) if value <= MOST as f64 => return Some(value as u64),
                _ => Violation::beyond(Location::Body, field, MOST),
            },
            _ => Violation::not_an_int(field),
        };
        self.violations.push(violation);
        None
    }

    /// An optional text. An empty text counts as absent.
    pub fn text(&mut self, field: &'static str) -> Option<String> {
        match self.field(field)? {
            Value::Null => return None,
            Value::String(text) => return Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            _ => self.violations.push(Violation::not_a_string(field)),
        }
        None
    }

    /// An optional flag, false by default.
    pub fn flag(&mut self, field: &'static str) -> bool {
        self.choice(field).unwrap_or_default()
    }

    /// An optional flag without a default.
    pub fn choice(&mut self, field: &'static str) -> Option<bool> {
        match self.field(field)? {
            Value::Null => {}
            Value::Bool(flag) => return Some(*flag),
            _ => self.violations.push(Violation::not_a_bool(Location::Body, field)),
        }
        None
    }

    /// An optional list of at most `most` items that `T` deserializes. The violation names the first wrong item.
    pub fn objects<T: DeserializeOwned>(&mut self, field: &'static str, most: usize) -> Option<Vec<T>> {
        let violation = match self.field(field)? {
            Value::Null => return None,
            Value::Array(items) if items.len() > most => {
                let length = items.len();
                Violation::refused(Location::Body, field, format!("{length} items, of which there may be {most}"))
            }
            Value::Array(items) => {
                let read = |(at, item): (usize, &Value)| {
                    T::deserialize(item).map_err(|why| display_text(&format!("item {at}: {why}"), SHOWN))
                };
                match items.iter().enumerate().map(read).collect() {
                    Ok(items) => return Some(items),
                    Err(why) => Violation::refused(Location::Body, field, why),
                }
            }
            _ => Violation::not_a_list(field),
        };
        self.violations.push(violation);
        None
    }

    /// Whether `field` is a string that is empty or only white space.
    pub fn is_blank(&mut self, field: &'static str) -> bool {
        matches!(self.field(field), Some(Value::String(text)) if text.trim().is_empty())
    }

    /// Whether the body has `field`, even if it is null.
    pub fn has(&mut self, field: &'static str) -> bool {
        self.field(field).is_some()
    }

    /// The whole object, read as `T` is serialised, without the fields that were read or ignored.
    ///
    /// # Errors
    /// 422 with the first problem.
    pub fn rest<T: DeserializeOwned>(mut self) -> Result<T, ApiError> {
        self.fields.retain(|name, _| !self.known.contains(name.as_str()));
        if self.violations.is_empty() {
            match T::deserialize(Value::Object(self.fields)) {
                Ok(value) => return Ok(value),
                Err(error) => self.violations.push(Violation::of_body(error)),
            }
        }
        Err(ApiError::invalid(self.violations))
    }

    /// Adds a violation of `field`.
    pub fn refuse(&mut self, field: &'static str, why: impl fmt::Display) {
        self.violations.push(Violation::refused(Location::Body, field, why));
    }

    /// Whether there is no violation so far.
    pub fn is_good(&self) -> bool {
        self.violations.is_empty()
    }

    /// A required text that `T` parses.
    pub fn required<T: std::str::FromStr<Err: fmt::Display>>(&mut self, field: &'static str) -> Option<T> {
        let violation = match self.field(field) {
            None => Violation::missing(Location::Body, field),
            Some(Value::String(text)) => match text.parse() {
                Ok(value) => return Some(value),
                Err(error) => Violation::refused(Location::Body, field, error),
            },
            Some(_) => Violation::not_a_string(field),
        };
        self.violations.push(violation);
        None
    }

    /// An optional list of texts that `T` parses. Items after the first `most` are ignored.
    pub fn list<T: std::str::FromStr<Err: fmt::Display>>(
        &mut self,
        field: &'static str,
        most: usize,
    ) -> Option<Vec<T>> {
        self.known.insert(field);
        match self.fields.get_mut(field)? {
            Value::Null => return None,
            Value::Array(items) => items.truncate(most),
            _ => {}
        }
        Some(self.required_list(field))
    }

    /// A required list of texts that `T` parses.
    pub fn required_list<T: std::str::FromStr<Err: fmt::Display>>(&mut self, field: &'static str) -> Vec<T> {
        let mut values = Vec::new();
        self.known.insert(field);
        match self.fields.get(field) {
            None => self.violations.push(Violation::missing(Location::Body, field)),
            Some(Value::Array(items)) => {
                for item in items {
                    if self.violations.len() >= NAMED {
                        break;
                    }
                    match item.as_str().map(str::parse) {
                        Some(Ok(value)) => values.push(value),
                        Some(Err(error)) => self.violations.push(Violation::refused(Location::Body, field, error)),
                        None => self.violations.push(Violation::not_a_string(field)),
                    }
                }
            }
            Some(_) => self.violations.push(Violation::not_a_list(field)),
        }
        values
    }

    /// # Errors
    /// 422 with every violation of the fields read, and every field that was not.
    pub fn finish(mut self) -> Result<(), ApiError> {
        let unknown = self.fields.keys().filter(|name| !self.known.contains(name.as_str()));
        let unknown = unknown.map(|name| Violation::unknown(name, &self.known));
        self.violations.extend(unknown.take(NAMED).collect::<Vec<_>>());
        if self.violations.is_empty() { Ok(()) } else { Err(ApiError::invalid(self.violations)) }
    }
}

/// The whole `body`.
///
/// # Errors
/// 413 beyond `limit`, 400 when the client disconnects, 408 after `longest`.
async fn read(body: Body, limit: BodyLimit, longest: Duration) -> Result<Bytes, ApiError> {
    tokio::time::timeout(longest, collect(body, limit)).await.unwrap_or_else(|_| Err(ApiError::body_too_slow()))
}

async fn collect(body: Body, limit: BodyLimit) -> Result<Bytes, ApiError> {
    let mut chunks = body.into_data_stream();
    let mut whole = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let broken = "Request body is incomplete; send it again";
        let chunk = chunk.map_err(|_| ApiError::new(http::StatusCode::BAD_REQUEST, broken))?;
        if (whole.len() + chunk.len()) as u64 > limit.most {
            discard(chunks).await;
            return Err(ApiError::beyond(limit, None));
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.into())
}

/// Refuses a request with a declared length beyond `limit`, after discarding the body. A client that sends
/// `Expect: 100-continue` has the response before it sends the body.
///
/// # Errors
/// 413 beyond `limit`.
pub(crate) async fn check_declared(request: Request, limit: BodyLimit) -> Result<Request, ApiError> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if length.is_none_or(|length| length <= limit.most) {
        return Ok(request);
    }
    if !request.headers().contains_key(header::EXPECT) {
        discard(request.into_body().into_data_stream()).await;
    }
    Err(ApiError::beyond(limit, length))
}

/// Reads a body and discards it, up to [`DISCARDED`] bytes.
async fn discard(mut chunks: axum::body::BodyDataStream) {
    let mut seen = 0;
    while let Some(Ok(chunk)) = chunks.next().await {
        seen += chunk.len() as u64;
        if seen > DISCARDED {
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
        let error = read(
            never,
            BodyLimit { most: 10, with_large: 10, needs_large: |_, most| ApiError::too_large(most) },
            Duration::ZERO,
        )
        .await
        .unwrap_err();
        assert!(!error.is_server_error() && format!("{error:?}").contains("408"), "{error:?}");
    }

    #[test]
    fn absent_amounts_are_absent() {
        for body in ["", " \n", "{}", r#"{"total_asset_usd":null}"#] {
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
            (r#"{"total_assets_usd":1}"#, "did you mean total_asset_usd?"),
            (r#"{"other":1}"#, "known fields are total_asset_usd"),
            (r#"{"total_asset_usd":1,"total_asset_usd":2}"#, "duplicate"),
            (r#"{"total_asset_usd":1,"when":[{"below":2,"below":3}]}"#, "duplicate"),
            (r#"{"other":1,"total_asset_usd":2,"\u006fther":3}"#, "duplicate"),
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
