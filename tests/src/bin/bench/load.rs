//! Load: one thread that asks over many connections at once, and looks at every answer. Written for this, so that it costs less than
//! the server it measures.

use std::{
    net::SocketAddr,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use futures::future::try_join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime,
};

use super::{Failure, cores};

/// Connections, each with one request under way.
pub const CONNECTIONS: usize = 64;

/// What to ask for, and until when.
struct Order {
    request: Vec<u8>,
    stretch: Duration,
    reply: mpsc::Sender<Result<f64, String>>,
}

/// A thread with open connections to one server. Ends when dropped.
pub struct Load {
    orders: mpsc::Sender<Order>,
}

impl Load {
    /// On `core`, against the server at `address`.
    pub fn new(core: usize, address: SocketAddr) -> Self {
        let (orders, inbox) = mpsc::channel::<Order>();
        thread::spawn(move || {
            cores::tie(core);
            work(address, &inbox);
        });
        Self { orders }
    }

    /// Asks for `path` on every connection for so long; answers per second.
    ///
    /// # Errors
    /// Anything but a 200 with a body of the declared length.
    pub fn rate(&self, path: &str, key: &str, stretch: Duration) -> Result<f64, Failure> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: assay\r\nauthorization: Bearer {key}\r\n\r\n").into_bytes();
        let (reply, answer) = mpsc::channel();
        self.orders.send(Order { request, stretch, reply }).map_err(|_| "the load has ended")?;
        Ok(answer.recv().map_err(|_| "the load has ended")??)
    }
}

fn work(address: SocketAddr, inbox: &mpsc::Receiver<Order>) {
    let Ok(runtime) = runtime::Builder::new_current_thread().enable_all().build() else { return };
    let mut connections = Vec::new();
    for Order { request, stretch, reply } in inbox {
        let answered = runtime.block_on(async {
            while connections.len() < CONNECTIONS {
                let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
                stream.set_nodelay(true).map_err(|error| error.to_string())?;
                connections.push(stream);
            }
            let started = Instant::now();
            let asked = connections.iter_mut().map(|stream| ask(stream, &request, started + stretch));
            let answers: u64 = try_join_all_tasks(asked).await?.into_iter().sum();
            Ok(answers as f64 / started.elapsed().as_secs_f64())
        });
        let _ = reply.send(answered);
    }
}

async fn try_join_all_tasks<F: Future<Output = Result<u64, String>>>(tasks: impl Iterator<Item = F>) -> Result<Vec<u64>, String> {
    try_join_all(tasks).await
}

/// Answers that came over one connection until `until`.
async fn ask(stream: &mut TcpStream, request: &[u8], until: Instant) -> Result<u64, String> {
    let mut buffer = [0; 4096];
    let mut answers = 0;
    while Instant::now() < until {
        stream.write_all(request).await.map_err(|error| error.to_string())?;
        let mut filled = 0;
        loop {
            let free = buffer.get_mut(filled..).filter(|free| !free.is_empty()).ok_or("an answer of more than 4 KiB")?;
            let read = stream.read(free).await.map_err(|error| error.to_string())?;
            if read == 0 {
                return Err("the server closed a connection".to_owned());
            }
            filled += read;
            if let Some(length) = whole(&buffer[..filled])? {
                if length != filled {
                    return Err(format!("{filled} bytes came where {length} were declared"));
                }
                break;
            }
        }
        answers += 1;
    }
    Ok(answers)
}

/// Length of the answer that `bytes` begin with; `None` while some of it is missing.
fn whole(bytes: &[u8]) -> Result<Option<usize>, String> {
    const OK: &[u8] = b"HTTP/1.1 200 ";
    const LENGTH: &[u8] = b"content-length: ";
    let Some(end) = find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let (head, length) = (end + 4, |head: &[u8]| {
        let digits = head.get(find(head, LENGTH)? + LENGTH.len()..)?.split(|byte| *byte == b'\r').next()?;
        std::str::from_utf8(digits).ok()?.parse::<usize>().ok()
    });
    let text = bytes.get(..head).unwrap_or_default();
    match length(text) {
        Some(length) if text.starts_with(OK) && length > 0 => Ok(Some(head + length).filter(|whole| *whole <= bytes.len())),
        _ => Err(format!("an answer that is no 200 with a body: {}", String::from_utf8_lossy(bytes))),
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
