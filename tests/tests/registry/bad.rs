//! Thirty models that a careless author could write, and what `check` says of each.

use super::*;

/// The first chain was read, and lacks the optional field whose flag is at `offset` of the record.
fn lacks(offset: u32) -> String {
    format!(
        "(i32.and (i32.and (i32.ne (local.get $chains_len) (i32.const 0)) (i32.ne (i32.load8_u offset=8 (local.get \
         $chains)) (i32.const 3))) (i32.eqz (i32.load8_u offset={offset} (local.get $chains))))"
    )
}

const NO_MARKETS: &str = "(i32.eqz (local.get $markets_len))";
const NOTHING: &str = "(i32.eqz (i32.add (local.get $chains_len) (local.get $markets_len)))";
/// The first two optional fields of the first chain are both absent: `first ?? last` has no value.
const UNDATED: &str = "(i32.and (i32.ne (local.get $chains_len) (i32.const 0)) (i32.eqz (i32.or (i32.load8_u offset=16 \
                       (local.get $chains)) (i32.load8_u offset=32 (local.get $chains)))))";
const CHAIN: &str = "(i32.wrap_i64 (i64.load (local.get $chains)))";
const YEAR_OF: &str = "(i32.wrap_i64 (i64.div_u (local.get $as_of) (i64.const 31557600)))";

/// A score that is one of two by a condition.
fn either(condition: &str, yes: &str, no: &str) -> String {
    format!("(select {yes} {no} {condition})")
}

fn constant(score: u32) -> String {
    format!("(i32.const {score})")
}

/// A score that differs by wallet, so that a hint is about the mistake only.
const VARIED: &str =
    "(i32.add (i32.const 600) (i32.mul (i32.and (local.get $markets_len) (i32.const 15)) (i32.const 9)))";

/// The same by the id of the first chain.
fn ordinary() -> String {
    format!("(i32.add (i32.const 600) (i32.and {CHAIN} (i32.const 63)))")
}

fn models() -> Vec<(&'static str, Vec<u8>)> {
    let v1 = || Credit::new("7.0");
    let v2 = || Credit::v2("7.0");
    let later = |year: u64| format!("(i64.gt_u (local.get $as_of) (i64.const {}))", (year - 1970) * 31_557_600);
    vec![
        ("first-or-last", v1().act_when(UNDATED, act::TRAP).build()),
        ("first-or-last-v2", v2().act_when(UNDATED, act::TRAP).build()),
        ("transfers-always", v1().act_when(&lacks(56), act::TRAP).build()),
        ("counterparties-always", v1().act_when(&lacks(72), act::TRAP).build()),
        ("days-always", v1().act_when(&lacks(80), act::TRAP).build()),
        ("traps-on-empty", v1().act_when(NOTHING, act::TRAP).build()),
        ("traps-without-markets", v1().act_when(NO_MARKETS, act::TRAP).build()),
        ("divides-by-markets", v1().act("(drop (i32.div_u (i32.const 1) (local.get $markets_len)))").build()),
        ("traps-from-2026", v1().act_when(&later(2026), act::TRAP).build()),
        ("traps-from-2028", v1().act_when(&later(2028), act::TRAP).build()),
        ("traps-from-2033", v1().act_when(&later(2033), act::TRAP).build()),
        ("only-in-production", v1().score(VARIED).act_when(IN_PRODUCTION, act::TRAP).build()),
        (
            "falls-every-year",
            v1().score(&format!(
                "(i32.sub {VARIED} (i32.mul (i32.const 7) (i32.sub {YEAR_OF} \
            (i32.const 55))))"
            ))
            .build(),
        ),
        ("own-date", v1().score(&either(&later(2027), &constant(420), VARIED)).build()),
        ("first-chain-only", v1().score(&ordinary()).build()),
        (
            "address-parity",
            v1().score(&either(
                "(i32.and (i32.shr_u (local.get $markets) (i32.const 3)) (i32.const 1))",
                VARIED,
                &constant(705),
            ))
            .build(),
        ),
        ("score-299", v1().score(&constant(299)).build()),
        ("score-1001", v1().score(&constant(1001)).build()),
        ("score-of-empty-0", v1().score(&either(NOTHING, &constant(0), &constant(700))).build()),
        ("score-negative", v1().score("(i32.const -5)").build()),
        ("constant", v1().score(&constant(650)).build()),
        ("more-for-nothing", v1().score(&either(NO_MARKETS, &constant(900), &constant(500))).build()),
        ("decile-0", v1().decile("(i32.const 0)").build()),
        ("decile-11", v1().decile("(i32.const 11)").build()),
        (
            "decile-swapped",
            v1().decile("(i32.sub (i32.const 10) (i32.div_u (local.get $score) (i32.const 120)))").build(),
        ),
        ("factors-2000", v1().factors(2000).build()),
        ("points-apart", v2().points(11).build()),
        ("words-fail", v2().explain_when(NO_MARKETS, act::TRAP).build()),
        ("long-text", v1().description(&"x".repeat(501)).build()),
        ("never-returns", v1().act_when(NO_MARKETS, act::LOOP).build()),
        ("leaks-memory", v1().act_when(NO_MARKETS, act::BOMB).build()),
        ("recurses", v1().act_when(NOTHING, act::RECURSE).build()),
    ]
}

/// At most two of them pass without a word.
#[test]
fn check_finds_the_mistakes_of_careless_authors() {
    let models = models();
    assert!(models.len() >= 30, "{}", models.len());
    let mut unseen = Vec::new();
    println!("| model | found by | says |\n|---|---|---|");
    for (name, bytes) in &models {
        let report = check(bytes, &lenient()).expect("this machine runs models");
        let (by, says) = match (report.problems.first(), report.hints.first()) {
            (Some(problem), _) => (problem.code, problem.message.clone()),
            (None, Some(_)) => ("hint", report.hints.join("; ")),
            (None, None) => ("nothing", String::new()),
        };
        println!("| {name} | {by} | {} |", says.chars().take(160).collect::<String>().replace('\n', " "));
        if by == "nothing" {
            unseen.push(*name);
        }
    }
    assert!(unseen.len() <= 2, "{} of {} pass: {unseen:?}", unseen.len(), models.len());
}
