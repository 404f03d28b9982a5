//! Runs the fuzz target named by `ASSAY_FUZZ_TARGET` under libFuzzer. Built with coverage by `make fuzz`.
#![no_main]

use std::sync::LazyLock;

use assay_tests::fuzz::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("ASSAY_FUZZ_TARGET").unwrap_or_default();
    let known = TARGETS.map(|target| target.name).join(", ");
    Target::named(&name).unwrap_or_else(|| panic!("ASSAY_FUZZ_TARGET is one of {known}, not {name:?}"))
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| (TARGET.run)(input));
