//! Contracts that know no answer and say who does (EIP-3668): the gateway that a resolver names is asked, and the
//! resolver judges what it said. Gateways that bundle several lookups in one (`x-batch-gateway:`) are not spoken to:
//! nothing here asks for several.

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

/// References followed one after another, by the standard.
const DEPTH: usize = 4;
/// Gateways asked for one answer.
const GATEWAYS: usize = 4;

sol! {
    error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);
}

/// What a gateway answers.
#[derive(Deserialize)]
struct Said {
    data: Bytes,
}

/// What `to` answers to `data`, itself or through gateways; `None` where it has no answer.
///
/// # Errors
/// [`Unanswered`] where that cannot be told.
pub(super) async fn call(
    client: &Client,
    guarded: &Guarded,
    to: Address,
    data: Bytes,
    head: Block,
) -> Result<Option<Bytes>, Unanswered> {
    let mut data = data;
    for followed in 0..=DEPTH {
        let why = match client.attempt(to, &data, head.hash).await? {
            Ok(answer) => return Ok(Some(answer)),
            Err(why) => why,
        };
        let Ok(lookup) = OffchainLookup::abi_decode(&why) else { return Ok(None) };
        // A contract that was called on the way could otherwise have its own gateway speak for this one.
        if lookup.sender != to || followed == DEPTH {
            return Ok(None);
        }
        let Some(said) = ask(guarded, &lookup).await? else { return Ok(None) };
        data = callback(lookup.callbackFunction, said, lookup.extraData);
    }
    Ok(None)
}

fn callback(function: FixedBytes<4>, said: Bytes, extra: Bytes) -> Bytes {
    [function.as_slice(), &(said, extra).abi_encode_params()].concat().into()
}

/// What the first gateway says that says anything. `None` where one says no, or none may be asked.
async fn ask(guarded: &Guarded, lookup: &OffchainLookup) -> Result<Option<Bytes>, Unanswered> {
    let (sender, data) = (format!("{:#x}", lookup.sender), lookup.callData.to_string());
    let mut silent = None;
    for url in lookup.urls.iter().take(GATEWAYS) {
        let filled = url.replace("{sender}", &sender).replace("{data}", &data);
        let answer = if url.contains("{data}") {
            guarded.get(&filled).await
        } else {
            guarded.post(&filled, &json!({ "data": data, "sender": sender })).await
        };
        match answer {
            Ok(body) => match serde_json::from_slice::<Said>(&body) {
                Ok(said) => return Ok(Some(said.data)),
                Err(_) => silent = Some("a gateway answered something else than JSON with data".to_owned()),
            },
            // Its last word, except where it says "later".
            Err(Barred::Status(status @ 400..=499)) if !matches!(status, 408 | 425 | 429) => return Ok(None),
            Err(barred @ Barred::Refused(_)) => tracing::debug!(%barred, "a gateway of a name"),
            Err(barred) => silent = Some(format!("a gateway {barred}")),
        }
    }
    silent.map_or(Ok(None), |why| Err(Unanswered(why)))
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
