//! The allocator of every model, which the kit brings with it. It hands out what is left of the guest's one page, from
//! the end of its data upward, and starts over when nothing is alive any more, which is after every call. An input too
//! large for the page grows the memory.
//!
//! A component that never calls `memory.grow` is what makes a fresh instance per call cheap: the host resets one page
//! and no more. Off the guest target this crate is empty, and native builds of the models use the system's allocator.
//!
//! It is no part of the kit because the released models name it: their bytes depend on its name, version and folder.

#[cfg(target_arch = "wasm32")]
mod bump;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ARENA: bump::Arena = bump::Arena::new();
