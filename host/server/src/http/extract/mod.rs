//! The extractors: typed values from a request. The signature of a handler states its parameters, and whether it
//! charges the caller.

mod agent;
mod body;
mod caller;
mod notice;
mod paging;
mod parameter;
mod path;
mod payment;
mod query;
mod submission;

pub use agent::AgentPath;
pub use body::{JsonObject, Upload, check_declared};
pub use caller::Caller;
pub use notice::Notice;
pub use paging::{Found, Paging, SearchQuery};
pub use path::{
    AddressPath, ChainPath, KeyPath, KindPath, ReportChain, ScorePath, SubjectPath, SummaryChain, VersionPath,
};
pub use payment::{Offered, Payer};
pub use query::{AddressList, AsOf, Asked, AskedTag, IncludeFactors, Moments, SubjectList, Versions, Window};
pub use submission::{RetryKey, SubmissionPath};
