//! Callers of the API.

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::until::{PATIENCE, until};

/// A caller of the API.
#[derive(Clone)]
pub struct Caller {
    base: String,
    key: Option<String>,
    http: reqwest::Client,
}

/// A response.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{} is not JSON: {error}: {:?}", self.status, self.text))
    }

    /// The body of a 200.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self.json()
    }

    /// Whether the answer says to try again because the store did not answer in time. A busy machine can cause this.
    pub fn is_to_repeat(&self) -> bool {
        self.status == StatusCode::SERVICE_UNAVAILABLE
            && ["store_away", "store_unanswered"].iter().any(|code| self.json()["code"] == **code)
    }

    /// The body of a response with this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self.json()
    }
}

impl Caller {
    /// A caller of `base` with this key.
    pub fn at(base: &str, key: &str) -> Self {
        Self { base: base.to_owned(), key: Some(key.to_owned()), http: client() }
    }

    /// The same caller with another key, or without one.
    pub fn with_key(self, key: Option<&str>) -> Self {
        Self { key: key.map(str::to_owned), ..self }
    }

    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path)).await
    }

    /// Repeats a GET until the answer `is` as expected.
    ///
    /// # Panics
    /// When it stays another.
    #[track_caller]
    pub fn until(&self, path: &str, is: impl FnMut(&Answer) -> bool) -> impl Future<Output = Answer> {
        until(async || self.get(path).await, is)
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        answer(self.request(Method::POST, path).json(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        answer(self.request(Method::PUT, path).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        answer(self.request(Method::DELETE, path)).await
    }

    /// Sends bytes, for uploads and for bodies that are not JSON.
    pub async fn post_bytes(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        answer(self.request(Method::POST, path).body(body)).await
    }
}

/// Sends a request and reads the whole response.
pub async fn answer(request: reqwest::RequestBuilder) -> Answer {
    try_answer(request).await.expect("the host answers")
}

/// As [`answer`], but the server may not respond.
///
/// # Errors
/// When the connection fails before the response is complete.
pub async fn try_answer(request: reqwest::RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    Ok(Answer { status: response.status(), headers: response.headers().clone(), text: response.text().await? })
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().expect("an HTTP client")
}
