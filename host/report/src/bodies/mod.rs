//! The bodies of responses about what is known of an address.

mod chain;
mod identity;
mod portfolio;
mod report;
mod summary;

pub use chain::{ChainActivity, ChainReportBody};
pub use identity::{AttestationBody, IdentityBody, IdentitySourceBody};
pub use portfolio::{ChainValueBody, PortfolioBody, TotalBody};
pub use report::{
    Activity, Assets, Counts, CreditEvents, Defi, EventName, NftBody, NotApplicable, Pool, PoolEventBody,
    PoolPositionBody, PriceSourceName, ProtocolBody, ReportBody, ReportScore, TokenBody, Totals,
};
pub use summary::{AggregatedBody, ChainSummaryBody, EnhancedBody, OffChainData};
