//! Why a part of a chain is unread, in words for the caller. They name no endpoint.

use assay_evm::fault::Fault;

/// The reason in `fault`, the answer of the endpoint that was asked last. The others failed too, perhaps for other
/// reasons.
pub(crate) fn of(fault: &Fault) -> String {
    let reason: &str = match fault {
        Fault::Unreachable(_) | Fault::TimedOut(_) => "no endpoint answers; try again later",
        Fault::Denied(_) => "the last endpoint asked denies access; correct its URL or credential in chains.rpc",
        Fault::WrongChain { .. } => "the last endpoint asked serves another chain; correct chains.rpc",
        Fault::RateLimited { .. } | Fault::TooManyCalls { .. } => {
            "the last endpoint asked limits the rate of requests; try again later"
        }
        Fault::NoReceipt => "the last endpoint asked does not keep the receipts of old blocks",
        Fault::NoState => "the last endpoint asked does not keep the state of that block; an archive node does",
        Fault::NoHistory => {
            "the last endpoint asked has pruned its old history; add one with full history to chains.rpc"
        }
        Fault::UnknownBlock => "the last endpoint asked does not know the block; try again later",
        Fault::TooWide { .. } | Fault::TooDense { .. } | Fault::Unscoped => {
            "the last endpoint asked refused the request; the log says why"
        }
        Fault::Slow { message } => return format!("the last endpoint asked gave up: {message}"),
        Fault::Refused { message, .. } | Fault::Reverted { message } | Fault::Rejected { message, .. } => {
            return format!("the last endpoint asked refused the request: {message}");
        }
        Fault::Malformed(_) => "the answer of the last endpoint asked cannot be read; try again later",
    };
    reason.to_owned()
}
