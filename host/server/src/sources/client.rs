//! A client of registries: the parts of the OCI distribution specification that push and pull one component.

use std::time::Duration;

use assay_domain::{Digest, Secret};
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::Value;
use url::Url;

use super::{
    Reference, SourceError, digest,
    manifest::{self, MANIFEST, named},
};

/// Largest manifest.
const LARGEST_MANIFEST: u64 = 1 << 20;
/// Maximum size of an error or a token, in bytes.
const MAX_WORDS: u64 = 64 << 10;
/// Limits of one request: until a registry answers, and between two parts of an answer.
const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(30);

/// A name and a password for registries that ask for them.
#[derive(Debug, Clone)]
pub struct Login {
    pub name: String,
    pub password: Secret,
}

impl Login {
    /// `ASSAY_OCI_USER` and `ASSAY_OCI_PASSWORD`; none if either is not set.
    pub fn of_environment() -> Option<Self> {
        let [name, password] = ["ASSAY_OCI_USER", "ASSAY_OCI_PASSWORD"].map(|name| std::env::var(name).ok());
        Some(Self { name: name?, password: Secret::new(password?) })
    }
}

/// A component from a registry.
#[derive(Debug)]
pub struct Pulled {
    pub component: Vec<u8>,
    /// Its place with the digest of its manifest.
    pub pinned: Reference,
}

pub struct Client {
    http: reqwest::Client,
    login: Option<Login>,
}

impl Client {
    /// # Errors
    /// No client can be made on this machine.
    pub fn new(login: Option<Login>) -> Result<Self, SourceError> {
        let http = reqwest::Client::builder().connect_timeout(CONNECT).read_timeout(SILENCE).build();
        Ok(Self { http: http.map_err(SourceError::away)?, login })
    }

    /// A component of at most `most` bytes. Its bytes and those of its manifest have the digests that name them.
    ///
    /// # Errors
    /// [`SourceError`]. Nothing of a component that is not whole is returned.
    pub async fn pull(&self, place: &Reference, most: u64) -> Result<Pulled, SourceError> {
        let path = format!("manifests/{}", place.name());
        let manifest = self.get(place, &path, LARGEST_MANIFEST).await?;
        let found = digest(&manifest);
        if let Some(wanted) = place.digest
            && wanted != found
        {
            return Err(SourceError::Manifest { wanted, found });
        }
        let layer = manifest::layer(&manifest)?;
        if layer.size > most {
            return Err(SourceError::TooLarge { size: layer.size, most });
        }
        let component = self.get(place, &format!("blobs/sha256:{}", layer.digest), layer.size).await?;
        if (component.len() as u64) < layer.size {
            return Err(SourceError::Cut { read: component.len() as u64, size: layer.size });
        }
        let found = digest(&component);
        if found != layer.digest {
            return Err(SourceError::Component { wanted: layer.digest, found });
        }
        Ok(Pulled { component, pinned: place.pinned(digest(&manifest)) })
    }

    /// Pushes a component with what it exports, and returns its place with the digest of the manifest.
    ///
    /// # Errors
    /// [`SourceError`]. The tag is written last, so it never names a component that is not whole.
    pub async fn push(
        &self,
        place: &Reference,
        component: &[u8],
        exports: &[String],
        created: &str,
    ) -> Result<Reference, SourceError> {
        let config = manifest::config(component, exports, created);
        for blob in [component, &config] {
            self.push_blob(place, blob).await?;
        }
        let manifest = manifest::manifest(component, &config);
        let url = self.url(place, &format!("manifests/{}", place.name()))?;
        let request = self.http.request(Method::PUT, url).header(header::CONTENT_TYPE, MANIFEST).body(manifest.clone());
        self.send(place, request).await?;
        Ok(place.pinned(digest(&manifest)))
    }

    async fn push_blob(&self, place: &Reference, blob: &[u8]) -> Result<(), SourceError> {
        let head = self.http.head(self.url(place, &format!("blobs/{}", named(blob)))?);
        if self.send(place, head).await.is_ok() {
            return Ok(());
        }
        let start = self.url(place, "blobs/uploads/")?;
        let started = self.send(place, self.http.post(start.clone()).header(header::CONTENT_LENGTH, 0)).await?;
        let location = started.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
        // It may be relative.
        let mut upload = location
            .and_then(|location| start.join(location).ok())
            .ok_or_else(|| SourceError::Other("the registry returns no upload location".into()))?;
        upload.query_pairs_mut().append_pair("digest", &named(blob));
        let request =
            self.http.put(upload).header(header::CONTENT_TYPE, "application/octet-stream").body(blob.to_vec());
        self.send(place, request).await.map(drop)
    }

