//! `assay watch`: prints the events of a watch as they come, one JSON object a line, until the watch ends.

use std::{thread, time::Duration};

use clap::Args;
use reqwest::Method;
use serde_json::Value;

use crate::{Failure, print_on, remote::Server};

/// Time between two looks.
const PACE: Duration = Duration::from_secs(2);

#[derive(Args)]
pub(super) struct Watch {
    /// Id of the watch, as `POST /api/v2/watches` returns it
    #[arg(value_name = "ID")]
    id: String,
    /// Number of the last event that you have; every kept event is printed if absent
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// Print the events that there are, and end
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    server: Server,
}

pub(super) fn run(watch: &Watch) -> Result<(), Failure> {
    let remote = watch.server.reach(&watch.server.file.load()?)?;
    let (mut after, mut is_first) = (watch.after, true);
    loop {
        let path = format!("/api/v2/watches/{}/events?after={after}", watch.id);
        // A server that does not answer at all may be a wrong one.
        let found =
            if is_first || watch.once { remote.ask(Method::GET, &path, None) } else { remote.follow(&path, PACE) }?;
        is_first = false;
        for event in found.get("events").and_then(Value::as_array).into_iter().flatten() {
            if !print_on(event)? || event.get("type").is_some_and(|kind| kind == "watch.ended") {
                return Ok(());
            }
        }
        after = found.get("last").and_then(Value::as_u64).unwrap_or(after);
        if found.get("more").and_then(Value::as_bool).unwrap_or_default() {
            continue;
        }
        if watch.once {
            return Ok(());
        }
        thread::sleep(PACE);
    }
}
