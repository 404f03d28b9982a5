//! Reads the memory of a stopped instance, if its engine keeps it: the message of a panic, the prints of a script, a
//! full stack, or the written pages.

use std::{collections::BTreeSet, fs::File, io, os::unix::fs::FileExt as _};

use wasmtime::{Store, Trap, Val, WasmCoreDump};

use super::guest::Guest;

/// A mark in memory, and the start of the text after it.
struct DumpMark {
    mark: &'static [u8],
    start: &'static [u8],
}

/// The message of a panic, written there by the crate `assay-model` or the runtime of a script.
const PANIC: DumpMark = DumpMark { mark: b"ASSAY-PANIC:", start: b"panicked at " };
/// The prints of a script.
const PRINT: DumpMark = DumpMark { mark: b"ASSAY-PRINT:", start: b"printed:" };
/// Maximum number of characters of a panic message that are shown.
const LONGEST: usize = 600;
const PAGE: usize = 4096;
/// Flags of a page in `/proc/self/pagemap`: the page is in memory, and it is an unwritten page of a file.
const PRESENT: u64 = 1 << 63;
const OF_FILE: u64 = 1 << 61;

pub(crate) enum Remains {
    Panic(String),
    /// The guest's own stack pointer is outside of the memory.
    FullStack,
    Nothing,
}

/// Inspects the instance that `error` stopped. A limit that was exceeded is the cause, whatever text is in the memory.
pub(crate) fn remains(error: &wasmtime::Error, store: &mut Store<Guest>) -> Remains {
    let Some(dump) = error.downcast_ref::<WasmCoreDump>() else { return Remains::Nothing };
    let by_limit =
        matches!(error.downcast_ref::<Trap>(), Some(Trap::Interrupt | Trap::OutOfFuel | Trap::StackOverflow));
    if by_limit || store.data().denied.is_some() {
        return Remains::Nothing;
    }
    let memories = || dump.memories().iter();
    if let Some(text) = memories().find_map(|memory| panic(memory.data(&*store))) {
        return Remains::Panic(text);
    }
    if !matches!(error.downcast_ref::<Trap>(), Some(Trap::MemoryOutOfBounds)) {
        return Remains::Nothing;
    }
    // Compilers for WebAssembly keep the stack pointer in the first global, and the stack below everything else.
    let pointer = dump.globals().first().map(|global| global.get(&mut *store));
    match pointer {
        Some(Val::I32(pointer)) if pointer < 0 => Remains::FullStack,
        _ => Remains::Nothing,
    }
}

/// Makes a model's `text` safe for a terminal, which would interpret its control characters.
pub(crate) fn harmless(text: &str) -> String {
    let shown = |character: char| match character {
        '\n' | '\t' => character,
        _ if character.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    };
    text.chars().map(shown).collect()
}

/// The text of a panic, on one line.
fn panic(memory: &[u8]) -> Option<String> {
    let text = marked(memory, PANIC)?;
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST).collect();
    Some(harmless(&line))
}

/// The prints of a script before `error` stopped it.
pub(crate) fn printed(error: &wasmtime::Error, store: &Store<Guest>) -> Option<String> {
    let dump = error.downcast_ref::<WasmCoreDump>()?;
    let text = dump.memories().iter().find_map(|memory| marked(memory.data(store), PRINT))?;
    text.split_once(':').map(|(_, printed)| printed.to_owned())
}

/// The pages of memory that were written before `error` stopped it.
pub(crate) fn written(error: &wasmtime::Error, store: &Store<Guest>) -> BTreeSet<u32> {
    let dump = error.downcast_ref::<WasmCoreDump>();
    let memory = dump.and_then(|dump| dump.memories().first());
    memory.map(|memory| written_pages(memory.data(store))).unwrap_or_default()
}

/// The written pages of `memory`, as the kernel counts them; a page that has its old content again counts too. The
/// memory begins as a mapped file; beyond the file, pages that were only read also count. Empty if the system does not
/// report them, or has larger pages.
fn written_pages(memory: &[u8]) -> BTreeSet<u32> {
    let flags = flags(memory).unwrap_or_default();
    let written = (0..).zip(flags).filter(|(_, flags)| flags & (PRESENT | OF_FILE) == PRESENT);
    written.map(|(page, _)| page).collect()
}

/// The flags of each page.
fn flags(memory: &[u8]) -> io::Result<Vec<u64>> {
    if rustix::param::page_size() != PAGE {
        return Ok(Vec::new());
    }
    let mut flags = vec![0; memory.len() / PAGE * size_of::<u64>()];
    let first = memory.as_ptr().addr() / PAGE * size_of::<u64>();
    File::open("/proc/self/pagemap")?.read_exact_at(&mut flags, first as u64)?;
    Ok(flags.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect())
}

/// The text after a mark, up to a zero byte.
fn marked(memory: &[u8], DumpMark { mark, start }: DumpMark) -> Option<String> {
    // A script has up to 16 MiB.
    let marks = memchr::memmem::find_iter(memory, mark);
    let mut texts = marks.filter_map(|at| memory.get(at + mark.len()..)).filter(|text| text.starts_with(start));
    let text = texts.find_map(|text| text.split(|byte| *byte == 0).next())?;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_model_does_not_steer_a_terminal() {
        assert_eq!(harmless("one\ttwo\n\u{1b}[2Jthree\r\u{9b}"), "one\ttwo\n\u{fffd}[2Jthree\u{fffd}\u{fffd}");
        let memory = b"..ASSAY-PANIC:panicked at a.rs:1:\n\x1b[2Jgood\0..";
        assert_eq!(panic(memory).as_deref(), Some("panicked at a.rs:1: \u{fffd}[2Jgood"));
    }
}
