//! The bodies of responses about what is known of an address.

mod chain;
mod identity;
mod portfolio;
mod position;
mod report;
mod summary;

pub use chain::{ChainActivity, ChainReportBody};
pub use identity::{AttestationBody, IdentityBody, IdentitySourceBody};
pub use portfolio::{ChainValueBody, PortfolioBody, TotalBody};
pub use position::{AssetSideName, DelegationBody, EModeBody, PoolPositionBody, PositionAssetBody};
pub use report::{
    Activity, Assets, Counts, CreditEvents, Defi, EventName, NftBody, NotApplicable, Pool, PoolEventBody,
    PriceSourceName, ProtocolBody, ReportBody, ReportScore, TokenBody, Totals,
};
pub use summary::{AggregatedBody, ChainSummaryBody, EnhancedBody, OffChainData};
