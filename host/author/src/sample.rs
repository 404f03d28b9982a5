//! A made-up history for the template of trees, so that its steps work before there is a real one.

use std::fmt::Write as _;

/// Wallets, and how many of them have the same date.
const WALLETS: u64 = 600;
const A_DATE: u64 = 75;
/// 2024-10-01, and the seconds between two dates.
const FIRST: u64 = 1_727_740_800;
const MONTH: u64 = 30 * 86_400;

/// Lines of a features file. Liquidations and a short history make a bad outcome likelier.
pub(crate) fn history() -> String {
    let (mut lines, mut state) = (String::new(), 0x0dd5_eed5_u64);
    let mut below = |end: u64| {
        // Knuth's multiplier; the high bits are the random ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    for at in 0..WALLETS {
        let as_of = FIRST + at / A_DATE * MONTH;
        let (age, repays, transactions) = (20 + below(1_800), below(30), 1 + below(900));
        let liquidations = if below(100) < 25 { 1 + below(3) } else { 0 };
        let (assets, debt) = (below(200) * below(500), below(100) * below(90));
        let risk = 8 + 22 * liquidations + if age < 200 { 15 } else { 0 } - repays.min(8);
        let bad = u64::from(below(100) < risk);
        let first = as_of - age * 86_400;
        let last = if liquidations > 0 {
            format!(", \"last_liquidation\": {}", as_of - 86_400 * (1 + below(19)))
        } else {
            String::new()
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            lines,
            "{{\"id\": \"made up {at}\", \"outcome\": {bad}, \"as_of\": {as_of}, \"chains\": [{{\"chain_id\": 1, \
             \"coverage\": \"complete\", \"first_transaction\": {first}, \"transactions\": {transactions}, \
             \"assets_usd\": {assets}.0, \"supplied_usd\": {assets}.0, \"borrowed_usd\": {debt}.0}}], \"markets\": \
             [{{\"chain_id\": 1, \"protocol\": \"lenderA_v3\", \"coverage\": \"complete\", \"feeds_score\": true, \
             \"supply\": 3, \"withdraw\": 1, \"borrow\": {borrows}, \"repay\": {repays}, \"liquidation\": \
             {liquidations}, \"first_event\": {first}, \"last_event\": {event}, \"supplied_usd\": {assets}.0, \
             \"borrowed_usd\": {debt}.0{last}}}]}}",
            borrows = repays + 1,
            event = as_of - 86_400,
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_wallet_with_an_outcome_and_some_are_bad() {
        let text = history();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len() as u64, WALLETS);
        let bad = lines.iter().filter(|line| line["outcome"] == 1).count() as u64;
        assert!((WALLETS / 20..WALLETS / 3).contains(&bad), "{bad} bad");
        assert_eq!(text, history());
    }
}
