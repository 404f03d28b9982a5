//! The attestation around the content: version 2 of the off-chain attestations of EAS, as its SDK writes and verifies
//! them.

use alloy::{
    primitives::{Bytes, Signature, keccak256},
    signers::{SignerSync as _, local::PrivateKeySigner},
    sol,
    sol_types::{Eip712Domain, SolStruct as _},
};
use assay_domain::{Address, B256, ChainId, U256};
use serde::{Deserialize, Serialize, Serializer};

use crate::content::{Content, schema_uid};

const VERSION: u16 = 2;
const NAME: &str = "EAS Attestation";
const PRIMARY_TYPE: &str = "Attest";
const TYPES: [(&str, &str); 9] = [
    ("version", "uint16"),
    ("schema", "bytes32"),
    ("recipient", "address"),
    ("time", "uint64"),
    ("expirationTime", "uint64"),
    ("revocable", "bool"),
    ("refUID", "bytes32"),
    ("data", "bytes"),
    ("salt", "bytes32"),
];

sol! {
    #[derive(Debug)]
    struct Attest {
        uint16 version;
        bytes32 schema;
        address recipient;
        uint64 time;
        uint64 expirationTime;
        bool revocable;
        bytes32 refUID;
        bytes data;
        bytes32 salt;
    }
}

/// The EAS contract for which a statement is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// The contract's version, such as `1.3.0`.
    pub version: String,
    pub chain: ChainId,
    pub contract: Address,
}

/// The validity of a statement, in Unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    pub issued: u64,
    /// The first second in which it is no longer valid.
    pub expires: u64,
}

/// A statement, before it is signed or after it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub domain: Domain,
    /// The wallet.
    pub recipient: Address,
    pub term: Term,
    pub content: Content,
    /// Makes each statement unique.
    pub salt: B256,
}

/// A signed statement, as EAS tools exchange it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    sig: Sig,
    #[serde(serialize_with = "checksum")]
    signer: Address,
}

/// Why a file is not a statement of a score.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct Unreadable {
    /// The field of the JSON.
    pub field: &'static str,
    pub reason: String,
}

