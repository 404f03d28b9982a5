//! What the words of a node mean: why a call reverts, and what became of a sent transaction. Each node software has its
//! own wording.

use super::SendOutcome;
use assay_evm::fault::Fault;

/// In place of the reason of a revert that has none.
pub(super) const NO_REASON: &str = "without a reason";

/// The reason in a revert.
pub(super) fn revert_reason(fault: &Fault) -> String {
    let Fault::Refused { message, .. } = fault else { return NO_REASON.into() };
    let reason = message
        .split_once("revert")
        .map_or(message.as_str(), |(_, rest)| rest.trim_start_matches("ed").trim_start_matches([':', ' ']));
    if reason.is_empty() { NO_REASON.into() } else { reason.to_owned() }
}

/// The meaning of a node's error, `None` for an unknown one. Each node software has its own wording.
pub(super) fn refusal(fault: &Fault) -> Option<SendOutcome> {
    let Fault::Refused { message, .. } = fault else { return None };
    let message = message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    if says(&["already known", "already imported", "known transaction", "already in mempool", "alreadyknown"]) {
        Some(SendOutcome::Accepted)
    } else if says(&["nonce too low", "nonce is too low", "oldnonce", "invalid nonce"]) {
        Some(SendOutcome::NonceUsed)
    } else if says(&["replacement transaction underpriced", "replacement not allowed", "replacementnotallowed"]) {
        Some(SendOutcome::ReplacementUnderpriced)
    } else if says(&["underpriced", "less than block base fee", "fee too low", "feetoolow", "gas price too low"]) {
        Some(SendOutcome::Underpriced)
    } else if says(&["insufficient funds", "insufficient balance", "insufficientfunds"]) {
        Some(SendOutcome::InsufficientFunds)
    } else {
        None
    }
}

#[cfg(test)]
#[path = "../../../evm/src/wording/providers.rs"]
mod providers;

#[cfg(test)]
mod tests {
    use alloy::rpc::json_rpc::ErrorPayload;

    use super::providers::{Reaction, Row, rows};
    use super::*;

    #[test]
    fn refusals_of_transactions_are_told_apart() {
        let said = |message: &str| refusal(&Fault::Refused { code: -32000, message: message.into() });
        for (message, meaning) in [
            ("already known", Some(SendOutcome::Accepted)),
            ("nonce too low: next nonce 5, tx nonce 4", Some(SendOutcome::NonceUsed)),
            ("replacement transaction underpriced", Some(SendOutcome::ReplacementUnderpriced)),
            ("transaction underpriced: gas tip cap 1", Some(SendOutcome::Underpriced)),
            ("max fee per gas less than block base fee: address 0x1", Some(SendOutcome::Underpriced)),
            ("insufficient funds for gas * price + value", Some(SendOutcome::InsufficientFunds)),
            ("Insufficient funds for gas * price + value", Some(SendOutcome::InsufficientFunds)),
            ("invalid sender", None),
        ] {
            assert_eq!(said(message), meaning, "{message}");
        }
        assert_eq!(refusal(&Fault::NoState), None);
    }

    /// What became of a transaction that was answered as a row of the table says.
    fn answered(row: &Row) -> Option<SendOutcome> {
        let error = serde_json::json!({ "code": row.code, "message": row.wording });
        let payload: ErrorPayload = serde_json::from_value(error).unwrap();
        refusal(&Fault::from_payload(&payload))
    }

    #[test]
    fn every_answer_of_a_provider_is_told_apart() {
        let rows = rows().into_iter().filter(|row| row.method == "eth_sendRawTransaction");
        let wrong: Vec<String> = rows
            .filter(|row| {
                let meaning = match row.reaction {
                    Reaction::Known => Some(SendOutcome::Accepted),
                    Reaction::Nonce => Some(SendOutcome::NonceUsed),
                    Reaction::Replacement => Some(SendOutcome::ReplacementUnderpriced),
                    Reaction::Underpriced => Some(SendOutcome::Underpriced),
                    Reaction::Funds => Some(SendOutcome::InsufficientFunds),
                    _ => None,
                };
                answered(row) != meaning
            })
            .map(|row| format!("{}: {:?}, {}: {:?}", row.line, row.reaction, row.wording, answered(&row)))
            .collect();
        assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn the_reason_of_a_revert_is_quoted() {
        let reason = |message: &str| revert_reason(&Fault::Refused { code: 3, message: message.into() });
        assert_eq!(reason("execution reverted: too many decimals"), "too many decimals");
        assert_eq!(reason("execution reverted: custom error 0x7e273289"), "custom error 0x7e273289");
        assert_eq!(reason("execution reverted"), "without a reason");
    }
}
