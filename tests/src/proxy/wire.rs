//! A TCP forwarder that a test can interrupt. Bytes pass in both directions, or wait until it is repaired and then
//! arrive late.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// Running until dropped.
pub struct Wire {
    pub port: u16,
    whole: watch::Sender<bool>,
    server: JoinHandle<()>,
}

impl Wire {
    /// Forwards to this port on this machine.
    ///
    /// # Panics
    /// If no port can be bound.
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let own = listener.local_addr().map(|at| at.port()).unwrap_or_default();
        let (whole, watched) = watch::channel(true);
        let server = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let watched = watched.clone();
                tokio::spawn(async move {
                    let mut there = watched.clone();
                    let _ = there.wait_for(|whole| *whole).await;
                    let Ok(far) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    let ((from, to), (back, forth)) = (near.into_split(), far.into_split());
                    // When one side closes, both connections close.
                    tokio::select! {
                        () = pass(from, forth, watched.clone()) => {}
                        () = pass(back, to, watched) => {}
                    }
                });
            }
        });
        Self { port: own, whole, server }
    }

    pub fn cut(&self) {
        self.whole.send_replace(false);
    }

    pub fn mend(&self) {
        self.whole.send_replace(true);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut watched: watch::Receiver<bool>,
) {
    let mut buffer = [0; 16_384];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if watched.wait_for(|whole| *whole).await.is_err() || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
