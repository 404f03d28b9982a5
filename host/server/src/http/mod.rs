//! The only place that knows axum. `router` has every route on one screen, `middleware` everything around them in
//! order; each resource has its own file or folder. A handler extracts, pays, acts and answers; its arguments say who
//! may call it and what that costs.

mod admin;
mod agents;
mod backup;
mod bill;
mod docs;
mod error;
mod extract;
mod fresh;
mod identity;
mod middleware;
mod mode;
mod models;
mod ops;
mod refusals;
mod report;
mod reputation;
mod router;
mod sandbox;
mod score;
mod server;
mod state;
mod usage;
mod validation;
pub mod wire;

pub use docs::document;
pub use error::ApiError;
pub use router::{Routes, router, routes};
pub use server::{Bounds, serve};
pub use state::{App, Limits};
