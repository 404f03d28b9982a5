//! The transport of single contract calls. Every revert has the form of geth: code 3, and its data as the error's data.
//! A revert without data is checked at another endpoint, because some providers leave the data out.

use std::task::{Context, Poll};

use alloy::{
    primitives::Bytes,
    rpc::json_rpc::{ErrorPayload, RequestPacket, Response, ResponsePacket, ResponsePayload, RpcError},
    transports::{TransportError, TransportErrorKind, TransportFut},
};
use serde_json::value::to_raw_value;
use tower::Service;

use crate::{call::revert_data, failover::Failover, fault::Fault};

/// The code with which geth reports a revert.
const REVERT: i64 = 3;

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Reverts(pub(super) Failover);

impl Reverts {
    /// Sends `packet`. A revert without data is one that no other endpoint, if there is one, has data for.
    async fn send(&self, packet: RequestPacket) -> Result<ResponsePacket, Fault> {
        let (witness, mut answer) = self.0.send_with_witness::<ResponsePacket>(packet.clone(), None).await?;
        if has_answered(&mut answer) {
            return Ok(answer);
        }
        let Some(others) = self.0.besides(witness) else { return Ok(answer) };
        let mut second: ResponsePacket = others.send(packet).await?;
        has_answered(&mut second);
        Ok(second)
    }
}

/// Gives a revert its form; `false` for a revert without data.
fn has_answered(answer: &mut ResponsePacket) -> bool {
    let ResponsePacket::Single(Response { payload: ResponsePayload::Failure(error), .. }) = answer else { return true };
    let data = revert_data(error);
    if !matches!(Fault::of("eth_call", error), Fault::Reverted { .. }) {
        return true;
    }
    let found = data.is_some();
    *error =
        ErrorPayload { code: REVERT, data: data.and_then(|data: Bytes| to_raw_value(&data).ok()), ..error.clone() };
    found
}

impl Service<RequestPacket> for Reverts {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, packet: RequestPacket) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            this.send(packet).await.map_err(|fault| RpcError::Transport(TransportErrorKind::Custom(Box::new(fault))))
        })
    }
}
