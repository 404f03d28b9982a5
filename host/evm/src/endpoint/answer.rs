//! The two forms of an answer: a packet of JSON texts, or one result that is decoded directly. Logs use the second
//! form, because a packet copies and scans their text, of up to many megabytes, once more.

use std::collections::HashSet;

use alloy::rpc::json_rpc::{ErrorPayload, Id, RequestPacket, Response, ResponsePacket, ResponsePayload};
use serde::de::DeserializeOwned;

use super::form;
use crate::{fault::Fault, wording::BATCH};

/// An error in an answer: the method that it answers, and what it means.
pub type Failed = (String, Fault);

/// An endpoint's answer. Its errors and ids are checked before its result is used.
pub trait Answer: Sized + Send + 'static {
    /// The answer in `body`.
    ///
    /// # Errors
    /// If it is no JSON-RPC answer with such a result.
    fn read(body: &[u8]) -> serde_json::Result<Self>;

    fn errors(&self) -> impl Iterator<Item = (&Id, &ErrorPayload)>;

    fn errors_mut(&mut self) -> impl Iterator<Item = &mut ErrorPayload>;

    /// # Errors
    /// [`Fault`] if it does not belong to `request`: a proxy between this process and a node may mix up answers.
    fn belongs_to(&self, request: &RequestPacket) -> Result<(), Fault>;

    fn is_refused(&self) -> bool {
        self.errors().next().is_some()
    }

    /// Its errors.
    fn faults(&self, request: &RequestPacket) -> Vec<Failed> {
        let method = |id: &Id| {
            let known = request.requests().iter().find(|request| request.id() == id);
            known.map_or_else(|| method_of(request), |request| request.method()).to_owned()
        };
        let failed = |(id, error): (&Id, &ErrorPayload)| {
            let method = method(id);
            let fault = Fault::of(&method, error);
            (method, fault)
        };
        self.errors().map(failed).collect()
    }
}

/// The method of a request, or [`BATCH`].
pub(crate) fn method_of(request: &RequestPacket) -> &str {
    request.as_single().map_or(BATCH, |request| request.method())
}

impl Answer for ResponsePacket {
    fn read(body: &[u8]) -> serde_json::Result<Self> {
        form::packet(body)
    }

    fn errors(&self) -> impl Iterator<Item = (&Id, &ErrorPayload)> {
        self.responses().iter().filter_map(|response| Some((&response.id, response.payload.as_error()?)))
    }

    fn errors_mut(&mut self) -> impl Iterator<Item = &mut ErrorPayload> {
        let responses = match self {
            Self::Single(response) => std::slice::from_mut(response),
            Self::Batch(responses) => responses.as_mut_slice(),
        };
        responses.iter_mut().filter_map(|response| error_mut(&mut response.payload))
    }

    fn belongs_to(&self, request: &RequestPacket) -> Result<(), Fault> {
        match (self, request.as_batch()) {
            (Self::Single(response), Some(_)) => Err(match response.payload.as_error() {
                Some(payload) => Fault::of(BATCH, payload),
                None => Fault::Malformed("a single answer to a batch".into()),
            }),
            (Self::Single(response), None) => same_id(response, request),
            (Self::Batch(responses), _) => all_answered(responses, request),
        }
    }
}

impl<P: DeserializeOwned + Send + 'static> Answer for Response<P> {
    fn read(body: &[u8]) -> serde_json::Result<Self> {
        form::single(body)
    }

    fn errors(&self) -> impl Iterator<Item = (&Id, &ErrorPayload)> {
        self.payload.as_error().into_iter().map(|error| (&self.id, error))
    }

    fn errors_mut(&mut self) -> impl Iterator<Item = &mut ErrorPayload> {
        error_mut(&mut self.payload).into_iter()
    }

    fn belongs_to(&self, request: &RequestPacket) -> Result<(), Fault> {
        same_id(self, request)
    }
}

