//! What an address has done on one chain. The node counts its transactions and dates the first and the last; an
//! explorer, if there is one, lists counterparties, active days and transferred tokens; on other chains the logs of
//! the node can list the tokens.

mod account;
mod gaps;
mod history;
mod lists;
mod logs;
mod node;
mod others;
mod progress;
mod reading;
pub(crate) mod records;
mod search;
mod tally;
mod transfers;

pub(super) use account::Answers;
pub(super) use history::{AnchorCheck, Histories, ListingSource};
pub(super) use logs::NodeLogs;
pub(super) use node::{ActivityQuestion, ActivityReader, NodeActivity, StoredSearch};
pub(super) use progress::{Listed, ListedScope};
pub(super) use search::{Goal, SearchMethod};
pub(super) use transfers::rows;

use assay_domain::{Activity, Part, Unread};

/// The node's activity combined with the listed one, and its unread parts. A list of all transactions dates the first
/// and the last one. An explorer that lists another number of them than the node counts is behind, or leaves some out.
pub(super) fn combined(node: NodeActivity, listed: Option<&Listed>) -> (Activity, Vec<Unread>) {
    let NodeActivity { mut activity, mut unread, has_code } = node;
    let Some(listed) = listed else { return (activity, unread) };
    match listed.scope {
        ListedScope::Nothing => return (activity, unread),
        ListedScope::Transfers => return (Activity { transfers: Some(listed.progress.transfers), ..activity }, unread),
        ListedScope::All => {}
    }
    let counted = activity.transactions;
    let is_counted = unread.iter().all(|unread| unread.part != Part::Transactions);
    if let Some(sent) = listed.sent().filter(|_| is_counted) {
        if sent == counted || has_code {
            unread.retain(|unread| !matches!(unread.part, Part::FirstTransaction | Part::LastTransaction));
            if activity.by_day {
                (activity.first_transaction, activity.last_transaction, activity.by_day) = (None, None, false);
            }
        } else {
            tracing::warn!(
                listed = sent,
                counted,
                "the explorer lists another number of transactions than the node counts; activity counts as partial"
            );
            let reason = format!("the explorer lists {sent} and the node counts {counted}; ask again later");
            unread.push(Unread::new(Part::Transactions, reason));
        }
    }
    (tally::complete(activity, &listed.progress), unread)
}
