//! Background tasks, each with a name: every panic is logged and counted. Tasks of [`Tasks`] end with it; a [`Tracker`]
//! waits for its tasks; [`spawn`] is for work that neither its caller nor an owner ends. Tasks that run until the
//! server stops are started with `keep`: after a panic they begin again. A caller that waits for its task with
//! [`complete`], [`apart`] or [`blocking`] gets the panic instead, and reports it.

#![cfg_attr(not(test), warn(unreachable_pub))]

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, resume_unwind},
    time::Duration,
};

use futures::FutureExt;
use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::{AbortOnDropHandle, TaskTracker, task_tracker::TaskTrackerToken},
};
use tracing::Instrument;

/// The pause before a task that panicked begins again, and the longest such pause.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// Starts `task` in the current runtime. Only its end or the runtime's ends it.
pub fn spawn<T: Send + 'static>(name: &'static str, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(reported(name, task))
}

/// Starts a task in the current runtime that begins again after a panic, as with [`Spawner::keep`]. Only its end or the
/// runtime's ends it.
pub fn keep<S, F>(name: &'static str, state: S, run: impl Fn(S) -> F + Send + Sync + 'static)
where
    S: Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(kept(name, CancellationToken::new(), PAUSES, state, move |state, _| run(state)));
}

/// Completes `task` even if its caller is dropped.
///
/// # Errors
/// As [`Tracker::complete`].
pub async fn complete<T: Send + 'static>(
    name: &'static str,
    task: impl Future<Output = T> + Send + 'static,
) -> Result<T, String> {
    Tracker::new().complete(name, task).await
}

/// Runs `task` as a separate task, which goes on while its caller does not poll, and ends if its caller is dropped. A
/// panic goes on in the caller. `None` if the runtime ends.
pub async fn apart<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> Option<T> {
    match AbortOnDropHandle::new(tokio::spawn(task.in_current_span())).await {
        Ok(done) => Some(done),
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => None,
        },
    }
}

/// Makes many model calls, or reads files, on a thread for blocking work, so that other requests do not wait. A panic
/// goes on in the caller.
pub async fn blocking<T: Send + 'static>(calls: impl FnOnce() -> T + Send + 'static) -> T {
    let request = tracing::Span::current();
    tokio::task::spawn_blocking(move || request.in_scope(calls))
        .await
        .unwrap_or_else(|error| resume_unwind(error.into_panic()))
}

/// Tasks that somebody waits for. Cheap to clone.
#[derive(Clone, Default)]
pub struct Tracker(TaskTracker);

impl Tracker {
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts `task` in the current runtime.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &'static str,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.0.spawn(reported(name, task))
    }

    /// Completes `task` even if its caller is dropped.
    ///
    /// # Errors
    /// The message of a panic, which the caller reports. Without a caller, it is logged and counted.
    pub async fn complete<T: Send + 'static>(
        &self,
        name: &'static str,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, String> {
        let (caller, outcome) = oneshot::channel();
        self.0.spawn(delivered(name, task, caller).in_current_span());
        outcome.await.unwrap_or_else(|_| Err("the runtime has ended".to_owned()))
    }

    /// As [`Spawner::keep`], for a server that stops when `stop` is cancelled.
    pub fn keep<S, F>(
        &self,
        name: &'static str,
        stop: &CancellationToken,
        state: S,
        run: impl Fn(S, CancellationToken) -> F + Send + Sync + 'static,
    ) where
        S: Clone + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.spawn(kept(name, stop.clone(), PAUSES, state, run));
    }

    /// Starts `task` in `runtime`.
    pub fn spawn_on(&self, runtime: &Handle, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn_on(reported(name, task), runtime);
    }

    pub fn running(&self) -> usize {
        self.0.len()
    }

    /// Counts as a task as long as it is held.
    pub fn token(&self) -> TaskTrackerToken {
        self.0.token()
    }

    /// Lets [`wait`](Self::wait) return once all tasks have ended.
    pub fn close(&self) {
        self.0.close();
    }

    /// Waits until it is closed and all tasks have ended.
    pub async fn wait(&self) {
        self.0.wait().await;
    }
}

