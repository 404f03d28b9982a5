//! A bump allocator over linear memory, from `__heap_base` to the end.

use std::{
    alloc::{GlobalAlloc, Layout},
    cell::Cell,
    ptr,
};

use core::arch::wasm32::{memory_grow, memory_size};

const PAGE: usize = 64 * 1024;

unsafe extern "C" {
    /// Where stack and data end: defined by the linker, only its address means anything.
    static __heap_base: u8;
}

/// Memory below `next` is handed out, memory from `next` to the end is free.
pub struct Arena {
    /// 0 stands for `__heap_base`, whose address is not a constant.
    next: Cell<usize>,
    /// Blocks handed out and not given back. At 0 the arena is empty again.
    live: Cell<usize>,
}

// SAFETY: the guest target is built without threads.
unsafe impl Sync for Arena {}

impl Arena {
    pub const fn new() -> Self {
        Self { next: Cell::new(0), live: Cell::new(0) }
    }

    fn start(&self) -> usize {
        match self.next.get() {
            0 => &raw const __heap_base as usize,
            next => next,
        }
    }

    /// Moves `next` to `end`, growing the memory where it is too short. False where the host grants no more.
    #[inline]
    fn extend_to(&self, end: usize) -> bool {
        let have = memory_size::<0>() * PAGE;
        if end > have && !grow(have, end) {
            return false;
        }
        self.next.set(end);
        true
    }
}

/// Asks for twice the memory there is, since growing is dear and a vector that doubles will be back; for no more than
/// `end` if that is refused.
#[cold]
#[inline(never)]
fn grow(have: usize, end: usize) -> bool {
    let needed = (end - have).div_ceil(PAGE);
    let granted = |pages| memory_grow::<0>(pages) != usize::MAX;
    granted(needed.max(have / PAGE)) || granted(needed)
}

// SAFETY: a block is never handed out twice while it lives, since `next` only falls to a block's start when that block
// is given back and is the topmost, or to the beginning when no block is alive.
unsafe impl GlobalAlloc for Arena {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let mask = layout.align() - 1;
        let block = self.start().checked_add(mask).map(|at| at & !mask);
        match block.and_then(|block| Some((block, block.checked_add(layout.size())?))) {
            Some((block, end)) if self.extend_to(end) => {
                self.live.set(self.live.get() + 1);
                block as *mut u8
            }
            _ => ptr::null_mut(),
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let live = self.live.get() - 1;
        self.live.set(live);
        if live == 0 {
            self.next.set(0);
        } else if block as usize + layout.size() == self.next.get() {
            self.next.set(block as usize);
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let start = block as usize;
        if start + layout.size() == self.next.get() {
            let end = start.checked_add(size);
            return if end.is_some_and(|end| self.extend_to(end)) { block } else { ptr::null_mut() };
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
                self.dealloc(block, layout);
            }
            moved
        }
    }
}
