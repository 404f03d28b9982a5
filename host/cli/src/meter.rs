//! Progress of a command, on standard error.

use std::{
    io::{self, IsTerminal as _},
    time::{Duration, Instant},
};

use assay_backtest::{Progress, grouped};

/// Time between two messages: on a terminal, and in a log.
const TICK: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Progress through one file: a bar on one line of a terminal, or a message every few seconds in a log.
pub struct Meter {
    name: String,
    started: Instant,
    last: Instant,
    terminal: bool,
}

impl Meter {
    pub fn new(name: String) -> Self {
        let now = Instant::now();
        Self { name, started: now, last: now, terminal: io::stderr().is_terminal() }
    }

    pub fn show(&mut self, Progress { records, bytes, size }: Progress) {
        let tick = if self.terminal { TICK.0 } else { TICK.1 };
        if self.last.elapsed() < tick {
            return;
        }
        self.last = Instant::now();
        let (seconds, share) = (self.started.elapsed().as_secs_f64(), (bytes as f64 / size.max(1) as f64).min(1.0));
        let left = if share > 0.0 { seconds / share - seconds } else { 0.0 };
        let message = format!(
            "{:>3.0} %  {} records, {}/s, {left:.0} s left",
            share * 100.0,
            grouped(records),
            grouped((records as f64 / seconds) as u64)
        );
        if self.terminal {
            let filled = (share * 24.0) as usize;
            eprint!(
                "\r\x1b[K{}  {}{}  {message}",
                self.name,
                "█".repeat(filled),
                "░".repeat(24_usize.saturating_sub(filled))
            );
        } else {
            eprintln!("{}: {}", self.name, message.trim_start());
        }
    }

    pub fn clear(&self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }
}
