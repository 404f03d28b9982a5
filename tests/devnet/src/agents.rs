//! The agent registries on a small chain, as stubs with the published interface, and a mock of the servers that agents'
//! URIs point to.

pub mod documents;

use std::collections::BTreeMap;

use alloy::primitives::{Address, Bytes};
use alloy::sol;
use alloy::sol_types::SolValue;
use tokio::sync::OnceCell;

use crate::devnet::{Error, actors};
use crate::lenders::{Small, stubs};

/// The file of the stubs.
const STUBS: &str = "Agents.sol";
/// Agents registered in one transaction.
const AT_ONCE: usize = 25;

sol! {
    interface Identity {
        function register(string uri) external returns (uint256 agentId);
        function registerAll(string[] all) external;
        function setAgentURI(uint256 agentId, string uri) external;
        function transferFrom(address from, address to, uint256 agentId) external;
        function burn(uint256 agentId) external;
    }
    interface Reputation {
        function giveFeedback(uint256 agentId, int128 value, uint8 valueDecimals, string tag1, string tag2,
            string endpoint, string feedbackURI, bytes32 feedbackHash) external;
        function revokeFeedback(uint256 agentId, uint64 index) external;
    }
}

/// Deployed on a chain.
#[derive(Debug, Clone, Copy)]
pub struct Agents {
    pub identity: Address,
    pub reputation: Address,
}

/// # Errors
/// When a stub cannot be compiled or deployed.
pub async fn deploy(chain: &mut Small) -> Result<Agents, Error> {
    static COMPILED: OnceCell<BTreeMap<String, Bytes>> = OnceCell::const_new();
    let code = COMPILED.get_or_try_init(|| stubs(STUBS)).await?;
    let of = |name: &str| code.get(name).cloned().ok_or_else(|| Error::Unknown(format!("the stub {name}")));
    let identity = chain.create(of("IdentityStub")?, "the registry of agents");
    let reputation = [of("ReputationStub")?.as_ref(), &identity.abi_encode()].concat();
    let reputation = chain.create(reputation, "the registry of reputation");
    chain.mine().await?;
    Ok(Agents { identity, reputation })
}

impl Agents {
    /// The section of the host's configuration.
    pub fn toml(&self, chain: u64, refresh_ms: u64) -> String {
        format!(
            "[agents]\nchain = {chain}\nidentity_registry = \"{}\"\nreputation_registry = \"{}\"\nrefresh_ms = \
             {refresh_ms}\n",
            self.identity, self.reputation
        )
    }

    /// Mines the registration of an agent for each URI, in their order.
    ///
    /// # Errors
    /// When a transaction fails.
    pub async fn register(&self, chain: &mut Small, owner: &str, uris: &[String]) -> Result<(), Error> {
        for some in uris.chunks(AT_ONCE) {
            chain
                .call(actors::address(owner), self.identity, &Identity::registerAllCall { all: some.to_vec() })
                .await?;
        }
        Ok(())
    }
}