/// The owner of tasks. Dropping it aborts every task at its next `await`; [`Tasks::shutdown`] lets them finish.
pub struct Tasks {
    spawner: Spawner,
    _abort: DropGuard,
}

/// Starts tasks for their [`Tasks`]. Cheap to clone; tasks may hold it.
#[derive(Clone)]
pub struct Spawner {
    running: TaskTracker,
    stop: CancellationToken,
    abort: CancellationToken,
}

impl Default for Tasks {
    fn default() -> Self {
        Self::new()
    }
}

impl Tasks {
    pub fn new() -> Self {
        let abort = CancellationToken::new();
        let spawner = Spawner { running: TaskTracker::new(), stop: CancellationToken::new(), abort: abort.clone() };
        Self { spawner, _abort: abort.drop_guard() }
    }

    pub fn spawner(&self) -> Spawner {
        self.spawner.clone()
    }

    /// Cancels [`Spawner::stopping`] and waits for all tasks. After `timeout` the rest is aborted and logged. Returns
    /// whether all tasks finished.
    pub async fn shutdown(self, timeout: Duration) -> bool {
        self.spawner.stop.cancel();
        self.spawner.running.close();
        if tokio::time::timeout(timeout, self.spawner.running.wait()).await.is_ok() {
            return true;
        }
        self.spawner.abort.cancel();
        false
    }
}

impl Spawner {
    /// Starts `task` in the current runtime. While stopping, `task` is dropped instead.
    ///
    /// A panic ends only this task. It is logged with the task's name, and counted.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        if self.stop.is_cancelled() {
            tracing::debug!(task = name, "not started: stopping");
            return;
        }
        let abort = self.abort.clone();
        self.running.spawn(async move {
            tokio::select! {
                biased;
                () = abort.cancelled() => tracing::warn!(task = name, "aborted"),
                () = reported(name, task) => {}
            }
        });
    }

    /// Starts a task that runs until the server stops: `run` gets the token that is cancelled then. If it panics, which
    /// is logged and counted, it begins again after a pause, with a new clone of `state`. The pause grows while the
    /// task keeps panicking soon after its start. If the server stops during a pause, the task begins once more, to
    /// finish its work. If `run` returns, the task ends.
    pub fn keep<S, F>(
        &self,
        name: &'static str,
        state: S,
        run: impl Fn(S, CancellationToken) -> F + Send + Sync + 'static,
    ) where
        S: Clone + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn(name, kept(name, self.stop.clone(), PAUSES, state, run));
    }

    /// Cancelled when tasks must finish their work and return.
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }
}

/// `task`, whose panic is logged and counted before it goes on to whoever joins the task.
async fn reported<T>(name: &'static str, task: impl Future<Output = T>) -> T {
    match caught(name, task).await {
        Ok(ended) => ended,
        Err(panic) => resume_unwind(panic),
    }
}

/// Sends the outcome of `task` to its caller. If the caller is gone, a panic is logged and counted.
async fn delivered<T>(name: &'static str, task: impl Future<Output = T>, caller: oneshot::Sender<Result<T, String>>) {
    let outcome = AssertUnwindSafe(task).catch_unwind().await.map_err(|panic| message(&*panic).to_owned());
    if let Err(Err(panic)) = caller.send(outcome) {
        report(name, &panic);
    }
}

/// The outcome of `task`. A panic is logged and counted. By then, everything that `task` held is dropped.
async fn caught<T>(name: &'static str, task: impl Future<Output = T>) -> Result<T, Box<dyn Any + Send>> {
    let outcome = AssertUnwindSafe(task).catch_unwind().await;
    if let Err(panic) = &outcome {
        report(name, message(&**panic));
    }
    outcome
}

fn report(name: &'static str, panic: &str) {
    metrics::counter!("assay_task_panics_total", "task" => name).increment(1);
    tracing::error!(task = name, panic, "a background task panicked");
}

