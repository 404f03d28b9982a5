//! The Ethereum Attestation Service from its published artifacts, with its own indexer.

use std::collections::BTreeMap;

use alloy::primitives::{Address, B256, Bytes, U256, keccak256};
use alloy::sol;
use alloy::sol_types::SolValue;

use crate::devnet::artifact::creation_code;
use crate::devnet::{Error, actors};
use crate::lenders::Small;
use crate::node;

const PACKAGE: &str = "@ethereum-attestation-service/eas-contracts";

sol! {
    struct AttestationRequestData {
        address recipient; uint64 expirationTime; bool revocable; bytes32 refUID; bytes data; uint256 value;
    }
    struct AttestationRequest { bytes32 schema; AttestationRequestData data; }
    struct RevocationRequestData { bytes32 uid; uint256 value; }
    struct RevocationRequest { bytes32 schema; RevocationRequestData data; }
    interface Service {
        function attest(AttestationRequest request) external payable returns (bytes32 uid);
        function revoke(RevocationRequest request) external payable;
    }
    interface Schemas {
        function register(string schema, address resolver, bool revocable) external returns (bytes32 uid);
    }
    interface Indexer {
        function indexAttestation(bytes32 uid) external;
    }
}

/// Deployed on a chain.
#[derive(Debug, Clone)]
pub struct Eas {
    pub service: Address,
    pub schemas: Address,
    pub indexer: Address,
}

/// # Errors
/// When an artifact is missing or a transaction fails.
pub async fn deploy(chain: &mut Small) -> Result<Eas, Error> {
    let modules = tokio::task::spawn_blocking(node::packages).await.map_err(|e| Error::Task(e.to_string()))??;
    let code = |name: &str| creation_code(&modules, PACKAGE, name, &BTreeMap::new());
    let with = |code: Bytes, address: Address| Bytes::from([code.as_ref(), &address.abi_encode()].concat());
    let schemas = chain.create(code("SchemaRegistry")?, "the registry of schemas");
    let service = chain.create(with(code("EAS")?, schemas), "the attestation service");
    let indexer = chain.create(with(code("Indexer")?, service), "the indexer of attestations");
    chain.mine().await?;
    Ok(Eas { service, schemas, indexer })
}

impl Eas {
    /// Queues the registration of a schema, and returns its id.
    pub fn schema(&self, chain: &mut Small, schema: &str) -> B256 {
        let register = Schemas::registerCall { schema: schema.to_owned(), resolver: Address::ZERO, revocable: true };
        chain.queue(actors::address(actors::DEPLOYER), self.schemas, &register);
        keccak256((schema.to_owned(), Address::ZERO, true).abi_encode_packed())
    }

    /// Mines an attestation, and returns its id. An expiry of 0 means none.
    ///
    /// # Errors
    /// When it fails.
    pub async fn attest(
        &self,
        chain: &mut Small,
        attester: Address,
        (schema, recipient): (B256, Address),
        expires: u64,
        data: Vec<u8>,
    ) -> Result<B256, Error> {
        let (ref_uid, data) = (B256::ZERO, Bytes::from(data));
        let request = AttestationRequestData {
            recipient,
            expirationTime: expires,
            revocable: true,
            refUID: ref_uid,
            data: data.clone(),
            value: U256::ZERO,
        };
        chain
            .call(
                attester,
                self.service,
                &Service::attestCall { request: AttestationRequest { schema, data: request } },
            )
            .await?;
        // The service's ids; the last four bytes differ for attestations of the same moment.
        let parts = (schema, recipient, attester, chain.now(), expires, true, ref_uid);
        Ok(keccak256([parts.abi_encode_packed(), data.to_vec(), vec![0; 4]].concat()))
    }

    /// Mines a revocation.
    ///
    /// # Errors
    /// When it fails.
    pub async fn revoke(&self, chain: &mut Small, attester: Address, schema: B256, uid: B256) -> Result<(), Error> {
        let data = RevocationRequestData { uid, value: U256::ZERO };
        chain.call(attester, self.service, &Service::revokeCall { request: RevocationRequest { schema, data } }).await
    }
}
