//! The documents of token URIs. They are not trusted: a remote document is fetched by the guarded client, and one
//! inside the URI has the same size limit, also after decompression. The schemes are listed in `configure.md`.

use url::Url;

use super::encoding::{base64, gunzip, percent};
use crate::config::Ipfs;
use assay_evm::{
    config::Outbound,
    guarded::{Barred, Guarded},
};

/// Longest URI of a remote document, in bytes.
const MAX_URI: usize = 2_048;
/// The server of `ar://` URIs.
const ARWEAVE: &str = "https://arweave.net/";

/// Where a document is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// Inside the URI.
    Here(Vec<u8>),
    /// On a server.
    Outside(Outside),
    /// It is not read; the reason as a code.
    Nowhere(&'static str),
}

/// A document on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    url: Url,
    /// At the operator's IPFS gateway, where content never changes.
    pub by_content: bool,
}

impl Outside {
    /// Host and port of the server.
    pub fn host(&self) -> String {
        format!("{}:{}", self.url.host_str().unwrap_or_default(), self.url.port_or_known_default().unwrap_or_default())
    }
}

/// Reads documents. Cheap to clone. The gateway and other servers have separate limits on concurrent requests.
#[derive(Clone)]
pub struct Documents {
    guarded: Guarded,
    gateway: Option<(Guarded, Url)>,
    max_bytes: usize,
}

impl Documents {
    pub fn new(outbound: &Outbound, ipfs: Option<&Ipfs>) -> Self {
        let gateway = ipfs.and_then(|ipfs| Url::parse(ipfs.gateway.as_ref()?.expose()).ok()).map(|url| {
            // The gateway may be in a private network, but token URIs that name it directly stay guarded.
            let at =
                format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
            let allow = outbound.allow.iter().cloned().chain([at]).collect();
            (Guarded::new(&Outbound { allow, ..outbound.clone() }), url)
        });
        Self { guarded: Guarded::new(outbound), gateway, max_bytes: outbound.max_bytes }
    }

    /// Where the document of a token URI is. Sends no request.
    pub fn locate(&self, uri: &str) -> Located {
        let uri = uri.trim();
        if uri.is_empty() {
            return Located::Nowhere("no_uri");
        }
        if let Some(rest) = strip(uri, "data:") {
            return self.inline(rest);
        }
        if uri.starts_with('{') {
            return if uri.len() > self.max_bytes {
                Located::Nowhere("too_large")
            } else {
                Located::Here(uri.as_bytes().to_vec())
            };
        }
        if uri.len() > MAX_URI {
            return Located::Nowhere("uri_too_long");
        }
        if let Some(path) = strip(uri, "ipfs://") {
            return self.by_content(path).map_or(Located::Nowhere("no_gateway"), Located::Outside);
        }
        if let Some(id) = strip(uri, "ar://") {
            return arweave(id)
                .map_or(Located::Nowhere("no_uri"), |url| Located::Outside(Outside { url, by_content: false }));
        }
        if is_content_id(uri.split('/').next().unwrap_or_default()) {
            return self.by_content(uri).map_or(Located::Nowhere("no_gateway"), Located::Outside);
        }
        match Url::parse(uri) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Located::Outside(Outside { url, by_content: false }),
            Ok(_) => Located::Nowhere("scheme"),
            Err(_) => Located::Nowhere("no_uri"),
        }
    }

    /// Fetches a remote document.
    ///
    /// # Errors
    /// The reason as a code.
    pub async fn fetch(&self, at: &Outside) -> Result<Vec<u8>, &'static str> {
        let client = match &self.gateway {
            Some((gateway, _)) if at.by_content => gateway,
            _ => &self.guarded,
        };
        client.get(at.url.as_str()).await.map_err(|barred| match barred {
            Barred::Refused(_) => "refused",
            Barred::Status(_) => "status",
            Barred::TooLarge(_) => "too_large",
            Barred::TimedOut => "timeout",
            Barred::Unreachable => "unreachable",
        })
    }

    /// The document in a `data:` URI, `[type][;parameters][;base64],data`. The parameter `enc=gzip` says that the data
    /// is compressed.
    fn inline(&self, rest: &str) -> Located {
        let Some((head, data)) = header(rest) else { return Located::Nowhere("no_uri") };
        // The encoding takes at most three bytes for each.
        if data.len() / 3 > self.max_bytes {
            return Located::Nowhere("too_large");
        }
        let (mut encoded, mut compressed) = (false, false);
        for parameter in head.split(';') {
            let parameter = parameter.trim().to_ascii_lowercase();
            match parameter.split_once('=') {
                Some(("enc" | "encoding", "gzip")) => compressed = true,
                Some(("enc" | "encoding", _)) => return Located::Nowhere("encoding"),
                _ => encoded |= parameter == "base64",
            }
        }
        let data = percent(data.as_bytes());
        let data = if encoded { base64(&data) } else { Some(data) };
        match if compressed { data.and_then(|data| gunzip(&data, self.max_bytes)) } else { data } {
            Some(bytes) if bytes.len() > self.max_bytes => Located::Nowhere("too_large"),
            Some(bytes) => Located::Here(bytes),
            None => Located::Nowhere("encoding"),
        }
    }

    /// The URL at the gateway. Segments are encoded one by one, so that a path cannot leave the content that it names.
    fn by_content(&self, path: &str) -> Option<Outside> {
        let (_, root) = self.gateway.as_ref()?;
        let path = path.strip_prefix("ipfs/").unwrap_or(path);
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let segments: Vec<&str> = path.split('/').filter(|segment| !matches!(*segment, "" | "." | "..")).collect();
        let content = segments.first()?;
        if !content.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return None;
        }
        let mut url = root.clone();
        let rooted = root.path_segments().is_some_and(|mut segments| segments.any(|segment| segment == "ipfs"));
        let mut target = url.path_segments_mut().ok()?;
        target.pop_if_empty();
        if !rooted {
            target.push("ipfs");
        }
        for segment in segments {
            // The segments of a URI may be encoded already.
            target.push(&String::from_utf8_lossy(&percent(segment.as_bytes())));
        }
        drop(target);
        Some(Outside { url, by_content: true })
    }
}

