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

pub(crate) use agent::AgentPath;
pub(crate) use body::{JsonObject, Upload, check_declared};
pub(crate) use caller::Caller;
pub(crate) use notice::Notice;
pub(crate) use paging::{Found, Paging, SearchQuery};
pub(crate) use path::{
    AddressPath, ChainPath, KeyPath, KindPath, ReportChain, ScorePath, SubjectPath, SummaryChain, VersionPath,
};
pub(crate) use payment::{Offered, Payer};
pub(crate) use query::{AddressList, AsOf, Asked, AskedTag, IncludeFactors, Moments, SubjectList, Versions, Window};
pub(crate) use submission::{RetryKey, SubmissionPath};
