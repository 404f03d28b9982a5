//! ENS on the devnet, from its published artifacts.

use std::{fs, path::Path};

use alloy::{
    primitives::{Address, B256, U256, hex, keccak256},
    sol_types::{SolCall, SolValue},
};
use assay_tests::{
    devnet::{Chain, actors},
    node,
    people::ens::{Registry, Resolver, node as namehash},
};
use serde_json::{Value, json};

use crate::Failure;

/// A registry with one resolver. Every name belongs to the deployer.
pub struct Names {
    pub registry: Address,
    resolver: Address,
}

impl Names {
    pub async fn deploy(chain: &Chain) -> Result<Self, Failure> {
        let modules = node::packages()?;
        let registry = create(chain, &modules.join("@ensdomains/ens/build/contracts/ENSRegistry.json"), &[]).await?;
        let file = modules.join("@ensdomains/resolver/build/contracts/PublicResolver.json");
        let resolver = create(chain, &file, &registry.abi_encode()).await?;
        let names = Self { registry, resolver };
        names.own(chain, B256::ZERO, "eth").await?;
        Ok(names)
    }

    /// `label.eth` resolves to `owner`.
    pub async fn give(&self, chain: &Chain, label: &str, owner: Address) -> Result<(), Failure> {
        self.own(chain, namehash("eth"), label).await?;
        let node = namehash(&format!("{label}.eth"));
        send(chain, self.registry, &Registry::setResolverCall { node, resolver: self.resolver }).await?;
        send(chain, self.resolver, &Resolver::setAddrCall { node, owner }).await
    }

    async fn own(&self, chain: &Chain, node: B256, label: &str) -> Result<(), Failure> {
        let owner = actors::address(actors::DEPLOYER);
        send(chain, self.registry, &Registry::setSubnodeOwnerCall { node, label: keccak256(label), owner }).await
    }
}

async fn send(chain: &Chain, to: Address, call: &impl SolCall) -> Result<(), Failure> {
    chain.send(actors::address(actors::DEPLOYER), to, call.abi_encode(), U256::ZERO).await?;
    Ok(())
}

/// The address of a new contract.
async fn create(chain: &Chain, artifact: &Path, arguments: &[u8]) -> Result<Address, Failure> {
    let artifact: Value = serde_json::from_slice(&fs::read(artifact)?)?;
    let code = artifact["bytecode"].as_str().ok_or("an artifact without bytecode")?;
    let data = format!("{code}{}", hex::encode(arguments));
    let fields = json!({ "from": actors::address(actors::DEPLOYER), "data": data, "gasPrice": "0x0" });
    let hash: B256 = chain.rpc.request("eth_sendTransaction", json!([fields])).await?;
    chain.mine(1).await?;
    let receipt: Value = chain.rpc.request("eth_getTransactionReceipt", json!([hash])).await?;
    Ok(serde_json::from_value(receipt["contractAddress"].clone())?)
}
