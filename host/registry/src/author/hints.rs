//! Hints about how a file was built: the component loads, but could be improved.

use wasmparser::{Parser, Payload};

/// The message of Rust's standard library if printing fails; only a guest that prints contains it.
const PRINTS: &[u8] = b"failed printing to";

/// Returns hints about a file whose sections are known to be valid.
pub(crate) fn of(bytes: &[u8]) -> Vec<String> {
    if is_script(bytes) {
        return Vec::new();
    }
    let mut hints = parts(bytes);
    if prints(bytes) {
        hints.push(
            "it prints, with println!, eprintln! or dbg!: nobody sees that, and it costs. Put what a person should \
             read into the description of a factor"
                .to_owned(),
        );
    }
    hints
}

/// Whether a Rust model prints, which has no visible effect. An interpreter may be written in Rust too.
pub(crate) fn prints(bytes: &[u8]) -> bool {
    !is_script(bytes) && bytes.windows(PRINTS.len()).any(|part| part == PRINTS)
}

/// Hints about the sections of a file.
fn parts(bytes: &[u8]) -> Vec<String> {
    let mut hints = Vec::new();
    let (mut debug, mut pages, mut names) = (0, 0, 0);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::CustomSection(section)) if section.name().starts_with(".debug_") => {
                debug += section.data().len();
            }
            Ok(Payload::CustomSection(section)) if section.name() == "name" => names += section.data().len(),
            Ok(Payload::MemorySection(memories)) => {
                pages = memories.into_iter().flatten().map(|memory| memory.initial).fold(pages, u64::max);
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    if debug > 0 {
        hints.push(format!(
            "{debug} bytes of it are for a debugger: build with --release, and `strip = true` and `lto = true` in \
             [profile.release]"
        ));
    } else if names > 100_000 {
        hints.push(format!("{names} bytes of it are names of functions: set `strip = true` in [profile.release]"));
    }
    if pages >= 16 {
        hints.push(format!(
            "it begins with {} KiB of memory, most of it stack: about a quarter of the calls a second. Put the flags \
             of models/kit/README.md into .cargo/config.toml, and use the crate assay-model for its allocator",
            pages * 64
        ));
    }
    hints
}

/// Whether the model is in `JavaScript` or Python, whose engine comes from the toolchain. Only these export printed
/// text.
fn is_script(bytes: &[u8]) -> bool {
    Parser::new(0).parse_all(bytes).any(|payload| match payload {
        Ok(Payload::ComponentExportSection(exports)) => {
            exports.into_iter().flatten().any(|export| export.name.name == "printed")
        }
        _ => false,
    })
}
