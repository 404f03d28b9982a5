//! The items of a list that an answer leaves out.

use serde::Serialize;
use utoipa::ToSchema;

use crate::scoring::Skipped;

/// An item of `address` that was left out.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Skipped, example = json!({ "address": "nonsense", "reason": "invalid" }))]
pub struct SkippedBody {
    /// The item, at most its first 100 characters.
    address: String,
    /// `invalid`: neither an address nor a name; `not_found`: without activity, or a name that does not resolve;
    /// `unread`: it could not be read now, ask again.
    #[schema(value_type = String)]
    reason: &'static str,
}

impl SkippedBody {
    /// `None` if nothing was skipped.
    pub fn all(skipped: Vec<Skipped>) -> Option<Vec<Self>> {
        let body = |Skipped { item, why }: Skipped| Self { address: item, reason: why.as_str() };
        (!skipped.is_empty()).then(|| skipped.into_iter().map(body).collect())
    }
}
