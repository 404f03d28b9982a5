//! The search for the first and the last transaction of a wallet in old state: a pure state machine, what is kept of it
//! between reads, its questions, and the background jobs that run it.

mod bracket;
mod jobs;
mod known;
mod questions;
mod round;
mod state;

pub(crate) use jobs::Method;
pub(super) use jobs::{End, Hopeless, Job, Searches, Start};
pub(super) use known::Known;
pub(super) use questions::Scout;
pub(crate) use round::Goal;
pub(super) use state::{Dated, Point, Search};

#[cfg(test)]
mod tests;
