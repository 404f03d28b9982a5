//! Why a call reverts, in the words of the node.

/// In place of the reason of a revert that has none.
pub(super) const NO_REASON: &str = "without a reason";

/// The reason in a revert.
pub(super) fn revert_reason(message: &str) -> String {
    let reason = message
        .split_once("revert")
        .map_or(message, |(_, rest)| rest.trim_start_matches("ed").trim_start_matches([':', ' ']));
    if reason.is_empty() { NO_REASON.into() } else { reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_revert_is_quoted() {
        assert_eq!(revert_reason("execution reverted: too many decimals"), "too many decimals");
        assert_eq!(revert_reason("execution reverted: custom error 0x7e273289"), "custom error 0x7e273289");
        assert_eq!(revert_reason("execution reverted"), "without a reason");
    }
}
