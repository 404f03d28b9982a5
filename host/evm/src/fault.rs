//! What an endpoint's failure means for the reader: try again, ask another, ask for less, or give up.

use std::time::Duration;

use alloy::{
    rpc::json_rpc::{ErrorPayload, RpcError},
    transports::TransportError,
};

use crate::{span::Span, wording::classify};

/// Why a read did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No answer: connection, HTTP status, or an answer that is not JSON-RPC.
    #[error("endpoint cannot be reached: {0}")]
    Unreachable(String),
    /// No answer in time, from an endpoint that took the request.
    #[error("endpoint did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// An HTTP status that a retry does not change, such as a wrong credential.
    #[error("endpoint denies access: {0}; check its URL and credential")]
    Denied(String),
    #[error("endpoint limits the rate of requests: {message}")]
    RateLimited { message: String, after: Option<Duration> },
    /// The span of blocks is wider than the endpoint ever answers; `limit` is the width it named.
    #[error("endpoint refuses a range this wide")]
    TooWide { limit: Option<u64> },
    /// This span holds more than the endpoint answers at once; `suggested` is a span it named.
    #[error("endpoint refuses an answer this large")]
    TooDense { suggested: Option<Span> },
    /// Logs of all contracts are not for everybody.
    #[error("endpoint answers no query of logs that names no contract")]
    Unscoped,
    /// The state of an old block is gone; an archive node has it.
    #[error("endpoint does not keep the state of that block; an archive node does")]
    NoState,
    /// An endpoint behind the one that named the block, or a block that is no longer there.
    #[error("endpoint does not know the block")]
    UnknownBlock,
    #[error("endpoint serves chain {found}, not {expected}; correct chains.rpc in the configuration")]
    WrongChain { found: u64, expected: u64 },
    #[error("endpoint refused: {message} (code {code})")]
    Refused { code: i64, message: String },
    /// The answer is not what was asked for.
    #[error("endpoint answered wrongly: {0}")]
    Malformed(String),
}

impl Fault {
    /// The same endpoint may answer in a moment. One that let a request time out would cost as much time again.
    pub fn is_worth_a_retry(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::RateLimited { .. } | Self::UnknownBlock)
    }

    /// Another endpoint is to be asked.
    pub fn moves_on(&self) -> bool {
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

    /// The short name in metrics.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::TimedOut(_) => "timeout",
            Self::Denied(_) => "denied",
            Self::WrongChain { .. } => "wrong_chain",
            Self::RateLimited { .. } => "rate_limited",
            Self::TooWide { .. } => "too_wide",
            Self::TooDense { .. } => "too_dense",
            Self::Unscoped => "unscoped",
            Self::NoState => "no_state",
            Self::UnknownBlock => "unknown_block",
            Self::Refused { .. } => "refused",
            Self::Malformed(_) => "malformed",
        }
    }

    /// An answer that is not the JSON it should be. What it held instead is left out: it is written by others, and some
    /// repeat the credential they were asked with.
    pub fn unreadable(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let around = text.split_once('"').and_then(|(before, rest)| Some((before, rest.rsplit_once('"')?.1)));
        Self::Malformed(around.map(|(before, after)| format!("{before}\"…\"{after}")).unwrap_or(text))
    }

    /// What the endpoint said, in JSON-RPC.
    pub fn from_payload(error: &ErrorPayload) -> Self {
        let data = error.data.as_ref().map(|data| data.get()).unwrap_or_default();
        classify(error.code, &error.message, data)
    }
}

impl From<TransportError> for Fault {
    fn from(error: TransportError) -> Self {
        match error {
            RpcError::ErrorResp(payload) => Self::from_payload(&payload),
            RpcError::Transport(kind) => match kind.as_custom().and_then(|inner| inner.downcast_ref::<Self>()) {
                Some(fault) => fault.clone(),
                None => Self::Malformed(kind.to_string()),
            },
            RpcError::NullResp => Self::Malformed("null".into()),
            RpcError::DeserError { err, .. } => Self::unreadable(&err),
            other => Self::Malformed(other.to_string()),
        }
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
