//! Client of a facilitator, which settles payments by the x402 API: `/verify` and `/settle`. Its answers are not
//! trusted: the caller checks them against the chain.

use std::time::Duration;

use reqwest::{StatusCode, redirect::Policy};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use url::Url;

use assay_domain::Secret;
use assay_evm::body::{self, BodyError};

/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// Cheap to clone.
#[derive(Clone)]
pub struct Facilitator {
    http: reqwest::Client,
    root: Url,
}

/// Why the facilitator gave no usable response. No message repeats a URL or text of the facilitator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FacilitatorError {
    #[error("the facilitator cannot be reached, or did not answer in time")]
    Unreachable,
    #[error("the facilitator answered with status {0}")]
    Status(u16),
    #[error("the facilitator's answer cannot be read")]
    Unreadable,
}

/// The response to `/settle`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settlement {
    pub success: bool,
    #[serde(default)]
    pub transaction: Option<String>,
    #[serde(default)]
    pub network: Option<String>,
    #[serde(default)]
    pub payer: Option<String>,
    #[serde(default, alias = "error_reason")]
    pub error_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FacilitatorVerdict {
    is_valid: bool,
    #[serde(default)]
    invalid_reason: Option<String>,
}

impl Facilitator {
    /// `None` for an invalid `url`.
    pub fn new(url: &Secret, timeout: Duration) -> Option<Self> {
        let mut root = Url::parse(url.expose()).ok().filter(|root| matches!(root.scheme(), "http" | "https"))?;
        if !root.path().ends_with('/') {
            root.set_path(&format!("{}/", root.path()));
        }
        let http = reqwest::Client::builder().timeout(timeout).redirect(Policy::none()).build().ok()?;
        Some(Self { http, root })
    }

    /// Whether the facilitator would settle a payment; the inner error is its reason. A failed request is repeated
    /// once.
    ///
    /// # Errors
    /// [`FacilitatorError`].
    pub async fn verify(
        &self,
        version: u8,
        payload: &Value,
        requirements: &Value,
    ) -> Result<Result<(), String>, FacilitatorError> {
        let verdict: FacilitatorVerdict = match self.ask("verify", version, payload, requirements).await {
            Err(FacilitatorError::Unreachable | FacilitatorError::Status(500..)) => {
                self.ask("verify", version, payload, requirements).await
            }
            answer => answer,
        }?;
        Ok(if verdict.is_valid { Ok(()) } else { Err(reason_code(verdict.invalid_reason)) })
    }

    /// Settles a payment. After an error the payment may or may not be settled.
    ///
    /// # Errors
    /// [`FacilitatorError`].
    pub async fn settle(
        &self,
        version: u8,
        payload: &Value,
        requirements: &Value,
    ) -> Result<Settlement, FacilitatorError> {
        let settlement: Settlement = self.ask("settle", version, payload, requirements).await?;
        let error_reason = (!settlement.success).then(|| reason_code(settlement.error_reason));
        Ok(Settlement { error_reason, ..settlement })
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        what: &str,
        version: u8,
        payload: &Value,
        requirements: &Value,
    ) -> Result<T, FacilitatorError> {
        let url = self.root.join(what).map_err(|_| FacilitatorError::Unreachable)?;
        let body = json!({ "x402Version": version, "paymentPayload": payload, "paymentRequirements": requirements });
        let response = self.http.post(url).json(&body).send().await.map_err(|_| FacilitatorError::Unreachable)?;
        let status = response.status();
        let body = body::read(response, MAX_RESPONSE_BYTES).await.map_err(|error| match error {
            BodyError::TooLarge => FacilitatorError::Unreadable,
            BodyError::Lost(_) => FacilitatorError::Unreachable,
        })?;
        // Some facilitators refuse with these statuses and give the reason in the body.
        let answered = status.is_success() || matches!(status, StatusCode::BAD_REQUEST | StatusCode::PAYMENT_REQUIRED);
        match serde_json::from_slice(&body) {
            Ok(answer) if answered => Ok(answer),
            _ if !status.is_success() => Err(FacilitatorError::Status(status.as_u16())),
            _ => Err(FacilitatorError::Unreadable),
        }
    }
}

/// The reason that a payer is shown: a short machine-readable code, or a fixed one instead of any other text.
fn reason_code(reason: Option<String>) -> String {
    let is_code = |text: &String| {
        (1..=80).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
    };
    reason.filter(is_code).unwrap_or_else(|| "unexpected_settle_error".into())
}
