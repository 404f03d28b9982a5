//! The extractors: typed values from a request. The signature of a handler states who may call it, what the call costs
//! and which parameters it has.

mod admission;
mod agent;
mod auth;
mod body;
mod notice;
mod paging;
mod path;
mod payment;
mod query;
mod submission;

pub use admission::{Admits, Admitted, Operator, Public};
pub use agent::AgentPath;
pub use auth::{Caller, Charge, Identified, charge};
pub use body::{JsonObject, Upload, check_declared};
pub use notice::Notice;
pub use paging::{Paging, SearchQuery};
pub use path::{AddressPath, ChainPath, KindPath, ReportChain, ScorePath, SubjectPath, SummaryChain, VersionPath};
pub use payment::{Offered, Payer};
pub use query::{AddressList, Asked, IncludeFactors, SubjectList, Versions, Window};
pub use submission::{RetryKey, SubmissionPath};
