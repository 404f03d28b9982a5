//! Child processes that end with the process that started them, even when it is killed.

pub mod redis;

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::sync::watch;

/// Lines of output kept for an error message, and for tests that wait for one of them.
const KEPT: usize = 400;

/// The input of the shell is a pipe from this process. When the pipe closes, `cat` ends and the shell ends the child:
/// with SIGKILL, or with SIGTERM and ten seconds later SIGKILL. The shell closes its own output first, so that the
/// child's output ends with the child.
const GUARD: &str = r#"
"$@" </dev/null & child=$!
exec >/dev/null 2>&1
cat
kill -s "$END_BY" $child
tenths=0
while [ "$END_BY" != KILL ] && kill -0 $child; do
    [ $tenths -lt 100 ] || kill -s KILL $child
    tenths=$((tenths + 1))
    sleep 0.1
done
wait $child
"#;

/// What happens to a child's lines. The last lines are always stored for an error message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    Keep,
    /// They also go to our standard error.
    Show,
}

/// A running child process and the shell that watches over it. Dropping it ends both.
#[derive(Debug)]
pub struct Guarded {
    shell: Child,
    leash: Option<ChildStdin>,
    output: Arc<Mutex<Vec<String>>>,
    /// Closed when the child's output is.
    open: watch::Receiver<()>,
}

/// How a child ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At once.
    Kill,
    /// With ten seconds for a shutdown.
    Terminate,
}

impl Guarded {
    /// Starts `command` (its program, arguments, environment and directory; pipes are set here) and waits until
    /// `ready` finds what it looks for in a line of the child's output, standard or error.
    ///
    /// # Errors
    /// When it cannot start, or ends before it is ready; the message has its last lines.
    pub fn start<T>(
        command: &Command,
        end: End,
        show: Lines,
        mut ready: impl FnMut(&str) -> Option<T>,
    ) -> io::Result<(Self, T)> {
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
        shell.env("END_BY", if end == End::Kill { "KILL" } else { "TERM" });
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A process group of its own: Ctrl-C reaches only this process, which ends the children in order.
        shell.process_group(0);
        let mut shell = shell.spawn()?;

        let output = Arc::new(Mutex::new(Vec::new()));
        let (lines, incoming) = mpsc::channel();
        let (still, open) = watch::channel(());
        let still = Arc::new(still);
        let to = Sink { lines, kept: Arc::clone(&output), show, _open: still };
        if let Some(stdout) = shell.stdout.take() {
            let to = to.clone();
            thread::spawn(move || to.take_all(stdout));
        }
        if let Some(stderr) = shell.stderr.take() {
            thread::spawn(move || to.take_all(stderr));
        }
        let leash = shell.stdin.take();
        let guarded = Self { shell, leash, output, open };
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

    /// Completes when the child has ended.
    pub async fn ended(&self) {
        let mut open = self.open.clone();
        while open.changed().await.is_ok() {}
    }

    /// The child's process id. `None` once it has ended.
    pub fn pid(&self) -> Option<u32> {
        // The shell starts it first, then its own `cat`.
        let shell = self.shell.id();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).ok()?;
        children.split_ascii_whitespace().next()?.parse().ok()
    }

    /// Ends the child and returns its exit status.
    ///
    /// # Errors
    /// When the shell that watches over it cannot be waited for.
    pub fn finish(mut self) -> io::Result<ExitStatus> {
        drop(self.leash.take());
        self.shell.wait()
    }

    /// The last lines it wrote.
    pub fn last_lines(&self) -> String {
        self.output.lock().map(|lines| lines.join("\n")).unwrap_or_default()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.leash.take());
        // A failed wait for the shell needs no action.
        let _ = self.shell.wait();
    }
}

/// Where a child's lines go.
#[derive(Clone)]
struct Sink {
    lines: mpsc::Sender<String>,
    kept: Arc<Mutex<Vec<String>>>,
    show: Lines,
    _open: Arc<watch::Sender<()>>,
}

impl Sink {
    /// Keeps reading without a listener, because a full pipe would stop the child.
    fn take_all(self, from: impl io::Read) {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if self.show == Lines::Show {
                eprintln!("{line}");
            }
            if let Ok(mut kept) = self.kept.lock() {
                if kept.len() == KEPT {
                    kept.remove(0);
                }
                kept.push(line.clone());
            }
            let _ = self.lines.send(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use futures::FutureExt;

    use super::{End, Guarded, Lines};

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        command
    }

    fn ready(line: &str) -> Option<String> {
        line.strip_prefix("ready ").map(str::to_owned)
    }

    #[test]
    fn a_child_lives_until_it_is_dropped() {
        let (child, pid) =
            Guarded::start(&shell("echo first; echo ready $$; exec sleep 1000"), End::Kill, Lines::Keep, ready)
                .unwrap();
        assert_eq!(child.ended().now_or_never(), None);
        assert_eq!(child.last_lines(), format!("first\nready {pid}"));
        let alive = || Command::new("kill").args(["-0", &pid]).status().unwrap().success();
        assert!(alive());
        drop(child);
        assert!(!alive());
    }

    #[tokio::test]
    async fn the_end_of_a_child_is_noticed() {
        let (child, _) = Guarded::start(&shell("echo ready now; echo last"), End::Kill, Lines::Keep, ready).unwrap();
        child.ended().await;
        assert_eq!(child.last_lines(), "ready now\nlast");
    }

    #[test]
    fn a_child_that_ends_too_early_leaves_its_words() {
        let error = Guarded::start(&shell("echo no room >&2; exit 1"), End::Kill, Lines::Keep, ready).unwrap_err();
        assert!(error.to_string().contains("no room"), "{error}");
    }
}
