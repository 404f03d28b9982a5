//! The clock that advances the epochs of the engines, by which calls have deadlines. It stands still while there are no
//! calls.

use std::{
    io,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering, fence},
    },
    thread,
};

use super::{clock::TICK, shard::Shards};

/// Epochs without a call before the clock stands still. To wake it takes longer than a call of a small model.
const IDLE_TICKS: u32 = 100;

/// A thread that advances the epoch of engines, until dropped.
pub(crate) struct EpochClock {
    state: Arc<ClockState>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Default)]
struct ClockState {
    is_stopped: AtomicBool,
    is_asleep: AtomicBool,
}

impl EpochClock {
    pub(crate) fn start(shards: &Arc<Shards>) -> io::Result<Self> {
        let state = Arc::new(ClockState::default());
        // A weak reference: the clock does not keep an engine in memory.
        let (own, shards) = (Arc::clone(&state), Arc::downgrade(shards));
        let thread = thread::Builder::new().name("model-clock".into()).spawn(move || own.run(&shards))?;
        Ok(Self { state, thread: Some(thread) })
    }

    /// Called once a call has its slot.
    pub(crate) fn wake(&self) {
        // Either the clock sees the slot before it falls asleep, or this sees that it does.
        fence(Ordering::SeqCst);
        if self.state.is_asleep.load(Ordering::Relaxed) {
            self.thread.iter().for_each(|thread| thread.thread().unpark());
        }
    }
}

impl ClockState {
    fn run(&self, shards: &Weak<Shards>) {
        let mut idle = 0;
        while !self.is_stopped.load(Ordering::Relaxed) {
            thread::sleep(TICK);
            let Some(shards) = shards.upgrade() else { return };
            shards.iter().for_each(|shard| shard.engine.increment_epoch());
            idle = if shards.are_idle() { idle + 1 } else { 0 };
            if idle < IDLE_TICKS {
                continue;
            }
            idle = 0;
            self.is_asleep.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            let is_idle = shards.are_idle();
            drop(shards);
            if is_idle {
                thread::park();
            }
            self.is_asleep.store(false, Ordering::Relaxed);
        }
    }
}

impl Drop for EpochClock {
    fn drop(&mut self) {
        self.state.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Config, Engine, Instance, Module, Store};

    use super::{
        super::{clock::ticks, shard::Shard},
        *,
    };

    #[test]
    fn a_clock_without_calls_stands_still_and_ends_the_next_call_in_time() {
        let engine = Engine::new(Config::new().epoch_interruption(true)).unwrap();
        let module = Module::new(&engine, wat::parse_str("(module (func (export \"f\") (loop (br 0))))").unwrap());
        let shards = Arc::new(Shards { first: Shard::new(engine.clone(), 1), others: Vec::new() });
        let clock = EpochClock::start(&shards).unwrap();
        for _ in 0..3 {
            while !clock.state.is_asleep.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            let slot = shards.take_slot().unwrap();
            clock.wake();
            let mut store = Store::new(&engine, ());
            store.set_epoch_deadline(ticks(TICK * 5));
            let instance = Instance::new(&mut store, module.as_ref().unwrap(), &[]).unwrap();
            let endless = instance.get_typed_func::<(), ()>(&mut store, "f").unwrap();
            assert_eq!(endless.call(&mut store, ()).unwrap_err().downcast_ref(), Some(&wasmtime::Trap::Interrupt));
            drop(slot);
        }
        while !clock.state.is_asleep.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        // Wakes the thread, and waits for its end.
        drop(clock);
    }
}
