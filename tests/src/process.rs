//! Child processes that cannot outlive the one that started them, however that one ends.

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

/// Lines of output kept for an error message.
const KEPT: usize = 40;

/// The shell holds a pipe from us as its input. When we close it, or die and the system closes it, `cat` ends and the
/// shell kills the child. It gives up its own output first, so that the child's output ends when the child does.
const GUARD: &str = r#""$@" </dev/null & child=$!; exec >/dev/null 2>&1; cat; kill -s "$SIGNAL_ON_DROP" $child; wait $child"#;

/// A running child process and the shell that watches over it. Dropping it ends both.
#[derive(Debug)]
pub struct Guarded {
    shell: Child,
    leash: Option<ChildStdin>,
    output: Arc<Mutex<Vec<String>>>,
}

/// How a child is told to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At once.
    Kill,
    /// With the chance to shut down in order.
    Terminate,
}

impl Guarded {
    /// Starts `command` (its program, arguments, environment and directory; pipes are set here) and waits until
    /// `ready` finds what it looks for in a line of the child's output, standard or error.
    ///
    /// # Errors
    /// When it cannot be started, or ends before it is ready; the message carries its last lines.
    pub fn start<T>(command: &Command, end: End, mut ready: impl FnMut(&str) -> Option<T>) -> io::Result<(Self, T)> {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(GUARD).arg("sh").arg(command.get_program()).args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(key, value),
                None => shell.env_remove(key),
            };
        }
        if let Some(dir) = command.get_current_dir() {
            shell.current_dir(dir);
        }
        shell.env("SIGNAL_ON_DROP", if end == End::Kill { "KILL" } else { "TERM" });
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: ctrl-c in the terminal reaches us alone, and we end the children in order.
        shell.process_group(0);
        let mut shell = shell.spawn()?;

        let output = Arc::new(Mutex::new(Vec::new()));
        let (lines, incoming) = mpsc::channel();
        if let Some(stdout) = shell.stdout.take() {
            drain(stdout, lines.clone(), Arc::clone(&output));
        }
        if let Some(stderr) = shell.stderr.take() {
            drain(stderr, lines, Arc::clone(&output));
        }
        let leash = shell.stdin.take();
        let guarded = Self { shell, leash, output };
        // The channel closes when both outputs do, which is when the child has ended.
        match incoming.iter().find_map(|line| ready(&line)) {
            Some(found) => Ok((guarded, found)),
            None => Err(io::Error::other(format!(
                "{} ended before it was ready; its last lines:\n{}",
                command.get_program().to_string_lossy(),
                guarded.last_lines()
            ))),
        }
    }

    /// The last lines it wrote.
    pub fn last_lines(&self) -> String {
        self.output.lock().map(|lines| lines.join("\n")).unwrap_or_default()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.leash.take());
        // Nothing is left to do about a shell that cannot be waited for.
        let _ = self.shell.wait();
    }
}

/// Reads on after nobody listens any more: a full pipe would stop the child.
fn drain(from: impl io::Read + Send + 'static, lines: mpsc::Sender<String>, kept: Arc<Mutex<Vec<String>>>) {
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if let Ok(mut kept) = kept.lock() {
                if kept.len() == KEPT {
                    kept.remove(0);
                }
                kept.push(line.clone());
            }
            let _ = lines.send(line);
        }
    });
}
