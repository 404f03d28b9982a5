//! What an address has done on one chain. The node counts its transactions and dates the first and the last; an
//! explorer, where there is one, lists counterparties, active days and transferred tokens; on other chains the logs of
//! the node can list the tokens.

mod gaps;
mod history;
mod lists;
mod logs;
mod node;
mod others;
mod progress;
mod reading;
pub mod records;
mod tally;
mod transfers;

use serde_json::json;

pub(super) use history::{AnchorCheck, Histories, Source};
pub(super) use logs::NodeLogs;
pub(super) use node::{ActivityReader, Latest, anchors, ask_nonce};
pub(super) use progress::{Listed, Scope};
pub(super) use transfers::rows;

use assay_domain::{Activity, Address};
use assay_evm::client::{Block, Client, pinned};

/// `activity` of the node and what is listed as one, and whether it is complete. An explorer that lists another number
/// of transactions than the node counts is behind, or leaves some out.
pub(super) async fn combined(
    client: &Client,
    wallet: Address,
    head: Block,
    activity: Activity,
    listed: &Listed,
) -> (Activity, bool) {
    match listed.scope {
        Scope::Nothing => return (activity, listed.complete),
        Scope::Transfers => {
            return (Activity { transfers: Some(listed.progress.transfers), ..activity }, listed.complete);
        }
        Scope::All => {}
    }
    let sent = listed.progress.sent;
    let agree = !listed.complete || sent == activity.transactions || has_code(client, wallet, head).await;
    if !agree {
        tracing::warn!(
            listed = sent,
            counted = activity.transactions,
            "the explorer lists another number of transactions than the node counts; activity counts as partial"
        );
    }
    (tally::complete(activity, &listed.progress), listed.complete && agree)
}

/// The nonce of an account with code also counts contracts that it created and authorizations (EIP-7702).
async fn has_code(client: &Client, wallet: Address, head: Block) -> bool {
    let answer = client.batch(vec![("eth_getCode", json!([wallet, pinned(head.hash)]))]).await;
    let code = answer.ok().and_then(|answers| answers.into_iter().next()?.ok());
    code.is_some_and(|code| code.as_str().is_some_and(|code| code.len() > 2))
}
