//! One wallet, read for a command.

use std::time::Duration;

use assay_chain::config::IndexMode;
use assay_domain::Snapshot;
use assay_store::Store;

use crate::Failure;
use assay::config::Config;
use assay_score::reading::ChainReader;

/// The current state of one wallet, read with a separate store, so a server may be running. Nothing is kept.
///
/// # Errors
/// [`Failure`] if no chain is configured or can be read, and if a name has no address.
pub(crate) fn one(config: &Config, given: &str, wait: Duration) -> Result<Snapshot, Failure> {
    if config.chains.is_empty() {
        return Err(Failure::cannot(
            "no chains are configured, so --address cannot be read: name a configuration that has [[chains]] with \
             --config",
        ));
    }
    let folder = tempfile::tempdir().map_err(Failure::cannot)?;
    let store = assay_store::config::Store::embedded(folder.path().join("wallet.redb"));
    let mut config = config.clone();
    // One process can hold the index.
    config.reading.index = IndexMode::Off;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::cannot)?;
    runtime.block_on(async {
        let store = Store::open(&store).await.map_err(Failure::cannot)?;
        let reading = ChainReader::start(&config.reads(), &store, None);
        let read = async {
            let wallet = reading.wallet(given).await?;
            reading.settled(reading.chains(), wallet, wait).await
        };
        let snapshot = read.await.map_err(|why| Failure::no(format!("{given}: {why}")));
        reading.end().await;
        snapshot
    })
}
