//! Fetches many documents from many servers at once. Each server gets few requests at a time, so that a slow server
//! does not delay the others, and no more requests after too many failures in a row.

use std::collections::{HashMap, VecDeque};

use futures::{StreamExt, stream::FuturesUnordered};
use tokio::sync::mpsc;

use crate::registries::{Documents, Outside};

/// Concurrent requests to one server, and to the operator's gateway.
const EACH: usize = 4;
const GATEWAY: usize = 16;
/// Failures in a row after which a server gets no more requests until the next refresh.
const MOST_FAILURES: u32 = 12;
/// Outcomes that wait for the reader.
const UNREAD: usize = 512;

/// An agent, the location of its document, and the result of the fetch.
pub(super) type Fetched = (u64, Outside, Result<Vec<u8>, &'static str>);

#[derive(Default)]
struct HostQueue {
    waiting: VecDeque<(u64, Outside)>,
    running: usize,
    failures: u32,
}

/// The servers with their waiting documents.
struct FetchState {
    hosts: HashMap<String, HostQueue>,
    /// Servers with a waiting document and a free request slot, in turn.
    turns: VecDeque<String>,
}

/// The next document of a queue.
enum NextFetch {
    /// From the server of this name.
    Fetch(String, u64, Outside),
    /// Its server failed too often.
    Skip(u64, Outside),
}

/// Fetches all of `wanted`, at most `at_once` at once, while `read` receives the outcomes. The fetches end when `read`
/// does, because it owns the receiver.
pub(super) async fn fetch_all<F: Future>(
    documents: &Documents,
    wanted: Vec<(u64, Outside)>,
    at_once: usize,
    read: impl FnOnce(mpsc::Receiver<Fetched>) -> F,
) -> F::Output {
    let (sender, outcomes) = mpsc::channel(UNREAD);
    tokio::join!(send_all(documents, wanted, at_once, sender), read(outcomes)).1
}

/// Sends each outcome. Ends early when the receiver is dropped.
async fn send_all(documents: &Documents, wanted: Vec<(u64, Outside)>, at_once: usize, outcomes: mpsc::Sender<Fetched>) {
    let mut queue = FetchState::new(wanted);
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < at_once
            && let Some(next) = queue.next()
        {
            match next {
                NextFetch::Fetch(name, id, outside) => running.push(async move {
                    let outcome = documents.fetch(&outside).await;
                    (name, id, outside, outcome)
                }),
                NextFetch::Skip(id, outside) => {
                    if outcomes.send((id, outside, Err("host_down"))).await.is_err() {
                        return;
                    }
                }
            }
        }
        let Some((name, id, outside, outcome)) = running.next().await else { return };
        queue.finished(name, matches!(outcome, Err("timeout" | "unreachable")));
        if outcomes.send((id, outside, outcome)).await.is_err() {
            return;
        }
    }
}

impl FetchState {
    fn new(wanted: Vec<(u64, Outside)>) -> Self {
        let mut hosts = HashMap::<String, HostQueue>::new();
        for (id, outside) in wanted {
            hosts.entry(outside.host()).or_default().waiting.push_back((id, outside));
        }
        let turns = hosts.keys().cloned().collect();
        Self { hosts, turns }
    }

    fn next(&mut self) -> Option<NextFetch> {
        while let Some(name) = self.turns.pop_front() {
            let Some(host) = self.hosts.get_mut(&name) else { continue };
            let Some((id, outside)) = host.waiting.pop_front() else { continue };
            if host.failures >= MOST_FAILURES && !outside.by_content {
                self.turns.push_front(name);
                return Some(NextFetch::Skip(id, outside));
            }
            host.running += 1;
            if host.running < if outside.by_content { GATEWAY } else { EACH } {
                self.turns.push_back(name.clone());
            }
            return Some(NextFetch::Fetch(name, id, outside));
        }
        None
    }

    /// Records that a request to the server `name` has ended; `failed` means that there was no response.
    fn finished(&mut self, name: String, failed: bool) {
        let Some(host) = self.hosts.get_mut(&name) else { return };
        host.failures = if failed { host.failures + 1 } else { 0 };
        host.running -= 1;
        if !host.waiting.is_empty() && !self.turns.contains(&name) {
            self.turns.push_back(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::registries::Located;
    use assay_evm::config::Outbound;

    #[tokio::test]
    async fn the_fetches_end_with_their_reader() {
        let outbound = Outbound { allow: Vec::new(), timeout: Duration::from_secs(1), max_bytes: 64, concurrency: 4 };
        let documents = Documents::new(&outbound, None);
        let Located::Outside(refused) = documents.locate("http://127.0.0.1:9/agent.json") else { unreachable!() };
        let wanted: Vec<_> = (0..3 * UNREAD as u64).map(|id| (id, refused.clone())).collect();
        let all = |mut outcomes: mpsc::Receiver<Fetched>| async move {
            let mut ids = Vec::new();
            while let Some((id, _, outcome)) = outcomes.recv().await {
                assert!(outcome.is_err());
                ids.push(id);
            }
            ids.sort_unstable();
            ids
        };
        assert!(fetch_all(&documents, wanted.clone(), 8, all).await.into_iter().eq(0..3 * UNREAD as u64));
        // As when what was fetched cannot be stored.
        let fails = |mut outcomes: mpsc::Receiver<Fetched>| async move { outcomes.recv().await.map(|_| ()).ok_or(()) };
        assert_eq!(fetch_all(&documents, wanted, 8, fails).await, Ok(()));
    }
}
