//! Lanes: calls that run at the same time run in engines of their own, as far as there are any, so that they share
//! nothing that is written to. A thread keeps to its lane while that is free.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
};

use wasmtime::{
    Engine,
    component::{InstancePre, Linker},
};

use crate::{abi::Abi, call::Guest};

/// One engine, with as many seats as its pool has instances. Aligned, so that taking a seat disturbs nothing that other
/// lanes read.
#[repr(align(128))]
pub(crate) struct Lane {
    pub engine: Engine,
    /// Empty, and never filled: a model can import nothing.
    pub linker: Linker<Guest>,
    /// An exhausted pool is an error deep inside an instantiation; a seat is refused before it.
    seats: u32,
    at_work: AtomicU32,
}

/// A model in one lane.
pub(crate) struct Door {
    pub pre: InstancePre<Guest>,
    pub abi: Box<dyn Abi>,
}

impl Lane {
    pub fn new(engine: Engine, seats: u32) -> Self {
        Self { linker: Linker::new(&engine), engine, seats, at_work: AtomicU32::new(0) }
    }

    /// Takes a seat where fewer than `most` are taken.
    fn take(&self, most: u32) -> bool {
        let one_more = |taken: u32| (taken < most).then(|| taken + 1);
        self.at_work.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok()
    }
}

/// A call's right to an instance, until dropped.
pub(crate) struct Seat<'a> {
    pub lane: &'a Lane,
    pub index: usize,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.lane.at_work.fetch_sub(1, Ordering::AcqRel);
    }
}

thread_local! {
    /// The lane in which this thread found room last; at first another one for each thread.
    static HOME: Cell<usize> = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        Cell::new(THREADS.fetch_add(1, Ordering::Relaxed))
    };
}

/// A seat in a lane where nobody is at work, else in any; `None` where all are taken.
pub(crate) fn seat<'a>(first: &'a Lane, others: &'a [Lane]) -> Option<Seat<'a>> {
    let (home, count) = (HOME.get(), others.len() + 1);
    let lane = |index: usize| if index == 0 { Some(first) } else { others.get(index - 1) };
    let from_home = || {
        (0..count)
            .filter_map(|step| (home.wrapping_add(step)).checked_rem(count))
            .filter_map(|index| Some((index, lane(index)?)))
    };
    let found =
        from_home().find(|(_, lane)| lane.take(1)).or_else(|| from_home().find(|(_, lane)| lane.take(lane.seats)));
    let (index, lane) = found?;
    HOME.set(index);
    Some(Seat { lane, index })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_at_the_same_time_have_lanes_of_their_own_while_there_are_any() {
        let lane = || Lane::new(Engine::default(), 2);
        let (first, others) = (lane(), [lane()]);
        let take = || seat(&first, &others);
        let one = take().unwrap();
        let two = take().unwrap();
        assert_ne!(one.index, two.index);
        let (three, four) = (take().unwrap(), take().unwrap());
        assert!(take().is_none());
        drop((two, three, four));
        // Its own lane is taken: the other one becomes this thread's, and stays it.
        let again = take().unwrap();
        assert_ne!(again.index, one.index);
        let index = again.index;
        drop((one, again));
        assert_eq!(take().unwrap().index, index);
    }
}