/// Why a signature was not made by the statement's signer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSigned {
    #[error("sig.signature: r, s and v are no valid signature")]
    Form,
    #[error("sig.signature: {recovered} signed these fields, and not the signer {named}; one of them was changed")]
    Other { named: Address, recovered: Address },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sig {
    version: u16,
    uid: B256,
    domain: DomainFields,
    #[serde(rename = "primaryType")]
    primary_type: String,
    types: Types,
    message: Message,
    signature: TypedParts,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct DomainFields {
    name: String,
    version: String,
    chain_id: ChainId,
    #[serde(serialize_with = "checksum")]
    verifying_contract: Address,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Types {
    #[serde(rename = "Attest")]
    attest: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Message {
    version: u16,
    schema: B256,
    #[serde(serialize_with = "checksum")]
    recipient: Address,
    time: u64,
    expiration_time: u64,
    revocable: bool,
    #[serde(rename = "refUID")]
    ref_uid: B256,
    data: Bytes,
    salt: B256,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedParts {
    v: u8,
    r: B256,
    s: B256,
}

impl Statement {
    /// The hash that the signer signs.
    pub fn hash(&self) -> B256 {
        self.attest().eip712_signing_hash(&self.domain.eip712())
    }

    /// The identity of the statement in EAS.
    pub fn uid(&self) -> B256 {
        let Attest { version, schema, recipient, time, expirationTime, revocable, refUID, data, salt } = self.attest();
        let schema = format!("{schema:#x}");
        let packed: [&[u8]; 11] = [
            &version.to_be_bytes(),
            schema.as_bytes(),
            recipient.as_slice(),
            Address::ZERO.as_slice(),
            &time.to_be_bytes(),
            &expirationTime.to_be_bytes(),
            &[u8::from(revocable)],
            refUID.as_slice(),
            &data,
            salt.as_slice(),
            &0_u32.to_be_bytes(),
        ];
        keccak256(packed.concat())
    }

    /// # Errors
    /// The signer's error.
    pub fn sign(self, key: &PrivateKeySigner) -> Result<Signed, alloy::signers::Error> {
        let signature = key.sign_hash_sync(&self.hash())?;
        let parts = TypedParts { v: 27 + u8::from(signature.v()), r: signature.r().into(), s: signature.s().into() };
        let (uid, attest) = (self.uid(), self.attest());
        let domain = DomainFields {
            name: NAME.to_owned(),
            version: self.domain.version,
            chain_id: self.domain.chain,
            verifying_contract: self.domain.contract,
        };
        let message = Message {
            version: attest.version,
            schema: attest.schema,
            recipient: attest.recipient,
            time: attest.time,
            expiration_time: attest.expirationTime,
            revocable: attest.revocable,
            ref_uid: attest.refUID,
            data: attest.data,
            salt: attest.salt,
        };
        let sig = Sig {
            version: VERSION,
            uid,
            domain,
            primary_type: PRIMARY_TYPE.to_owned(),
            types: Types::written(),
            message,
            signature: parts,
        };
        Ok(Signed { sig, signer: key.address() })
    }

    fn attest(&self) -> Attest {
        Attest {
            version: VERSION,
            schema: schema_uid(),
            recipient: self.recipient,
            time: self.term.issued,
            expirationTime: self.term.expires,
            revocable: false,
            refUID: B256::ZERO,
            data: self.content.encode().into(),
            salt: self.salt,
        }
    }
}

impl Domain {
    fn eip712(&self) -> Eip712Domain {
        let (chain, contract) = (U256::from(self.chain), self.contract);
        Eip712Domain::new(Some(NAME.into()), Some(self.version.clone().into()), Some(chain), Some(contract), None)
    }
}

impl Types {
    fn written() -> Self {
        let field = |(name, kind): (&str, &str)| Field { name: name.to_owned(), kind: kind.to_owned() };
        Self { attest: TYPES.map(field).into() }
    }
}

impl Signed {
    /// The account named as the signer.
    pub fn signer(&self) -> Address {
        self.signer
    }

    /// The statement, if every field is as this crate writes it.
    ///
    /// # Errors
    /// [`Unreadable`] names the first field that differs.
    pub fn statement(&self) -> Result<Statement, Unreadable> {
        let Sig { version, uid, domain, primary_type, types, message, signature: _ } = &self.sig;
        let check = |field, is_right, reason: &str| {
            if is_right { Ok(()) } else { Err(Unreadable { field, reason: reason.to_owned() }) }
        };
        check("sig.version", *version == VERSION, "expected 2")?;
        check("sig.domain.name", domain.name == NAME, "expected \"EAS Attestation\"")?;
        check("sig.primaryType", primary_type == PRIMARY_TYPE, "expected \"Attest\"")?;
        check("sig.types", *types == Types::written(), "not the fields of an attestation of version 2")?;
        check("sig.message.version", message.version == VERSION, "expected 2")?;
        check("sig.message.schema", message.schema == schema_uid(), "not the schema of a score")?;
        check("sig.message.revocable", !message.revocable, "expected false")?;
        check("sig.message.refUID", message.ref_uid.is_zero(), "expected zero")?;
        let content =
            Content::decode(&message.data).map_err(|reason| Unreadable { field: "sig.message.data", reason })?;
        let statement = Statement {
            domain: Domain {
                version: domain.version.clone(),
                chain: domain.chain_id,
                contract: domain.verifying_contract,
            },
            recipient: message.recipient,
            term: Term { issued: message.time, expires: message.expiration_time },
            content,
            salt: message.salt,
        };
        check("sig.uid", statement.uid() == *uid, "not the identity of these fields; one of them was changed")?;
        Ok(statement)
    }

    /// Checks that the named signer signed `statement`.
    ///
    /// # Errors
    /// [`NotSigned`].
    pub fn check(&self, statement: &Statement) -> Result<(), NotSigned> {
        let TypedParts { v, r, s } = self.sig.signature;
        if !matches!(v, 27 | 28) {
            return Err(NotSigned::Form);
        }
        let signature = Signature::new(r.into(), s.into(), v == 28);
        // Contracts accept one of the two forms of a signature.
        if signature.normalize_s().is_some() {
            return Err(NotSigned::Form);
        }
        let recovered = signature.recover_address_from_prehash(&statement.hash()).map_err(|_| NotSigned::Form)?;
        if recovered == self.signer { Ok(()) } else { Err(NotSigned::Other { named: self.signer, recovered }) }
    }
}

/// Writes an address with its EIP-55 checksum: the EAS SDK compares addresses as text.
pub(crate) fn checksum<S: Serializer>(address: &Address, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&address.to_checksum(None))
}

#[cfg(test)]
mod tests {
    use assay_domain::address;
    use serde_json::Value;

    use super::*;
    use crate::content::tests::content;

    fn statement() -> Statement {
        Statement {
            domain: Domain {
                version: "1.3.0".into(),
                chain: 8453,
                contract: address!("0x4200000000000000000000000000000000000021"),
            },
            recipient: address!("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"),
            term: Term { issued: 1_790_000_000, expires: 1_790_086_400 },
            content: content(),
            salt: B256::repeat_byte(9),
        }
    }

    fn key() -> PrivateKeySigner {
        PrivateKeySigner::from_slice(&[7; 32]).unwrap()
    }

    fn verified(json: &Value) -> Result<Statement, String> {
        let signed: Signed = serde_json::from_value(json.clone()).map_err(|error| error.to_string())?;
        let statement = signed.statement().map_err(|error| error.to_string())?;
        signed.check(&statement).map_err(|error| error.to_string())?;
        Ok(statement)
    }

    #[test]
    fn a_signed_statement_comes_back_and_every_changed_field_is_named() {
        let json = serde_json::to_value(statement().sign(&key()).unwrap()).unwrap();
        assert_eq!(verified(&json), Ok(statement()));
        let changes: [(&str, Value, &str); 16] = [
            ("/sig/version", 1.into(), "sig.version"),
            ("/sig/uid", format!("{:#x}", B256::ZERO).into(), "sig.uid"),
            ("/sig/domain/name", "EAS".into(), "sig.domain.name"),
            ("/sig/domain/version", "1.2.0".into(), "sig.signature"),
            ("/sig/domain/chainId", 1.into(), "sig.signature"),
            ("/sig/domain/verifyingContract", format!("{:#x}", Address::ZERO).into(), "sig.signature"),
            ("/sig/primaryType", "Attestation".into(), "sig.primaryType"),
            ("/sig/types/Attest/0/type", "uint8".into(), "sig.types"),
            ("/sig/message/version", 1.into(), "sig.message.version"),
            ("/sig/message/schema", format!("{:#x}", B256::ZERO).into(), "sig.message.schema"),
            ("/sig/message/recipient", format!("{:#x}", Address::ZERO).into(), "sig.uid"),
            ("/sig/message/time", 1.into(), "sig.uid"),
            ("/sig/message/expirationTime", 2_000_000_000.into(), "sig.uid"),
            ("/sig/message/revocable", true.into(), "sig.message.revocable"),
            ("/sig/message/salt", format!("{:#x}", B256::ZERO).into(), "sig.uid"),
            ("/signer", format!("{:#x}", Address::ZERO).into(), "sig.signature"),
        ];
        for (pointer, value, named) in changes {
            let mut changed = json.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            let refused = verified(&changed).unwrap_err();
            assert!(refused.starts_with(named), "{pointer}: {refused}");
        }
        let data = json.pointer("/sig/message/data").unwrap().as_str().unwrap();
        for at in (2..data.len()).step_by(7) {
            let flipped = if &data[at..=at] == "0" { "1" } else { "0" };
            let mut changed = json.clone();
            changed["sig"]["message"]["data"] = format!("{}{flipped}{}", &data[..at], &data[at + 1..]).into();
            assert!(verified(&changed).is_err(), "digit {at}");
        }
    }

    #[test]
    fn the_second_form_of_a_signature_is_refused() {
        let signed = statement().sign(&key()).unwrap();
        let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
        let order = U256::from_str_radix(order, 16).unwrap();
        let mut other = signed.clone();
        other.sig.signature.s = (order - U256::from_be_bytes(signed.sig.signature.s.0)).into();
        other.sig.signature.v = 55 - signed.sig.signature.v;
        assert_eq!(other.check(&statement()), Err(NotSigned::Form));
    }
}
