//! Calls of the contracts that resolve names: only [`call`] makes them. Anyone can write a resolver, and refer it to
//! any gateway (EIP-3668). Alloy follows such a lookup: it bounds what it decodes, and serves batches of lookups
//! (`x-batch-gateway:true`, ENSIP-21) itself. Gateways are queried by the guarded client.

use alloy::{
    eips::BlockId,
    network::TransactionBuilder,
    primitives::Bytes,
    rpc::types::{TransactionInputKind, TransactionRequest},
};
use alloy_provider::{
    CcipReadClient, CcipReadConfig, CcipReadError, CcipReadGateway, CcipReadGatewayError, CcipReadRequest,
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::Unanswered;
use crate::limits;
use assay_domain::Address;
use assay_evm::{
    call,
    client::{Block, Client, PROOF_GAS},
    fault::Fault,
    guarded::{Barred, Guarded},
};

/// How a contract answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LookupOutcome {
    Returned(Bytes),
    /// With this data; empty if no endpoint gave it.
    Reverted(Bytes),
    /// A gateway has no record, or the contract asks for a lookup that is not made.
    Refused,
}

/// The answer of contract `to` to the call `data`, directly or through gateways.
///
/// # Errors
/// [`Unanswered`].
pub(super) async fn call(
    client: &Client,
    guarded: &Guarded,
    to: Address,
    data: Vec<u8>,
    head: Block,
) -> Result<LookupOutcome, Unanswered> {
    let limits =
        CcipReadConfig { max_redirects: limits::OFFCHAIN_LOOKUPS, max_gateway_urls: 32, ..CcipReadConfig::default() };
    let reader = CcipReadClient::new(Gateways(guarded.clone())).with_config(limits);
    let request = TransactionRequest::default()
        .with_to(to)
        .with_gas_limit(PROOF_GAS)
        .with_input_kind(data, TransactionInputKind::Data);
    let error = match reader.call_at(&client.stranger_provider(), request, BlockId::hash(head.hash)).await {
        Ok(answer) => return Ok(LookupOutcome::Returned(answer)),
        Err(error) => error,
    };
    match error {
        CcipReadError::Transport(error) => match call::revert(error) {
            Ok(data) => Ok(LookupOutcome::Reverted(data)),
            // No contract that resolves names needs so long an answer.
            Err(Fault::TooDense { .. }) => Ok(LookupOutcome::Refused),
            Err(fault) => Err(fault.into()),
        },
        CcipReadError::Gateway(error) if error.status.is_some_and(is_final) => Ok(LookupOutcome::Refused),
        CcipReadError::Gateway(error) => Err(Unanswered(error.message)),
        // A revert of a contract that `to` called: its gateway must not answer for `to`.
        CcipReadError::SenderMismatch { .. }
        // Another client would not get further.
        | CcipReadError::TooManyRedirects(_)
        | CcipReadError::InvalidBatch(_)
        | CcipReadError::ResourceLimit(_) => Ok(LookupOutcome::Refused),
        // A lookup that an endpoint cut, among others.
        error => Err(Unanswered(error.to_string())),
    }
}

/// Whether a gateway's HTTP status is its last word: a refusal that does not ask for a retry.
pub(super) fn is_final(status: u16) -> bool {
    matches!(status, 400..=499) && !matches!(status, 408 | 425 | 429)
}

/// Gateways, as the guarded client reaches them.
struct Gateways(Guarded);

/// The body of a gateway's answer.
#[derive(Deserialize)]
struct GatewayAnswer {
    data: Bytes,
}

#[async_trait]
impl CcipReadGateway for Gateways {
    /// The first answer of a gateway. If none may be queried, the answer is that of one that refuses.
    async fn request(&self, request: &CcipReadRequest, most: usize) -> Result<Bytes, CcipReadGatewayError> {
        let (sender, data) = (format!("{:#x}", request.sender), request.data.to_string());
        let mut failure = CcipReadGatewayError::http(403, "no gateway that may be queried");
        for url in request.urls.iter().take(limits::GATEWAYS) {
            let is_get = url.contains("{data}");
            if url.len() > limits::GATEWAY_TEMPLATE || is_get && data.len() > limits::GATEWAY_TEMPLATE {
                continue;
            }
            let filled = url.replace("{sender}", &sender).replace("{data}", &data);
            let answer = if is_get {
                self.0.get(&filled).await
            } else {
                self.0.post(&filled, &json!({ "data": data, "sender": sender })).await
            };
            failure = match answer {
                Ok(body) => match serde_json::from_slice::<GatewayAnswer>(&body) {
                    Ok(GatewayAnswer { data }) if data.len() <= most => return Ok(data),
                    Ok(_) => CcipReadGatewayError::new("a gateway answered too much"),
                    Err(_) => CcipReadGatewayError::new("a gateway answered something other than JSON with data"),
                },
                Err(Barred::Status(status)) if is_final(status) => {
                    return Err(CcipReadGatewayError::http(status, "a gateway has no record"));
                }
                Err(Barred::Status(status)) => {
                    CcipReadGatewayError::http(status, format!("a gateway answered with status {status}"))
                }
                Err(barred @ Barred::Refused(_)) => {
                    tracing::debug!(%barred, "a gateway of a name is not queried");
                    continue;
                }
                Err(barred) => CcipReadGatewayError::new(format!("a gateway {barred}")),
            };
        }
        Err(failure)
    }
}
