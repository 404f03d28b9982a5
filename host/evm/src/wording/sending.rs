//! Why a node rejects a transaction. Each node software has its own words; unknown ones leave the outcome unknown.

use super::words::says;
use crate::fault::Rejection;

/// In this order: the words of a replacement contain those of a low price.
const TABLE: [(Rejection, &[&str]); 5] = [
    (
        Rejection::Known,
        &[
            "already known",
            "alreadyknown",
            "alreadyimported",
            "already imported",
            "known transaction",
            "already in mempool",
            "already exists in cache",
            "already in the system",
            "same hash",
        ],
    ),
    (
        Rejection::NonceUsed,
        &[
            "nonce too low",
            "nonce is too low",
            "nonce has already been used",
            "nonce already used",
            "oldnonce",
            "invalid nonce",
            "already finalized",
            "pool(stale)",
        ],
    ),
    (
        Rejection::ReplacementUnderpriced,
        &[
            "replacement transaction underpriced",
            "replacement not allowed",
            "replacementnotallowed",
            "had higher priority",
            "same nonce in the tx pool",
            "another transaction with same nonce",
            "another transaction with the same nonce",
            "could not replace existing",
            "not enough to bump",
            "replaced by better transaction",
            "replace by fee",
            "ownnoncealreadyused",
        ],
    ),
    (
        Rejection::Underpriced,
        &[
            "underpriced",
            "less than block base fee",
            "fee too low",
            "feetoolow",
            "gas price too low",
            "gas price below minimum",
            "below configured minimum gas price",
            "fee cap cannot be lower",
            "too low for the next block",
            "fee cap too low",
            "gas price is too low",
            "below the minimum",
            "below minimum required",
            "below current base fee",
            "below current blob base fee",
            "unacceptable gas price",
            "lower than block's minimum",
            "lower then the required base fee",
            "price minimum floor",
        ],
    ),
    (
        Rejection::InsufficientFunds,
        &[
            "insufficient funds",
            "insufficient balance",
            "insufficientfunds",
            "insufficient_payer_balance",
            "would cause overdraft",
            "upfront cost exceeds account balance",
            "not enough funds",
            "not enough balance",
            "exceeds transaction sender account balance",
        ],
    ),
];

/// The rejection in `text`, in lower case; `None` for unknown words. "nonce too high" is none of these: the transaction
/// may become valid.
pub(super) fn rejection(text: &str) -> Option<Rejection> {
    TABLE.iter().find(|(_, phrases)| says(text, phrases)).map(|(why, _)| *why)
}
