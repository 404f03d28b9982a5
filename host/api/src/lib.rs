//! The HTTP interface; no other crate uses axum. `routes` lists every route, `middleware` lists the steps around them
//! in order, and each resource has its own file or folder. A handler extracts, charges, acts and responds. Its
//! arguments state who may call it and what the call costs.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod admin;
mod agents;
mod backup;
mod call;
mod check;
pub mod config;
mod console;
mod contradictions;
mod docs;
mod document;
mod error;
mod error_responses;
mod examples;
mod extract;
mod fresh;
mod home;
mod identity;
mod keys;
mod middleware;
mod models;
mod ops;
mod payment;
mod report;
mod reputation;
mod responses;
mod route;
mod router;
mod routes;
#[cfg(test)]
mod sample;
mod sandbox;
mod score;
mod server;
mod state;
mod status;
mod usage;
mod validation;

pub use contradictions::Contradictions;
pub use error::ApiError;
pub use router::Routes;
pub use routes::{document, router, routes};
pub use server::{Bounds, serve};
pub use state::{App, Components, Limits, Services, Settings};
