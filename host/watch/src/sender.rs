//! One attempt of a delivery: the consent of a new receiver, or one signed event.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use chrono::Utc;
use serde_json::{Value, json};

use crate::{
    records::{self, AttemptRecord, EventRecord, WatchRecord, event_id, receiver},
    schedule::Outcome,
    secret::{challenge, signatures},
    told::VerifyEvent,
    watches::WatchesInner,
};
use assay_domain::Time;
use assay_evm::guarded::{Barred, Reply};
use assay_http::values::Moment;

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// The consent of CloudEvents' webhooks.
const ASKED_ORIGIN: HeaderName = HeaderName::from_static("webhook-request-origin");
const ALLOWED_ORIGIN: HeaderName = HeaderName::from_static("webhook-allowed-origin");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("assay/", env!("CARGO_PKG_VERSION")));

/// The attempt and what came of it.
pub(crate) struct Tried {
    pub attempt: AttemptRecord,
    pub outcome: Outcome,
}

/// The outcome if a receiver is not asked again.
const NOT_ASKED: &str =
    "not asked again: within a day the receiver did not agree 20 times, or those of all your watches 100 times";

impl Tried {
    /// The receiver did not agree too often to be asked now.
    pub(crate) fn not_asked() -> Self {
        let outcome = Outcome::Failed(None);
        Self { attempt: attempt(None, Utc::now(), Instant::now(), outcome, NOT_ASKED.to_owned()), outcome }
    }
}

impl WatchesInner {
    /// Sends `event` to the receiver of `watch`.
    pub(crate) async fn send(&self, watch: &WatchRecord, url: &str, event: &EventRecord) -> Tried {
        let (id, body) = (event_id(watch.id, event.seq), event.body());
        let (started, at) = (Instant::now(), Utc::now());
        let answer = self.post(watch, url, (&id, &event.kind, &body)).await;
        let (outcome, words) = judged(&answer);
        Tried { attempt: attempt(Some(event.seq), at, started, outcome, words), outcome }
    }

    /// Asks the receiver of `watch` whether it wants events of this owner; either of two ways is enough.
    pub(crate) async fn ask(&self, watch: &WatchRecord, url: &str) -> Tried {
        let (started, at) = (Instant::now(), Utc::now());
        let (outcome, words) = if self.is_allowed(url).await {
            (Outcome::Taken, "consent by webhook-allowed-origin".to_owned())
        } else {
            self.verify(watch, url).await
        };
        Tried { attempt: attempt(None, at, started, outcome, words), outcome }
    }

    /// Whether the receiver has agreed before.
    pub(crate) async fn has_consent(&self, watch: &WatchRecord, url: &str) -> bool {
        let Some(receiver) = receiver(url) else { return false };
        self.store.get(&records::consent(&watch.owner, &receiver)).await.ok().flatten().is_some()
    }

    async fn is_allowed(&self, url: &str) -> bool {
        let origin = self.settings.origin.as_str();
        let Ok(asked) = HeaderValue::try_from(origin) else { return false };
        let headers = HeaderMap::from_iter([(ASKED_ORIGIN, asked), (header::USER_AGENT, AGENT)]);
        let Ok(reply) = self.sender.send_once(Method::OPTIONS, url, headers, Vec::new()).await else { return false };
        let allowed = reply.headers.get(ALLOWED_ORIGIN).and_then(|value| value.to_str().ok());
        reply.status.is_success() && allowed.is_some_and(|allowed| allowed == "*" || allowed == origin)
    }

    async fn verify(&self, watch: &WatchRecord, url: &str) -> (Outcome, String) {
        let Ok(challenge) = challenge() else { return (Outcome::Failed(None), "no randomness".to_owned()) };
        let data = VerifyEvent { watch_id: watch.id.to_string(), challenge: challenge.clone() };
        let body = json!({ "type": "watch.verify", "timestamp": Moment(Utc::now()), "data": data });
        let answer = self.post(watch, url, (&format!("verify_{challenge}"), "watch.verify", &body)).await;
        let returned = answer.as_ref().is_ok_and(|reply| returns(&reply.body, &challenge));
        match judged(&answer) {
            (Outcome::Taken, _) if !returned => {
                (Outcome::Failed(None), "the receiver did not return data.challenge".to_owned())
            }
            (Outcome::Taken, _) => (Outcome::Taken, "consent by challenge".to_owned()),
            other => other,
        }
    }

