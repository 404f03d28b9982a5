//! The signers of a server, each with its period: the document at `/.well-known/assay-attestation.json`.

use assay_domain::{Address, B256, ChainId, Time, time_from_unix};
use serde::{Deserialize, Serialize};

use crate::{
    attest::{Domain, checksum},
    content::{SCHEMA, schema_uid},
};

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signers {
    pub schema: Schema,
    /// The EAS contract for which statements are signed.
    #[serde(serialize_with = "checksum")]
    pub contract: Address,
    pub contract_version: String,
    pub chain_id: ChainId,
    pub signers: Vec<Signer>,
}

/// The schema of a statement's content, as stored in the schema registry of EAS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    pub uid: B256,
    pub text: String,
    pub resolver: Address,
    pub revocable: bool,
}

/// One signer. Its statements stay valid after its period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signer {
    #[serde(serialize_with = "checksum")]
    pub address: Address,
    /// The end of its period; absent for the current signer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Whether its key was compromised; then none of its statements is valid.
    #[serde(default)]
    pub revoked: bool,
}

/// Why a signer's statement is not one of the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("{0} is not a signer of this document")]
    Unknown(Address),
    #[error("the key of {0} is revoked: no statement of it is valid")]
    Revoked(Address),
    #[error("{signer} signed until {until}, and the statement is of {issued}")]
    After { signer: Address, until: Time, issued: Time },
}

impl Default for Schema {
    fn default() -> Self {
        Self { uid: schema_uid(), text: SCHEMA.to_owned(), resolver: Address::ZERO, revocable: false }
    }
}

impl Signers {
    /// The document of a server that signs for `domain`.
    pub fn new(domain: &Domain, signers: Vec<Signer>) -> Self {
        Self {
            schema: Schema::default(),
            contract: domain.contract,
            contract_version: domain.version.clone(),
            chain_id: domain.chain,
            signers,
        }
    }

    /// Whether `signer` may have made a statement at `issued`, in Unix seconds.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn check(&self, signer: Address, issued: u64) -> Result<(), Refused> {
        let mut found = self.signers.iter().filter(|known| known.address == signer).peekable();
        if found.peek().is_none() {
            return Err(Refused::Unknown(signer));
        }
        let issued = time_from_unix(issued);
        for known in found {
            if known.revoked {
                return Err(Refused::Revoked(signer));
            }
            if let Some(until) = known.until.filter(|until| issued >= *until) {
                return Err(Refused::After { signer, until, issued });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signer_is_believed_in_its_time_and_never_after_its_key_is_revoked() {
        let [present, earlier, lost, stranger] = [1, 2, 3, 4].map(Address::repeat_byte);
        let domain = Domain { version: "1.3.0".into(), chain: 1, contract: Address::ZERO };
        let signer =
            |address, until: Option<u64>, revoked| Signer { address, until: until.map(time_from_unix), revoked };
        let listed =
            vec![signer(present, None, false), signer(earlier, Some(100), false), signer(lost, Some(100), true)];
        let signers = Signers::new(&domain, listed);
        let text = serde_json::to_string(&signers).unwrap();
        let signers: Signers = serde_json::from_str(&text).unwrap();
        assert_eq!(signers.check(present, 500), Ok(()));
        assert_eq!(signers.check(earlier, 99), Ok(()));
        assert!(matches!(signers.check(earlier, 100), Err(Refused::After { .. })));
        assert_eq!(signers.check(lost, 50), Err(Refused::Revoked(lost)));
        assert_eq!(signers.check(stranger, 50), Err(Refused::Unknown(stranger)));
    }
}