fn error_mut<P>(payload: &mut ResponsePayload<P>) -> Option<&mut ErrorPayload> {
    match payload {
        ResponsePayload::Failure(error) => Some(error),
        ResponsePayload::Success(_) => None,
    }
}

/// A batch may be answered in any order, but not in part. An error in a list that is too short is about all calls.
fn all_answered(responses: &[Response], request: &RequestPacket) -> Result<(), Fault> {
    let ids: HashSet<_> = responses.iter().map(|response| &response.id).collect();
    let missing = request.requests().iter().filter(|request| !ids.contains(request.id())).count();
    let mut errors = responses.iter().filter_map(|response| response.payload.as_error());
    let of_all = |error: &ErrorPayload| Fault::of(method_of(request), error);
    if missing > 0 {
        let missing = || Fault::Malformed(format!("no answer to {missing} of {} calls of a batch", request.len()));
        return Err(errors.next().map_or_else(missing, of_all));
    }
    refused_one_by_one(responses, request).map_or(Ok(()), Err)
}

/// Some endpoints refuse a batch by refusing each of its calls, in words that no contract chose.
fn refused_one_by_one(responses: &[Response], request: &RequestPacket) -> Option<Fault> {
    let method = |id: &Id| request.requests().iter().find(|request| request.id() == id).map(|request| request.method());
    let refused = |response: &Response| {
        let error = response.payload.as_error()?;
        let is_unknown = matches!(Fault::of(method(&response.id)?, error), Fault::Refused { .. });
        Some(Fault::of(BATCH, error)).filter(|fault| is_unknown && matches!(fault, Fault::TooManyCalls { .. }))
    };
    let refusals: Option<Vec<Fault>> = responses.iter().map(refused).collect();
    refusals?.into_iter().next().filter(|_| responses.len() > 1)
}

/// An error about a request that was not understood has no id.
fn same_id<P>(response: &Response<P>, request: &RequestPacket) -> Result<(), Fault> {
    let nameless = response.id.is_none() && response.is_error();
    let same = request.as_single().is_none_or(|request| *request.id() == response.id);
    if same || nameless { Ok(()) } else { Err(Fault::Malformed("an answer to another request".into())) }
}

#[cfg(test)]
mod tests {
    use alloy::rpc::json_rpc::Request;
    use serde_json::{Value, json};

    use super::*;

    fn belongs(answer: Value) -> Result<(), Fault> {
        let request = |id| Request::new("eth_chainId", Id::Number(id), ()).serialize().unwrap();
        let packet = RequestPacket::Batch(vec![request(1), request(2)]);
        ResponsePacket::read(answer.to_string().as_bytes()).unwrap().belongs_to(&packet)
    }

    fn error(id: Value, message: &str) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32005, "message": message } })
    }

    #[test]
    fn a_batch_is_answered_in_any_order_and_not_in_part() {
        let answer = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "result": "0x1" });
        assert_eq!(belongs(json!([answer(2), answer(1)])), Ok(()));
        for wrong in [json!([answer(1)]), json!([answer(1), answer(3)]), json!([])] {
            assert!(matches!(belongs(wrong.clone()), Err(Fault::Malformed(_))), "{wrong}");
        }
        for refused in [json!([error(Value::Null, "rate limit")]), json!([error(json!(1), "rate limit")])] {
            assert!(matches!(belongs(refused), Err(Fault::RateLimited { .. })));
        }
    }

    #[test]
    fn a_batch_that_is_too_large_may_be_refused_call_by_call() {
        let each = |message| json!([error(json!(1), message), error(json!(2), message)]);
        let refused = belongs(each("batch size exceeds the limit of 10"));
        assert_eq!(refused, Err(Fault::TooManyCalls { most: Some(10) }));
        assert_eq!(belongs(each("header not found")), Ok(()));
        let one = json!([error(json!(1), "batch limit"), json!({ "id": 2, "result": "0x1" })]);
        assert_eq!(belongs(one), Ok(()));
    }
}
