//! Client of the IPFS pinning-service API.

use reqwest::{Client, StatusCode};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{IpfsError, ask};
use assay_domain::Secret;

const SERVICE: &str = "pinning service";

#[derive(Clone)]
pub(super) struct Service {
    pub http: Client,
    pub api: Url,
    pub key: Secret,
}

#[derive(Deserialize)]
struct PinList {
    results: Vec<Pin>,
}

#[derive(Deserialize)]
struct Pin {
    status: String,
}

impl Service {
    /// Requests a pin of `cid` if there is none; succeeds once it is pinned.
    pub(super) async fn pin(&self, cid: &str) -> Result<(), IpfsError> {
        let mut url = self.url()?;
        url.query_pairs_mut().extend_pairs([("cid", cid), ("status", "queued,pinning,pinned")]);
        let known: PinList = self.answer(self.http.get(url), StatusCode::OK).await?;
        let pin = match known.results.into_iter().max_by_key(|pin| pin.status == "pinned") {
            Some(pin) => pin,
            None => {
                self.answer(
                    self.http.post(self.url()?).json(&json!({ "cid": cid, "name": "feedback" })),
                    StatusCode::ACCEPTED,
                )
                .await?
            }
        };
        if pin.status == "pinned" { Ok(()) } else { Err(IpfsError::NotPinned(SERVICE)) }
    }

    fn url(&self) -> Result<Url, IpfsError> {
        self.api.join("pins").map_err(|_| IpfsError::Unreachable(SERVICE))
    }

    async fn answer<T: serde::de::DeserializeOwned>(
        &self,
        request: reqwest::RequestBuilder,
        wanted: StatusCode,
    ) -> Result<T, IpfsError> {
        let (status, body) = ask(SERVICE, request.bearer_auth(self.key.expose())).await?;
        if status != wanted {
            return Err(IpfsError::Status(SERVICE, status.as_u16()));
        }
        serde_json::from_slice(&body).map_err(|_| IpfsError::Unreadable(SERVICE))
    }
}
