//! The PyPI packages pinned in `clients/requirements.txt`: the public Python client of x402, the toolchain for models
//! in Python, and others, in a separate environment. Other versions are refused.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the interpreter of the environment with the pinned packages, which is created if it does not exist. Blocks;
/// other processes wait for the first.
///
/// # Errors
/// If Python or its package manager fails.
pub fn interpreter() -> Result<PathBuf, String> {
    environment(".python", "clients/requirements.txt")
}

/// Returns the interpreter with the two packages that check deliveries, like [`interpreter`].
///
/// # Errors
/// If Python or its package manager fails.
pub fn of_receivers() -> Result<PathBuf, String> {
    environment("receivers/.python", "receivers/requirements.txt")
}

/// Returns the interpreter of `environment` with the packages that `list` pins.
fn environment(environment: &str, list: &str) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (environment, list) = (root.join(environment), root.join(list));
    let pinned = fs::read(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    // The stamp is written last, so it exists only after a successful installation.
    let stamp = environment.join(".installed-from");
    let python = environment.join("bin/python");
    let current = || fs::read(&stamp).is_ok_and(|installed| installed == pinned);
    if current() {
        return Ok(python);
    }
    // Locks an existing file that no process replaces.
    let lock = File::open(&list).map_err(|e| e.to_string())?;
    lock.lock().map_err(|e| e.to_string())?;
    if current() {
        return Ok(python);
    }
    run(
        Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment),
        "Install Python 3.11 or later with its module venv",
    )?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"];
    run(Command::new(&python).args(install).arg(&list), "Is the package index reachable?")?;
    fs::write(&stamp, &pinned).map_err(|e| e.to_string())?;
    Ok(python)
}

fn run(command: &mut Command, advice: &str) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("python3 cannot be run: {e}. {advice}"))?;
    let said = || format!("{} {}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(()) } else { Err(format!("{advice}; it said:{}", said())) }
}
