//! Builds models in `JavaScript` and Python: runs their toolchain within a time.

use std::{
    io,
    path::Path,
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use assay_author::Script;

use crate::commands::Failure;

/// The longest that a toolchain may take. Python takes 10 to 30 seconds.
const LONGEST: Duration = Duration::from_secs(300);

/// What the toolchain makes of the model in `folder`: with `fuse` its modules linked into one, otherwise a component.
pub fn built(script: Script, folder: &Path, fuse: bool) -> Result<Vec<u8>, Failure> {
    let mut command = script.prepare(folder).map_err(Failure::no)?;
    let (tool, source) = (command.get_program().to_string_lossy().into_owned(), script.source());
    match within(&mut command, LONGEST).map_err(|error| Failure::cannot(format!("{tool} cannot be run: {error}")))? {
        Some(status) if status.success() => {}
        Some(_) => return Err(Failure::no(format!("{source} cannot be built:\n{}", script.report(folder)))),
        None => {
            let seconds = LONGEST.as_secs();
            return Err(Failure::no(format!(
                "{tool} was stopped after {seconds} s. What {source} does outside of functions runs when it is built: \
                 does it end?"
            )));
        }
    }
    let built = script.built(folder).map_err(|error| Failure::cannot(format!("{tool} wrote no component: {error}")))?;
    if !fuse {
        return Ok(built);
    }
    script.fused(&built).map_err(|error| {
        Failure::no(format!("its modules cannot be linked into one: {error}. `--no-fuse` leaves them as they are"))
    })
}

/// Runs `command`; nothing where it was stopped at the end of its time.
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
