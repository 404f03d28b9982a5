//! The identity of an address: names that resolve to it, and valid attestations. It is read with a snapshot and stored
//! in it; a source that could not be read is marked and never taken for one without an attestation.

mod chain;
mod eas;

use futures::future::join_all;
use tokio::{sync::oneshot, time::Instant};

use crate::{
    config::{self, SourceConfig},
    names::Names,
};
use assay_domain::{Address, Attestation, ChainId, IdentitySource};
use assay_evm::client::{Block, Client};

use chain::{ChainIdentity, Part};
pub use eas::{SchemaRecord, getAttestationCall, getSchemaCall, look_up, looked_up};

/// All chains with an attester or a registry of names.
pub(super) struct Identity {
    chains: Vec<ChainIdentity>,
}

/// The blocks at which chains are read, once they are known.
pub(super) type Heads = Vec<(ChainId, oneshot::Receiver<Block>)>;

impl Identity {
    pub(super) fn new(
        settings: &config::Identity,
        names: &Names,
        clients: impl Iterator<Item = (ChainId, Client)>,
    ) -> Self {
        let sources: &[SourceConfig] = &settings.sources;
        let chains = clients.map(|(chain, client)| ChainIdentity::new(chain, client, sources, names));
        Self { chains: chains.filter(|chain| !chain.is_empty()).collect() }
    }

    /// The attestations of `wallet`, read by `deadline`, and the sources that were asked.
    pub(super) async fn read(
        &self,
        wallet: Address,
        heads: Heads,
        deadline: Instant,
    ) -> (Vec<Attestation>, Vec<IdentitySource>) {
        let reads = heads.into_iter().filter_map(|(id, head)| {
            let chain = self.chains.iter().find(|chain| chain.id() == id)?;
            Some(chain.read(wallet, head, deadline))
        });
        let parts: Vec<Part> = join_all(reads).await;
        let (mut attestations, mut sources) = (Vec::new(), Vec::new());
        for part in parts {
            attestations.extend(part.attestations);
            sources.extend(part.sources);
        }
        (attestations, sources)
    }
}
