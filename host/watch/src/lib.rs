//! Watches: a caller names a wallet and bounds, and is told when it matters.
//!
//! | module | owns |
//! |---|---|
//! | [`trigger`], [`market`] | the measures and bounds of a watch |
//! | [`reading`], `measures` | a value that was read, with its blocks; from a snapshot to such values |
//! | [`series`], `unsaved` | the state of a trigger: firing, clearing, staleness, retraction; its writes |
//! | `pace` | how long a watch can wait for its next evaluation |
//! | `sweep`, `evaluate`, `leader` | the evaluation of all watches by one host of the server |
//! | [`script`], `clock` | the script and the clock that the watches of a sandbox follow |
//! | `evidence`, `way_back` | what an event says of the score, the position or the log behind its values |
//! | `deliver`, `sender`, `schedule`, [`secret`] | Standard Webhooks: order, attempts, consent, signatures |
//! | `watches`, `creation`, `changes`, `all` | watches as owners create and change them, and as admins see them |
//! | `groups`, `rows`, `digest` | watches of many wallets with shared settings; lists of wallets; the daily event |
//! | `exposure`, `portfolio`, `summary` | what a wallet owes, and what many watches show together |
//! | `event`, `told`, `webhooks` | the events, their data and its schemas |
//! | `routes`, `bodies`, `group_bodies` | `/api/v2/watches` |

#![cfg_attr(not(test), warn(unreachable_pub))]

mod all;
mod bodies;
mod changes;
mod clock;
pub mod config;
mod creation;
mod deliver;
mod digest;
mod evaluate;
mod event;
mod evidence;
mod exposure;
mod group_bodies;
mod groups;
mod leader;
mod load;
pub mod market;
mod measures;
mod pace;
mod places;
mod portfolio;
pub mod reading;
mod records;
pub mod responses;
mod routes;
mod rows;
mod schedule;
pub mod script;
pub mod secret;
mod sender;
pub mod series;
mod summary;
mod sweep;
mod told;
pub mod trigger;
mod unsaved;
mod watches;
mod way_back;
mod webhooks;

pub use routes::{WatchRoutes, operations, routes};
pub use watches::{WatchedChains, Watches};
pub use webhooks::{Webhook, webhooks};
