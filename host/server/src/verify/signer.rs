//! Checks the account that submits feedback: it has funds and owns no agent.

use alloy::{primitives::Bytes, sol, sol_types::SolCall};
use serde_json::json;

use assay_agents::config::Agents;
use assay_domain::{Address, U256};
use assay_evm::{
    call::{Call, returned},
    client::{Block, Client},
    fault::Fault,
};
use assay_reputation::config::Reputation;

sol! {
    function balanceOf(address owner) external view returns (uint256 agents);
    function ownerOf(uint256 agentId) external view returns (address owner);
}

/// Agents whose owner is read when the registry has no `balanceOf`.
const SAMPLE: u64 = 100;

/// Each problem, with the part of the configuration that it concerns.
pub(super) async fn problems(
    client: &Client,
    agents: &Agents,
    reputation: &Reputation,
    head: Block,
) -> Vec<(String, String)> {
    let Some(signer) = reputation.account().map(|key| key.address()) else {
        return vec![("reputation.signer".into(), "is not a private key".into())];
    };
    let mut found = Vec::new();
    let part = format!("account {signer} of reputation.signer");
    match stake(client, agents, signer, head).await {
        Ok((balance, owned)) => {
            if balance.is_zero() {
                found.push((part.clone(), "has no funds to pay for gas".into()));
            }
            if owned {
                found.push((
                    part,
                    "owns an agent, and the registry refuses feedback from an agent's owner; use another account"
                        .into(),
                ));
            }
        }
        Err(fault) => found.push((part, format!("cannot be read: {fault}"))),
    }
    found
}

/// The balance of the account, and whether it owns an agent.
async fn stake(client: &Client, agents: &Agents, signer: Address, head: Block) -> Result<(U256, bool), Fault> {
    let balance = client.batch(vec![("eth_getBalance", json!([signer, "latest"]))]).await?.into_iter().next();
    let balance = balance.unwrap_or_else(|| Err(Fault::Malformed("no answer".into())))?;
    let balance: U256 = serde_json::from_value(balance).map_err(|error| Fault::unreadable(&error))?;
    let registry = agents.identity_registry;
    let counted: Vec<Option<Bytes>> =
        client.calls(&[Call::new(registry, &balanceOfCall { owner: signer })], head.hash).await?;
    if let Some(owned) = returned::<balanceOfCall>(counted.first()) {
        return Ok((balance, owned > U256::ZERO));
    }
    let calls: Vec<Call> =
        (0..SAMPLE).map(|id| Call::new(registry, &ownerOfCall { agentId: U256::from(id) })).collect();
    let owners = client.calls(&calls, head.hash).await?;
    let word = Bytes::from(ownerOfCall::abi_encode_returns(&signer));
    Ok((balance, owners.iter().flatten().any(|owner| *owner == word)))
}
