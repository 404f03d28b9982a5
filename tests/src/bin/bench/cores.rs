//! Which core does what. Threads and processes are tied to cores by `taskset`; without it they go where the system
//! sends them.

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

/// Ties the calling thread, and those it starts, to `core`. False where that cannot be done.
pub fn tie(core: usize) -> bool {
    let Ok(thread) = fs::read_link("/proc/thread-self") else { return false };
    let Some(thread) = thread.file_name() else { return false };
    let mut command = Command::new("taskset");
    command.arg("-cp").arg(core.to_string()).arg(thread).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A command for `program` on `core` alone.
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

/// Nanoseconds that a process has been on a core, over all its threads.
pub fn busy(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| on_core(&thread.path())).sum()
}

/// The same of the calling thread.
pub fn busy_here() -> u64 {
    on_core(Path::new("/proc/thread-self"))
}

/// Nanoseconds that the cores which this process may use have been idle, to the hundredth of a second.
pub fn idle() -> u64 {
    let times = fs::read_to_string("/proc/stat").unwrap_or_default();
    let of = |core: usize| {
        let mut fields =
            times.lines().find_map(|line| line.strip_prefix(&format!("cpu{core} ")))?.split_ascii_whitespace().skip(3);
        // Idle, and idle with a disk at work.
        Some((fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?) * 10_000_000)
    };
    available().into_iter().filter_map(of).sum()
}

fn on_core(thread: &Path) -> u64 {
    let times = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
    times.split_ascii_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or_default()
}
