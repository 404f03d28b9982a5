//! Opens the console in a real browser: this machine's Chromium, driven by a script. All tests of a process share it.

use std::{
    collections::{BTreeMap, HashMap},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    thread,
};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::packages;

/// Names of the executable on different systems.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Light, dark, and light on a screen 360 pixels wide.
pub const ALL_MODES: [&str; 3] = ["light", "dark", "narrow"];
/// Light, on screens from 320 to 1,920 pixels wide.
pub const ALL_SIZES: [&str; 5] = ["least", "narrow", "tablet", "desk", "wide"];

/// The result of a tour.
#[derive(Debug, Deserialize)]
pub struct Seen {
    /// Problems: errors, requests to other servers, serious accessibility faults, content wider than the screen.
    pub findings: Vec<String>,
    /// The text of each view, by its name.
    pub texts: BTreeMap<String, String>,
    /// The height of each view in pixels, in the last mode.
    pub heights: BTreeMap<String, u32>,
}

/// Signs in to the console at `base` with `key` and goes through `views`; see `console.mjs`.
///
/// # Panics
/// If there is no browser, or a view or an element does not appear.
pub async fn tour(base: &str, key: &str, modes: &[&str], views: Value) -> Seen {
    static BROWSER: LazyLock<Browser> = LazyLock::new(Browser::start);
    let tour = json!({ "base": base, "key": key, "modes": modes, "views": views });
    let end = tokio::task::spawn_blocking(|| BROWSER.begin(tour)).await.unwrap_or_else(|e| panic!("{e}"));
    let end = end.await.unwrap_or_else(|_| panic!("the browser ended"));
    end.seen.unwrap_or_else(|| panic!("{}", end.error.unwrap_or_default()))
}

/// The browser that all tours of this process share. It ends when the process does, because its input is closed.
struct Browser {
    /// The number of the next tour, and the pipe to the script.
    input: Mutex<(u64, ChildStdin)>,
    waiting: Arc<Mutex<HashMap<u64, oneshot::Sender<End>>>>,
}

/// What came of a tour.
#[derive(Deserialize)]
struct End {
    id: u64,
    seen: Option<Seen>,
    error: Option<String>,
}

impl Browser {
    fn start() -> Self {
        packages::browser_packages().unwrap_or_else(|e| panic!("{e}"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/console.mjs");
        let mut command = Command::new("node");
        command.arg(script).arg(chromium()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut node = command.spawn().unwrap_or_else(|e| panic!("node: {e}"));
        let (Some(input), Some(output)) = (node.stdin.take(), node.stdout.take()) else { panic!("node has no pipes") };
        let waiting = Arc::new(Mutex::new(HashMap::<u64, oneshot::Sender<End>>::new()));
        let known = waiting.clone();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines();
            for end in lines.map_while(|line| serde_json::from_str::<End>(&line.ok()?).ok()) {
                if let Some(waits) = known.lock().unwrap_or_else(PoisonError::into_inner).remove(&end.id) {
                    // The test may have failed in the meantime.
                    waits.send(end).ok();
                }
            }
            // Without their senders, the tests that still wait fail.
            known.lock().unwrap_or_else(PoisonError::into_inner).clear();
            node.wait().ok();
        });
        Self { input: Mutex::new((0, input)), waiting }
    }

    /// Starts a tour. Its result arrives in the receiver.
    fn begin(&self, mut tour: Value) -> oneshot::Receiver<End> {
        let (end, ended) = oneshot::channel();
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let id = input.0;
        input.0 += 1;
        tour["id"] = id.into();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, end);
        writeln!(input.1, "{tour}").unwrap_or_else(|e| panic!("the browser ended: {e}"));
        ended
    }
}

fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    places
        .into_iter()
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("there is no chromium; `.ci/setup test` installs it"))
}
