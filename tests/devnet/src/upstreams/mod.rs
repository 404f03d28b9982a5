//! Everything that a server with the whole API reads and writes, on one machine: the devnet with names, attestations,
//! agents and a payable token on its two chains, ten more chains, four lenders and a store of documents. Dropping it
//! ends every process.

mod agents;
mod blocks;
mod config;
mod main_chains;
pub mod other_chains;

use alloy::primitives::Address;
use alloy::signers::local::PrivateKeySigner;
use tokio::task::JoinHandle;

use crate::devnet::{Devnet, Error, Progress, actors};
use crate::ipfs::Ipfs;

pub use other_chains::Other;

/// All of it, running.
pub struct Upstreams {
    pub devnet: Devnet,
    /// The other ten chains that the server ships data for, by ascending id.
    pub others: Vec<Other>,
    pub ipfs: Ipfs,
    ethereum: main_chains::OnEthereum,
    base: main_chains::OnBase,
    blocks: JoinHandle<()>,
}

/// The account that pays for submissions.
pub fn payer() -> PrivateKeySigner {
    actors::signer("payer")
}

/// The account that sends feedback and settles payments.
pub fn submitter() -> PrivateKeySigner {
    actors::signer("submitter")
}

/// The account that is paid.
pub fn till() -> Address {
    actors::address("till")
}

impl Upstreams {
    /// Starts all parts at the same time.
    ///
    /// # Errors
    /// When npm, a node, the compiler or a transaction fails. Then every process is stopped.
    pub async fn start(progress: impl Fn(Progress) + Clone + Send + 'static) -> Result<Self, Error> {
        let ipfs = Ipfs::start().await;
        let ((devnet, ethereum, base), others) = tokio::try_join!(
            Devnet::start_with(progress, main_chains::on_ethereum, async |chain| {
                main_chains::on_base(chain, &ipfs).await
            }),
            other_chains::start()
        )?;
        let blocks = tokio::spawn(blocks::confirm(devnet.base.rpc.clone()));
        Ok(Self { devnet, others, ipfs, ethereum, base, blocks })
    }

    /// Mines a block on every chain: prices and positions are those of the newest one.
    ///
    /// # Errors
    /// When a node does not answer.
    pub async fn mine(&self) -> Result<(), Error> {
        self.devnet.mine().await?;
        for other in &self.others {
            other.mine().await?;
        }
        Ok(())
    }
}

impl Drop for Upstreams {
    fn drop(&mut self) {
        self.blocks.abort();
    }
}
