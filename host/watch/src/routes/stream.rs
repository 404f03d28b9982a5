//! Events as they come. A client that follows does not count as a request in progress, and disconnecting frees its
//! slot.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, StatusCode, header},
    response::Response,
};
use futures::{Stream, stream};
use tokio::time::Instant;

use super::WatchRoutes;
use crate::{
    places::Place,
    records::{self, EventRecord, WatchRecord, event_id},
};
use assay_http::{ApiError, fresh};

/// Time between two looks at the store, for events of other hosts.
const PACE: Duration = Duration::from_secs(2);
/// Time between two signs of life in a stream without events.
const BEAT: Duration = Duration::from_secs(15);
/// Maximum duration of a stream.
const LONGEST: Duration = Duration::from_secs(900);
/// Events that are read at once.
const AT_ONCE: usize = 50;
/// `Retry-After` if too many clients follow, in seconds: the pace of polling.
const POLL: u64 = 5;
/// Time after which a client reconnects, in milliseconds.
const RETRY: &str = "retry: 5000\n\n";

/// One client that follows.
struct Follower {
    state: WatchRoutes,
    watch: WatchRecord,
    after: u64,
    waiting: VecDeque<EventRecord>,
    end: Instant,
    beat: Instant,
    has_begun: bool,
    _place: Place,
}

/// The events of `watch` after this number, until it is removed or its key may not read them any more.
///
/// # Errors
/// 503 if too many clients follow, or too many of one key.
pub(crate) fn follow(state: &WatchRoutes, watch: WatchRecord, after: u64) -> Result<Response, ApiError> {
    let place = state.watches.0.places.take(watch.lane()).ok_or_else(|| {
        metrics::counter!("assay_http_refused_total", "reason" => "waiting").increment(1);
        let words = "Too many clients follow events; poll without `Accept: text/event-stream`";
        ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "busy", words).retry_after(POLL)
    })?;
    let now = Instant::now();
    let follower = Follower {
        state: state.clone(),
        watch,
        after,
        waiting: VecDeque::new(),
        end: now + LONGEST,
        beat: now + BEAT,
        has_begun: false,
        _place: place,
    };
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // nginx passes it on without collecting it.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok(fresh::once((headers, Body::from_stream(parts(follower)))))
}

fn parts(follower: Follower) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(follower, |mut follower| async move { follower.next().await.map(|part| (Ok(part), follower)) })
}

impl Follower {
    /// The next part of the stream; `None` at its end.
    async fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.has_begun, true) {
            return Some(RETRY.into());
        }
        let watches = self.state.watches.clone();
        let stopping = self.state.gate.stopping.clone();
        loop {
            // Registered before the store is read, so that no event is missed in between.
            let told = watches.0.told.notified();
            // A key is believed, and a watch taken to exist, while the store fails.
            let key = records::watch(self.watch.id);
            let is_over = matches!(watches.0.lapse(&self.watch).await, Ok(Some(_)));
            if is_over || matches!(watches.0.store.get(&key).await, Ok(None)) {
                return None;
            }
            if self.waiting.is_empty() {
                // A failing store is read again; the client waits meanwhile.
                self.waiting = watches.events(self.watch.id, self.after, AT_ONCE).await.unwrap_or_default().into();
            }
            if let Some(event) = self.waiting.pop_front() {
                (self.after, self.beat) = (event.seq, Instant::now() + BEAT);
                return Some(part(&self.watch, &event));
            }
            tokio::select! {
                () = told => {}
                () = tokio::time::sleep(PACE) => {}
                () = tokio::time::sleep_until(self.end) => return None,
                () = stopping.cancelled() => return None,
            }
            if Instant::now() >= self.beat {
                self.beat = Instant::now() + BEAT;
                return Some(Bytes::from_static(b":\n\n"));
            }
        }
    }
}

fn part(watch: &WatchRecord, event: &EventRecord) -> Bytes {
    let (id, kind, body) = (event_id(watch.id, event.seq), &event.kind, event.body());
    format!("id: {id}\nevent: {kind}\ndata: {body}\n\n").into()
}
