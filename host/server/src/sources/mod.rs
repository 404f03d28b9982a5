//! Components from registries of the ecosystem: [`Client`] pushes and pulls them, and the server takes those that
//! `models.sources` names by digest, and puts them on the shelf.

mod client;
mod manifest;
mod reference;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use assay_domain::Digest;
use futures::future::join_all;
use sha2::{Digest as _, Sha256};

pub use client::{Client, Login, Pulled};
pub use reference::Reference;

use assay_tasks::Spawner;

/// How long a start waits for the registries. Later components are loaded as they come.
const START: Duration = Duration::from_secs(15);
/// The first pause before a registry is tried again, doubled up to the longest.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Why a component was not pulled or pushed.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("the registry does not answer: {0}. Check host and network, and try again")]
    Away(String),
    #[error("the registry has no such component: check repository, tag and digest")]
    Missing,
    #[error(
        "the registry refuses the login: set ASSAY_OCI_USER and ASSAY_OCI_PASSWORD to a login with this \
             permission"
    )]
    Denied,
    #[error("the registry answers {status}: {why}")]
    Status { status: u16, why: String },
    #[error("its manifest has the digest {found} instead of {wanted}: do not use it, and ask its publisher")]
    Manifest { wanted: Digest, found: Digest },
    #[error("its bytes have the digest {found}, but its manifest names {wanted}: do not use it, and push it again")]
    Component { wanted: Digest, found: Digest },
    #[error("the download ended after {read} of {size} bytes: try again")]
    Cut { read: u64, size: u64 },
    #[error(
        "the registry sends more bytes than the limit of a manifest ({most}) or than the manifest names: do not \
             use it"
    )]
    Longer { most: u64 },
    #[error("it has {size} bytes, more than the limit of {most}: raise models.max_component_bytes")]
    TooLarge { size: u64, most: u64 },
    #[error("{0}. Name a component, as `assay model push` and `wkg oci push` write it")]
    Other(String),
    #[error("{} cannot be written: {error}", path.display())]
    Disk { path: PathBuf, error: io::Error },
}

impl SourceError {
    /// Whether the same question can have another answer later.
    fn passes(&self) -> bool {
        !matches!(
            self,
            Self::Manifest { .. }
                | Self::Component { .. }
                | Self::Longer { .. }
                | Self::TooLarge { .. }
                | Self::Other(_)
        )
    }
}

/// SHA-256 of bytes.
fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Puts the named components on the shelf that are not there. Waits a while for the registries, then continues in the
/// background; the shelf is watched.
pub async fn take(sources: &[Reference], shelf: &Path, most: u64, spawner: &Spawner) {
    let client = match Client::new(Login::of_environment()) {
        Ok(client) => Arc::new(client),
        Err(error) => return tracing::error!(%error, "models.sources: nothing is pulled"),
    };
    let mut first = Vec::new();
    for source in sources {
        let (client, source, shelf) = (client.clone(), source.clone(), shelf.to_owned());
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let stopping = spawner.stopping();
        spawner.spawn("source", async move {
            let taking = one(&client, &source, &shelf, most, sender);
            tokio::select! {
                () = taking => {}
                () = stopping.cancelled() => {}
            }
        });
        first.push(receiver);
    }
    let _ = tokio::time::timeout(START, join_all(first)).await;
}

/// Pulls one component until it is there, or never can be. `tried` hears of the first outcome.
async fn one(client: &Client, source: &Reference, shelf: &Path, most: u64, tried: tokio::sync::oneshot::Sender<()>) {
    let (mut pause, mut tried) = (PAUSE, Some(tried));
    loop {
        let outcome = on_shelf(client, source, shelf, most).await;
        if let Some(tried) = tried.take() {
            // The start may have stopped waiting.
            let _ = tried.send(());
        }
        match outcome {
            Ok(None) => return,
            Ok(Some(digest)) => return tracing::info!(%source, %digest, "pulled a model"),
            Err(error) if error.passes() => {
                tracing::warn!(%source, %error, again_s = pause.as_secs(), "a model was not pulled");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(error) => return tracing::error!(%source, %error, "a model is not pulled"),
        }
    }
}

/// Pulls a component unless it is on the shelf. Returns its digest if it is new.
async fn on_shelf(client: &Client, source: &Reference, shelf: &Path, most: u64) -> Result<Option<Digest>, SourceError> {
    // The configuration names a digest.
    let name = source.digest.map_or_else(|| source.name(), |digest| digest.to_string());
    let file = shelf.join(format!("oci-{name}.wasm"));
    if file.exists() {
        return Ok(None);
    }
    let pulled = client.pull(source, most).await?;
    let disk = |error| SourceError::Disk { path: file.clone(), error };
    write(&file, &pulled.component).map_err(disk)?;
    Ok(Some(pulled.digest()))
}

/// Writes a file whose name appears when every byte is on disk.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let part = tempfile::Builder::new().prefix(".oci-").tempfile_in(folder)?;
    fs::write(part.path(), bytes)?;
    part.as_file().sync_all()?;
    part.persist(file).map_err(|error| error.error)?;
    fs::File::open(folder)?.sync_all()
}
