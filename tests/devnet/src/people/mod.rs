//! Names and attestations on a small chain: the real registries and resolvers of ENS and the real attestation service,
//! stubs of contracts that no package has, and a gateway for records that are not on a chain.

pub mod eas;
pub mod ens;
pub mod gateway;

use std::collections::BTreeMap;

use alloy::primitives::{Address, Bytes};
use alloy::sol;
use alloy::sol_types::SolValue;
use tokio::sync::OnceCell;

use crate::devnet::{Error, actors};
use crate::lenders::{Small, stubs};

/// The file of the stubs.
const STUBS: &str = "People.sol";

sol! {
    interface Root {
        function setResolver(bytes32 node, address resolver) external;
        function setFailure(bytes32 node, bytes data) external;
    }
}

/// A stub of the Universal Resolver, and the new registry that it reads before the old one.
#[derive(Debug, Clone)]
pub struct Universal {
    pub resolver: Address,
    pub root: Address,
}

impl Universal {
    /// Mines both. Off-chain lookups go through a batch gateway at one of `gateways`; directly if there are none.
    ///
    /// # Errors
    /// When they cannot be compiled, or a transaction fails.
    pub async fn deploy(chain: &mut Small, old: Address, gateways: &[String]) -> Result<Self, Error> {
        static COMPILED: OnceCell<BTreeMap<String, Bytes>> = OnceCell::const_new();
        let code = COMPILED.get_or_try_init(|| stubs("UniversalResolver.sol")).await?;
        let with = |name: &str, arguments: Vec<u8>| {
            let code = code.get(name).ok_or_else(|| Error::Unknown(format!("the stub {name}")))?;
            Ok::<_, Error>([code.as_ref(), &arguments].concat())
        };
        let root =
            chain.create(with("RootStub", (gateways.to_vec(),).abi_encode_params())?, "the new registry of names");
        let resolver = with("UniversalStub", (root, old).abi_encode_params())?;
        let resolver = chain.create(resolver, "the Universal Resolver");
        chain.mine().await?;
        Ok(Self { resolver, root })
    }

    /// Queues the resolver of a name in the new registry.
    pub fn register(&self, chain: &mut Small, name: &str, resolver: Address) {
        let call = Root::setResolverCall { node: ens::node(name), resolver };
        chain.queue(actors::address(actors::DEPLOYER), self.root, &call);
    }

    /// Queues the error with which the Universal Resolver reverts for a name.
    pub fn fail(&self, chain: &mut Small, name: &str, data: Vec<u8>) {
        let call = Root::setFailureCall { node: ens::node(name), data: data.into() };
        chain.queue(actors::address(actors::DEPLOYER), self.root, &call);
    }
}

/// Queues the creation of a stub, and returns its future address.
///
/// # Errors
/// When it cannot be compiled.
pub async fn stub(chain: &mut Small, name: &str, arguments: impl Into<Bytes>) -> Result<Address, Error> {
    static COMPILED: OnceCell<BTreeMap<String, Bytes>> = OnceCell::const_new();
    let code = COMPILED.get_or_try_init(|| stubs(STUBS)).await?;
    let code = code.get(name).ok_or_else(|| Error::Unknown(format!("the stub {name}")))?;
    Ok(chain.create([code.as_ref(), &arguments.into()].concat(), name))
}

/// Queues a resolver whose records are at `gateways`. It gives `sender` as its address unless that is zero, and asks
/// `rounds` times.
///
/// # Errors
/// When it cannot be compiled.
pub async fn offchain(chain: &mut Small, gateways: &[String], sender: Address, rounds: u64) -> Result<Address, Error> {
    let arguments = (gateways.to_vec(), sender, alloy::primitives::U256::from(rounds)).abi_encode_params();
    stub(chain, "OffchainStub", arguments).await
}