    async fn post(
        &self,
        watch: &WatchRecord,
        url: &str,
        (id, kind, body): (&str, &str, &Value),
    ) -> Result<Reply, Barred> {
        let (now, body) = (Utc::now(), body.to_string().into_bytes());
        let replaced = watch.replaced.iter().filter(|(_, until)| *until > now).map(|(secret, _)| secret);
        let signed = signatures([&watch.secret].into_iter().chain(replaced), &self.server_key, (id, now, &body));
        let text = |text: &str| HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
        let source = format!("//{}/watches/{}", self.settings.origin, watch.id);
        let headers = HeaderMap::from_iter([
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::USER_AGENT, AGENT),
            (ID, text(id)),
            (TIMESTAMP, HeaderValue::from(now.timestamp())),
            (SIGNATURE, text(&signed)),
            // The same as an event of CloudEvents 1.0, in its binary form.
            (HeaderName::from_static("ce-specversion"), HeaderValue::from_static("1.0")),
            (HeaderName::from_static("ce-id"), text(id)),
            (HeaderName::from_static("ce-source"), text(&source)),
            (HeaderName::from_static("ce-type"), text(kind)),
        ]);
        self.sender.send_once(Method::POST, url, headers, body).await
    }
}

fn attempt(seq: Option<u64>, at: Time, started: Instant, outcome: Outcome, words: String) -> AttemptRecord {
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    AttemptRecord { seq, at, delivered: outcome == Outcome::Taken, outcome: words, took_ms }
}

/// What an answer means, in words too.
fn judged(answer: &Result<Reply, Barred>) -> (Outcome, String) {
    match answer {
        Err(error) => (Outcome::Failed(None), error.to_string()),
        Ok(reply) => {
            let words = format!("status {}", reply.status.as_u16());
            let outcome = match reply.status {
                StatusCode::GONE => Outcome::Gone,
                status if status.is_success() => Outcome::Taken,
                _ => Outcome::Failed(retry_after(&reply.headers)),
            };
            (outcome, words)
        }
    }
}

/// The seconds of `Retry-After`, or the time until its date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // It is capped later.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = chrono::DateTime::parse_from_rfc2822(text).ok()?;
    (date.to_utc() - Utc::now()).to_std().ok()
}

/// Whether a body returns the challenge: as the text itself, or as the field `challenge` of an object.
fn returns(body: &[u8], challenge: &str) -> bool {
    if std::str::from_utf8(body).is_ok_and(|text| text.trim() == challenge) {
        return true;
    }
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    parsed.and_then(|body| body.get("challenge")?.as_str().map(str::to_owned)).is_some_and(|text| text == challenge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_returned_as_text_or_as_a_field() {
        assert!(returns(b"abc\n", "abc") && returns(br#"{"challenge":"abc"}"#, "abc"));
        for other in [&b""[..], b"abcd", br#"{"challenge":"abd"}"#, br#"["abc"]"#, b"\xff"] {
            assert!(!returns(other, "abc"), "{other:?}");
        }
    }

    #[test]
    fn only_2xx_is_taken_and_410_ends() {
        let reply = |status: u16, retry: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.extend(retry.map(|text| (header::RETRY_AFTER, HeaderValue::from_static(text))));
            let status = StatusCode::from_u16(status).unwrap();
            judged(&Ok(Reply { status, headers, body: Vec::new() })).0
        };
        assert_eq!([200, 204].map(|status| reply(status, None)), [Outcome::Taken; 2]);
        for failed in [301, 302, 307, 404, 500, 503] {
            assert_eq!(reply(failed, None), Outcome::Failed(None), "{failed}");
        }
        assert_eq!(reply(410, None), Outcome::Gone);
        assert_eq!(reply(429, Some("120")), Outcome::Failed(Some(Duration::from_secs(120))));
        assert!(matches!(reply(503, Some("Wed, 21 Oct 2099 07:28:00 GMT")), Outcome::Failed(Some(_))));
        assert_eq!(reply(503, Some("soon")), Outcome::Failed(None));
        assert_eq!(reply(503, Some("99999999999999999999")), Outcome::Failed(Some(Duration::from_secs(u64::MAX))));
    }

    #[test]
    fn receivers_are_told_apart_by_host_and_port() {
        assert_eq!(receiver("https://a.example/x?y").as_deref(), Some("a.example:443"));
        assert_eq!(receiver("https://a.example:8443/").as_deref(), Some("a.example:8443"));
        assert_eq!(receiver("nothing"), None);
    }
}
