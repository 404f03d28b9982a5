//! The epoch clock of the engines, which measures the deadlines of calls.

use std::{
    fs, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use wasmtime::Engine;

/// The time between two epochs.
const TICK: Duration = Duration::from_millis(1);

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
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl EpochClock {
    pub(crate) fn start<'a>(engines: impl Iterator<Item = &'a Engine>) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        // Weak references: the clock does not keep an engine in memory.
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

impl Drop for EpochClock {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
