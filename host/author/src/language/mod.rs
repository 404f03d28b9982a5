//! The feature language: `days(min(chains.first_transaction where coverage != failed))`.

mod fold;
mod parse;
mod tokens;
mod truth;

use parse::Parser;

/// The most bytes of an expression.
const LONGEST: usize = 4096;

/// An expression as the bytes that `tables` evaluates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    pub code: Vec<u8>,
    /// The inputs that it reads, as `describe` names them; sorted.
    pub reads: Vec<String>,
    /// It may have no value for a wallet.
    pub can_be_absent: bool,
}

/// A problem in an expression, and the byte where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub at: usize,
    pub message: String,
}

impl Wrong {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl Expression {
    /// # Errors
    /// The first problem of the text.
    pub(crate) fn parse(text: &str) -> Result<Self, Wrong> {
        if text.len() > LONGEST {
            let message = format!("the expression has {} bytes and may have {LONGEST}", text.len());
            return Err(Wrong::new(0, message));
        }
        Parser::new(tokens::tokens(text)?, text.len()).whole()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_problem_is_named_at_its_place() {
        for (text, at, words) in [
            ("", 0, "it ends where a value is needed"),
            ("1 +", 3, "it ends where a value is needed"),
            ("sum(markets.repays)", 4, "markets has no field `repays`: it has chain_id, coverage, "),
            ("sum(market.repay)", 4, "there is no list `market`: there are chains, markets, holdings, identity"),
            ("sum(markets)", 4, "name a field of markets, such as `markets.supply`"),
            ("sum(markets.protocol)", 4, "`protocol` of markets holds text, and sum needs numbers"),
            ("count(chains where coverage == good)", 31, "`good` is none of complete, partial, pending, failed"),
            ("count(chains where coverage < failed)", 28, "words are compared with == and !="),
            ("count(markets where repay)", 20, "`repay` is a number: compare it, as in `repay > 0`"),
            ("count(markets where protocol == lenderA_v3)", 32, "write a text in quotes, such as \"lenderA_v3\""),
            ("count(markets where repay > \"3\")", 28, "`repay` is compared with a number"),
            ("count(markets where repay > 0 or)", 32, "a field of markets is needed"),
            ("count(markets where (repay > 0)", 31, "`)` is missing"),
            ("if(1, 2, 3)", 3, "a comparison is needed here, as in `if(x > 0, 1, 0)`"),
            ("if(1 < 2, 3)", 11, "`,` is missing"),
            ("1 < 2", 0, "this is true or false, and a number is needed: `if(x > 0, 1, 0)`"),
            ("log((1 < 2))", 4, "this is true or false, and a number is needed"),
            ("if(1 < 2 and 3, 1, 0)", 13, "a comparison is needed here"),
            ("if(1 < 2 < 3, 1, 0)", 9, "`,` is missing"),
            ("log1p(1", 7, "`)` is missing"),
            (
                "foo(1)",
                0,
                "`foo` is unknown: there are sum, max, min, count, mean, if, log, log1p, sqrt, days, or_else, as_of",
            ),
            ("1 2", 2, "`2` does not belong here"),
            ("1 $ 2", 2, "`$` is no part of the language"),
            ("count(markets where protocol == \"x)", 32, "the text is not closed"),
            ("1e999", 0, "`1e999` is not a number"),
        ] {
            let wrong = Expression::parse(text).unwrap_err();
            assert!(wrong.at == at && wrong.message.starts_with(words), "{text}: {wrong:?}");
        }
    }

    #[test]
    fn an_expression_names_the_inputs_that_it_reads() {
        for (text, inputs) in [
            ("days(max(chains.last_transaction))", "as-of chains.last-transaction"),
            (
                "min(markets.position.health_factor where feeds_score)",
                "markets.feeds-score markets.position.health-factor",
            ),
            ("count(events where events.days_ago < 30)", "as-of markets.events.time"),
            ("sum(debt.usd where market.feeds_score)", "markets.feeds-score markets.position.debt.usd"),
        ] {
            assert_eq!(Expression::parse(text).unwrap().reads.join(" "), inputs, "{text}");
        }
        let other = Expression::parse("count(events where markets.days_ago < 30)").unwrap_err();
        assert!(other.message.starts_with("events has no field `markets.days_ago`"), "{other:?}");
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_refused() {
        let long = "1+".repeat(5 << 20);
        assert!(Expression::parse(&long).unwrap_err().message.contains("may have 4096"));
        for deep in ["(".repeat(2000), "-".repeat(2000), "log1p(".repeat(600)] {
            let wrong = Expression::parse(&deep).unwrap_err();
            assert!(wrong.message.contains("deep"), "{wrong:?}");
        }
        let many = ["(repay > 0 or borrow > 0)"; 6].join(" and ");
        let wrong = Expression::parse(&format!("count(markets where {many})")).unwrap_err();
        assert!(wrong.message.contains("at most 64 conditions"), "{wrong:?}");
        let wide = format!("{}1{}", "1+(".repeat(20), ")".repeat(20));
        assert!(Expression::parse(&wide).unwrap_err().message.contains("deep"));
    }

    #[test]
    fn an_expression_knows_whether_it_can_be_absent() {
        for (text, can) in [
            ("count(markets) + 1", false),
            ("or_else(max(markets.repay), -1)", false),
            ("or_else(sum(chains.transfers), max(markets.repay))", true),
            ("if(max(markets.repay) > 3, 1, 0)", false),
            ("if(count(markets) > 3, 1, max(markets.repay))", true),
            ("count(markets) / 2", true),
            ("log(count(markets))", true),
            ("sum(markets.repay)", true),
        ] {
            assert_eq!(Expression::parse(text).unwrap().can_be_absent, can, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_ends_the_parser(text in "[a-z0-9_.()+*/<>=!\", -]{0,60}|.{0,40}|(if|and|or|[(),<1x. ]){0,30}") {
            let _ = Expression::parse(&text);
        }
    }
}
