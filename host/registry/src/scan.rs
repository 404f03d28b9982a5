//! Whether the engines may ask the kernel which pages of an instance were written, to clear only these after a call
//! (`PAGEMAP_SCAN`, Linux 6.7 and later).

use std::fs;

use wasmtime::PoolingAllocationConfig;

/// True where the kernel answers, and nothing can be swapped out: a page that was written and then swapped out is not
/// reported, so it would keep what one call left for the next one.
pub(crate) fn is_safe() -> bool {
    let without_swap = fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() <= 1);
    without_swap && PoolingAllocationConfig::is_pagemap_scan_available()
}
