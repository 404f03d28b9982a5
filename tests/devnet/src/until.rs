//! Waiting for what happens in its own time.

use std::{
    fmt::Debug,
    panic::Location,
    time::{Duration, Instant},
};

/// The bound against hanging, of every wait in the tests: far beyond what anything takes, also at the lowest priority
/// and on a machine that is busy with other work.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// Time between two questions.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks until what is found `is` as expected, and returns that.
///
/// # Panics
/// After [`PATIENCE`], naming the caller and what was found last.
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
            assert!(started.elapsed() < PATIENCE, "{caller}: after {PATIENCE:?} it is {found:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
}
