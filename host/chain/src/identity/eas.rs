//! Attestations of the Ethereum Attestation Service. An index lists a wallet's attestations, the service returns their
//! content, and each read checks whether they are still valid.

use alloy::{primitives::Bytes, sol, sol_types::SolValue};

use crate::config::{Data, Lookup, SourceConfig};
use assay_domain::{Address, B256, U256, time_from_unix};
use assay_evm::call::{Call, returned};

sol! {
    #[derive(Debug)]
    struct Attestation {
        bytes32 uid;
        bytes32 schema;
        uint64 time;
        uint64 expirationTime;
        uint64 revocationTime;
        bytes32 refUID;
        address recipient;
        address attester;
        bool revocable;
        bytes data;
    }
    function getAttestation(bytes32 uid) external view returns (Attestation attestation);
    function getAttestationUid(address recipient, bytes32 schema) external view returns (bytes32 uid);
    function getUserAttestation(address user, bytes32 schema) external view returns (bytes32 uid);
    function getReceivedAttestationUIDs(address recipient, bytes32 schema, uint256 start, uint256 length,
        bool reverse) external view returns (bytes32[] uids);

    struct SchemaRecord { bytes32 uid; address resolver; bool revocable; string schema; }
    function getSchema(bytes32 uid) external view returns (SchemaRecord schema);

    struct Stamp { string provider; uint256 score; }
    struct PassportScore {
        bool passing; uint8 decimals; uint128 scorer; uint32 score; uint32 threshold; Stamp[] stamps;
    }
}

/// The number of newest attestations of a wallet that are read: in some schemas anyone can attest.
const NEWEST: u64 = 20;

/// Asks the index which attestations `wallet` has.
pub fn look_up(source: &SourceConfig, wallet: Address) -> Call {
    let (recipient, schema) = (wallet, source.schema);
    match source.lookup {
        Lookup::AttestationUid => Call::new(source.index, &getAttestationUidCall { recipient, schema }),
        Lookup::UserAttestation => Call::new(source.index, &getUserAttestationCall { user: wallet, schema }),
        Lookup::Received => {
            let (start, length) = (U256::ZERO, U256::from(NEWEST));
            Call::new(source.index, &getReceivedAttestationUIDsCall { recipient, schema, start, length, reverse: true })
        }
    }
}

/// Reads the answer to [`look_up`]; `None` if the index did not answer.
pub fn looked_up(source: &SourceConfig, answer: Option<&Option<Bytes>>) -> Option<Vec<B256>> {
    let uids = match source.lookup {
        Lookup::AttestationUid => vec![returned::<getAttestationUidCall>(answer)?],
        Lookup::UserAttestation => vec![returned::<getUserAttestationCall>(answer)?],
        Lookup::Received => returned::<getReceivedAttestationUIDsCall>(answer)?,
    };
    Some(uids.into_iter().filter(|uid| *uid != B256::ZERO).take(NEWEST as usize).collect())
}

pub(super) fn read(source: &SourceConfig, uid: B256) -> Call {
    Call::new(source.eas, &getAttestationCall { uid })
}

/// The attestation in the answer to [`read`], if it is valid at `now`; the outer `None` if the service did not
/// answer.
pub(super) fn valid(
    source: &SourceConfig,
    wallet: Address,
    uid: B256,
    now: u64,
    answer: Option<&Option<Bytes>>,
) -> Option<Option<assay_domain::Attestation>> {
    let found = returned::<getAttestationCall>(answer)?;
    Some(checked(source, wallet, uid, now, &found))
}

fn checked(
    source: &SourceConfig,
    wallet: Address,
    uid: B256,
    now: u64,
    found: &Attestation,
) -> Option<assay_domain::Attestation> {
    let ends = match (found.expirationTime, source.max_age) {
        (0, None) => None,
        (0, Some(age)) => Some(found.time.saturating_add(age.as_secs())),
        (end, _) => Some(end),
    };
    let right = found.uid == uid
        && found.schema == source.schema
        && found.recipient == wallet
        && found.attester == source.attester;
    let current = found.revocationTime == 0 && found.time > 0 && found.time <= now && ends.is_none_or(|end| end > now);
    if !right || !current {
        return None;
    }
    Some(assay_domain::Attestation {
        provider: source.provider.clone(),
        kind: source.kind.clone(),
        chain_id: source.chain,
        name: None,
        schema: Some(found.schema),
        uid: Some(found.uid),
        attester: Some(found.attester),
        issued: Some(time_from_unix(found.time)),
        expires: ends.map(time_from_unix),
        score: score(source.data, &found.data)?,
    })
}

