//! The identity of an address: names that resolve to it, and valid attestations. It is read and stored with a snapshot.
//! A source that could not be read is marked as unread, never as one without an attestation.

mod chain;
mod eas;

use futures::future::join_all;
use tokio::{sync::oneshot, time::Instant};

use crate::{
    config::{self, SourceConfig},
    names::NameResolvers,
};
use assay_domain::{Address, Attestation, ChainId, IdentitySource};
use assay_evm::client::{Block, Client};

use chain::{ChainIdentity, IdentityPart};
pub use eas::{SchemaRecord, getAttestationCall, getSchemaCall, look_up, looked_up};

/// All chains with an attester or a registry of names.
pub(super) struct IdentityReader {
    chains: Vec<ChainIdentity>,
}

/// The blocks at which chains are read, once they are known.
pub(super) type KnownHeads = Vec<(ChainId, oneshot::Receiver<Block>)>;

impl IdentityReader {
    pub(super) fn new(
        settings: &config::Identity,
        names: &NameResolvers,
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
        heads: KnownHeads,
        deadline: Instant,
    ) -> (Vec<Attestation>, Vec<IdentitySource>) {
        let reads = heads.into_iter().filter_map(|(id, head)| {
            let chain = self.chains.iter().find(|chain| chain.id() == id)?;
            Some(chain.read(wallet, head, deadline))
        });
        let parts: Vec<IdentityPart> = join_all(reads).await;
        let (mut attestations, mut sources) = (Vec::new(), Vec::new());
        for part in parts {
            attestations.extend(part.attestations);
            sources.extend(part.sources);
        }
        (attestations, sources)
    }
}
