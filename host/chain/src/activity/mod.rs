//! What an address has done on one chain. The node alone tells how many transactions it sent, and when the first and
//! the last; with whom, on how many days and what tokens moved is told by an explorer, where there is one, and what
//! tokens moved by the logs of the node, where that is wanted.

mod gaps;
mod history;
mod lists;
mod logs;
mod node;
mod others;
mod reading;
pub mod records;
mod tally;
mod transfers;

use serde_json::json;

pub(super) use history::{Histories, Listed, Source, Stands, Told};
pub(super) use logs::NodeLogs;
pub(super) use node::{ActivityReader, anchors, ask_nonce};
pub(super) use transfers::rows;

use assay_domain::{Activity, Address};
use assay_evm::client::{Block, Client, pinned};

/// `activity` of the node and what is listed besides as one, and whether that is whole and they agree: an explorer that
/// lists other than the transactions that the node counts is behind, or leaves some out.
pub(super) async fn together(
    client: &Client,
    wallet: Address,
    head: Block,
    activity: Activity,
    listed: &Listed,
) -> (Activity, bool) {
    match listed.told {
        Told::Nothing => return (activity, listed.whole),
        Told::Transfers => return (Activity { transfers: Some(listed.progress.transfers), ..activity }, listed.whole),
        Told::Lists => {}
    }
    let sent = listed.progress.sent;
    let agree = !listed.whole || sent == activity.transactions || counts_otherwise(client, wallet, head).await;
    if !agree {
        tracing::warn!(
            listed = sent,
            counted = activity.transactions,
            "explorer lists other transactions than the node counts; activity counts as partial"
        );
    }
    (tally::complete(activity, &listed.progress), listed.whole && agree)
}

/// The nonce of an account with code also counts what it created, or authorised without sending it.
async fn counts_otherwise(client: &Client, wallet: Address, head: Block) -> bool {
    let answer = client.batch(vec![("eth_getCode", json!([wallet, pinned(head.hash)]))]).await;
    let code = answer.ok().and_then(|answers| answers.into_iter().next()?.ok());
    code.is_some_and(|code| code.as_str().is_some_and(|code| code.len() > 2))
}
