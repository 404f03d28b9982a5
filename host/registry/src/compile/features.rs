//! The features of WebAssembly that models do not have: named if a file uses one.

use wasmparser::{Validator, WasmFeatures};

/// The features that are switched off: their names, and what turns them off in a toolchain.
const OFF: [(WasmFeatures, &str, &str); 7] = [
    (WasmFeatures::THREADS, "threads (shared memory and atomics)", "without `-pthread` and `+atomics`"),
    (WasmFeatures::LEGACY_EXCEPTIONS, "exceptions in their old form", "without `-fwasm-exceptions`"),
    (WasmFeatures::EXCEPTIONS, "exceptions", "without `-fwasm-exceptions` and `+exception-handling`"),
    (WasmFeatures::GC, "garbage collection (structs and arrays)", "in a language with its own memory"),
    (WasmFeatures::WIDE_ARITHMETIC, "wide arithmetic", "without `+wide-arithmetic`"),
    (WasmFeatures::CUSTOM_PAGE_SIZES, "custom page sizes", "with pages of 64 KiB"),
    (WasmFeatures::STACK_SWITCHING, "stack switching", "without continuations"),
];

/// The feature that keeps `bytes` from being valid, and what to do about it; `None` if they are invalid for another
/// reason.
pub(super) fn switched_off(bytes: &[u8]) -> Option<String> {
    let is_valid = |features| Validator::new_with_features(features).validate_all(bytes).is_ok();
    if !is_valid(WasmFeatures::all()) {
        return None;
    }
    let (_, name, remedy) = OFF.iter().find(|(feature, ..)| !is_valid(WasmFeatures::all().difference(*feature)))?;
    Some(format!("{name}, which models do not have. Build it {remedy}"))
}

#[cfg(test)]
mod tests {
    use crate::{Limits, standalone};

    #[test]
    fn a_feature_that_is_switched_off_is_named() {
        let limits = Limits::default();
        for (inside, words) in [
            ("(memory 1 1 shared)", "threads (shared memory and atomics)"),
            ("(memory 1) (func (result i32) i32.const 0 i32.const 1 memory.atomic.notify)", "threads"),
            ("(tag $t) (func throw $t)", "exceptions, which models do not have. Build it without `-fwasm-exceptions`"),
            ("(type (struct (field i32)))", "garbage collection"),
            ("(memory 1 (pagesize 1))", "custom page sizes"),
            (
                "(func (param i64 i64) (result i64 i64) local.get 0 local.get 1 local.get 0 local.get 1 i64.add128)",
                "wide arithmetic",
            ),
        ] {
            let bytes = wat::parse_str(format!(
                "(component (core module {inside}) (instance $i) (export \"assay:model/credit@2.0.0\" (instance $i)))"
            ));
            let error = standalone(&bytes.unwrap(), &limits).expect_err(inside);
            let said = error.to_string();
            assert!(said.contains("it uses ") && said.contains(words), "{inside}: {said}");
        }
        // What models may use, is not blamed.
        for inside in
            ["(memory 1) (memory 1)", "(memory i64 1)", "(func $f return_call $f)", "(func (param (ref func)))"]
        {
            let bytes = wat::parse_str(format!(
                "(component (core module {inside}) (instance $i) (export \"assay:model/credit@2.0.0\" (instance $i)))"
            ));
            let error = standalone(&bytes.unwrap(), &limits).expect_err(inside);
            assert!(!error.to_string().contains("which models do not have"), "{inside}: {error}");
        }
    }
}