    fn url(&self, place: &Reference, path: &str) -> Result<Url, SourceError> {
        let text = format!("{}/v2/{}/{path}", place.root(), place.repository);
        text.parse().map_err(|error| SourceError::Other(format!("{text}: {error}")))
    }

    /// The body of an answer of at most `most` bytes.
    async fn get(&self, place: &Reference, path: &str, most: u64) -> Result<Vec<u8>, SourceError> {
        let request = self.http.get(self.url(place, path)?).header(header::ACCEPT, MANIFEST);
        body(self.send(place, request).await?, most).await
    }

    /// A successful answer. A registry that wants a login gets it.
    async fn send(&self, place: &Reference, request: RequestBuilder) -> Result<Response, SourceError> {
        let again = request.try_clone();
        let answer = request.send().await.map_err(SourceError::away)?;
        let answer = match (answer.status(), again) {
            (StatusCode::UNAUTHORIZED, Some(again)) => {
                let again = self.authorized(place, &answer, again).await?;
                again.send().await.map_err(SourceError::away)?
            }
            _ => answer,
        };
        match answer.status() {
            status if status.is_success() => Ok(answer),
            StatusCode::NOT_FOUND => Err(SourceError::Missing),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(SourceError::Denied),
            status => {
                let said = body(answer, MAX_WORDS).await.unwrap_or_default();
                let said: Value = serde_json::from_slice(&said).unwrap_or_default();
                let why = said.pointer("/errors/0/message").and_then(Value::as_str).unwrap_or_default();
                Err(SourceError::Status { status: status.as_u16(), why: why.chars().take(200).collect() })
            }
        }
    }

    /// The request with what the challenge of `answer` asks for: the login itself, or a token for it.
    async fn authorized(
        &self,
        place: &Reference,
        answer: &Response,
        request: RequestBuilder,
    ) -> Result<RequestBuilder, SourceError> {
        // A password is sent without TLS only to a registry whose own URL begins with `http:`.
        let is_safe = |url: &Url| url.scheme() == "https" || place.root().starts_with("http:");
        let challenge = answer.headers().get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let (scheme, parameters) = challenge.and_then(|value| value.split_once(' ')).ok_or(SourceError::Denied)?;
        if scheme.eq_ignore_ascii_case("basic") {
            let login = self.login.as_ref().filter(|_| is_safe(answer.url())).ok_or(SourceError::Denied)?;
            return Ok(request.basic_auth(&login.name, Some(login.password.expose())));
        }
        let parameter = |name: &str| {
            let (_, rest) = parameters.split_once(&format!("{name}=\""))?;
            rest.split_once('"').map(|(value, _)| value.to_owned())
        };
        let mut realm: Url = parameter("realm").and_then(|realm| realm.parse().ok()).ok_or(SourceError::Denied)?;
        if !is_safe(&realm) {
            return Err(SourceError::Denied);
        }
        for name in ["service", "scope"] {
            if let Some(value) = parameter(name) {
                realm.query_pairs_mut().append_pair(name, &value);
            }
        }
        let mut asked = self.http.get(realm);
        if let Some(login) = &self.login {
            asked = asked.basic_auth(&login.name, Some(login.password.expose()));
        }
        let answer = asked.send().await.map_err(SourceError::away)?;
        if !answer.status().is_success() {
            return Err(SourceError::Denied);
        }
        let answer: Value = serde_json::from_slice(&body(answer, MAX_WORDS).await?).map_err(|_| SourceError::Denied)?;
        let token = ["token", "access_token"].into_iter().find_map(|name| answer.get(name)?.as_str());
        Ok(request.bearer_auth(token.ok_or(SourceError::Denied)?))
    }
}

/// The body of `answer`, of at most `most` bytes.
async fn body(mut answer: Response, most: u64) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Ok(bytes),
            Err(error) if bytes.is_empty() => return Err(SourceError::away(error)),
            Err(_) => return Err(SourceError::Cut { read: bytes.len() as u64, size: most }),
        }
        if bytes.len() as u64 > most {
            return Err(SourceError::Longer { most });
        }
    }
}

impl SourceError {
    pub(super) fn away(error: reqwest::Error) -> Self {
        let mut why = String::new();
        let mut cause: Option<&dyn std::error::Error> = Some(&error);
        while let Some(error) = cause {
            why = error.to_string();
            cause = error.source();
        }
        Self::Away(why)
    }
}

impl Pulled {
    /// SHA-256 of the component.
    pub fn digest(&self) -> Digest {
        digest(&self.component)
    }
}
