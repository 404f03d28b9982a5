//! Opens the console in a real browser: this machine's Chromium, driven by a script.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde::Deserialize;
use serde_json::{Value, json};

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
    tokio::task::spawn_blocking(packages::browser_packages)
        .await
        .unwrap_or_else(|e| panic!("{e}"))
        .unwrap_or_else(|e| panic!("{e}"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/console.mjs");
    let tour = json!({ "base": base, "key": key, "browser": chromium(), "modes": modes, "views": views });
    let mut command = tokio::process::Command::new("node");
    command.arg(script).arg(tour.to_string()).stdin(Stdio::null()).kill_on_drop(true);
    let done = command.output().await.unwrap_or_else(|e| panic!("node: {e}"));
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    serde_json::from_str(out.trim()).unwrap_or_else(|_| panic!("{}: {out}\n{err}", done.status))
}

fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    places
        .into_iter()
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("there is no chromium; `.ci/setup test` installs it"))
}