/// Repeats `run` until it returns without a panic. After `stop` is cancelled, runs it once more at most.
async fn kept<S, F>(
    name: &'static str,
    stop: CancellationToken,
    pauses: [Duration; 2],
    state: S,
    run: impl Fn(S, CancellationToken) -> F + Send + Sync + 'static,
) where
    S: Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let mut last = None;
    loop {
        let (begun, own, stopping) = (Instant::now(), state.clone(), stop.clone());
        let is_last = stop.is_cancelled();
        if caught(name, async { run(own, stopping).await }).await.is_ok() || is_last {
            return;
        }
        let pause = pause_after(pauses, last, begun.elapsed());
        stop.run_until_cancelled(sleep(pause)).await;
        last = Some(pause);
    }
}

/// The pause after a run that began after the pause `last` and `lasted` until its panic: twice the last one, or the
/// first one again if the run lasted longer than that pause.
fn pause_after([first, longest]: [Duration; 2], last: Option<Duration>, lasted: Duration) -> Duration {
    match last {
        Some(last) if lasted <= last => last.saturating_mul(2).min(longest),
        _ => first,
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}

#[cfg(test)]
mod tests {
    use std::{fs, future::pending, path::Path, pin::pin, sync::Arc};

    use tokio::sync::Mutex;
    use tracing::{Event, Subscriber};
    use tracing_subscriber::{
        Layer,
        layer::{Context, SubscriberExt},
        registry::LookupSpan,
    };

    use super::*;

    /// Longer than any test runs.
    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn tasks_finish_their_work_when_told_to_stop() {
        let tasks = Tasks::new();
        let (done, finished) = oneshot::channel();
        let stopping = tasks.spawner().stopping();
        tasks.spawner().spawn("worker", async move {
            stopping.cancelled().await;
            done.send("finished").unwrap();
        });
        assert!(tasks.shutdown(LONG).await);
        assert_eq!(finished.await, Ok("finished"));
    }

    #[tokio::test]
    async fn a_task_that_does_not_stop_is_aborted() {
        let tasks = Tasks::new();
        let (held, ended) = oneshot::channel::<()>();
        tasks.spawner().spawn("deaf", async move {
            let _held = held;
            pending::<()>().await;
        });
        assert!(!tasks.shutdown(Duration::ZERO).await);
        assert!(ended.await.is_err());
    }

    #[tokio::test]
    async fn dropping_the_owner_aborts_also_a_task_that_can_spawn() {
        let tasks = Tasks::new();
        let (held, ended) = oneshot::channel::<()>();
        let spawner = tasks.spawner();
        tasks.spawner().spawn("parent", async move {
            let _held = (held, spawner);
            pending::<()>().await;
        });
        drop(tasks);
        assert!(ended.await.is_err());
    }

    #[tokio::test]
    async fn a_panic_ends_one_task_alone() {
        let tasks = Tasks::new();
        let (done, finished) = oneshot::channel();
        tasks.spawner().spawn("broken", async { panic!("on purpose") });
        tasks.spawner().spawn("sound", async move { done.send(1).unwrap() });
        assert_eq!(finished.await, Ok(1));
        assert!(tasks.shutdown(LONG).await);
    }

    /// The names of the spans of logged events.
    #[derive(Clone, Default)]
    struct Logged(Arc<std::sync::Mutex<Vec<Option<&'static str>>>>);

    impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Logged {
        fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
            self.0.lock().unwrap().push(context.event_span(event).map(|span| span.name()));
        }
    }

    #[tokio::test]
    async fn a_task_logs_a_panic_in_the_span_of_its_caller_only_if_the_caller_is_gone() {
        let logged = Logged::default();
        let _log = tracing::subscriber::set_default(tracing_subscriber::registry().with(logged.clone()));
        let panicked = complete::<()>("broken", async { panic!("on purpose") }).await;
        assert_eq!(panicked, Err("on purpose".to_owned()));
        let apart = apart::<()>(async { panic!("on purpose") });
        assert!(AssertUnwindSafe(apart).catch_unwind().await.is_err());
        assert!(logged.0.lock().unwrap().is_empty());

        let (gone, is_gone) = oneshot::channel::<()>();
        let completed = complete::<()>("broken", async move {
            let _ = is_gone.await;
            panic!("on purpose")
        });
        let mut caller = Box::pin(completed.instrument(tracing::info_span!("request")));
        assert!(caller.as_mut().now_or_never().is_none());
        drop((caller, gone));
        while logged.0.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(*logged.0.lock().unwrap(), [Some("request")]);
    }

    #[tokio::test]
    async fn a_panic_reaches_who_joins_the_task() {
        let joined = Tracker::new().spawn("broken", async { panic!("on purpose") });
        assert!(joined.await.is_err_and(|error| error.is_panic()));
    }

    #[tokio::test]
    async fn a_kept_task_begins_again_after_a_panic_and_ends_when_it_returns() {
        let (starts, never) = (Arc::new(Mutex::new(0)), CancellationToken::new());
        let task = kept("broken", never, [Duration::ZERO; 2], starts.clone(), |starts, _| async move {
            // The run before held the lock, too.
            let mut starts = starts.lock().await;
            *starts += 1;
            assert!(*starts > 2, "on purpose");
        });
        task.await;
        assert_eq!(*starts.lock().await, 3);
    }

    #[tokio::test]
    async fn a_kept_task_that_is_stopped_during_the_pause_begins_once_more() {
        let (starts, stop) = (Arc::new(Mutex::new(0)), CancellationToken::new());
        let task = kept("broken", stop.clone(), [LONG; 2], starts.clone(), |starts, _| async move {
            *starts.lock().await += 1;
            panic!("on purpose");
        });
        let mut task = pin!(task);
        assert!(task.as_mut().now_or_never().is_none());
        stop.cancel();
        task.await;
        assert_eq!(*starts.lock().await, 2);
    }

    #[tokio::test]
    async fn kept_tasks_finish_when_told_to_stop() {
        let (tasks, tracker) = (Tasks::new(), Tracker::new());
        let (spawner, stop) = (tasks.spawner(), tasks.spawner().stopping());
        spawner.keep("worker", (), |(), stopping| async move { stopping.cancelled_owned().await });
        tracker.keep("worker", &stop, (), |(), stopping| async move { stopping.cancelled_owned().await });
        assert!(tasks.shutdown(LONG).await);
        tracker.close();
        tracker.wait().await;
    }

    #[test]
    fn the_pause_grows_while_a_task_panics_soon_after_its_start() {
        let seconds = Duration::from_secs;
        let cases = [(None, 0, 1), (Some(1), 0, 2), (Some(32), 32, 60), (Some(60), 1, 60), (Some(4), 5, 1)];
        for (last, lasted, pause) in cases {
            assert_eq!(pause_after(PAUSES, last.map(seconds), seconds(lasted)), seconds(pause), "{last:?} {lasted}");
        }
    }

    /// A panic of a task that was started in another way is neither logged nor counted.
    #[test]
    fn every_task_of_the_host_has_a_name() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..")];
        let mut seen = 0;
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let is_test = path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs");
                if path.is_dir() && !is_test && !path.ends_with("tasks") {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "rs") && !is_test {
                    let text = fs::read_to_string(&path).unwrap();
                    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                    let unnamed = ["tokio::spawn", "task::spawn(", "TaskTracker", "JoinSet"];
                    seen += 1;
                    assert!(!unnamed.iter().any(|word| code.contains(word)), "{}", path.display());
                }
            }
        }
        assert!(seen > 300, "{seen} files");
    }

    #[tokio::test]
    async fn nothing_is_started_while_stopping() {
        let tasks = Tasks::new();
        let spawner = tasks.spawner();
        assert!(tasks.shutdown(LONG).await);
        let (done, finished) = oneshot::channel();
        spawner.spawn("late", async move { done.send(1).unwrap() });
        assert!(finished.await.is_err());
    }
}
