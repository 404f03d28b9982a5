//! Fetches many documents of strangers at once, so that no server of theirs keeps the others waiting: few at a time
//! from each, each bounded by the guarded client, and none any more from one that keeps failing.

use std::collections::{HashMap, VecDeque};

use futures::{StreamExt, stream::FuturesUnordered};
use tokio::sync::mpsc;

use assay_chain::{Documents, Outside};

/// At once, of a stranger's server and of the operator's gateway.
const EACH: usize = 4;
const GATEWAY: usize = 16;
/// Silences in a row after which a stranger's server is left alone until the next refresh.
const STRIKES: u32 = 12;

/// An agent, where its document is, and what came of it.
pub(super) type Outcome = (u64, Outside, Result<Vec<u8>, &'static str>);

#[derive(Default)]
struct Host {
    waiting: VecDeque<(u64, Outside)>,
    running: usize,
    silences: u32,
}

/// Fetches all of `wanted`, at most `at_once` at once, and tells each outcome. Ends early when nobody listens.
pub(super) async fn gather(
    documents: &Documents,
    wanted: Vec<(u64, Outside)>,
    at_once: usize,
    told: mpsc::Sender<Outcome>,
) {
    let mut hosts = HashMap::<String, Host>::new();
    for (id, outside) in wanted {
        hosts.entry(outside.host()).or_default().waiting.push_back((id, outside));
    }
    // Hosts that have something to ask and room for it, each in its turn.
    let mut turns: VecDeque<String> = hosts.keys().cloned().collect();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < at_once
            && let Some(name) = turns.pop_front()
        {
            let Some(host) = hosts.get_mut(&name) else { continue };
            let Some((id, outside)) = host.waiting.pop_front() else { continue };
            if host.silences >= STRIKES && !outside.by_content {
                turns.push_front(name);
                if told.send((id, outside, Err("host_down"))).await.is_err() {
                    return;
                }
                continue;
            }
            host.running += 1;
            if host.running < if outside.by_content { GATEWAY } else { EACH } {
                turns.push_back(name.clone());
            }
            running.push(async move {
                let outcome = documents.fetch(&outside).await;
                (name, id, outside, outcome)
            });
        }
        let Some((name, id, outside, outcome)) = running.next().await else { return };
        if let Some(host) = hosts.get_mut(&name) {
            host.silences = if matches!(outcome, Err("timeout" | "unreachable")) { host.silences + 1 } else { 0 };
            host.running -= 1;
            if !host.waiting.is_empty() && !turns.contains(&name) {
                turns.push_back(name);
            }
        }
        if told.send((id, outside, outcome)).await.is_err() {
            return;
        }
    }
}
