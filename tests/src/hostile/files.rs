//! Hostile files: some are not models, others need far more compile time or memory than their size suggests.

use super::{credit::Credit, module::component};

/// A valid component that is not a model.
pub fn wrong_world() -> Vec<u8> {
    wat::parse_str(
        r#"(component
             (core module $m (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
             (core instance $i (instantiate $m))
             (func $add (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add")))
             (export "add" (func $add)))"#,
    )
    .expect("a component")
}

/// A credit model for an interface version that does not exist.
pub fn later_generation() -> Vec<u8> {
    wat::parse_str(
        r#"(component
             (core module $m (func (export "decile") (param i32) (result i32) (i32.const 1)))
             (core instance $i (instantiate $m))
             (func $decile (param "score" u32) (result u8) (canon lift (core func $i "decile")))
             (instance $credit (export "decile" (func $decile)))
             (export "assay:model/credit@3.0.0" (instance $credit)))"#,
    )
    .expect("a component")
}

/// A correct model cut after two thirds.
pub fn truncated(version: &str) -> Vec<u8> {
    let mut bytes = Credit::new(version).build();
    bytes.truncate(bytes.len() * 2 / 3);
    bytes
}

/// The component of `model`, built for features with one additional field.
pub fn extra_field(model: &Credit) -> Vec<u8> {
    let grown =
        |types: &str| types.replace("borrowed-usd: f64,", "borrowed-usd: f64,\n        favourite-colour: string,");
    component(&model.module_on(grown))
}

/// Small files, by name, that keep a compiler busy for minutes or use gigabytes of its memory.
pub fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let loops =
        format!("{}{}", "(loop (local.set 0 (i32.add (local.get 0) (i32.const 1)))".repeat(2_000), TURNS.repeat(2_000));
    vec![("nested-20000", nested(20_000)), ("nested-100000", nested(100_000)), ("loops-2000", in_component(&loops))]
}

/// A component within all limits that takes many seconds to compile.
pub fn slow_to_compile() -> Vec<u8> {
    loops_after_each_other(40_000)
}

/// Like [`slow_to_compile`], with different bytes for each number.
pub fn slow_to_compile_too(n: usize) -> Vec<u8> {
    loops_after_each_other(40_001 + n)
}

fn loops_after_each_other(count: usize) -> Vec<u8> {
    let turn = format!("(loop (local.set 0 (i32.add (local.get 0) (i32.const 1))) {TURNS}");
    in_component(&turn.repeat(count))
}

/// The end of a loop that may repeat.
const TURNS: &str = "(br_if 0 (local.get 0)))";

/// A component with one function of this body. It exports the name of a model, but no functions.
fn in_component(body: &str) -> Vec<u8> {
    let model = "(component $empty) (instance $model (instantiate $empty)) \
                 (export \"assay:model/credit@1.0.0\" (instance $model))";
    wat::parse_str(format!("(component (core module (func (param i32) {body})) {model})")).expect("a component")
}

/// A component nested to this depth.
fn nested(depth: usize) -> Vec<u8> {
    const PREAMBLE: [u8; 8] = *b"\0asm\x0d\0\x01\0";
    // Built backwards, from the innermost to the outermost component.
    let mut reversed: Vec<u8> = PREAMBLE.into_iter().rev().collect();
    for _ in 0..depth {
        let mut section = vec![4];
        let mut size = reversed.len();
        while size > 0x7f {
            section.push((size & 0x7f) as u8 | 0x80);
            size >>= 7;
        }
        section.push(size as u8);
        reversed.extend(section.into_iter().rev());
        reversed.extend(PREAMBLE.into_iter().rev());
    }
    reversed.reverse();
    reversed
}
