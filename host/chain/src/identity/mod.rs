//! Who an address is said to belong to: names that stand for it, and attestations that hold. Read beside the rest of a
//! snapshot and kept with it; what could not be read is said and never taken for absent.

mod eas;
mod site;

use futures::future::join_all;
use tokio::{sync::oneshot, time::Instant};

use crate::config;
use crate::config::SourceConfig;
use crate::names::Names;
use assay_domain::{Address, Attestation, ChainId, IdentitySource};
use assay_evm::client::{Block, Client};

pub use eas::{SchemaRecord, getAttestationCall, getSchemaCall, look_up, looked_up};
use site::{Part, Site};

/// All chains with something to ask.
pub(super) struct Identity {
    sites: Vec<Site>,
}

/// The blocks that chains are read at, once they are known.
pub(super) type Heads = Vec<(ChainId, oneshot::Receiver<Block>)>;

impl Identity {
    pub(super) fn new(
        settings: &config::Identity,
        names: &Names,
        clients: impl Iterator<Item = (ChainId, Client)>,
    ) -> Self {
        let sources: &[SourceConfig] = &settings.sources;
        let sites = clients.map(|(chain, client)| Site::new(chain, client, sources, names));
        Self { sites: sites.filter(|site| !site.is_empty()).collect() }
    }

    /// Everything said of `wallet` by `deadline`, and who was asked.
    pub(super) async fn read(
        &self,
        wallet: Address,
        heads: Heads,
        deadline: Instant,
    ) -> (Vec<Attestation>, Vec<IdentitySource>) {
        let reads = heads.into_iter().filter_map(|(chain, head)| {
            let site = self.sites.iter().find(|site| site.chain() == chain)?;
            Some(site.read(wallet, head, deadline))
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
