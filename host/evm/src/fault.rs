//! Why a read failed, and what the reader can do: retry, use another endpoint, ask for less, or stop.

use std::time::Duration;

use crate::span::Span;

/// Why a read failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No answer: connection, HTTP status, or an answer that is not JSON-RPC.
    #[error("endpoint cannot be reached: {0}")]
    Unreachable(String),
    /// No answer in time from an endpoint that accepted the request.
    #[error("endpoint did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// An HTTP status that a retry does not change, such as for a wrong credential.
    #[error("endpoint denies access: {0}; check its URL and credential")]
    Denied(String),
    #[error("endpoint limits the rate of requests: {message}")]
    RateLimited { message: String, after: Option<Duration> },
    /// The endpoint accepts fewer calls in one batch: at most `most` by its words, or at its pace if it counts calls.
    #[error("endpoint takes fewer calls at once")]
    TooManyCalls { most: Option<usize> },
    /// The span of blocks is wider than the endpoint answers; `limit` is the width in its message.
    #[error("endpoint refuses a range this wide")]
    TooWide { limit: Option<u64> },
    /// The answer is larger than the endpoint sends at once; `suggested` is a span in its message.
    #[error("endpoint refuses an answer this large")]
    TooDense { suggested: Option<Span> },
    /// The endpoint gave up on the request, which took it too long.
    #[error("endpoint gave up: {message}")]
    Slow { message: String },
    /// The endpoint requires a contract address in each log query.
    #[error("endpoint answers no query of logs that names no contract")]
    Unscoped,
    /// The endpoint no longer has the state of an old block; an archive node has it.
    #[error("endpoint does not keep the state of that block; an archive node does")]
    NoState,
    /// The endpoint no longer has the logs of old blocks.
    #[error("endpoint does not keep the logs of blocks that old; one with full history does")]
    NoHistory,
    /// The endpoint no longer has the receipts of an old block.
    #[error("endpoint has no receipt of a transaction in that block")]
    NoReceipt,
    /// The endpoint is behind the one that returned the block, or the block was replaced.
    #[error("endpoint does not know the block")]
    UnknownBlock,
    #[error("endpoint serves chain {found}, not {expected}; correct chains.rpc in the configuration")]
    WrongChain { found: u64, expected: u64 },
    /// The call ran and failed: it reverted, used up its gas or reached a wrong instruction. This is an answer of the
    /// contract, which may choose the words, and says nothing about the endpoint.
    #[error("call failed: {message}")]
    Reverted { message: String },
    /// The node did not accept a transaction.
    #[error("endpoint rejected the transaction: {message}")]
    Rejected { why: Rejection, message: String },
    /// Any other JSON-RPC error. It is never final: another endpoint may answer, or the same one a lighter request or a
    /// later one.
    #[error("endpoint refused: {message} (code {code})")]
    Refused { code: i64, message: String },
    /// The answer does not have the form that the request requires.
    #[error("endpoint answered wrongly: {0}")]
    Malformed(String),
}

/// What a node says about a transaction that it did not add to its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// The node already has it.
    Known,
    /// A transaction with this nonce is on chain.
    NonceUsed,
    /// It pays too little to replace the one with the same nonce.
    ReplacementUnderpriced,
    /// It pays less than the node or the next block requires.
    Underpriced,
    InsufficientFunds,
}

impl Fault {
    /// Whether the same endpoint may answer a moment later. After a timeout, a retry would cost the same time again; a
    /// request refused for its rate has already waited.
    pub fn is_worth_a_retry(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Malformed(_) | Self::UnknownBlock)
    }

    /// Whether the endpoint gave no answer at all, or none to anybody who asks now.
    pub fn is_no_answer(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::TimedOut(_)
                | Self::Denied(_)
                | Self::RateLimited { .. }
                | Self::WrongChain { .. }
                | Self::Malformed(_)
        )
    }

    /// Whether the endpoint may answer a lighter request, such as a log query over fewer blocks.
    pub fn is_for_less(&self) -> bool {
        matches!(
            self,
            Self::TooWide { .. } | Self::TooDense { .. } | Self::TimedOut(_) | Self::Slow { .. } | Self::Refused { .. }
        )
    }

    /// Whether another endpoint may answer better than one that answers with this error.
    pub(crate) fn is_lesser(&self) -> bool {
        matches!(
            self,
            Self::Slow { .. }
                | Self::NoState
                | Self::NoHistory
                | Self::NoReceipt
                | Self::UnknownBlock
                | Self::Refused { .. }
                | Self::Denied(_)
        )
    }

    /// Why something is unread, in words for the caller, which name no endpoint. The fault is that of the endpoint that
    /// was asked last; the others failed too, perhaps for other reasons.
    pub fn reason(&self) -> String {
        let reason: &str = match self {
            Self::Unreachable(_) | Self::TimedOut(_) => "no endpoint answers; try again later",
            Self::Denied(_) => "the last endpoint asked denies access; correct its URL or credential in chains.rpc",
            Self::WrongChain { .. } => "the last endpoint asked serves another chain; correct chains.rpc",
            Self::RateLimited { .. } | Self::TooManyCalls { .. } => {
                "the last endpoint asked limits the rate of requests; try again later"
            }
            Self::NoReceipt => "the last endpoint asked does not keep the receipts of old blocks",
            Self::NoState => "the last endpoint asked does not keep the state of that block; an archive node does",
            Self::NoHistory => {
                "the last endpoint asked has pruned its old history; add one with full history to chains.rpc"
            }
            Self::UnknownBlock => "the last endpoint asked does not know the block; try again later",
            Self::TooWide { .. } | Self::TooDense { .. } | Self::Unscoped => {
                "the last endpoint asked refused the request; the log says why"
            }
            Self::Slow { message } => return format!("the last endpoint asked gave up: {message}"),
            Self::Refused { message, .. } | Self::Reverted { message } | Self::Rejected { message, .. } => {
                return format!("the last endpoint asked refused the request: {message}");
            }
            Self::Malformed(_) => "the answer of the last endpoint asked cannot be read; try again later",
        };
        reason.to_owned()
    }

    /// The short name in metrics.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::TimedOut(_) => "timeout",
            Self::Denied(_) => "denied",
            Self::WrongChain { .. } => "wrong_chain",
            Self::RateLimited { .. } => "rate_limited",
            Self::TooManyCalls { .. } => "too_many_calls",
            Self::TooWide { .. } => "too_wide",
            Self::TooDense { .. } => "too_dense",
            Self::Slow { .. } => "slow",
            Self::Unscoped => "unscoped",
            Self::NoState => "no_state",
            Self::NoHistory => "no_history",
            Self::NoReceipt => "no_receipt",
            Self::UnknownBlock => "unknown_block",
            Self::Reverted { .. } => "reverted",
            Self::Rejected { .. } => "rejected",
            Self::Refused { .. } => "refused",
            Self::Malformed(_) => "malformed",
        }
    }

    /// An answer that is not the expected JSON. The message omits the text of the answer: some endpoints repeat the
    /// credential of the request in it.
    pub fn unreadable(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let around = text.split_once('"').and_then(|(before, rest)| Some((before, rest.rsplit_once('"')?.1)));
        Self::Malformed(around.map(|(before, after)| format!("{before}\"…\"{after}")).unwrap_or(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_unreadable_answer_held_is_not_repeated() {
        let error = serde_json::from_str::<u64>(r#""https://rpc.example/key \" key""#).unwrap_err();
        let fault = Fault::unreadable(&error).to_string();
        assert!(!fault.contains("key") && fault.contains("string \"…\", expected u64"), "{fault}");
    }
}
