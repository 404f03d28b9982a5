//! Files that a server refuses, with the code and text of each refusal.

use super::{
    credit::{Credit, act},
    files::{extra_field, later_generation, truncated, wrong_world},
};

/// A file that a server must refuse.
pub struct Refused {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub code: &'static str,
    /// Text that the message must contain.
    pub says: &'static str,
}

/// Returns all files that a server must refuse.
pub fn refused() -> Vec<Refused> {
    let case = |name, bytes, code, says| Refused { name, bytes, code, says };
    let credit = || Credit::new("6.6");
    vec![
        case("endless-loop", credit().act(act::LOOP).build(), "self_test", "within 20 ms"),
        case("memory-bomb", credit().act(act::BOMB).build(), "self_test", "bytes of memory, more than the limit of"),
        case("deep-recursion", credit().act(act::RECURSE).build(), "self_test", "recurses too deeply"),
        case("trap", credit().act(act::TRAP).build(), "self_test", "unreachable"),
        case("score-1001", credit().score("(i32.const 1001)").build(), "self_test", "a score of 1001"),
        // The bad score appears only with one of the wallets that `check` prints: the one with two chains and no
        // market.
        case(
            "score-1001-of-a-sample",
            credit()
                .score(
                    "(select (i32.const 1001) (i32.const 700) (i32.and (i32.eqz (local.get $markets_len)) (i32.eq \
                     (local.get $chains_len) (i32.const 2))))",
                )
                .build(),
            "self_test",
            "new, a month old, old and active, never borrowed, rich, without a history: the model's answer is \
             invalid: a score of 1001",
        ),
        // The first chain was read, but has no `transfers`.
        case(
            "trap-without-transfers",
            credit()
                .act_when(
                    "(i32.and (i32.and (i32.ne (local.get $chains_len) (i32.const 0)) (i32.ne (i32.load8_u offset=8 \
                     (local.get $chains)) (i32.const 3))) (i32.eqz (i32.load8_u offset=56 (local.get $chains))))",
                    act::TRAP,
                )
                .build(),
            "self_test",
            "an ordinary wallet without chains.transfers: the model stopped",
        ),
        case(
            "factors-that-vary",
            credit().act("(i32.store (i32.const 1016) (i32.ne (local.get $markets_len) (i32.const 0)))").build(),
            "self_test",
            "Give every wallet the same factors in the same order",
        ),
        case("text-of-50-mb", credit().act(act::LONG_TEXT).build(), "self_test", "out of bounds"),
        case(
            "many-texts",
            credit().description(&"x".repeat(60_000)).factors(2000).build(),
            "self_test",
            "larger than 1048576 bytes",
        ),
        case(
            "long-description",
            credit().description(&"x".repeat(501)).build(),
            "self_test",
            "501 characters, more than the limit of 500",
        ),
        case(
            "wasi-import",
            credit().importing_wasi().build(),
            "imports",
            "wasi:clocks/monotonic-clock@0.2.0, wasi:random/random@0.2.0",
        ),
        case("wrong-world", wrong_world(), "wrong_world", "Export one of the worlds"),
        case("later-generation", later_generation(), "other_generation", "assay:model/credit@3.0.0"),
        case("extra-field", extra_field(&credit()), "type_mismatch", "`favourite-colour`"),
        case("truncated", truncated("6.6"), "truncated", "cut short"),
        case("not-wasm", b"MZ this is something else entirely".to_vec(), "not_wasm", "not WebAssembly"),
        case("empty", Vec::new(), "truncated", "0 bytes"),
        case(
            "garbage-inside",
            [b"\0asm\x0d\0\x01\0".as_slice(), &[7, 3, 255, 255, 255]].concat(),
            "invalid_wasm",
            "not valid WebAssembly",
        ),
        case("bad-version", Credit::new("v1-beta").build(), "bad_description", "v1-beta"),
        case("another-kind", credit().says(3).build(), "kind_mismatch", "sandbox"),
        case(
            "falling-decile",
            credit().decile("(i32.sub (i32.const 10) (i32.div_u (local.get $score) (i32.const 120)))").build(),
            "self_test",
            "never falls",
        ),
        case(
            "extra-field-v2",
            extra_field(&Credit::v2("6.6")),
            "type_mismatch",
            "has the field `favourite-colour`, which wit/v2 has not",
        ),
        case(
            "words-of-other-points",
            Credit::v2("6.6").points(11).build(),
            "self_test",
            "`explain` has [(\"Made by hand\", 10)], and the answer that it explains has [(\"Made by hand\", 11)]",
        ),
        case(
            "words-that-trap",
            Credit::v2("6.6").explain_when("(i32.gt_u (local.get $chains_len) (i32.const 2))", act::TRAP).build(),
            "self_test",
            "explain: the largest numbers",
        ),
        case("too-much-memory", credit().pages(600).build(), "too_demanding", "-zstack-size"),
        case("large-without-consent", credit().pages(100).build(), "needs_large", "models.large_lanes = 1"),
        // Linked into one module with less memory or a smaller table than its segments need.
        case(
            "data-beyond-memory",
            credit().with("(data (i32.const 9000000) \"x\")").build(),
            "does_not_start",
            "bounds",
        ),
        case(
            "functions-beyond-table",
            credit().with("(elem (i32.const 5000) $deeper)").table(10).build(),
            "does_not_start",
            "bounds",
        ),
        case("too-large-a-table", credit().table(9_000).build(), "too_demanding", "link less code"),
        case("too-large", [b"\0asm\x0d\0\x01\0".as_slice(), &vec![0; 33 << 20]].concat(), "too_large", "33554432"),
    ]
}
