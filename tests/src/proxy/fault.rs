//! Faults in a node's response: in its contents, and in its transport.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use serde_json::{Value, json};

/// A fault in the real node's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Half of the body, with a matching length.
    Half,
    /// Half of the declared body, then a reset of the connection.
    Reset,
    /// An HTML page with status 200.
    Page,
    /// An endless response.
    Endless,
    /// A response that stops after its first 256 KiB.
    Stalled,
    /// A response that goes on after its first 256 KiB with twenty bytes a second.
    Dripping,
    /// The whole response after 256 KiB of spaces.
    Padded,
    /// A redirect to another server, without TLS.
    Redirect,
    /// The id of another request.
    OtherId,
    /// Only every second response of a batch.
    Partly,
    /// A batch in reverse order, as the protocol allows.
    Backwards,
    /// Logs in reverse order.
    Unordered,
    /// Each log twice.
    Twice,
    /// Additional logs of another contract, another wallet and another block.
    Foreign,
    /// No logs.
    NoLogs,
    /// All logs marked as removed.
    Removed,
    /// Logs of a block that has no hash yet.
    Pending,
}

impl Fault {
    /// Applies the fault to the contents of the responses.
    pub(super) fn spoil(self, answers: &mut Vec<Value>) {
        match self {
            Self::OtherId => answers
                .iter_mut()
                .for_each(|answer| answer["id"] = json!(answer["id"].as_u64().unwrap_or_default() + 1_000_000)),
            Self::Partly => {
                let mut index = 0;
                answers.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
            }
            Self::Backwards => answers.reverse(),
            Self::Half
            | Self::Reset
            | Self::Page
            | Self::Endless
            | Self::Stalled
            | Self::Dripping
            | Self::Padded
            | Self::Redirect => {}
            _ => answers
                .iter_mut()
                .filter_map(|answer| answer["result"].as_array_mut())
                .for_each(|logs| self.spoil_logs(logs)),
        }
    }

    fn spoil_logs(self, logs: &mut Vec<Value>) {
        match self {
            Self::Unordered => logs.reverse(),
            Self::Twice => *logs = logs.iter().flat_map(|log| [log.clone(), log.clone()]).collect(),
            Self::Foreign => {
                let foreign = logs.iter().flat_map(|log| {
                    let with = |key: &str, value: Value| {
                        let mut other = log.clone();
                        other[key] = value;
                        other
                    };
                    let nobody = json!(format!("0x{:064x}", 7));
                    let topics = vec![log["topics"][0].clone(), nobody.clone(), nobody.clone(), nobody];
                    [
                        with("address", json!(format!("0x{:040x}", 7))),
                        with("blockNumber", json!("0xffffffff")),
                        with("topics", json!(topics)),
                    ]
                });
                let foreign: Vec<Value> = foreign.collect();
                logs.extend(foreign);
            }
            Self::NoLogs => logs.clear(),
            Self::Removed => logs.iter_mut().for_each(|log| log["removed"] = json!(true)),
            Self::Pending => logs.iter_mut().for_each(|log| log["blockHash"] = Value::Null),
            _ => {}
        }
    }

    /// Sends `body` to the client, with the fault in its transport.
    pub(super) fn carry(self, body: String) -> Response {
        let kind = [(header::CONTENT_TYPE, "application/json")];
        let half = Bytes::copy_from_slice(&body.as_bytes()[..body.len() / 2]);
        match self {
            Self::Half => (kind, half).into_response(),
            Self::Reset => {
                let broken = stream::iter([Ok(half), Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))]);
                // The first half must be sent before the reset.
                let broken = broken.then(async |part| {
                    tokio::task::yield_now().await;
                    part
                });
                let mut response = (kind, Body::from_stream(broken)).into_response();
                response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
                response
            }
            Self::Page => {
                ([(header::CONTENT_TYPE, "text/html")], "<html><body>We are improving our service</body></html>")
                    .into_response()
            }
            Self::Endless => {
                let start = stream::iter([Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":\"0x")]);
                let more = stream::repeat(Bytes::from_static(&[b'0'; 1 << 16]));
                (kind, Body::from_stream(start.chain(more).map(Ok::<_, std::io::Error>))).into_response()
            }
            Self::Stalled => {
                let start = stream::iter([Bytes::from(" ".repeat(256 << 10))]);
                (kind, Body::from_stream(start.chain(stream::pending()).map(Ok::<_, std::io::Error>))).into_response()
            }
            Self::Dripping => {
                let start = stream::iter([Bytes::from(" ".repeat(256 << 10))]);
                let drops = stream::unfold((), |()| async {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    Some((Bytes::from_static(b" "), ()))
                });
                (kind, Body::from_stream(start.chain(drops).map(Ok::<_, std::io::Error>))).into_response()
            }
            Self::Padded => (kind, " ".repeat(256 << 10) + &body).into_response(),
            Self::Redirect => {
                let mut headers = HeaderMap::new();
                headers.insert(header::LOCATION, HeaderValue::from_static("http://127.0.0.1:9/elsewhere"));
                (StatusCode::TEMPORARY_REDIRECT, headers).into_response()
            }
            _ => (kind, body).into_response(),
        }
    }
}
