//! The load generator: one thread with one request in flight on each of many connections. It checks every response,
//! reads them in turns and blocks for each, so that a response costs two system calls and the server is the bottleneck.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use super::{Failure, cores};

/// Connections, each with one request in flight.
pub const CONNECTIONS: usize = 64;
/// Longest response, in bytes.
const LARGEST: usize = 64 << 10;
/// Timeout of one response.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The result of a run.
pub struct Load {
    /// Responses per second.
    pub rate: f64,
    pub took: Duration,
    /// CPU time of the load generator, in nanoseconds.
    pub busy: u64,
}

/// Requests `path` from the servers at `addresses`, each on an equal share of the connections, for the given time;
/// pinned to `core` where one is given.
///
/// # Errors
/// Where a response is not a 200 with a body of the declared length.
pub fn rate(
    core: Option<usize>,
    addresses: &[SocketAddr],
    path: &str,
    key: &str,
    stretch: Duration,
) -> Result<Load, Failure> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: assay\r\nauthorization: Bearer {key}\r\n\r\n").into_bytes();
    let addresses = addresses.to_vec();
    let asking = thread::spawn(move || {
        core.map(cores::tie);
        ask(&addresses, &request, stretch)
    });
    Ok(asking.join().map_err(|_| "the load panicked")??)
}

fn ask(addresses: &[SocketAddr], request: &[u8], stretch: Duration) -> Result<Load, String> {
    let mut connections = Vec::new();
    for address in addresses.iter().cycle().take(CONNECTIONS) {
        let stream = connect(*address).map_err(|error| error.to_string())?;
        connections.push(stream);
    }
    let (mut buffer, mut answers) = (vec![0; LARGEST], 0_u64);
    for stream in &mut connections {
        stream.write_all(request).map_err(|error| error.to_string())?;
    }
    let started = Instant::now();
    while started.elapsed() < stretch {
        for stream in &mut connections {
            take(stream, &mut buffer)?;
            stream.write_all(request).map_err(|error| error.to_string())?;
        }
        answers += CONNECTIONS as u64;
    }
    let took = started.elapsed();
    for stream in &mut connections {
        take(stream, &mut buffer)?;
    }
    Ok(Load { rate: answers as f64 / took.as_secs_f64(), took, busy: cores::busy_here() })
}

fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// Reads exactly one response.
fn take(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<(), String> {
    let mut filled = 0;
    loop {
        let free = buffer.get_mut(filled..).filter(|free| !free.is_empty()).ok_or("an answer of more than 64 KiB")?;
        match stream.read(free).map_err(|error| format!("no answer: {error}"))? {
            0 => return Err("the server closed a connection".to_owned()),
            read => filled += read,
        }
        match whole(&buffer[..filled])? {
            Some(length) if length == filled => return Ok(()),
            Some(length) => return Err(format!("{filled} bytes came where {length} were declared")),
            None => {}
        }
    }
}

/// Length of the first response in `bytes`; `None` while it is incomplete.
fn whole(bytes: &[u8]) -> Result<Option<usize>, String> {
    const OK: &[u8] = b"HTTP/1.1 200 ";
    const LENGTH: &[u8] = b"content-length: ";
    let Some(end) = find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let (head, body) = bytes.split_at(end + 4);
    let declared = || {
        let digits = head.get(find(head, LENGTH)? + LENGTH.len()..)?.split(|byte| *byte == b'\r').next()?;
        std::str::from_utf8(digits).ok()?.parse::<usize>().ok()
    };
    match declared() {
        Some(length) if head.starts_with(OK) && length > 0 => Ok((body.len() >= length).then_some(head.len() + length)),
        _ => Err(format!("an answer that is no 200 with a body: {}", String::from_utf8_lossy(bytes))),
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
