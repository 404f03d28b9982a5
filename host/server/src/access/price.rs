//! The price table: the units of a call, and the scopes that it needs.

use assay_domain::Scope;

/// Units of a reputation submission, by contract.
const SUBMISSION: u64 = 10;

/// One row of the table. Each route has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Price {
    Score,
    /// A signed statement of a score.
    Attestation,
    Report,
    Sandbox,
    Models,
    /// Agent list, search and get.
    Agents,
    /// What was bought: the status of a submission and its document, the evidence of a statement, the bytes of a public
    /// model.
    Status,
    Submission,
    /// The rights and the usage of the caller's own key.
    Usage,
    Admin,
}

impl Price {
    pub const ALL: [Self; 10] = [
        Self::Score,
        Self::Attestation,
        Self::Report,
        Self::Sandbox,
        Self::Models,
        Self::Agents,
        Self::Status,
        Self::Submission,
        Self::Usage,
        Self::Admin,
    ];

    /// A key must have one of these scopes.
    pub fn scopes(self) -> &'static [Scope] {
        self.row(0).0
    }

    /// Units. `default` is the configured price of calls that have no price by contract.
    pub(super) fn cost(self, default: u64) -> u64 {
        self.row(default).1
    }

    fn row(self, default: u64) -> (&'static [Scope], u64) {
        match self {
            Self::Score | Self::Attestation | Self::Report => (&[Scope::Read], default),
            Self::Sandbox | Self::Models | Self::Agents => (&[Scope::Read], 0),
            // A key that may submit may also read the result.
            Self::Status => (&[Scope::Read, Scope::Submit], 0),
            Self::Submission => (&[Scope::Submit], SUBMISSION),
            Self::Usage => (&[Scope::Read, Scope::Submit, Scope::Admin], 0),
            Self::Admin => (&[Scope::Admin], 0),
        }
    }
}
