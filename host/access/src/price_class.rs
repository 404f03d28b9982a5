//! The price table: the units of a call, and the scopes that it needs.

use assay_domain::Scope;

/// The units of calls that cost any.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    /// Of a score or a report: `access.default_cost`, set in `host/server/src/config/defaults.toml`.
    pub default: u64,
    pub submission: u64,
    /// Of a watch for 30 days: `access.watch_cost`.
    pub watch: u64,
}

impl Costs {
    /// Nothing costs units.
    pub(crate) const NONE: Self = Self { default: 0, submission: 0, watch: 0 };

    /// Those of the contract and of the configuration.
    pub(crate) fn new(default: u64, watch: u64) -> Self {
        Self { default, submission: 10, watch }
    }
}

/// One row of the table. Each route has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PriceClass {
    Score,
    /// A signed statement of a score.
    Attestation,
    Report,
    Sandbox,
    Models,
    /// Agent list, search and get.
    Agents,
    /// Items that were paid for: the status of a submission and its document, the evidence of a statement, the bytes of
    /// a public model.
    Status,
    Submission,
    /// A watch of a wallet, for each 30 days begun.
    Watch,
    /// The rights and the usage of the caller's own key.
    Usage,
    Admin,
}

impl PriceClass {
    pub const ALL: [Self; 11] = [
        Self::Score,
        Self::Attestation,
        Self::Report,
        Self::Sandbox,
        Self::Models,
        Self::Agents,
        Self::Status,
        Self::Submission,
        Self::Watch,
        Self::Usage,
        Self::Admin,
    ];

    /// A key must have one of these scopes.
    pub fn scopes(self) -> &'static [Scope] {
        self.row(Costs::NONE).0
    }

    pub(super) fn cost(self, costs: Costs) -> u64 {
        self.row(costs).1
    }

    fn row(self, costs: Costs) -> (&'static [Scope], u64) {
        match self {
            Self::Score | Self::Attestation | Self::Report => (&[Scope::Read], costs.default),
            Self::Sandbox | Self::Models | Self::Agents => (&[Scope::Read], 0),
            // A key that may submit may also read the result.
            Self::Status => (&[Scope::Read, Scope::Submit], 0),
            Self::Submission => (&[Scope::Submit], costs.submission),
            Self::Watch => (&[Scope::Read], costs.watch),
            Self::Usage => (&[Scope::Read, Scope::Submit, Scope::Admin], 0),
            Self::Admin => (&[Scope::Admin], 0),
        }
    }
}
