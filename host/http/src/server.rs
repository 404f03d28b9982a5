//! Connections: a limit for all and for each address, timeouts for headers and responses, and a graceful stop.

mod peers;

use std::{io, net::IpAddr, pin::pin, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use self::peers::Peers;
use crate::{
    ApiError,
    config::{self, Network},
};
use assay_tasks::Tracker;

/// The address of the peer of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub IpAddr);

/// The limits of connections.
#[derive(Debug, Clone)]
pub struct ConnectionBounds {
    /// Most open connections. Others wait in the kernel's queue.
    pub connections: usize,
    /// Most open connections of one address; others are closed at once. 0: unlimited.
    pub address: usize,
    /// Proxies, whose connections the limit of an address does not count.
    pub proxies: Vec<Network>,
    /// Longest time for a client to send its headers, and for an idle connection to stay open.
    pub headers: Duration,
    /// Longest time in which a client reads nothing of a response.
    pub write: Duration,
    /// Largest head of a request that is read, in bytes.
    pub head: usize,
    /// Longest wait for requests in flight when the server stops.
    pub drain: Duration,
}

impl From<&config::Http> for ConnectionBounds {
    fn from(config: &config::Http) -> Self {
        Self {
            connections: config.max_connections,
            address: config.max_connections_per_address,
            proxies: config.trusted_proxies.clone(),
            headers: config.header_timeout,
            write: config.write_timeout,
            // A head that is too large is still read, so that its refusal has a body.
            head: config.max_head_bytes.saturating_mul(2),
            drain: config.drain_timeout,
        }
    }
}

/// Serves `router` on `listener` until `cancel`, then lets requests in flight finish for as long as `bounds` say.
///
/// # Errors
/// When the listener cannot be used.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    bounds: ConnectionBounds,
    cancel: CancellationToken,
) -> io::Result<()> {
    let router = router.layer(middleware::from_fn_with_state(bounds.head, bound_head));
    let connections = Tracker::new();
    let kill = CancellationToken::new();
    let room = Arc::new(Semaphore::new(bounds.connections));
    let peers = Peers::new(bounds.address, bounds.proxies.clone());
    let bounds = Arc::new(bounds);
    loop {
        let (stream, peer, permit) = tokio::select! {
            () = cancel.cancelled() => break,
            accepted = accept(&listener, &room) => accepted,
        };
        let Some(place) = peers.enter(peer.0) else {
            metrics::counter!("assay_http_refused_total", "reason" => "connections").increment(1);
            continue;
        };
        let (router, bounds, cancel, kill) = (router.clone(), bounds.clone(), cancel.clone(), kill.clone());
        connections.spawn("connection", async move {
            let _open = OpenConnection::new();
            tokio::select! {
                () = converse(stream, peer, router, &bounds, cancel) => {}
                () = kill.cancelled() => {}
            }
            drop((permit, place));
        });
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(bounds.drain, connections.wait()).await.is_err() {
        tracing::warn!(
            connections = connections.running(),
            "stopped with requests in flight: they took longer than http.drain_timeout_ms"
        );
        kill.cancel();
        connections.wait().await;
    }
    Ok(())
}

/// The next connection. A failure to accept is an error of the client or a temporary shortage: it does not end the
/// server.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, Peer, Option<tokio::sync::OwnedSemaphorePermit>) {
    let permit = room.clone().acquire_owned().await.ok();
    let mut told = false;
    loop {
        match listener.accept().await {
            Ok((stream, from)) => return (stream, Peer(from.ip().to_canonical()), permit),
            Err(error) => {
                if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
                    if !std::mem::replace(&mut told, true) {
                        tracing::warn!(%error, "cannot accept connections; retrying");
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// Refuses a head above the limit. hyper refuses one that does not fit into its buffer, but a head that arrives at once
/// may have twice that size.
async fn bound_head(State(most): State<usize>, request: Request, next: Next) -> Response {
    let line = request.method().as_str().len() + request.uri().to_string().len() + " ".len() + " HTTP/1.1\r\n".len();
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    let size = line + headers.sum::<usize>() + "\r\n".len();
    if size <= most {
        return next.run(request).await;
    }
    let detail = format!("The request line and headers have {size} bytes, more than the limit of {most}; send less");
    ApiError::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, detail).into_response()
}

/// A connection, counted as long as it is open.
struct OpenConnection;

impl OpenConnection {
    fn new() -> Self {
        metrics::gauge!("assay_http_connections").increment(1.0);
        Self
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        metrics::gauge!("assay_http_connections").decrement(1.0);
    }
}

async fn converse(stream: TcpStream, peer: Peer, router: Router, bounds: &ConnectionBounds, cancel: CancellationToken) {
    // Responses are small and complete: a delay gains nothing.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(bounds.write));
    let service = router.map_request(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(bounds.headers)
            .max_buf_size(bounds.head)
            .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(service))
    );
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = cancel.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "connection ended");
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        sync::mpsc,
        task::JoinHandle,
    };

    use super::*;

    /// Longer than any test runs.
    const LONG: Duration = Duration::from_secs(3600);

    struct Fixture {
        client: TcpStream,
        address: std::net::SocketAddr,
        cancel: CancellationToken,
        serving: JoinHandle<io::Result<()>>,
        finish: Arc<Semaphore>,
    }

    const HEAD: usize = 64 << 10;

    /// More than the system keeps for a client that reads nothing.
    const MUCH: usize = 64 << 20;

    fn bounds(drain: Duration) -> ConnectionBounds {
        ConnectionBounds {
            connections: 8,
            address: 0,
            proxies: Vec::new(),
            headers: LONG,
            write: LONG,
            head: HEAD,
            drain,
        }
    }

    /// A server with one request in flight, whose handler waits for a permit.
    async fn in_flight(bounds: ConnectionBounds) -> Fixture {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (entered, mut inside) = mpsc::unbounded_channel();
        let finish = Arc::new(Semaphore::new(0));
        let gate = finish.clone();
        let handler = async move || {
            entered.send(()).ok();
            let _permit = gate.acquire().await.unwrap();
            "done"
        };
        let router = Router::new().route("/", get(handler)).route("/much", get(async || vec![0_u8; MUCH]));
        let cancel = CancellationToken::new();
        let serving = assay_tasks::spawn("listener", serve(listener, router, bounds, cancel.clone()));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nhost: assay\r\n\r\n").await.unwrap();
        inside.recv().await.unwrap();
        Fixture { client, address, cancel, serving, finish }
    }

    #[tokio::test]
    async fn a_request_in_flight_is_answered_before_the_server_stops() {
        let mut fixture = in_flight(bounds(LONG)).await;
        fixture.cancel.cancel();
        // The listener closes first: no new connection is accepted from then on.
        while TcpStream::connect(fixture.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert!(!fixture.serving.is_finished());
        fixture.finish.add_permits(1);
        let mut answer = String::new();
        fixture.client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("done"), "{answer}");
        fixture.serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_request_that_takes_too_long_does_not_hold_the_server() {
        let fixture = in_flight(bounds(Duration::ZERO)).await;
        fixture.cancel.cancel();
        fixture.serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn who_does_not_read_an_answer_does_not_hold_the_connection() {
        let fixture = in_flight(ConnectionBounds { write: Duration::from_millis(50), ..bounds(LONG) }).await;
        let mut idle = TcpStream::connect(fixture.address).await.unwrap();
        idle.write_all(b"GET /much HTTP/1.1\r\nhost: assay\r\n\r\n").await.unwrap();
        // Its answer has begun, so the server has more to write than it takes.
        idle.readable().await.unwrap();
        fixture.finish.add_permits(1);
        fixture.cancel.cancel();
        fixture.serving.await.unwrap().unwrap();
        let mut taken = Vec::new();
        let read = idle.read_to_end(&mut taken).await;
        assert!(taken.len() < MUCH, "{read:?}");
    }

    #[tokio::test]
    async fn connections_beyond_those_of_an_address_are_closed_at_once() {
        let fixture = in_flight(ConnectionBounds { address: 2, ..bounds(LONG) }).await;
        let mut second = TcpStream::connect(fixture.address).await.unwrap();
        let mut third = TcpStream::connect(fixture.address).await.unwrap();
        assert!(!matches!(third.read(&mut [0]).await, Ok(1..)));
        fixture.finish.add_permits(1);
        second.write_all(b"GET / HTTP/1.1\r\nhost: assay\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        second.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("done"), "{answer}");
        // With one gone there is room for another, once the server has seen it go.
        loop {
            let mut next = TcpStream::connect(fixture.address).await.unwrap();
            let _ = next.write_all(b"GET / HTTP/1.1\r\nhost: assay\r\nconnection: close\r\n\r\n").await;
            let mut answer = String::new();
            if next.read_to_string(&mut answer).await.is_ok() && answer.ends_with("done") {
                break;
            }
        }
        fixture.cancel.cancel();
        fixture.serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_head_beyond_the_bound_is_refused() {
        let mut fixture = in_flight(bounds(Duration::ZERO)).await;
        let mut second = TcpStream::connect(fixture.address).await.unwrap();
        second.write_all(format!("GET /{} HTTP/1.1\r\n", "a".repeat(HEAD)).as_bytes()).await.unwrap();
        let mut status = [0; 12];
        second.read_exact(&mut status).await.unwrap();
        assert!(matches!(&status, b"HTTP/1.1 431" | b"HTTP/1.1 414"), "{:?}", String::from_utf8_lossy(&status));
        // A head of exactly the bound is answered, and one with a byte more is refused, also if it arrives at once.
        let lines = "GET /much HTTP/1.1\r\nhost: assay\r\na: \r\n\r\n";
        for (more, expected) in [(0, b"HTTP/1.1 200"), (1, b"HTTP/1.1 431"), (HEAD / 8, b"HTTP/1.1 431")] {
            let mut other = TcpStream::connect(fixture.address).await.unwrap();
            let padding = "b".repeat(HEAD - lines.len() + more);
            other.write_all(lines.replace("a: ", &format!("a: {padding}")).as_bytes()).await.unwrap();
            other.read_exact(&mut status).await.unwrap();
            assert_eq!(&status, expected, "{more}: {}", String::from_utf8_lossy(&status));
        }
        fixture.finish.add_permits(1);
        fixture.client.read_exact(&mut status).await.unwrap();
        fixture.cancel.cancel();
        fixture.serving.await.unwrap().unwrap();
    }
}
