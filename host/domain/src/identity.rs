//! Statements about the owner of an address, their providers, and how completely the providers answered.

use crate::{Address, B256, ChainId, Coverage, Part, Time, Unread};

/// A statement about the owner, found valid when it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Attestation {
    /// `ens`, `basename`, `coinbase`, `human-passport`, or a provider from the configuration.
    pub provider: String,
    /// Distinguishes several statements by one provider.
    pub kind: Option<String>,
    pub chain_id: ChainId,
    /// The name, if the statement is a name.
    pub name: Option<String>,
    /// Schema and UID of an attestation in the Ethereum Attestation Service.
    pub schema: Option<B256>,
    pub uid: Option<B256>,
    pub attester: Option<Address>,
    pub issued: Option<Time>,
    pub expires: Option<Time>,
    /// The provider's own score, if it gives one.
    pub score: Option<f64>,
}

impl Attestation {
    /// The label under which repeated statements on several chains or addresses count once: `ens`, or
    /// `coinbase/verified-account`.
    pub fn label(&self) -> String {
        match &self.kind {
            Some(kind) => format!("{}/{kind}", self.provider),
            None => self.provider.clone(),
        }
    }
}

/// One source of statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentitySource {
    pub provider: String,
    pub kind: Option<String>,
    pub chain_id: ChainId,
    /// Complete or failed. If a complete source has no statement, there is none.
    pub coverage: Coverage,
}

impl IdentitySource {
    /// The unread part, if the source did not answer.
    pub(crate) fn unread(&self) -> Option<Unread> {
        let part = || Part::Attestations(self.provider.clone());
        (self.coverage != Coverage::Complete).then(|| Unread::new(part(), "could not be read; try again later"))
    }

    /// Complete if all sources answered, failed if none did. Complete without any source.
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
