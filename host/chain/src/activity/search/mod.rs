//! The search for the first and the last transaction of a wallet in old state: a pure state machine, what is kept of it
//! between reads, its questions, and the background jobs that run it.

mod jobs;
mod known;
mod questions;
mod state;

pub(super) use jobs::{End, Job, Searches, Start};
pub(super) use known::Known;
pub(super) use questions::Scout;
pub(super) use state::{Dated, Point, Search};

#[cfg(test)]
mod tests;