/// The score, if the schema has one; the outer `None` if the data does not fit the schema.
fn score(data: Data, bytes: &[u8]) -> Option<Option<f64>> {
    match data {
        Data::Any => Some(None),
        Data::Flag => bool::abi_decode(bytes).ok().filter(|flag| *flag).map(|_| None),
        Data::Country => {
            let country = String::abi_decode(bytes).ok()?;
            (country.len() == 2 && country.bytes().all(|letter| letter.is_ascii_uppercase())).then_some(None)
        }
        Data::PassportScore => {
            let passport = PassportScore::abi_decode_params(bytes).ok()?;
            (passport.decimals <= 18)
                .then(|| Some(f64::from(passport.score) / 10_f64.powi(i32::from(passport.decimals))))
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::SolCall;

    use super::*;

    const NOW: u64 = 1_800_000_000;
    const WALLET: Address = Address::with_last_byte(1);

    fn source(data: Data) -> SourceConfig {
        SourceConfig {
            provider: "p".into(),
            kind: None,
            chain: 8453,
            eas: Address::with_last_byte(2),
            index: Address::with_last_byte(3),
            lookup: Lookup::AttestationUid,
            schema: B256::with_last_byte(4),
            attester: Address::with_last_byte(5),
            data,
            max_age: None,
        }
    }

    fn attestation(data: Vec<u8>) -> Attestation {
        Attestation {
            uid: B256::with_last_byte(6),
            schema: B256::with_last_byte(4),
            time: NOW - 10,
            expirationTime: 0,
            revocationTime: 0,
            refUID: B256::ZERO,
            recipient: WALLET,
            attester: Address::with_last_byte(5),
            revocable: true,
            data: data.into(),
        }
    }

    fn verdict(source: &SourceConfig, found: &Attestation) -> Option<assay_domain::Attestation> {
        let answer = Some(Bytes::from(getAttestationCall::abi_encode_returns(found)));
        valid(source, WALLET, B256::with_last_byte(6), NOW, Some(&answer)).unwrap()
    }

    #[test]
    fn each_reason_alone_is_enough_to_count_it_out() {
        let (source, good) = (source(Data::Flag), attestation(true.abi_encode()));
        assert!(verdict(&source, &good).is_some());
        let other = Address::with_last_byte(9);
        for bad in [
            Attestation { uid: B256::ZERO, ..good.clone() },
            Attestation { schema: B256::with_last_byte(9), ..good.clone() },
            Attestation { recipient: other, ..good.clone() },
            Attestation { attester: other, ..good.clone() },
            Attestation { revocationTime: 1, ..good.clone() },
            Attestation { expirationTime: NOW, ..good.clone() },
            Attestation { time: NOW + 1, ..good.clone() },
            Attestation { time: 0, ..good.clone() },
            Attestation { data: false.abi_encode().into(), ..good.clone() },
            Attestation { data: Bytes::new(), ..good.clone() },
        ] {
            assert_eq!(verdict(&source, &bad), None, "{bad:?}");
        }
        assert!(verdict(&source, &Attestation { expirationTime: NOW + 1, ..good.clone() }).is_some());
        assert_eq!(
            valid(&source, WALLET, B256::ZERO, NOW, Some(&None)),
            None,
            "a service that does not answer has not said no"
        );
        let aged = SourceConfig { max_age: Some(std::time::Duration::from_secs(10)), ..source };
        assert_eq!(verdict(&aged, &good), None);
        assert!(verdict(&aged, &Attestation { time: NOW - 9, ..good }).is_some());
    }

    #[test]
    fn data_is_what_the_schema_promises() {
        let passport = PassportScore {
            passing: true,
            decimals: 4,
            scorer: 335,
            score: 254_321,
            threshold: 200_000,
            stamps: vec![],
        };
        assert_eq!(score(Data::PassportScore, &passport.abi_encode_params()), Some(Some(25.4321)));
        assert_eq!(score(Data::PassportScore, &PassportScore { decimals: 19, ..passport }.abi_encode_params()), None);
        assert_eq!(score(Data::Country, &"DE".to_owned().abi_encode()), Some(None));
        for bad in ["", "D", "de", "DEU", "Ü"] {
            assert_eq!(score(Data::Country, &bad.to_owned().abi_encode()), None, "{bad}");
        }
        assert_eq!(score(Data::Any, &[]), Some(None));
    }
}
