//! The extractors: typed values from a request. The signature of a handler states its parameters, and whether it
//! charges the caller. Extractors of one resource are in its crate.

mod body;
mod caller;
mod paging;
mod parameter;
mod path;
mod query;
mod retry_key;

pub use body::{JsonObject, MOST, Upload};
pub use caller::Caller;
pub use paging::Paging;
pub use parameter::{in_header, in_path, in_query, limited, optional};
pub use path::{AddressPath, KindPath, SubjectPath, VersionPath, chain_id, param};
pub use query::{
    AddressList, IncludeFactors, IncludeReasons, InvalidItems, SubjectList, VersionQuery, flag, refused, single, values,
};
pub use retry_key::RetryKey;

pub(crate) use body::check_declared;
