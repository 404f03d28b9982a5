//! Error responses of batch jobs, in groups that the rows name.

use utoipa::IntoResponses;

use assay_http::DetailBody;
pub use assay_score::responses::*;

/// A path with a job in it.
#[derive(IntoResponses)]
pub enum OneJob {
    /// The key has no such batch job
    #[response(status = 404)]
    Unknown(DetailBody),
}

/// A new job.
#[derive(IntoResponses)]
pub enum NewJob {
    /// The key has as many batch jobs as it may have
    #[response(status = 409)]
    Full(DetailBody),
}

/// A change of a job, or its result.
#[derive(IntoResponses)]
pub enum Ended {
    /// The job has ended (`batch_ended`), or has not (`batch_unfinished`)
    #[response(status = 409)]
    Refused(DetailBody),
}
