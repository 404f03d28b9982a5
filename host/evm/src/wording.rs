//! Maps the JSON-RPC errors of nodes and providers to faults: by the method that was asked and by the code first, then
//! by the words. No standard distinguishes these errors, so an error that is not known here is [`Fault::Refused`],
//! which is never final: another endpoint is asked, or the request is split or repeated.
//!
//! A contract chooses the reason of its revert. Errors of calls are therefore compared with the forms of a revert
//! before anything else, and a call's words never decide about access to the endpoint.

mod sending;
mod words;

use alloy::{
    rpc::json_rpc::{ErrorPayload, RpcError},
    transports::TransportError,
};

use crate::{call::revert_data, fault::Fault, limits};
use assay_domain::display_text;
use sending::rejection;
use words::Sign;

/// The method of a request that has several calls.
pub(crate) const BATCH: &str = "batch";

/// What a request asks for, as far as the meaning of an error depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MethodKind {
    /// A batch that was refused as a whole.
    Batch,
    Logs,
    Receipt,
    /// The execution of a contract, which may choose the words.
    Call,
    Send,
    /// Blocks, balances, nonces, code, storage, and everything else that the node itself answers.
    State,
}

impl MethodKind {
    fn of(method: &str) -> Self {
        match method {
            BATCH => Self::Batch,
            "eth_getLogs" => Self::Logs,
            "eth_getTransactionReceipt" => Self::Receipt,
            "eth_call" | "eth_estimateGas" => Self::Call,
            "eth_sendRawTransaction" => Self::Send,
            _ => Self::State,
        }
    }
}

impl Fault {
    /// The fault that a JSON-RPC error of `method` means.
    pub fn of(method: &str, error: &ErrorPayload) -> Self {
        let asked = MethodKind::of(method);
        if asked == MethodKind::Call && is_of_the_contract(error) {
            return Self::Reverted { message: short(&error.message) };
        }
        let data = error.data.as_ref().filter(|_| asked != MethodKind::Call);
        let data = data.map(|data| data.get()).filter(|data| data.len() <= limits::ERROR_DATA).unwrap_or_default();
        let text = format!("{} {data}", error.message).to_lowercase();
        if let Some(why) = rejection(&text).filter(|_| asked == MethodKind::Send) {
            return Self::Rejected { why, message: short(&error.message) };
        }
        meaning(asked, Sign::of(error.code, &text), error.code, &error.message)
    }

    /// The fault of a request for `method` that the client library reports.
    pub fn of_transport(method: &str, error: TransportError) -> Self {
        match error {
            RpcError::ErrorResp(payload) => Self::of(method, &payload),
            RpcError::Transport(kind) => match kind.as_custom().and_then(|inner| inner.downcast_ref::<Self>()) {
                Some(fault) => fault.clone(),
                None => Self::Malformed(kind.to_string()),
            },
            RpcError::NullResp => Self::Malformed("null".into()),
            RpcError::DeserError { err, .. } => Self::unreadable(&err),
            other => Self::Malformed(other.to_string()),
        }
    }

    /// The fault that a text instead of a JSON-RPC answer means, such as the page of a proxy; `None` if its words are
    /// not known.
    pub(crate) fn of_text(method: &str, text: &str) -> Option<Self> {
        let asked = MethodKind::of(method);
        match meaning(asked, Sign::of(0, &text.to_lowercase()), 0, text) {
            Self::Refused { .. } => None,
            fault => Some(fault),
        }
    }
}

/// Whether the error of a call reports that the call ran and failed. Code 3 and the data of a revert say so whatever
/// the words are, but some endpoints also use code 3 for a block that they do not have.
fn is_of_the_contract(error: &ErrorPayload) -> bool {
    let words = error.message.to_lowercase();
    let data = error.data.as_ref().map(|data| data.get().to_lowercase()).unwrap_or_default();
    revert_data(error).is_some()
        || words::has_failed(&words)
        || words::has_failed(&data)
        || (error.code == 3 && !matches!(Sign::of(0, &words), Sign::Ahead))
}

/// The fault that `sign` means in an answer to `asked`.
fn meaning(asked: MethodKind, sign: Sign, code: i64, message: &str) -> Fault {
    let unknown = || Fault::Refused { code, message: short(message) };
    match (asked, sign) {
        // A pause helps, whatever was asked.
        (_, Sign::Rate { after }) => Fault::RateLimited { message: short(message), after },
        // A contract may revert with these words in a form that is not known here, and a node reject a transaction.
        (MethodKind::Call | MethodKind::Send, Sign::Denied) => unknown(),
        // The key or the plan of the operator: a repetition changes nothing.
        (_, Sign::Denied) => Fault::Denied(short(message)),
        // Only a batch has a number of calls.
        (MethodKind::Batch, Sign::Calls { most }) => Fault::TooManyCalls { most },
        // Only log queries have a range.
        (MethodKind::Logs, Sign::Wide { limit }) => Fault::TooWide { limit },
        // A shorter range has fewer logs.
        (MethodKind::Logs, Sign::Large { suggested }) => Fault::TooDense { suggested },
        // Another endpoint may be faster, and a shorter range takes less time.
        (MethodKind::Logs, Sign::Slow) => Fault::Slow { message: short(message) },
        (MethodKind::Logs, Sign::Unscoped) => Fault::Unscoped,
        // Fewer calls have a smaller answer.
        (MethodKind::Batch | MethodKind::Call | MethodKind::State | MethodKind::Receipt, Sign::Large { .. }) => {
            Fault::TooDense { suggested: None }
        }
        // Fewer calls may be within the limit.
        (MethodKind::Batch, Sign::Limit) => Fault::TooManyCalls { most: None },
        // The endpoint may have the block in a moment.
        (
            MethodKind::Batch | MethodKind::Logs | MethodKind::Receipt | MethodKind::Call | MethodKind::State,
            Sign::Ahead,
        ) => Fault::UnknownBlock,
        // Nodes delete old history and old state separately; another node may keep them.
        (MethodKind::Logs, Sign::Pruned) => Fault::NoHistory,
        (MethodKind::Receipt, Sign::Pruned) => Fault::NoReceipt,
        (MethodKind::Batch | MethodKind::Call | MethodKind::State, Sign::Pruned) => Fault::NoState,
        // The outcome of a transaction is unknown: no such error says that the node does not have it.
        (
            MethodKind::Send,
            Sign::Ahead
            | Sign::Calls { .. }
            | Sign::Large { .. }
            | Sign::Limit
            | Sign::Pruned
            | Sign::Slow
            | Sign::Unscoped
            | Sign::Wide { .. },
        ) => unknown(),
        // Which limit is not said, and some endpoints answer so whatever the range.
        (MethodKind::Logs, Sign::Limit)
        // The words of a limit that this request does not have.
        | (
            MethodKind::Batch | MethodKind::Receipt | MethodKind::Call | MethodKind::State,
            Sign::Slow | Sign::Unscoped | Sign::Wide { .. },
        )
        | (MethodKind::Logs | MethodKind::Receipt | MethodKind::Call | MethodKind::State, Sign::Calls { .. })
        | (MethodKind::Receipt | MethodKind::Call | MethodKind::State, Sign::Limit) => unknown(),
        // Trouble of the node, bad parameters by its account, a method that it lacks, or anything else.
        (_, Sign::None) => unknown(),
    }
}

/// The start of a provider's message, which may be long.
fn short(message: &str) -> String {
    display_text(message, 200)
}

#[cfg(test)]
mod providers;
#[cfg(test)]
mod tests;
