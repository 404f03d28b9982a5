//! Who the owner of an address is said to be, by whom, and how much of that could be asked.

use crate::{Address, B256, ChainId, Coverage, Time};

/// A statement about who the owner is, found valid when it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Attestation {
    /// `ens`, `basename`, `coinbase`, `human-passport`, and what the configuration adds.
    pub provider: String,
    /// Which of a provider's several statements.
    pub kind: Option<String>,
    pub chain_id: ChainId,
    /// The name, where the statement is one.
    pub name: Option<String>,
    /// Schema and number of an attestation in the Ethereum Attestation Service.
    pub schema: Option<B256>,
    pub uid: Option<B256>,
    pub attester: Option<Address>,
    pub issued: Option<Time>,
    pub expires: Option<Time>,
    /// The provider's own score, where it gives one.
    pub score: Option<f64>,
}

impl Attestation {
    /// What is counted once however many chains and addresses have it: `ens`, or `coinbase/verified-account`.
    pub fn label(&self) -> String {
        match &self.kind {
            Some(kind) => format!("{}/{kind}", self.provider),
            None => self.provider.clone(),
        }
    }
}

/// One place that was asked for statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentitySource {
    pub provider: String,
    pub kind: Option<String>,
    pub chain_id: ChainId,
    /// Complete or failed: whether no statement means that there is none.
    pub coverage: Coverage,
}

impl IdentitySource {
    /// Complete where all answered, failed where none did. Nobody to ask leaves nothing unread.
    pub fn coverage(all: &[Self]) -> Coverage {
        let failed = all.iter().filter(|source| source.coverage != Coverage::Complete).count();
        match failed {
            0 => Coverage::Complete,
            failed if failed == all.len() => Coverage::Failed,
            _ => Coverage::Partial,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_of_all_is_partial() {
        let source = |coverage| IdentitySource { provider: "ens".into(), kind: None, chain_id: 1, coverage };
        let (read, failed) = (source(Coverage::Complete), source(Coverage::Failed));
        assert_eq!(IdentitySource::coverage(&[]), Coverage::Complete);
        assert_eq!(IdentitySource::coverage(&[read.clone(), read.clone()]), Coverage::Complete);
        assert_eq!(IdentitySource::coverage(&[read, failed.clone()]), Coverage::Partial);
        assert_eq!(IdentitySource::coverage(&[failed.clone(), failed]), Coverage::Failed);
    }
}
