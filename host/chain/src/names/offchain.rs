//! Off-chain lookups (EIP-3668): a contract names gateways, a gateway is queried, and the contract checks its answer.
//! Batch gateways (`x-batch-gateway:`) are not supported: each lookup is a single one.

use alloy::{
    primitives::{Bytes, FixedBytes},
    sol,
    sol_types::{SolError, SolValue},
};
use serde::Deserialize;
use serde_json::json;

use super::Unanswered;
use assay_domain::Address;
use assay_evm::{
    client::{Block, Client},
    guarded::{Barred, Guarded},
};

/// Maximum number of successive lookups, from the standard.
const MAX_LOOKUPS: usize = 4;
/// Maximum number of gateways queried for one answer.
const MAX_GATEWAYS: usize = 4;

sol! {
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);
}

/// The body of a gateway's answer.
#[derive(Deserialize)]
struct GatewayAnswer {
    data: Bytes,
}

/// The answer of contract `to` to the call `data`, directly or through gateways; `None` if it has no answer.
///
/// # Errors
/// [`Unanswered`].
pub(super) async fn call(
    client: &Client,
    guarded: &Guarded,
    to: Address,
    data: Bytes,
    head: Block,
) -> Result<Option<Bytes>, Unanswered> {
    let mut data = data;
    for followed in 0..=MAX_LOOKUPS {
        let revert = match client.stranger_attempt(to, &data, head.hash).await? {
            Ok(answer) => return Ok(Some(answer)),
            Err(revert) => revert,
        };
        let Ok(lookup) = OffchainLookup::abi_decode(&revert) else { return Ok(None) };
        // The revert may come from a contract that `to` called: its gateway must not answer for `to`.
        if lookup.sender != to || followed == MAX_LOOKUPS {
            return Ok(None);
        }
        let Some(answer) = ask(guarded, &lookup).await? else { return Ok(None) };
        data = callback(lookup.callbackFunction, answer, lookup.extraData);
    }
    Ok(None)
}

fn callback(function: FixedBytes<4>, answer: Bytes, extra: Bytes) -> Bytes {
    [function.as_slice(), &(answer, extra).abi_encode_params()].concat().into()
}

/// The first answer of a gateway. `None` if a gateway refuses, or none may be queried.
async fn ask(guarded: &Guarded, lookup: &OffchainLookup) -> Result<Option<Bytes>, Unanswered> {
    let (sender, data) = (format!("{:#x}", lookup.sender), lookup.callData.to_string());
    let mut failure = None;
    for url in lookup.urls.iter().take(MAX_GATEWAYS) {
        let filled = url.replace("{sender}", &sender).replace("{data}", &data);
        let answer = if url.contains("{data}") {
            guarded.get(&filled).await
        } else {
            guarded.post(&filled, &json!({ "data": data, "sender": sender })).await
        };
        match answer {
            Ok(body) => match serde_json::from_slice::<GatewayAnswer>(&body) {
                Ok(answer) => return Ok(Some(answer.data)),
                Err(_) => failure = Some("a gateway answered something other than JSON with data".to_owned()),
            },
            // A final refusal, except for the statuses that ask for a retry.
            Err(Barred::Status(status @ 400..=499)) if !matches!(status, 408 | 425 | 429) => return Ok(None),
            Err(barred @ Barred::Refused(_)) => tracing::debug!(%barred, "a gateway of a name is not asked"),
            Err(barred) => failure = Some(format!("a gateway {barred}")),
        }
    }
    failure.map_or(Ok(None), |why| Err(Unanswered(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_called_with_what_was_said_and_what_was_to_be_kept() {
        sol! { function told(bytes said, bytes extra) external view returns (bytes answer); }
        use alloy::sol_types::SolCall;
        let (said, extra) = (Bytes::from_static(b"said"), Bytes::from_static(b"extra"));
        let data = callback(toldCall::SELECTOR.into(), said.clone(), extra.clone());
        assert_eq!(data, Bytes::from(toldCall { said, extra }.abi_encode()));
    }
}
