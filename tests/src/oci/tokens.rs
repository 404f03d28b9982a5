//! A stub of the token service to which a registry sends its clients. The registry is real, and verifies the signature,
//! age and scope of each token.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    routing::get,
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::Registry;

/// `lender:open sesame`.
const LOGIN: &str = "Basic bGVuZGVyOm9wZW4gc2VzYW1l";

/// Running until dropped.
pub struct Tokens {
    url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    /// Contains the key and the certificate.
    folder: TempDir,
    asked: Mutex<Vec<String>>,
}

#[derive(Deserialize)]
struct Asked {
    service: String,
    scope: String,
}

impl Tokens {
    /// # Panics
    /// If no port can be bound, or openssl is missing.
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}"));
        let made =
            ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=stub", "-keyout", "key", "-out", "cert"];
        openssl(folder.path(), &made, b"");
        let shared = Arc::new(Shared { folder, asked: Mutex::default() });
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|error| panic!("no free port: {error}"));
        let url = listener.local_addr().map(|at| format!("http://{at}/token")).unwrap_or_default();
        let app = Router::new().route("/token", get(token)).with_state(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap_or_default() });
        Self { url, shared, server }
    }

    /// Starts a registry that accepts the tokens of this service.
    pub fn registry(&self) -> Registry {
        let certificate = self.shared.folder.path().join("cert");
        Registry::asking(&format!(
            "auth:\n  token:\n    realm: {}\n    service: components\n    issuer: stub\n    rootcertbundle: {}\n",
            self.url,
            certificate.display()
        ))
    }

    /// Returns the scopes of the tokens issued since the last `take`.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn token(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Result<Json<Value>, StatusCode> {
    if headers.get(header::AUTHORIZATION).is_none_or(|login| login != LOGIN) {
        return Err(StatusCode::UNAUTHORIZED);
    }
    shared.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked.scope.clone());
    Ok(Json(json!({ "token": shared.signed(&asked) })))
}

impl Shared {
    /// Returns a JSON web token with the requested scope.
    fn signed(&self, asked: &Asked) -> String {
        let der = openssl(self.folder.path(), &["x509", "-in", "cert", "-outform", "DER"], b"");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|age| age.as_secs()).unwrap_or_default();
        let (kind, rest) = asked.scope.split_once(':').unwrap_or_default();
        let (name, actions) = rest.rsplit_once(':').unwrap_or_default();
        let head = json!({ "typ": "JWT", "alg": "RS256", "x5c": [STANDARD.encode(der)] });
        let claims = json!({
            "iss": "stub", "sub": "lender", "aud": asked.service, "iat": now, "nbf": now, "exp": now + 60, "jti": "1",
            "access": [{ "type": kind, "name": name, "actions": actions.split(',').collect::<Vec<_>>() }],
        });
        let text = [head, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = openssl(self.folder.path(), &["dgst", "-sha256", "-sign", "key"], text.as_bytes());
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Returns the output of openssl for `input`, run in `folder`.
fn openssl(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let asked = || {
        let file = folder.join("input");
        fs::write(&file, input)?;
        let mut command = Command::new("openssl");
        command.args(arguments).current_dir(folder).stdin(fs::File::open(file)?).stderr(Stdio::null()).output()
    };
    let done = asked().unwrap_or_else(|error| panic!("openssl {arguments:?}: {error}"));
    assert!(done.status.success(), "openssl {arguments:?}");
    done.stdout
}
