//! What an instance that stopped leaves behind, where its engine keeps it: the text of a panic, or a full stack.

use wasmtime::{Store, Trap, Val, WasmCoreDump};

use crate::guest::Guest;

/// The crate `assay-model` writes what a panic says behind these bytes.
const MARK: &[u8] = b"ASSAY-PANIC:";
/// How such a text begins.
const BEGIN: &[u8] = b"panicked at ";
/// The most characters of it that are shown.
const LONGEST: usize = 300;

pub(crate) enum Remains {
    Panic(String),
    /// The pointer of the guest's own stack is outside of the memory.
    FullStack,
    Nothing,
}

/// Looks into the instance that `error` stopped.
pub(crate) fn remains(error: &wasmtime::Error, store: &mut Store<Guest>) -> Remains {
    let Some(dump) = error.downcast_ref::<WasmCoreDump>() else { return Remains::Nothing };
    let memories = || dump.memories().iter();
    if let Some(text) = memories().find_map(|memory| panic(memory.data(&*store))) {
        return Remains::Panic(text);
    }
    if !matches!(error.downcast_ref::<Trap>(), Some(Trap::MemoryOutOfBounds)) {
        return Remains::Nothing;
    }
    // Compilers for WebAssembly keep the pointer of the stack in the first global, and the stack below everything else.
    let pointer = dump.globals().first().map(|global| global.get(&mut *store));
    match pointer {
        Some(Val::I32(pointer)) if pointer < 0 => Remains::FullStack,
        _ => Remains::Nothing,
    }
}

/// The text of a panic, on one line.
fn panic(memory: &[u8]) -> Option<String> {
    let marks = memory.windows(MARK.len()).enumerate().filter(|(_, bytes)| *bytes == MARK);
    let texts = marks.filter_map(|(at, _)| memory.get(at + MARK.len()..));
    let mut texts = texts.filter(|text| text.starts_with(BEGIN));
    let text = texts.find_map(|text| text.split(|byte| *byte == 0).next())?;
    let text = String::from_utf8_lossy(text);
    Some(text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST).collect())
}
