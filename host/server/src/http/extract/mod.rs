//! From a request to values. Each argument of a handler is one of these types, so a handler's signature says who may
//! call it, what it costs and what it takes.

mod agent;
mod auth;
mod body;
mod paging;
mod path;
mod payment;
mod query;
mod submission;

pub use agent::AgentPath;
pub use auth::{Caller, Charge, charge};
pub use body::{JsonObject, check_declared, read};
pub use paging::{Paging, SearchQuery};
pub use path::{AddressPath, ChainPath, KindPath, ReportChain, ScorePath, SubjectPath, SummaryChain, VersionPath};
pub use payment::{Offered, Payer};
pub use query::{AddressList, Asked, IncludeFactors, SubjectList, Versions, Window};
pub use submission::{RetryKey, SubmissionPath};
