//! Builds models in `JavaScript` and Python: runs their toolchain within a time.

use std::{
    collections::BTreeSet,
    io,
    path::Path,
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use assay_author::Script;
use assay_registry::{Limits, Trials, to_component};

use crate::{Failure, print};

/// The longest that a toolchain may take. Python takes 10 to 30 seconds.
const LONGEST: Duration = Duration::from_secs(300);

/// The toolchain's output for the model in `folder`: with `fuse` its modules linked into one, otherwise a component.
pub fn built(script: Script, folder: &Path, fuse: bool) -> Result<Vec<u8>, Failure> {
    let mut command = script.prepare(folder).map_err(Failure::no)?;
    let (tool, source) = (command.get_program().to_string_lossy().into_owned(), script.source());
    match within(&mut command, LONGEST).map_err(|error| Failure::cannot(format!("{tool} cannot be run: {error}")))? {
        Some(status) if status.success() => {}
        Some(_) => return Err(Failure::no(format!("{source} cannot be built:\n{}", script.report(folder)))),
        None => {
            let seconds = LONGEST.as_secs();
            return Err(Failure::no(format!(
                "{tool} was stopped after {seconds} s. Code of {source} outside of functions runs during the build: \
                 check that it ends"
            )));
        }
    }
    let built = script.built(folder).map_err(|error| Failure::cannot(format!("{tool} wrote no component: {error}")))?;
    if !fuse {
        return Ok(built);
    }
    let fused = |written: &BTreeSet<u32>| {
        script.fused(&built, written).map_err(|error| {
            Failure::no(format!("its modules cannot be linked into one: {error}. `--no-fuse` leaves them as they are"))
        })
    };
    let module = fused(&BTreeSet::new())?;
    let written = written(&module);
    if written.is_empty() {
        print(
            "the pages that its calls write were not found, so a server clears more memory after each call: the model \
             has a fault, \
             which `check` names, or this system has no /proc/self/pagemap",
        )?;
        return Ok(module);
    }
    fused(&written)
}

/// The pages that calls of `module` write. None if the model has mistakes, which `check` names, and if the system
/// does not say.
fn written(module: &[u8]) -> BTreeSet<u32> {
    let limits = Limits { large_lanes: 1, ..Limits::default() };
    let trials = to_component(module).ok().and_then(|component| Trials::load(&component, &limits).ok());
    trials.map(|trials| trials.written()).unwrap_or_default()
}

/// Runs `command`; nothing if it was stopped at the end of its time.
fn within(command: &mut Command, time: Duration) -> io::Result<Option<ExitStatus>> {
    let (mut child, started) = (command.spawn()?, Instant::now());
    while started.elapsed() < time {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(20));
    }
    stop(&mut child)?;
    Ok(None)
}

fn stop(child: &mut Child) -> io::Result<()> {
    child.kill()?;
    child.wait().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_that_does_not_end_is_stopped() {
        let ended = within(Command::new("sleep").arg("600"), Duration::from_millis(50)).unwrap();
        assert_eq!(ended, None);
        assert!(within(&mut Command::new("true"), LONGEST).unwrap().is_some_and(|status| status.success()));
    }
}
