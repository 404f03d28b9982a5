//! The data of an address: the credit report, its parts by chain, summaries, portfolios and attestations.

#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod bodies;
mod report;
pub mod responses;
mod routes;
mod source;
mod summary;

use assay_score::Scoring;

pub use report::{
    ChainReport, Contents, Details, HeldToken, IdentityReport, ProtocolTotal, Report, ReportedEvent, ReportedPool,
    ReportedPosition, sum,
};
pub use routes::{Networks, ReportRoutes, operations, routes};
pub use source::ReportSource;
pub use summary::{Aggregate, Summarized};

/// Reports of what is read on chains. Cheap to clone.
#[derive(Clone)]
pub struct Reports {
    scoring: Scoring,
}

impl Reports {
    pub fn new(scoring: Scoring) -> Self {
        Self { scoring }
    }
}
