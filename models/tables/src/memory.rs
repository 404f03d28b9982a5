//! The memory of the component: stack and code's own data, then what this allocator hands out, then the model's data.
//!
//! The arena of other models hands out memory to its very end, where this component has its data.

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
    hint::black_box,
    ptr, slice,
};

use core::arch::wasm32::{memory_grow, memory_size};

use crate::data::number;

const PAGE: usize = 64 * 1024;

unsafe extern "C" {
    /// Where stack and own data end: the linker defines it, and only its address means anything.
    static __heap_base: u8;
}

/// The packer finds these bytes by the first sixteen, and writes address and length of the data behind them.
#[used]
static PLACE: [u8; 24] = *b"ASSAY-TABLE-DATA\0\0\0\0\0\0\0\0";

/// Address and length of the model's data.
fn place() -> (usize, usize) {
    let place: &[u8] = black_box(&PLACE);
    (number(place, 4) as usize, number(place, 5) as usize)
}

/// The model's data; empty in a component without.
pub fn data() -> &'static [u8] {
    let (address, length) = place();
    if address == 0 {
        return &[];
    }
    // SAFETY: the packer put `length` bytes there, which no allocation overlaps and no code writes to.
    unsafe { slice::from_raw_parts(address as *const u8, length) }
}

/// Hands out memory from `next` up to `end`, and begins anew when no block is alive.
struct Bump {
    /// 0 before the first block.
    next: Cell<usize>,
    end: Cell<usize>,
}

// SAFETY: the component has no threads.
unsafe impl Sync for Bump {}

#[global_allocator]
static BUMP: Bump = Bump { next: Cell::new(0), end: Cell::new(0) };

impl Bump {
    fn start(&self) {
        if self.next.get() == 0 {
            self.next.set(&raw const __heap_base as usize);
            self.end.set(if place().0 == 0 { memory_size::<0>() * PAGE } else { place().0 });
        }
    }

    /// Continues in new pages. What was left before them is given up, unless they follow it.
    #[cold]
    #[inline(never)]
    fn grow(&self, bytes: usize) -> bool {
        let (have, pages) = (memory_size::<0>() * PAGE, bytes.div_ceil(PAGE));
        if memory_grow::<0>(pages) == usize::MAX {
            return false;
        }
        if self.end.get() != have {
            self.next.set(have);
        }
        self.end.set(have + pages * PAGE);
        true
    }
}

// SAFETY: a block is handed out once, and `next` falls only to the start of the topmost block when that is given back.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.start();
        let aligned = || (self.next.get() + layout.align() - 1) & !(layout.align() - 1);
        if aligned().saturating_add(layout.size()) > self.end.get()
            && !self.grow(layout.size().saturating_add(layout.align()))
        {
            return ptr::null_mut();
        }
        let block = aligned();
        self.next.set(block + layout.size());
        block as *mut u8
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if block as usize + layout.size() == self.next.get() {
            self.next.set(block as usize);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let start = block as usize;
        if start + layout.size() == self.next.get() && start.saturating_add(size) <= self.end.get() {
            self.next.set(start + size);
            return block;
        }
        if size <= layout.size() {
            return block;
        }
        // SAFETY: the caller promises `size` with this alignment is a layout, and that `block` is `layout.size()` long,
        // which is the less.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size());
            }
            moved
        }
    }
}
