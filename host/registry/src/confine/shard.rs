//! Shards: concurrent calls use separate engines if there are enough, to share no memory that is written. A thread
//! returns to the shard that it used last, if that shard is idle.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
};

use wasmtime::{Engine, component::Linker};

use super::guest::Guest;

/// One engine, with one slot for each instance of its pool. Aligned, so taking a slot does not slow reads of other
/// shards.
#[repr(align(128))]
pub(crate) struct Shard {
    pub engine: Engine,
    /// Always empty: a model can import nothing.
    pub linker: Linker<Guest>,
    /// An exhausted pool fails deep inside an instantiation, so a call is rejected before that.
    slots: u32,
    used: AtomicU32,
}

impl Shard {
    pub(crate) fn new(engine: Engine, slots: u32) -> Self {
        Self { linker: Linker::new(&engine), engine, slots, used: AtomicU32::new(0) }
    }

    /// Takes a slot if fewer than `most` are used.
    fn take(&self, most: u32) -> bool {
        let one_more = |used: u32| (used < most).then(|| used + 1);
        self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok()
    }
}

/// A call's right to one instance, until dropped.
pub(crate) struct EngineSlot<'a> {
    pub shard: &'a Shard,
    pub index: usize,
}

impl Drop for EngineSlot<'_> {
    fn drop(&mut self) {
        self.shard.used.fetch_sub(1, Ordering::AcqRel);
    }
}

thread_local! {
    /// The shard that this thread used last; at first a different one for each thread.
    static LAST: Cell<usize> = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        Cell::new(THREADS.fetch_add(1, Ordering::Relaxed))
    };
}

/// At least one shard.
pub(crate) struct Shards {
    pub first: Shard,
    pub others: Vec<Shard>,
}

impl Shards {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Shard> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Whether no call has a slot.
    pub(crate) fn are_idle(&self) -> bool {
        self.iter().all(|shard| shard.used.load(Ordering::Acquire) == 0)
    }

    /// Takes a slot of an idle shard, otherwise of any shard; `None` if all slots are in use.
    pub(crate) fn take_slot(&self) -> Option<EngineSlot<'_>> {
        let (last, count) = (LAST.get(), self.others.len() + 1);
        let shard = |index: usize| if index == 0 { Some(&self.first) } else { self.others.get(index - 1) };
        let from_last = || {
            (0..count)
                .filter_map(|step| (last.wrapping_add(step)).checked_rem(count))
                .filter_map(|index| Some((index, shard(index)?)))
        };
        let idle = from_last().find(|(_, shard)| shard.take(1));
        let (index, shard) = idle.or_else(|| from_last().find(|(_, shard)| shard.take(shard.slots)))?;
        LAST.set(index);
        Some(EngineSlot { shard, index })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_at_the_same_time_use_separate_shards_while_there_are_any() {
        let shard = || Shard::new(Engine::default(), 2);
        let shards = Shards { first: shard(), others: vec![shard()] };
        let take = || shards.take_slot();
        assert!(shards.are_idle());
        let one = take().unwrap();
        let two = take().unwrap();
        assert_ne!(one.index, two.index);
        let (three, four) = (take().unwrap(), take().unwrap());
        assert!(take().is_none() && !shards.are_idle());
        drop((two, three, four));
        // The last shard of this thread is busy: the thread moves to the other one and stays there.
        let again = take().unwrap();
        assert_ne!(again.index, one.index);
        let index = again.index;
        drop((one, again));
        assert_eq!(take().unwrap().index, index);
    }
}
