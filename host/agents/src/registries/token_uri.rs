//! The documents of token URIs. They are not trusted: a remote document is fetched by the guarded client, and one
//! inside the URI has the same size limit.

use url::Url;

use super::encoding::{base64, percent};
use crate::config::Ipfs;
use assay_evm::{
    config::Outbound,
    guarded::{Barred, Guarded},
};

/// Longest URI of a remote document, in bytes.
const MAX_URI: usize = 2_048;

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

    /// The document in a `data:` URI, `[type][;parameters][;base64],data`.
    fn inline(&self, rest: &str) -> Located {
        let Some((head, data)) = rest.split_once(',') else { return Located::Nowhere("no_uri") };
        // The encoding takes at most three bytes for each.
        if data.len() / 3 > self.max_bytes {
            return Located::Nowhere("too_large");
        }
        let encoded = head.rsplit(';').next().is_some_and(|last| last.trim().eq_ignore_ascii_case("base64"));
        let data = percent(data.as_bytes());
        match if encoded { base64(&data) } else { Some(data) } {
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

/// The text after `prefix`, whatever its case.
fn strip<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::Secret;

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
        ] {
            assert_eq!(documents.locate(uri), Located::Here(b"{\"name\":\"a\"}".to_vec()), "{uri}");
        }
        let large = format!("{{{}}}", " ".repeat(64));
        for (uri, why) in [
            ("", "no_uri"),
            ("agent", "no_uri"),
            ("data:application/json", "no_uri"),
            ("data:;base64,????", "encoding"),
            ("ar://abc", "scheme"),
            ("file:///etc/passwd", "scheme"),
            ("ipfs://bafy/a.json", "no_gateway"),
            (&large, "too_large"),
            (&format!("data:,{}", "a".repeat(65)), "too_large"),
            (&format!("https://a.example/{}", "a".repeat(MAX_URI)), "uri_too_long"),
        ] {
            assert_eq!(documents.locate(uri), Located::Nowhere(why), "{uri}");
        }
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