/// The header of a `data:` URI and its data. Some URIs have a blank instead of the comma after `;base64`.
fn header(rest: &str) -> Option<(&str, &str)> {
    const MARK: &str = ";base64";
    let (head, data) = rest.split_once(',').unwrap_or((rest, ""));
    let mark = head.to_ascii_lowercase().find(MARK).map(|at| at + MARK.len());
    if let Some((before, after)) = mark.and_then(|end| head.split_at_checked(end))
        && after.starts_with(char::is_whitespace)
        && after.trim_start().starts_with(|c: char| c != ';')
    {
        // No comma is in base64: a comma later in the text is not the header's.
        return Some((before, rest.get(before.len()..)?.trim_start()));
    }
    rest.contains(',').then_some((head, data))
}

/// The URL of an Arweave transaction. No path leads to another server, because the id contains no separator.
fn arweave(id: &str) -> Option<Url> {
    let transaction = id.split('/').next()?;
    let is_id = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if transaction.is_empty() || !transaction.bytes().all(is_id) {
        return None;
    }
    Url::parse(&format!("{ARWEAVE}{id}")).ok()
}

/// Whether `text` has the form of a CID: version 0, or version 1 in base32, base58 or base16.
fn is_content_id(text: &str) -> bool {
    let has = |count: std::ops::RangeFrom<usize>, is_digit: fn(u8) -> bool| {
        text.get(1..).is_some_and(|rest| count.contains(&rest.len()) && rest.bytes().all(is_digit))
    };
    let base58 = |b: u8| b.is_ascii_alphanumeric() && !matches!(b, b'0' | b'O' | b'I' | b'l');
    match text.as_bytes().first() {
        Some(b'Q') => text.len() == 46 && text.starts_with("Qm") && has(45.., base58),
        Some(b'b') => has(58.., |b| matches!(b, b'a'..=b'z' | b'2'..=b'7')),
        Some(b'B') => has(58.., |b| matches!(b, b'A'..=b'Z' | b'2'..=b'7')),
        Some(b'z') => has(48.., base58),
        Some(b'f' | b'F') => has(72.., |b| b.is_ascii_hexdigit()),
        _ => false,
    }
}

