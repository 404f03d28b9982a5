//! The `assay` binary: parses, calls the library, and says how it went.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    assay::commands::run()
}
