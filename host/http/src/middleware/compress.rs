//! Compression: a text above [`FROM`] bytes goes as gzip to a client that accepts it, and each encoding has a strong
//! `ETag` of its own, so that no cache confuses their bytes.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Response as Answer, StatusCode, header},
    middleware::Next,
    response::Response,
};
use tower_http::compression::{CompressionLayer, Predicate};

/// Below, the headers of gzip cost more than it saves.
const FROM: u64 = 1 << 10;
/// What the tag of a compressed body ends with.
const GZIPPED: &str = "-gzip\"";

/// The layer that compresses; [`tag`] goes around it.
pub(super) fn layer() -> CompressionLayer<Texts> {
    CompressionLayer::new().compress_when(Texts)
}

/// Texts whose length is known. Streams are sent as they come: an encoder would hold back what a client waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Texts;

impl Predicate for Texts {
    fn should_compress<B: hyper::body::Body>(&self, response: &Answer<B>) -> bool {
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_text = kind.starts_with("text/") || ["json", "javascript", "svg"].iter().any(|part| kind.contains(part));
        is_text && response.body().size_hint().exact().is_some_and(|length| length > FROM)
    }
}

/// Gives each encoding its own tag. Handlers know the tags of uncompressed bodies only.
pub(super) async fn tag(mut request: Request, next: Next) -> Response {
    let given = take_encodings(request.headers_mut(), header::IF_NONE_MATCH);
    take_encodings(request.headers_mut(), header::IF_MATCH);
    let mut response = next.run(request).await;
    let is_unchanged = response.status() == StatusCode::NOT_MODIFIED;
    let headers = response.headers_mut();
    let Some(tag) = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned) else {
        return response;
    };
    if !headers.get_all(header::VARY).iter().any(|value| value.as_bytes().eq_ignore_ascii_case(b"accept-encoding")) {
        headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
    let compressed = format!("{}{GZIPPED}", tag.trim_end_matches('"'));
    // The client of a 304 keeps the body that it has, in its encoding.
    let is_compressed = headers.contains_key(header::CONTENT_ENCODING) || is_unchanged && given.contains(&compressed);
    if is_compressed && let Ok(tag) = HeaderValue::try_from(compressed) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// Makes the tags of the header `name` those of uncompressed bodies; returns the tags of compressed ones.
fn take_encodings(headers: &mut HeaderMap, name: HeaderName) -> Vec<String> {
    let lines: Vec<String> =
        headers.get_all(&name).iter().filter_map(|line| line.to_str().ok()).map(str::to_owned).collect();
    let given: Vec<String> = lines
        .iter()
        .flat_map(|line| line.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/").to_owned())
        .filter(|tag| tag.ends_with(GZIPPED))
        .collect();
    if !given.is_empty()
        && let Ok(plain) = HeaderValue::try_from(lines.join(", ").replace(GZIPPED, "\""))
    {
        headers.insert(name, plain);
    }
    given
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use axum::{
        Router,
        body::{Body, to_bytes},
        middleware::from_fn,
        response::IntoResponse as _,
        routing::get,
    };
    use tower::{ServiceBuilder, ServiceExt as _};

    use super::*;
    use crate::fresh::{Expected, Known, tagged};
    use assay_domain::Freshness;

    const LONG: usize = 2_000;

    async fn list(known: Known) -> Response {
        let minute = std::time::Duration::from_secs(60);
        let fresh = Freshness { read_at: chrono::Utc::now(), life: minute };
        known.answer(fresh, &vec!["an item"; LONG / 10]).unwrap()
    }

    async fn ask(path: &str, headers: &[(&str, &str)]) -> (Response<()>, Vec<u8>) {
        let text = |length, kind| async move { ([(header::CONTENT_TYPE, kind)], "x".repeat(length)) };
        let stream = || async {
            let parts = futures::stream::iter([Ok::<_, std::io::Error>("x".repeat(LONG))]);
            ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(parts))
        };
        let changed = |expected: Expected| async move {
            let list = "x".repeat(LONG);
            if expected.allows(&list) {
                tagged(&list, &list).into_response()
            } else {
                StatusCode::IM_A_TEAPOT.into_response()
            }
        };
        let router = Router::new()
            .route("/list", get(list))
            .route("/changed", get(changed))
            .route("/short", get(move || text(FROM as usize, "application/json")))
            .route("/long", get(move || text(LONG, "text/css")))
            .route("/bytes", get(move || text(LONG, "application/vnd.apache.parquet")))
            .route("/stream", get(stream))
            .layer(ServiceBuilder::new().layer(from_fn(tag)).layer(layer()));
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, body) = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap().into_parts();
        (Response::from_parts(head, ()), to_bytes(body, usize::MAX).await.unwrap().to_vec())
    }

    const GZIP: (&str, &str) = ("accept-encoding", "br, gzip;q=0.8");

    #[tokio::test]
    async fn long_texts_are_compressed_for_clients_that_accept_it() {
        for (path, headers, expected) in [
            ("/long", &[GZIP][..], true),
            ("/list", &[GZIP], true),
            ("/long", &[], false),
            ("/long", &[("accept-encoding", "gzip;q=0")], false),
            ("/short", &[GZIP], false),
            ("/bytes", &[GZIP], false),
            ("/stream", &[GZIP], false),
        ] {
            let (response, body) = ask(path, headers).await;
            let is_compressed = response.headers().get(header::CONTENT_ENCODING).is_some_and(|value| value == "gzip");
            assert_eq!(is_compressed, expected, "{path} {headers:?}");
            if is_compressed {
                let mut text = String::new();
                flate2::read::GzDecoder::new(&*body).read_to_string(&mut text).unwrap();
                assert_eq!(text.as_bytes(), ask(path, &[]).await.1, "{path}");
            }
        }
    }

    #[tokio::test]
    async fn each_encoding_has_its_own_tag_and_either_is_known_again() {
        let (plain, _) = ask("/list", &[]).await;
        let (compressed, _) = ask("/list", &[GZIP]).await;
        let tag = |response: &Response<()>| response.headers()[header::ETAG].to_str().unwrap().to_owned();
        let [plain, compressed] = [tag(&plain), tag(&compressed)];
        assert_ne!(plain, compressed);
        for (given, kept) in [
            (compressed.clone(), &compressed),
            (format!("W/{compressed}"), &compressed),
            (format!("\"other\", {compressed}"), &compressed),
            (plain.clone(), &plain),
        ] {
            let (response, body) = ask("/list", &[GZIP, ("if-none-match", &given)]).await;
            assert_eq!((response.status(), body.len()), (StatusCode::NOT_MODIFIED, 0), "{given}");
            assert_eq!(tag(&response), *kept, "{given}");
            assert!(response.headers().get_all(header::VARY).iter().any(|value| value == "accept-encoding"));
        }
        let (changed, _) = ask("/list", &[("if-none-match", "\"other-gzip\"")]).await;
        assert_eq!((changed.status(), tag(&changed)), (StatusCode::OK, plain));
        // `If-Match` takes the tags of compressed bodies, too.
        let (compressed, _) = ask("/changed", &[GZIP]).await;
        let given = tag(&compressed);
        assert!(given.ends_with(GZIPPED), "{given}");
        for (given, status) in [(given, StatusCode::OK), ("\"other-gzip\"".to_owned(), StatusCode::IM_A_TEAPOT)] {
            assert_eq!(ask("/changed", &[("if-match", given.as_str())]).await.0.status(), status, "{given}");
        }
    }
}
