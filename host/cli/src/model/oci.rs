//! `assay model push` and `assay model pull`.

use std::path::Path;

use assay::sources::{Client, Login, Reference, SourceError};
use assay_registry::{Limits, exports, signer};

use super::workshop::write;
use crate::{Failure, print};

/// Pushes a component, and prints where it is.
pub fn push(file: &Path, bytes: &[u8], place: &Reference) -> Result<(), Failure> {
    if place.digest.is_some() {
        return Err(Failure::no(format!("{place} has a digest, which the registry computes: name only a tag")));
    }
    let exports: Vec<String> = exports(bytes)
        .map_err(|why| Failure::no(format!("{}: {why}", file.display())))?
        .into_iter()
        .map(str::to_owned)
        .collect();
    let created = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
    let pinned = run(place, async |client| client.push(place, bytes, &exports, &created).await)?;
    print(format!("pushed {}{}", file.display(), signed(bytes)))?;
    print(pinned)
}

/// Pulls a component into a file, and prints its reference with the digest.
pub fn pull(place: &Reference, output: &Path, limits: &Limits) -> Result<(), Failure> {
    let most = limits.largest_file() as u64;
    let pulled = run(place, async |client| client.pull(place, most).await)?;
    write(output, &pulled.component)?;
    print(format!("{}: {} bytes{}", output.display(), pulled.component.len(), signed(&pulled.component)))?;
    print(&pulled.pinned)
}

/// The signer of a component; its signature is part of its bytes.
fn signed(component: &[u8]) -> String {
    signer(component).map_or_else(|| ", not signed".to_owned(), |key| format!(", signed by {key}"))
}

fn run<T>(place: &Reference, work: impl AsyncFnOnce(&Client) -> Result<T, SourceError>) -> Result<T, Failure> {
    let failed = |error: SourceError| match error {
        SourceError::Away(_) => Failure::cannot(format!("{place}: {error}")),
        _ => Failure::no(format!("{place}: {error}")),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::cannot)?;
    let client = Client::new(Login::of_environment()).map_err(failed)?;
    runtime.block_on(work(&client)).map_err(failed)
}
