//! The devnet: two local chains (ids 1 and 8453) with the real Aave v3 contracts, and wallets with four years of history.
//! Dropping it stops every process.

pub(crate) mod aave;
pub mod actors;
pub(crate) mod artifact;
mod cast;
pub mod chain;
mod config;
pub mod data_provider;
pub mod feed;
mod life;
pub mod receipts;
mod rpc;
mod seed;
pub(crate) mod sender;
pub mod tokens;
mod weather;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use alloy::primitives::{Address, B256};
use alloy::signers::local::PrivateKeySigner;

pub use aave::{MULTICALL, Market, Token};
pub use chain::Chain;
pub use life::{BASE, ETHEREUM};
pub use rpc::Rpc;

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
        let lives = cast::all();
        let wallets = lives
            .iter()
            .map(|life| Wallet { name: life.name, description: life.description, address: life.address() })
            .collect();
        let steps: Vec<_> = weather::steps().into_iter().chain(lives.into_iter().flat_map(|life| life.steps)).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let of = |id: u64| steps.iter().filter(|step| step.chain == id).cloned().collect::<Vec<_>>();
        let (ethereum, base) = tokio::try_join!(
            Chain::start(ETHEREUM, "Ethereum", of(ETHEREUM), now, progress.clone()),
            Chain::start(BASE, "Base", of(BASE), now, progress)
        )?;
        Ok(Self { ethereum, base, wallets })
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
