//! Client of Kubo's RPC API: `add` and `pin/ls`, which are both POST requests.

use std::collections::HashMap;

use reqwest::{Client, StatusCode, header};
use serde::Deserialize;
use url::Url;

use super::{IpfsError, ask};

pub(super) const NODE: &str = "IPFS node";
/// A random text, which no document contains.
const BOUNDARY: &str = "assay-7c0e1f5a9d3b46e28fa1c4d05b7e6932";

#[derive(Clone)]
pub(super) struct Kubo {
    pub http: Client,
    pub api: Url,
}

#[derive(Deserialize)]
struct Added {
    #[serde(rename = "Hash")]
    hash: String,
}

#[derive(Deserialize)]
struct Pins {
    #[serde(rename = "Keys", default)]
    keys: HashMap<String, serde_json::Value>,
}

impl Kubo {
    /// Adds and pins `bytes` as one raw block; the CID that the node computed.
    pub(super) async fn add(&self, bytes: &[u8]) -> Result<String, IpfsError> {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"feedback.json\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        let body = [head.as_bytes(), bytes, format!("\r\n--{BOUNDARY}--\r\n").as_bytes()].concat();
        let options =
            [("cid-version", "1"), ("raw-leaves", "true"), ("hash", "sha2-256"), ("pin", "true"), ("quieter", "true")];
        let request = self.http.post(self.command("add", &options)?);
        let request =
            request.header(header::CONTENT_TYPE, format!("multipart/form-data; boundary={BOUNDARY}")).body(body);
        let (status, answer) = ask(NODE, request).await?;
        if status != StatusCode::OK {
            return Err(IpfsError::Status(NODE, status.as_u16()));
        }
        // One object a line; the last one describes the document.
        let last = answer.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty()).unwrap_or_default();
        serde_json::from_slice::<Added>(last).map(|added| added.hash).map_err(|_| IpfsError::Unreadable(NODE))
    }

    /// Whether the node has pinned `cid`.
    pub(super) async fn is_pinned(&self, cid: &str) -> Result<bool, IpfsError> {
        let request = self.http.post(self.command("pin/ls", &[("arg", cid), ("type", "recursive")])?);
        match ask(NODE, request).await? {
            (StatusCode::OK, answer) => {
                let pins: Pins = serde_json::from_slice(&answer).map_err(|_| IpfsError::Unreadable(NODE))?;
                Ok(pins.keys.contains_key(cid))
            }
            // Kubo's answer for a CID that is not pinned.
            (StatusCode::INTERNAL_SERVER_ERROR, answer)
                if String::from_utf8_lossy(&answer).contains("is not pinned") =>
            {
                Ok(false)
            }
            (status, _) => Err(IpfsError::Status(NODE, status.as_u16())),
        }
    }

    fn command(&self, name: &str, options: &[(&str, &str)]) -> Result<Url, IpfsError> {
        let mut url = self.api.join(&format!("api/v0/{name}")).map_err(|_| IpfsError::Unreachable(NODE))?;
        url.query_pairs_mut().extend_pairs(options);
        Ok(url)
    }
}
