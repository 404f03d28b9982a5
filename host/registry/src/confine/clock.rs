//! The epoch clock of the engines, which measures the deadlines of calls. It stands still while there are none.

use std::{
    fs, io,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering, fence},
    },
    thread,
    time::{Duration, Instant},
};

use super::shard::Shards;

/// The time between two epochs.
const TICK: Duration = Duration::from_millis(1);
/// Epochs without a call before the clock stands still. To wake it takes longer than a call of a small model.
const IDLE_TICKS: u32 = 100;

/// The number of epochs that take at least `time`.
pub(crate) fn ticks(time: Duration) -> u64 {
    // One more, because the current epoch is partly over.
    u64::try_from(time.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u64::MAX - 1).saturating_add(1)
}

/// The processor time of this thread; `None` if the system does not report it.
pub(crate) fn processor_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Measures the processor time that this thread uses, so that a busy machine does not count against a model. Where the
/// system does not report it, measures elapsed time.
pub(crate) struct UsedTime {
    began: Instant,
    processor: Option<Duration>,
}

impl UsedTime {
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), processor: processor_time() }
    }

    pub(crate) fn time(&self) -> Duration {
        let used = processor_time().zip(self.processor).map(|(now, then)| now.saturating_sub(then));
        used.unwrap_or_else(|| self.began.elapsed())
    }
}

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

    use super::{super::shard::Shard, *};

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
            store.set_epoch_deadline(ticks(Duration::from_millis(5)));
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
