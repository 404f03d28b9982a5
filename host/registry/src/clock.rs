//! The clock that the deadlines of calls are read from.

use std::{
    fs, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use wasmtime::Engine;

/// How often the clock moves.
const TICK: Duration = Duration::from_millis(1);

/// The ticks after which at least `time` has passed.
pub(crate) fn ticks(time: Duration) -> u64 {
    // One more than the time divided: the tick under way is already partly over.
    u64::try_from(time.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u64::MAX - 1).saturating_add(1)
}

/// The processor time this thread has had, where the system tells.
pub(crate) fn processor_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Moves the clock of engines from a thread of its own, until dropped.
pub(crate) struct Clock {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Clock {
    pub fn start<'a>(engines: impl Iterator<Item = &'a Engine>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        // Weak, so that a clock cannot keep an engine alive.
        let (stopped, engines) = (Arc::clone(&stop), engines.map(Engine::weak).collect::<Vec<_>>());
        let tick = move || {
            while !stopped.load(Ordering::Relaxed) {
                thread::sleep(TICK);
                for engine in &engines {
                    let Some(engine) = engine.upgrade() else { return };
                    engine.increment_epoch();
                }
            }
        };
        let thread = thread::Builder::new().name("model-clock".into()).spawn(tick)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
