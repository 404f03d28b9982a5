//! What a call costs and which scope it needs, in one table.

use crate::config::Scope;

/// Units of a reputation submission, by contract.
const SUBMISSION: u64 = 10;

/// Routes of one price and one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    Score,
    Report,
    Sandbox,
    Models,
    /// Agent list, search, get, and the status of a submission.
    Agents,
    Submission,
    Admin,
}

impl Route {
    pub const ALL: [Self; 7] = [Self::Score, Self::Report, Self::Sandbox, Self::Models, Self::Agents, Self::Submission, Self::Admin];

    /// Scope a key must have.
    pub fn scope(self) -> Scope {
        self.row(0).0
    }

    /// Units, where `default` is what the configuration asks for routes without a price by contract.
    pub(super) fn cost(self, default: u64) -> u64 {
        self.row(default).1
    }

    fn row(self, default: u64) -> (Scope, u64) {
        match self {
            Self::Score | Self::Report => (Scope::Read, default),
            Self::Sandbox | Self::Models | Self::Agents => (Scope::Read, 0),
            Self::Submission => (Scope::Submit, SUBMISSION),
            Self::Admin => (Scope::Admin, 0),
        }
    }
}
