//! The two forms of an answer: a packet of JSON texts, or one result that is decoded at once. Logs come in the second
//! form, because a packet copies and scans their text, of up to many megabytes, once more.

use alloy::rpc::json_rpc::{ErrorPayload, RequestPacket, Response, ResponsePacket, ResponsePayload};
use serde::de::DeserializeOwned;

use crate::fault::Fault;

/// An answer of an endpoint. Its errors and ids are checked before its result is used.
pub trait Answer: DeserializeOwned + Send {
    fn errors(&self) -> impl Iterator<Item = &ErrorPayload>;

    fn errors_mut(&mut self) -> impl Iterator<Item = &mut ErrorPayload>;

    /// Its first error.
    fn error(&self) -> Option<&ErrorPayload> {
        self.errors().next()
    }

    /// # Errors
    /// [`Fault`] where it does not belong to `request`: a proxy between this process and a node may mix answers up.
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
            (Self::Batch(_), _) => Ok(()),
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

/// An error about a request that was not understood has no id.
fn same_id<P>(response: &Response<P>, request: &RequestPacket) -> Result<(), Fault> {
    let nameless = response.id.is_none() && response.is_error();
    let same = request.as_single().is_none_or(|request| *request.id() == response.id);
    if same || nameless { Ok(()) } else { Err(Fault::Malformed("an answer to another request".into())) }
}
