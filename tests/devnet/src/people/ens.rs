//! ENS from its published artifacts: a registry, one resolver, and names in it.

use alloy::primitives::{Address, B256, Bytes, keccak256};
use alloy::sol;
use alloy::sol_types::SolValue;

use crate::devnet::artifact::built;
use crate::devnet::{Error, actors};
use crate::lenders::Small;
use crate::node;

sol! {
    interface Registry {
        function setSubnodeOwner(bytes32 node, bytes32 label, address owner) external;
        function setResolver(bytes32 node, address resolver) external;
    }
    interface Resolver {
        function setAddr(bytes32 node, address owner) external;
        function setName(bytes32 node, string name) external;
    }
}

/// Deployed on a chain. Every name belongs to the deployer.
#[derive(Debug, Clone)]
pub struct Ens {
    pub registry: Address,
    pub resolver: Address,
}

/// # Errors
/// When an artifact is missing or a transaction fails.
pub async fn deploy(chain: &mut Small) -> Result<Ens, Error> {
    let modules = tokio::task::spawn_blocking(node::packages).await.map_err(|e| Error::Task(e.to_string()))??;
    let registry = chain.create(built(&modules, "@ensdomains/ens", "ENSRegistry")?, "the registry of names");
    let code = built(&modules, "@ensdomains/resolver", "PublicResolver")?;
    let resolver = chain.create(Bytes::from([code.as_ref(), &registry.abi_encode()].concat()), "a resolver");
    chain.mine().await?;
    Ok(Ens { registry, resolver })
}

/// The node of a name (EIP-137).
pub fn node(name: &str) -> B256 {
    let labels = name.rsplit('.').filter(|label| !label.is_empty());
    labels.fold(B256::ZERO, |above, label| keccak256((above, keccak256(label)).abi_encode_packed()))
}

impl Ens {
    /// Queues the creation of `name` and its parents, with `resolver` as the resolver of `name`.
    pub fn register(&self, chain: &mut Small, name: &str, resolver: Address) {
        let deployer = actors::address(actors::DEPLOYER);
        let labels: Vec<&str> = name.split('.').collect();
        for at in (0..labels.len()).rev() {
            let (label, above) = (keccak256(labels[at]), node(&labels[at + 1..].join(".")));
            chain.queue(
                deployer,
                self.registry,
                &Registry::setSubnodeOwnerCall { node: above, label, owner: deployer },
            );
        }
        chain.queue(deployer, self.registry, &Registry::setResolverCall { node: node(name), resolver });
    }

    /// Queues the record that `name` resolves to `owner`.
    pub fn name(&self, chain: &mut Small, name: &str, owner: Address) {
        self.register(chain, name, self.resolver);
        chain.queue(
            actors::address(actors::DEPLOYER),
            self.resolver,
            &Resolver::setAddrCall { node: node(name), owner },
        );
    }

    /// Queues the reverse record `name` of `wallet`, below `reverse`.
    pub fn call_itself(&self, chain: &mut Small, wallet: Address, reverse: &str, name: &str) {
        let below = format!("{}.{reverse}", hex::encode(wallet));
        self.register(chain, &below, self.resolver);
        let set = Resolver::setNameCall { node: node(&below), name: name.to_owned() };
        chain.queue(actors::address(actors::DEPLOYER), self.resolver, &set);
    }
}
