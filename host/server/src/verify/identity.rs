//! Checks the name registries and the attestation services.

use alloy::sol;

use super::ask;
use assay_chain::{
    config::{RegistryConfig, SourceConfig},
    identity::{SchemaRecord, getAttestationCall, getSchemaCall, look_up, looked_up},
};
use assay_domain::{Address, B256};
use assay_evm::{
    client::{Block, Client},
    fault::Fault,
};

sol! {
    function supportsInterface(bytes4 id) external view returns (bool supported);
    function owner(bytes32 node) external view returns (address owner);
    function getSchemaRegistry() external view returns (address registry);
}

/// # Errors
/// [`Fault`] when the endpoint does not answer; so do all functions here.
pub(super) async fn registry(client: &Client, config: &RegistryConfig, head: Block) -> Result<Vec<String>, Fault> {
    Ok(match ask(client, config.registry, &ownerCall { node: B256::ZERO }, head).await? {
        Some(owner) if owner != Address::ZERO => vec![],
        _ => vec!["names no owner of its root like a registry of names".into()],
    })
}

/// The interface of ENSIP-23.
const UNIVERSAL_RESOLVER: [u8; 4] = [0xcd, 0x19, 0x1b, 0x34];

pub(super) async fn universal_resolver(client: &Client, at: Address, head: Block) -> Result<Vec<String>, Fault> {
    Ok(match ask(client, at, &supportsInterfaceCall { id: UNIVERSAL_RESOLVER.into() }, head).await? {
        Some(true) => vec![],
        _ => vec!["does not know the interface of ENS's Universal Resolver".into()],
    })
}

/// Checks the service, and that it has registered the schema.
pub(super) async fn service(client: &Client, source: &SourceConfig, head: Block) -> Result<Vec<String>, Fault> {
    if ask(client, source.eas, &getAttestationCall { uid: B256::ZERO }, head).await?.is_none() {
        return Ok(vec!["does not answer getAttestation like an attestation service".into()]);
    }
    let Some(registry) = ask(client, source.eas, &getSchemaRegistryCall {}, head).await? else {
        return Ok(vec!["names no registry of schemas".into()]);
    };
    let schema: Option<SchemaRecord> = ask(client, registry, &getSchemaCall { uid: source.schema }, head).await?;
    Ok(match schema {
        Some(schema) if schema.uid == source.schema => vec![],
        _ => vec![format!("does not know the schema {}", source.schema)],
    })
}

/// Checks that the index answers for a wallet without attestations.
pub(super) async fn index(client: &Client, source: &SourceConfig, head: Block) -> Result<Vec<String>, Fault> {
    let answers = client.calls(&[look_up(source, Address::with_last_byte(1))], head.hash).await?;
    Ok(match looked_up(source, answers.first()) {
        Some(_) => vec![],
        None => vec!["does not answer like an index of attestations".into()],
    })
}
