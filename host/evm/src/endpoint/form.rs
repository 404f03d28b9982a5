//! JSON-RPC answers as servers send them. The standard allows a result or an error; many servers send both, one of them
//! as null, an error that is a text or has no message, or an error without the envelope. All of these are read.

use alloy::rpc::json_rpc::{ErrorPayload, Id, Response, ResponsePacket, ResponsePayload};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error},
};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// The members of an error that may be its message, by preference.
const MESSAGES: [&str; 7] = ["message", "msg", "details", "detail", "reason", "error", "title"];

/// One answer, with everything that an endpoint may send in it.
#[derive(Deserialize)]
#[serde(bound = "P: DeserializeOwned")]
struct Loose<P> {
    #[serde(default = "nameless")]
    id: Id,
    /// The outer value is `None` if there is no such member.
    #[serde(default = "absent", deserialize_with = "given")]
    result: Option<Option<P>>,
    #[serde(default)]
    error: Value,
    /// Members of an error, for one that has no envelope.
    #[serde(default)]
    code: Value,
    #[serde(default)]
    message: Value,
}

fn nameless() -> Id {
    Id::None
}

fn absent<P>() -> Option<Option<P>> {
    None
}

fn given<'de, P: DeserializeOwned, D: Deserializer<'de>>(value: D) -> Result<Option<Option<P>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// One answer to a request.
///
/// # Errors
/// If `body` is no JSON-RPC answer, or its result has another form.
pub(super) fn single<P: DeserializeOwned>(body: &[u8]) -> serde_json::Result<Response<P>> {
    match serde_json::from_slice::<Loose<P>>(body) {
        Ok(answer) => answer.response(),
        // An error may stand beside a result of any form, or in a list.
        Err(error) => match packet(body) {
            Ok(ResponsePacket::Single(answer)) => only_error(answer).ok_or(error),
            Ok(ResponsePacket::Batch(answers)) if answers.len() == 1 => {
                answers.into_iter().find_map(only_error).ok_or(error)
            }
            _ => Err(error),
        },
    }
}

/// The answers to several requests, or one answer.
///
/// # Errors
/// If `body` is no JSON-RPC answer.
pub(super) fn packet(body: &[u8]) -> serde_json::Result<ResponsePacket> {
    let is_list = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    if !is_list {
        return Ok(ResponsePacket::Single(serde_json::from_slice::<Loose<Box<RawValue>>>(body)?.response()?));
    }
    let answers: Vec<Loose<Box<RawValue>>> = serde_json::from_slice(body)?;
    Ok(ResponsePacket::Batch(answers.into_iter().map(Loose::response).collect::<Result<_, _>>()?))
}

fn only_error<P>(answer: Response) -> Option<Response<P>> {
    match answer.payload {
        ResponsePayload::Failure(error) => Some(Response { id: answer.id, payload: ResponsePayload::Failure(error) }),
        ResponsePayload::Success(_) => None,
    }
}

impl<P: DeserializeOwned> Loose<P> {
    fn response(self) -> serde_json::Result<Response<P>> {
        let bare = || Value::from_iter([("code", self.code.clone()), ("message", self.message.clone())]);
        let error = match (self.error, &self.result) {
            (Value::Null, None) if !self.message.is_null() => Some(bare()),
            (Value::Null, _) => None,
            (error, Some(Some(_))) if says_nothing(&error) => None,
            (error, _) => Some(error),
        };
        let payload = match (error, self.result) {
            (Some(error), _) => ResponsePayload::Failure(payload(&error)),
            (None, Some(Some(result))) => ResponsePayload::Success(result),
            // A result such as that of a block that does not exist.
            (None, Some(None)) => ResponsePayload::Success(P::deserialize(Value::Null)?),
            (None, None) => return Err(serde_json::Error::custom("neither a result nor an error")),
        };
        Ok(Response { id: self.id, payload })
    }
}