/// The text after `prefix`, whatever its case.
fn strip<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::Secret;

    /// `{"name":"a"}` in gzip and base64, and 100,000 zeros.
    const GZIP: &str = "H4sIAAAAAAAC/6tWykvMTVWyUkpUqgUAlit2jQwAAAA=";
    const BOMB: &str = concat!(
        "H4sIAAAAAAAC/+3BMQEAAADCoPVPbQ0PoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIBXA32VEdSghgEA"
    );

    fn documents(gateway: Option<&str>) -> Documents {
        let outbound = Outbound {
            allow: Vec::new(),
            timeout: std::time::Duration::from_millis(100),
            max_bytes: 64,
            concurrency: 1,
        };
        Documents::new(
            &outbound,
            gateway.map(|url| Ipfs { gateway: Some(Secret::new(url)), ..Ipfs::default() }).as_ref(),
        )
    }

    #[test]
    fn what_stands_in_the_uri_is_read_there() {
        let documents = documents(None);
        for uri in [
            "data:application/json;base64,eyJuYW1lIjoiYSJ9",
            "DATA:application/json;charset=utf-8;BASE64,eyJuYW1lIjoiYSJ9",
            "data:application/json,%7B%22name%22%3A%22a%22%7D",
            "data:,{\"name\":\"a\"}",
            " {\"name\":\"a\"} ",
            "data:application/json;utf8,{\"name\":\"a\"}",
            "data:application/json; base64,eyJuYW1lIjoiYSJ9",
            "data:application/json;base64 ,eyJuYW1lIjoiYSJ9",
            "data:application/json;base64 eyJuYW1lIjoiYSJ9",
            &format!("data:application/json;enc=gzip;base64,{GZIP}"),
            &format!("data:application/json;enc=gzip;level=6;base64,{GZIP}"),
            &format!("data:application/json;charset=utf-8;ENC=GZIP;base64 {GZIP}"),
        ] {
            assert_eq!(documents.locate(uri), Located::Here(b"{\"name\":\"a\"}".to_vec()), "{uri}");
        }
        let large = format!("{{{}}}", " ".repeat(64));
        for (uri, why) in [
            ("", "no_uri"),
            ("agent", "no_uri"),
            ("data:application/json", "no_uri"),
            ("data:;base64,????", "encoding"),
            ("ftp://a.example/a.json", "scheme"),
            ("file:///etc/passwd", "scheme"),
            ("data:application/json;enc=zstd;base64,KLUv", "encoding"),
            ("data:application/json;enc=gzip;base64,eyJuYW1lIjoiYSJ9", "encoding"),
            (&format!("data:;enc=gzip;base64,{BOMB}"), "too_large"),
            ("QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnHUdt", "no_gateway"),
            ("ipfs://bafy/a.json", "no_gateway"),
            (&large, "too_large"),
            (&format!("data:,{}", "a".repeat(65)), "too_large"),
            (&format!("https://a.example/{}", "a".repeat(MAX_URI)), "uri_too_long"),
        ] {
            assert_eq!(documents.locate(uri), Located::Nowhere(why), "{uri}");
        }
    }

    #[test]
    fn content_is_at_the_gateway_and_arweave_at_its_server() {
        let documents = documents(Some("https://gateway.example"));
        let url = |uri: &str| match documents.locate(uri) {
            Located::Outside(at) => (at.url.to_string(), at.by_content),
            located => panic!("{uri}: {located:?}"),
        };
        let (v0, v1) = (
            "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnHUdt",
            "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
        );
        for cid in [v0, v1, &format!("f01701220{}", "ab".repeat(32)), &format!("z{}", "d".repeat(48))] {
            assert_eq!(url(cid), (format!("https://gateway.example/ipfs/{cid}"), true));
            assert_eq!(url(&format!("{cid}/a.json")), (format!("https://gateway.example/ipfs/{cid}/a.json"), true));
        }
        for text in [&v0[1..], &v0[..45], &v1[..40], "beef", "agent"] {
            assert_eq!(documents.locate(text), Located::Nowhere("no_uri"), "{text}");
        }
        let id = "yc4dBuuTRDqFpfmyv3oKFxsmVYdFXSAZhNY9f6MmC1Y";
        for (uri, path) in [(format!("ar://{id}"), id.to_owned()), (format!("AR://{id}/0"), format!("{id}/0"))] {
            assert_eq!(url(&uri), (format!("https://arweave.net/{path}"), false));
        }
        for id in ["", "/", "//a.example/x", "https://a.example/x", "\\\\a.example/x", "user@a.example"] {
            assert_eq!(documents.locate(&format!("ar://{id}")), Located::Nowhere("no_uri"), "{id}");
        }
        assert_eq!(url("ar://a/../../b?c#d"), ("https://arweave.net/b?c#d".to_owned(), false));
    }

    #[test]
    fn content_stays_below_its_gateway() {
        for (gateway, root) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/ipfs"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/ipfs"),
            ("https://gateway.example/ipfs/", "https://gateway.example/ipfs"),
            ("https://gateway.example/a", "https://gateway.example/a/ipfs"),
        ] {
            let documents = documents(Some(gateway));
            for (uri, path) in [
                ("ipfs://bafy", "bafy"),
                ("IPFS://ipfs/bafy/a b.json", "bafy/a%20b.json"),
                ("ipfs://bafy/../../api/v0/shutdown", "bafy/api/v0/shutdown"),
                ("ipfs://bafy/%2e%2e/x", "bafy/x"),
                ("ipfs://bafy/a%20b?x=1#y", "bafy/a%20b"),
            ] {
                let Located::Outside(at) = documents.locate(uri) else { panic!("{uri}") };
                assert_eq!((at.url.as_str(), at.by_content), (format!("{root}/{path}").as_str(), true), "{uri}");
            }
            assert_eq!(documents.locate("ipfs://a@b"), Located::Nowhere("no_gateway"));
        }
    }
}
