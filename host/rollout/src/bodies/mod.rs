//! The bodies of responses about models.

mod audit;
mod check;
mod drift;
mod model;
mod outcomes;
mod shadow;
mod split;

pub use audit::{AuditBody, AuditEntryBody};
pub use check::CheckBody;
pub use drift::DriftBody;
pub use model::{ModelBody, ModelsBody, ReferenceBody, RolesBody};
pub use outcomes::OutcomesBody;
pub use shadow::ShadowBody;
pub use split::SplitBody;
