//! `GET /api/v2/watches/{watch_id}/events`: the events of a watch, as a list or as a stream.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{HeaderName, header, request::Parts},
    response::Response,
};

use super::{WatchRoutes, holder::Holder, parameters::WatchPath, stream};
use crate::{
    bodies::{EventsBody, WatchEventBody},
    records::event_seq,
    responses,
};
use assay_http::{
    ApiError, Location, Violation,
    extract::{in_header, limited, optional, single},
    fresh, parameters,
};

/// Events in one response.
const PAGE: usize = 100;
/// The last event that a client of a stream has seen.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Where to begin, and how the events are sent.
pub(crate) struct From {
    after: Option<u64>,
    last_event: Option<String>,
    is_stream: bool,
}

parameters!(
    From:
    limited(
        optional::<u64>("after", "Number of the last event that you have; 0 by default").example(Some(0.into())),
        |schema| schema.minimum = Some(0.into()),
    ),
    in_header("Last-Event-ID", "Id of the last event that you have, instead of `after`"),
);

impl<S: Send + Sync> FromRequestParts<S> for From {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let wrong = || ApiError::invalid(vec![Violation::not_an_integer(Location::Query, "after")]);
        let after = single(parts, "after")?.map(|text| text.parse().map_err(|_| wrong())).transpose()?;
        let mut accepted = parts.headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let is_stream = accepted.any(|list| list.split(',').any(is_event_stream));
        let last_event = parts.headers.get(LAST_EVENT).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Self { after, last_event, is_stream })
    }
}

/// Whether one item of `Accept` accepts a stream, which `q=0` does not.
fn is_event_stream(item: &str) -> bool {
    let mut parts = item.split(';').map(str::trim);
    let is_stream = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("text/event-stream"));
    let quality = |part: &str| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="))?.trim().parse::<f64>().ok();
    is_stream && parts.find_map(quality) != Some(0.0)
}

/// The events of a watch, oldest first; free.
///
/// With `Accept: text/event-stream` they are followed: each event has its type as `event`, its id as `id` and the body
/// of a delivery as `data`. A client that reconnects sends the id as `Last-Event-ID`. A stream ends after 15 minutes,
/// and when the server stops.
#[utoipa::path(
    get, path = "/api/v2/watches/{watch_id}/events", tag = "watches", operation_id = "list_watch_events",
    params(WatchPath, From),
    responses(
        (
            status = 200, description = "The events",
            content(
                (EventsBody = "application/json"),
                (String = "text/event-stream", example = json!(
                    "id: evt_6f3c1f0a8f0e4a6f9f6d0c5b3c1d2e4f_7\nevent: watch.crossed\ndata: {\"type\": …}\n\n"
                )),
            ),
        ),
        responses::OneWatch, responses::Validated, responses::Keyed, responses::Followed,
    ),
    security(("key" = []), ("watch_token" = [])),
)]
pub(crate) async fn events(
    holder: Holder,
    State(state): State<WatchRoutes>,
    WatchPath(id): WatchPath,
    from: From,
) -> Result<Response, ApiError> {
    let watch = state.watches.find(holder.owner(), id).await?;
    let seen = from.last_event.as_deref().and_then(|event| event_seq(watch.record.id, event));
    // A number above the last event would hide the events up to it. After a restore, clients may have such a number.
    let after = seen.or(from.after).unwrap_or_default().min(watch.state.next.saturating_sub(1));
    if from.is_stream {
        return stream::follow(&state, watch.record, after);
    }
    let found = state.watches.events(id, after, PAGE).await.map_err(ApiError::store)?;
    let (last, more) = (found.last().map_or(after, |event| event.seq), found.len() == PAGE);
    let events = found.into_iter().map(WatchEventBody::from).collect();
    Ok(fresh::once(Json(EventsBody { events, last, more })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_sent_to_a_client_that_accepts_one() {
        for item in ["text/event-stream", " Text/Event-Stream;q=0.5", "text/event-stream; charset=utf-8"] {
            assert!(is_event_stream(item), "{item}");
        }
        for item in ["text/event-stream;q=0", "text/event-stream; q=0.000", "*/*", "application/json"] {
            assert!(!is_event_stream(item), "{item}");
        }
    }
}
