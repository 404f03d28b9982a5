//! Pins threads and processes to cores with `taskset`. Without that program nothing is pinned.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// The cores that this process may use, lowest first.
pub fn available() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0");
    list.trim()
        .split(',')
        .flat_map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            from.parse().unwrap_or(0)..=to.parse().unwrap_or(0)
        })
        .collect()
}

/// Pins the calling thread, and the threads that it starts, to `core`. Returns whether that succeeded.
pub fn tie(core: usize) -> bool {
    let Ok(thread) = fs::read_link("/proc/thread-self") else { return false };
    let Some(thread) = thread.file_name() else { return false };
    let mut command = Command::new("taskset");
    command.arg("-cp").arg(core.to_string()).arg(thread).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A command that runs `program` pinned to `core`.
pub fn command(core: usize, program: &Path) -> Command {
    let tied =
        Command::new("taskset").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !tied {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.arg("-c").arg(core.to_string()).arg(program);
    command
}

/// CPU time of a process with all its threads, in nanoseconds.
pub fn busy(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| on_core(&thread.path())).sum()
}

/// CPU time of the calling thread, in nanoseconds.
pub fn busy_here() -> u64 {
    on_core(Path::new("/proc/thread-self"))
}

/// Idle time of the cores that this process may use, in nanoseconds, with a resolution of 10 ms.
pub fn idle() -> u64 {
    let times = fs::read_to_string("/proc/stat").unwrap_or_default();
    let of = |core: usize| {
        let mut fields =
            times.lines().find_map(|line| line.strip_prefix(&format!("cpu{core} ")))?.split_ascii_whitespace().skip(3);
        // The columns `idle` and `iowait`.
        Some((fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?) * 10_000_000)
    };
    available().into_iter().filter_map(of).sum()
}

fn on_core(thread: &Path) -> u64 {
    let times = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    times.split_ascii_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or_default()
}
