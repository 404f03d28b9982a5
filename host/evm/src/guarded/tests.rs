//! The guarded client against a local server that counts connections.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use futures::future::join_all;
use serde_json::json;

use super::*;

/// A client that may also fetch from these hosts and ports.
fn client(allow: &[String]) -> Guarded {
    Guarded::new(&Outbound {
        allow: allow.to_vec(),
        timeout: Duration::from_secs(600),
        max_bytes: 1_000,
        concurrency: 4,
    })
}

fn local(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// A server on its own port, and the number of connections to it. It answers a path with these bytes and hangs up.
fn server(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, connected, answer) =
        (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)), Arc::new(answer));
    let count = connected.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            count.fetch_add(1, Ordering::SeqCst);
            let answer = answer.clone();
            thread::spawn(move || {
                let mut asked = [0; 4_096];
                let read = stream.read(&mut asked).unwrap_or(0);
                let path = String::from_utf8_lossy(&asked[..read]).split(' ').nth(1).unwrap_or_default().to_owned();
                match path.as_str() {
                    // Never ends.
                    "/silent" => drop(stream.read_to_end(&mut Vec::new())),
                    "/half" => {
                        let _ = stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 9\r\n\r\nhalf");
                        drop(stream.read_to_end(&mut Vec::new()));
                    }
                    "/endless" => while stream.write_all(answer("/endless").as_bytes()).is_ok() {},
                    path => drop(stream.write_all(answer(path).as_bytes())),
                }
            });
        }
    });
    (port, connected)
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn redirect(status: u16, to: &str) -> String {
    format!("HTTP/1.1 {status} Elsewhere\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

#[tokio::test]
async fn what_is_refused_is_never_connected_to() {
    let (port, connected) = server(|_| ok("secret"));
    let closed = client(&[]);
    for url in [
        // By port, by address in every spelling, by a name of an address.
        format!("http://127.0.0.1:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        "http://example.com/".into(),
        "https://example.com:22/".into(),
        "https://127.0.0.1/".into(),
        "https://2130706433/".into(),
        "https://0x7f.1/".into(),
        "https://0177.0.0.1:8443/".into(),
        "https://[::1]:8443/".into(),
        "https://[::ffff:127.0.0.1]/".into(),
        "https://[64:ff9b::7f00:1]/".into(),
        "https://169.254.169.254/latest/meta-data".into(),
        "https://localhost:8443/".into(),
        "https://localhost/".into(),
        "https://user:password@example.com/".into(),
        "https://user@example.com/".into(),
        "ftp://example.com/".into(),
        "file:///etc/passwd".into(),
        "data:application/json,{}".into(),
        "x-batch-gateway:true".into(),
        "https://".into(),
        "no url".into(),
    ] {
        assert!(matches!(closed.get(&url).await, Err(Barred::Refused(_))), "{url}");
        assert!(matches!(closed.post(&url, &json!({})).await, Err(Barred::Refused(_))), "{url}");
    }
    assert_eq!(connected.load(Ordering::SeqCst), 0);
    // If allowed, the same URL is fetched, by address and by name; and nothing else there.
    let fetched = client(&[local(port)]).get(&format!("http://127.0.0.1:{port}/")).await;
    assert_eq!((fetched, connected.load(Ordering::SeqCst)), (Ok(b"secret".to_vec()), 1));
    let named = client(&[format!("localhost:{port}")]);
    assert_eq!(named.get(&format!("http://localhost:{port}/")).await, Ok(b"secret".to_vec()));
    for url in [format!("http://127.0.0.1:{port}/"), "https://localhost:8443/".into(), "http://localhost:1/".into()] {
        assert!(matches!(named.get(&url).await, Err(Barred::Refused(_))), "{url}");
    }
}

#[tokio::test]
async fn a_host_that_answers_nothing_keeps_nobody_from_another() {
    let (port, connected) = server(|_| ok("here"));
    let client = client(&[local(port), format!("localhost:{port}")]);
    let url = format!("http://127.0.0.1:{port}/silent");
    let silent = join_all((0..8).map(|_| client.get(&url)));
    let other = async {
        while connected.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
        client.get(&format!("http://localhost:{port}/")).await
    };
    tokio::select! {
        answer = other => assert_eq!(answer, Ok(b"here".to_vec())),
        _ = silent => panic!("all permits were of one host"),
    }
    assert_eq!(connected.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn each_redirect_is_judged_like_the_first_url() {
    let (port, connected) = server(|_| ok("secret"));
    let (outer, _) = server(move |path| match path {
        "/on" => redirect(302, &format!("http://127.0.0.1:{port}/")),
        "/post" => redirect(307, &format!("http://127.0.0.1:{port}/")),
        "/credential" => redirect(302, &format!("http://user:password@127.0.0.1:{port}/")),
        "/file" => redirect(302, "file:///etc/passwd"),
        "/loop" => redirect(302, "/loop"),
        _ => "HTTP/1.1 302 Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".into(),
    });
    let url = |path: &str| format!("http://127.0.0.1:{outer}{path}");
    // Both are local, but the operator allows only the outer one.
    let outer_only = client(&[local(outer)]);
    for path in ["/on", "/post"] {
        assert!(matches!(outer_only.get(&url(path)).await, Err(Barred::Refused(_))), "{path}");
    }
    assert!(matches!(outer_only.post(&url("/post"), &json!({})).await, Err(Barred::Refused(_))));
    assert_eq!(connected.load(Ordering::SeqCst), 0);
    let client = client(&[local(outer), local(port)]);
    assert_eq!(client.get(&url("/on")).await, Ok(b"secret".to_vec()));
    assert_eq!(client.post(&url("/post"), &json!({})).await, Ok(b"secret".to_vec()));
    assert_eq!(client.post(&url("/on"), &json!({})).await, Err(Barred::Status(302)));
    let before = connected.load(Ordering::SeqCst);
    for path in ["/credential", "/file", "/loop", "/nowhere"] {
        assert!(matches!(client.get(&url(path)).await, Err(Barred::Refused(_))), "{path}");
    }
    assert_eq!(connected.load(Ordering::SeqCst), before);
}

#[tokio::test]
async fn size_and_time_are_bounded() {
    let (port, _) = server(|path| match path {
        "/fits" => ok(&"a".repeat(1_000)),
        "/large" => ok(&"a".repeat(1_001)),
        // Sent repeatedly, without a length.
        "/endless" => format!("HTTP/1.1 200 OK\r\n\r\n{}", "a".repeat(100)),
        _ => "HTTP/1.1 418 Teapot\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".into(),
    });
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let client = client(&[local(port), "127.0.0.1:1".into()]);
    assert_eq!(client.get(&url("/fits")).await.map(|body| body.len()), Ok(1_000));
    assert_eq!(client.get(&url("/large")).await, Err(Barred::TooLarge(1_000)));
    assert_eq!(client.get(&url("/endless")).await, Err(Barred::TooLarge(1_000)));
    assert_eq!(client.get(&url("/tea")).await, Err(Barred::Status(418)));
    let hasty = Guarded::new(&Outbound {
        allow: vec![local(port)],
        timeout: Duration::from_millis(50),
        max_bytes: 1_000,
        concurrency: 4,
    });
    assert_eq!(hasty.get(&url("/silent")).await, Err(Barred::TimedOut));
    assert_eq!(client.get("http://127.0.0.1:1/").await, Err(Barred::Unreachable));
}

#[tokio::test]
async fn a_status_is_an_answer_although_its_body_does_not_end() {
    let (port, _) = server(|_| format!("HTTP/1.1 200 OK\r\n\r\n{}", "a".repeat(100)));
    let (allow, timeout) = (vec![local(port)], Duration::from_secs(2));
    let client = Guarded::new(&Outbound { allow, timeout, max_bytes: 1_000, concurrency: 4 });
    let send = async |path: &str| {
        let url = format!("http://127.0.0.1:{port}{path}");
        client.send_once(Method::POST, &url, HeaderMap::new(), Vec::new()).await
    };
    for path in ["/half", "/endless"] {
        let status = send(path).await.map(|reply| (reply.status.as_u16(), reply.body));
        assert!(status.as_ref().is_ok_and(|(status, body)| [200, 202].contains(status) && body.is_empty()), "{path}");
    }
    assert_eq!(send("/silent").await.err(), Some(Barred::TimedOut));
}
