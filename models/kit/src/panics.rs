//! What a panic says, left in memory for `assay model check` and `assay model try`. A model can print nothing, and a
//! server reads none of it.

use std::{
    fmt::{self, Write},
    panic::{PanicHookInfo, set_hook},
    sync::atomic::{AtomicU8, Ordering::Relaxed},
};

/// The tools look for these bytes, with the text behind them.
const MARK: &str = "ASSAY-PANIC:";

/// Nothing in the model reads it.
#[used]
static TEXT: [AtomicU8; 512] = [const { AtomicU8::new(0) }; 512];

/// Keeps the text of a panic from here on. Every call runs in a fresh instance, so each begins with this.
pub fn tell() {
    set_hook(Box::new(write));
}

fn write(info: &PanicHookInfo<'_>) {
    // A text that is too long is cut.
    let _ = write!(Place { next: 0 }, "{MARK}{info}");
}

struct Place {
    next: usize,
}

impl Write for Place {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // The last byte stays 0.
            let place = TEXT.get(self.next).filter(|_| self.next + 1 < TEXT.len()).ok_or(fmt::Error)?;
            place.store(byte, Relaxed);
            self.next += 1;
        }
        Ok(())
    }
}
