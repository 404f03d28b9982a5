//! Which pages of a memory were written, as the kernel counts them. A page that has its old content again counts too.

use std::{collections::BTreeSet, fs::File, io, os::unix::fs::FileExt};

const PAGE: usize = 4096;
/// Flags of a page in `/proc/self/pagemap`: it is in memory, and it is that of a file, which nobody wrote.
const PRESENT: u64 = 1 << 63;
const OF_FILE: u64 = 1 << 61;

/// The written pages of `memory`, which begins as a mapped file, and those beyond the file that were only read. Empty where
/// the system does not say, or has larger pages.
pub(crate) fn pages(memory: &[u8]) -> BTreeSet<u32> {
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
