//! Connections: accepted up to a bound, given a time to send their headers, and let finish when the server stops.

use std::{io, pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Connections open at once. More wait in the kernel's queue.
const CONNECTIONS: usize = 8192;
/// Longest time for a client to send its headers, and for an idle connection to stay open.
const HEADERS: Duration = Duration::from_secs(30);
/// Largest head of a request, in bytes; hyper answers 431 beyond it. A hundred addresses take less than 5 KiB.
const HEAD: usize = 64 << 10;

/// Serves `router` on `listener` until `cancel`, then lets requests in flight finish for at most `drain`.
///
/// # Errors
/// Where the listener cannot be used at all.
pub async fn serve(listener: TcpListener, router: Router, drain: Duration, cancel: CancellationToken) -> io::Result<()> {
    let connections = TaskTracker::new();
    let kill = CancellationToken::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let (stream, permit) = tokio::select! {
            () = cancel.cancelled() => break,
            accepted = accept(&listener, &room) => accepted,
        };
        let (router, cancel, kill) = (router.clone(), cancel.clone(), kill.clone());
        connections.spawn(async move {
            tokio::select! {
                () = converse(stream, router, cancel) => {}
                () = kill.cancelled() => {}
            }
            drop(permit);
        });
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(drain, connections.wait()).await.is_err() {
        tracing::warn!(connections = connections.len(), "stopped with requests in flight: they took longer than http.drain_timeout_ms");
        kill.cancel();
        connections.wait().await;
    }
    Ok(())
}

/// The next connection. A failure to accept is the client's, or a shortage that passes: neither ends the server.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> (TcpStream, Option<tokio::sync::OwnedSemaphorePermit>) {
    let permit = room.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
            Err(error) => {
                if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

async fn converse(stream: TcpStream, router: Router, cancel: CancellationToken) {
    // Answers are small and complete: nothing is gained by waiting for more.
    let _ = stream.set_nodelay(true);
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .max_buf_size(HEAD)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
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
