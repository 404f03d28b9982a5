//! The two forms of an answer: a packet of JSON texts, or one result that is decoded directly. Logs use the second
//! form, because a packet copies and scans their text, of up to many megabytes, once more.

use std::collections::HashSet;

use alloy::rpc::json_rpc::{ErrorPayload, RequestPacket, Response, ResponsePacket, ResponsePayload};
use serde::de::DeserializeOwned;

use crate::fault::Fault;

/// An endpoint's answer. Its errors and ids are checked before its result is used.
pub trait Answer: DeserializeOwned + Send {
    fn errors(&self) -> impl Iterator<Item = &ErrorPayload>;

    fn errors_mut(&mut self) -> impl Iterator<Item = &mut ErrorPayload>;

    /// Its first error.
    fn error(&self) -> Option<&ErrorPayload> {
        self.errors().next()
    }

    /// # Errors
    /// [`Fault`] if it does not belong to `request`: a proxy between this process and a node may mix up answers.
    fn belongs_to(&self, request: &RequestPacket) -> Result<(), Fault>;
}

impl Answer for ResponsePacket {
    fn errors(&self) -> impl Iterator<Item = &ErrorPayload> {
        self.iter_errors()
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
                Some(payload) => Fault::from_payload(payload),
                None => Fault::Malformed("a single answer to a batch".into()),
            }),
            (Self::Single(response), None) => same_id(response, request),
            (Self::Batch(responses), _) => all_answered(responses, request),
        }
    }
}

impl<P: DeserializeOwned + Send> Answer for Response<P> {
    fn errors(&self) -> impl Iterator<Item = &ErrorPayload> {
        self.payload.as_error().into_iter()
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

/// A batch may be answered in any order, but not in part.
fn all_answered(responses: &[Response], request: &RequestPacket) -> Result<(), Fault> {
    let ids: HashSet<_> = responses.iter().map(|response| &response.id).collect();
    let missing = request.requests().iter().filter(|request| !ids.contains(request.id())).count();
    if missing == 0 {
        return Ok(());
    }
    let nameless = responses.iter().find(|response| response.id.is_none()).and_then(|one| one.payload.as_error());
    Err(match nameless {
        Some(payload) => Fault::from_payload(payload),
        None => Fault::Malformed(format!("no answer to {missing} of {} calls of a batch", request.len())),
    })
}

/// An error about a request that was not understood has no id.
fn same_id<P>(response: &Response<P>, request: &RequestPacket) -> Result<(), Fault> {
    let nameless = response.id.is_none() && response.is_error();
    let same = request.as_single().is_none_or(|request| *request.id() == response.id);
    if same || nameless { Ok(()) } else { Err(Fault::Malformed("an answer to another request".into())) }
}

#[cfg(test)]
mod tests {
    use alloy::rpc::json_rpc::{Id, Request};
    use serde_json::{Value, json};

    use super::*;

    fn belongs(answer: Value) -> Result<(), Fault> {
        let request = |id| Request::new("eth_chainId", Id::Number(id), ()).serialize().unwrap();
        let packet = RequestPacket::Batch(vec![request(1), request(2)]);
        serde_json::from_str::<ResponsePacket>(&answer.to_string()).unwrap().belongs_to(&packet)
    }

    #[test]
    fn a_batch_is_answered_in_any_order_and_not_in_part() {
        let answer = |id: u64| json!({ "jsonrpc": "2.0", "id": id, "result": "0x1" });
        assert_eq!(belongs(json!([answer(2), answer(1)])), Ok(()));
        for wrong in [json!([answer(1)]), json!([answer(1), answer(3)]), json!([])] {
            assert!(matches!(belongs(wrong.clone()), Err(Fault::Malformed(_))), "{wrong}");
        }
        let refused = json!([{ "jsonrpc": "2.0", "id": null, "error": { "code": -32005, "message": "rate limit" } }]);
        assert!(matches!(belongs(refused), Err(Fault::RateLimited { .. })));
    }
}
