//! What a call costs and which scope it needs, in one table.

use assay_domain::Scope;

/// Units of a reputation submission, by contract.
const SUBMISSION: u64 = 10;

/// Routes of one price and one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    Score,
    Report,
    Sandbox,
    Models,
    /// Agent list, search and get.
    Agents,
    /// The status of a submission, and its document.
    Status,
    Submission,
    /// What the caller's own key may do and has used.
    Usage,
    Admin,
}

impl Route {
    pub const ALL: [Self; 9] = [
        Self::Score,
        Self::Report,
        Self::Sandbox,
        Self::Models,
        Self::Agents,
        Self::Status,
        Self::Submission,
        Self::Usage,
        Self::Admin,
    ];

    /// Scopes of which a key must have one.
    pub fn scopes(self) -> &'static [Scope] {
        self.row(0).0
    }

    /// Units, where `default` is what the configuration asks for routes without a price by contract.
    pub(super) fn cost(self, default: u64) -> u64 {
        self.row(default).1
    }

    fn row(self, default: u64) -> (&'static [Scope], u64) {
        match self {
            Self::Score | Self::Report => (&[Scope::Read], default),
            Self::Sandbox | Self::Models | Self::Agents => (&[Scope::Read], 0),
            // Who may submit may see what became of it.
            Self::Status => (&[Scope::Read, Scope::Submit], 0),
            Self::Submission => (&[Scope::Submit], SUBMISSION),
            Self::Usage => (&[Scope::Read, Scope::Submit, Scope::Admin], 0),
            Self::Admin => (&[Scope::Admin], 0),
        }
    }
}
