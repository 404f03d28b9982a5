//! The devnet: two local chains (ids 1 and 8453) with the real Aave v3 contracts, and wallets with four years of
//! history. Dropping it stops every process.

pub mod aave;
pub mod actors;
pub mod artifact;
mod cast;
pub mod chain;
pub mod config;
pub mod data_provider;
pub mod feed;
pub mod life;
pub mod receipts;
mod rpc;
pub mod seed;
pub mod sender;
pub mod tokens;
pub mod weather;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloy::primitives::{Address, B256};
use alloy::signers::local::PrivateKeySigner;

pub use aave::{MULTICALL, Market, Token};
pub use chain::Chain;
use life::Life;
pub use life::{BASE, ETHEREUM};
pub use rpc::Rpc;

use crate::lenders::Small;
use crate::node;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Node(#[from] node::Error),
    #[error("{0}")]
    Rpc(String),
    #[error("the contract artifact {file} cannot be used: {why}. Remove tests/node_modules to have it installed again")]
    Artifact { file: PathBuf, why: String },
    #[error("a transaction failed, {what}: {why}")]
    Reverted { what: String, why: String },
    #[error("the devnet does not know {0}")]
    Unknown(String),
    #[error("starting was given up: {0}")]
    Task(String),
}

/// One of the devnet's wallets.
#[derive(Debug, Clone)]
pub struct Wallet {
    pub name: &'static str,
    /// One line.
    pub description: &'static str,
    pub address: Address,
}

impl Wallet {
    pub fn private_key(&self) -> B256 {
        actors::private_key(self.name)
    }

    pub fn signer(&self) -> PrivateKeySigner {
        actors::signer(self.name)
    }
}

/// Progress of a chain's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub chain_id: u64,
    pub stage: Stage,
    pub done: usize,
    pub total: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The node process.
    Starting,
    /// The contracts.
    Deploying,
    /// The wallets' history; `done` and `total` are blocks.
    Seeding,
    /// What is added at the end of the history.
    Furnishing,
    Ready,
}

/// Both chains, running.
#[derive(Debug)]
pub struct Devnet {
    pub ethereum: Chain,
    pub base: Chain,
    pub wallets: Vec<Wallet>,
}

impl Devnet {
    /// Installs missing packages, starts both chains at the same time and adds the history of every wallet.
    ///
    /// # Errors
    /// When npm, a node or a transaction fails. Then every process is stopped.
    pub async fn start(progress: impl Fn(Progress) + Clone + Send + 'static) -> Result<Self, Error> {
        let (devnet, (), ()) = Self::start_with(progress, async |_| Ok(()), async |_| Ok(())).await?;
        Ok(devnet)
    }

    /// Also does something more at the end of each chain's history, and returns what that did.
    ///
    /// # Errors
    /// As for [`Self::start`].
    pub async fn start_with<E, B>(
        progress: impl Fn(Progress) + Clone + Send + 'static,
        on_ethereum: impl AsyncFnOnce(&mut Small) -> Result<E, Error>,
        on_base: impl AsyncFnOnce(&mut Small) -> Result<B, Error>,
    ) -> Result<(Self, E, B), Error> {
        let lives = cast::all();
        let wallets = wallets(&lives);
        let steps: Vec<_> = weather::steps().into_iter().chain(lives.into_iter().flat_map(|life| life.steps)).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let of = |id: u64| steps.iter().filter(|step| step.chain == id).cloned().collect::<Vec<_>>();
        let ((ethereum, on_ethereum), (base, on_base)) = tokio::try_join!(
            Chain::start((ETHEREUM, "Ethereum"), of(ETHEREUM), now, progress.clone(), on_ethereum),
            Chain::start((BASE, "Base"), of(BASE), now, progress, on_base)
        )?;
        Ok((Self { ethereum, base, wallets }, on_ethereum, on_base))
    }

    /// Mines a block on both chains.
    ///
    /// # Errors
    /// When a node does not answer.
    pub async fn mine(&self) -> Result<(), Error> {
        for chain in self.chains() {
            chain.mine(1).await?;
        }
        Ok(())
    }

    pub fn chains(&self) -> [&Chain; 2] {
        [&self.ethereum, &self.base]
    }

    pub fn chain(&self, id: u64) -> Option<&Chain> {
        self.chains().into_iter().find(|chain| chain.id == id)
    }

    /// # Panics
    /// When no wallet has that name.
    pub fn wallet(&self, name: &str) -> &Wallet {
        self.wallets.iter().find(|wallet| wallet.name == name).unwrap_or_else(|| panic!("no wallet is called {name}"))
    }
}

/// The wallets with these lives.
fn wallets(lives: &[Life]) -> Vec<Wallet> {
    lives
        .iter()
        .map(|life| Wallet { name: life.name, description: life.description, address: life.address() })
        .collect()
}

/// Every wallet of the devnet, in the order of the printed table.
pub fn cast() -> Vec<Wallet> {
    wallets(&cast::all())
}
