//! Checks the agent registries: the identity registry has tokens with owners, and the reputation registry refers to it.

use alloy::{primitives::FixedBytes, sol};

use super::ask;
use assay_agents::config::Agents;
use assay_domain::{Address, U256};
use assay_evm::{
    call::{Call, returned},
    client::{Block, Client},
    fault::Fault,
};

sol! {
    function ownerOf(uint256 agentId) external view returns (address owner);
    function getIdentityRegistry() external view returns (address registry);
    function supportsInterface(bytes4 id) external view returns (bool supported);
}

/// The ERC-165 interface id of ERC-721.
const ERC721: FixedBytes<4> = FixedBytes([0x80, 0xac, 0x58, 0xcd]);
/// The first ids, whose owners are read. Some may be burned.
const SAMPLE: u64 = 16;

/// # Errors
/// [`Fault`] when the endpoint does not answer.
pub(super) async fn identity(client: &Client, agents: &Agents, head: Block) -> Result<Vec<String>, Fault> {
    let registry = agents.identity_registry;
    let start = agents.start();
    if start > head.number {
        let head = head.number;
        return Ok(vec![format!("from_block {start} is above the chain's head {head}: no agent would be found")]);
    }
    let calls: Vec<Call> =
        (0..SAMPLE).map(|id| Call::new(registry, &ownerOfCall { agentId: U256::from(id) })).collect();
    let owners = client.calls(&calls, head.hash).await?;
    let is_owned =
        (0..owners.len()).any(|at| returned::<ownerOfCall>(owners.get(at)).is_some_and(|owner| !owner.is_zero()));
    // A registry without agents still answers ERC-165.
    if is_owned || ask(client, registry, &supportsInterfaceCall { id: ERC721 }, head).await? == Some(true) {
        return Ok(vec![]);
    }
    Ok(vec![
        "names no owner of the agents 0 to 15, and does not know the interface of ERC-721, as an Identity Registry \
         does; correct agents.identity_registry"
            .into(),
    ])
}

/// # Errors
/// [`Fault`] when the endpoint does not answer.
pub(super) async fn reputation(client: &Client, agents: &Agents, head: Block) -> Result<Vec<String>, Fault> {
    let answers =
        client.calls(&[Call::new(agents.reputation_registry, &getIdentityRegistryCall {})], head.hash).await?;
    let word = answers.into_iter().next().flatten().filter(|answer| answer.len() == 32);
    Ok(match word.map(|word| Address::from_word(U256::from_be_slice(&word).into())) {
        Some(registry) if registry == agents.identity_registry => vec![],
        Some(registry) => vec![format!("is for the agents of {registry}, not of agents.identity_registry")],
        None => vec!["does not answer getIdentityRegistry(); correct agents.reputation_registry".into()],
    })
}