/// Whether an error beside a result reports nothing.
fn says_nothing(error: &Value) -> bool {
    match error {
        Value::Null => true,
        Value::Bool(is_error) => !is_error,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.values().all(says_nothing),
        Value::Number(code) => code.as_i64() == Some(0),
    }
}

/// The error in any form. One that is not understood becomes its own message.
fn payload(error: &Value) -> ErrorPayload {
    let (code, mut message) = match error.get("code") {
        Some(Value::Number(code)) => (code.as_i64().unwrap_or_default(), None),
        Some(Value::String(code)) => match code.parse() {
            Ok(code) => (code, None),
            Err(_) => (0, Some(code.clone())),
        },
        _ => (0, None),
    };
    let words = match error {
        Value::String(text) => Some(text.clone()),
        _ => MESSAGES.iter().find_map(|name| error.get(name)?.as_str()).map(str::to_owned),
    };
    message = match (message, words) {
        (Some(code), Some(words)) => Some(format!("{code}: {words}")),
        (code, words) => words.or(code),
    };
    let data = error.get("data").filter(|data| !data.is_null()).and_then(|data| to_raw_value(data).ok());
    ErrorPayload { code, message: message.unwrap_or_else(|| error.to_string()).into(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Vec<u64>, (i64, String)> {
        let answer = single::<Vec<u64>>(body.as_bytes()).map_err(|error| (1, error.to_string()))?;
        match answer.payload {
            ResponsePayload::Success(result) => Ok(result),
            ResponsePayload::Failure(error) => Err((error.code, error.message.into_owned())),
        }
    }

    #[test]
    fn a_result_beside_an_empty_error_is_a_result() {
        for error in ["null", "{}", "\"\"", "false", "[]", r#"{"code":0,"message":""}"#] {
            assert_eq!(read(&format!(r#"{{"id":1,"result":[7],"error":{error}}}"#)), Ok(vec![7]), "{error}");
            assert_eq!(read(&format!(r#"{{"id":1,"error":{error},"result":[7]}}"#)), Ok(vec![7]), "{error}");
        }
    }

    #[test]
    fn an_error_counts_whatever_stands_beside_it_and_whatever_its_form() {
        let limited = |code| Err((code, "limited".to_owned()));
        for result in ["null", "[]", "\"0x\"", "{}", "false", "[7]"] {
            let body = format!(r#"{{"id":1,"result":{result},"error":{{"code":-32005,"message":"limited"}}}}"#);
            assert_eq!(read(&body), limited(-32005), "{result}");
        }
        for (body, code) in [
            (r#"{"error":"limited"}"#, 0),
            (r#"{"code":-32005,"message":"limited"}"#, -32005),
            (r#"{"message":"limited"}"#, 0),
            (r#"{"id":1,"error":{"code":"-32005","message":"limited"}}"#, -32005),
            (r#"{"id":1,"error":{"code":-32005,"details":"limited"}}"#, -32005),
            (r#"[{"id":null,"error":{"code":-32005,"message":"limited"}}]"#, -32005),
        ] {
            assert_eq!(read(body), limited(code), "{body}");
        }
        let worded = r#"{"error":{"code":"limit","message":"of rate"}}"#;
        assert_eq!(read(worded), Err((0, "limit: of rate".into())));
        assert_eq!(read(r#"{"error":{"other":1}}"#), Err((0, r#"{"other":1}"#.into())));
    }

    #[test]
    fn a_null_is_a_result_only_where_one_is_expected() {
        let read = |body: &str| single::<Option<u64>>(body.as_bytes()).map(|answer| answer.payload.is_success()).ok();
        assert_eq!(read(r#"{"id":1,"result":null}"#), Some(true));
        assert_eq!(read(r#"{"id":1,"result":null,"error":null}"#), Some(true));
        assert_eq!(read(r#"{"id":1}"#), None);
        assert!(single::<Vec<u64>>(br#"{"id":1,"result":null}"#).is_err());
    }
}
