//! The search for the first and the last transaction of a wallet in old state: a pure state machine, what is kept of it
//! between reads, its questions, and the background jobs that run it.

mod bracket;
mod jobs;
mod known;
mod questions;
mod round;
mod state;

pub(crate) use jobs::SearchMethod;
pub(super) use jobs::{Hopeless, SearchEnd, SearchJob, SearchStart, Searches};
pub(super) use known::KnownNonces;
pub(super) use questions::Scout;
pub(crate) use round::Goal;
pub(super) use state::{Dated, Point, Search};

#[cfg(test)]
mod tests;
