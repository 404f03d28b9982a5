//! Waiting for what happens in its own time.

use std::{
    fmt::Debug,
    panic::Location,
    time::{Duration, Instant},
};

/// Longest wait, also for work at the lowest priority: shadow scores, self-tests of challengers.
pub const IN_BACKGROUND: Duration = Duration::from_secs(180);
/// Time between two questions.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks until what is found `is` as expected, and returns that.
///
/// # Panics
/// After [`IN_BACKGROUND`], naming the caller and what was found last.
#[track_caller]
pub fn until<T: Debug>(mut ask: impl AsyncFnMut() -> T, mut is: impl FnMut(&T) -> bool) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let started = Instant::now();
        loop {
            let found = ask().await;
            if is(&found) {
                return found;
            }
            assert!(started.elapsed() < IN_BACKGROUND, "{caller}: after {IN_BACKGROUND:?} it is {found:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
}
