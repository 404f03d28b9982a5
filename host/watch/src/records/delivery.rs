//! The delivery of the events of a watch.

use serde::{Deserialize, Serialize};

use super::Course;
use assay_domain::Time;

/// How far the events of a watch are delivered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DeliveryRecord {
    /// Events up to this number were delivered, or replayed on request.
    pub through: u64,
    /// Events to deliver once more, both ends included, before all others.
    #[serde(default)]
    pub replay: Option<(u64, u64)>,
    /// Failures of the next event in a row.
    pub attempts: u32,
    pub next_at: Option<Time>,
    /// Whether the receiver has agreed to events.
    pub confirmed: bool,
    /// Why nothing is sent any more; its owner resumes it.
    pub stopped: Option<Stopped>,
    /// The latest attempts, oldest first.
    pub latest: Vec<AttemptRecord>,
    /// The course of the watch that it is at.
    #[serde(default, skip_serializing_if = "Course::is_first")]
    pub course: Course,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stopped {
    /// Every attempt of the schedule failed.
    Failing,
    /// The receiver answered 410.
    Gone,
}

/// One attempt of a delivery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AttemptRecord {
    /// Absent for a question of consent.
    pub seq: Option<u64>,
    pub at: Time,
    pub delivered: bool,
    /// The status, or why there is none.
    pub outcome: String,
    pub took_ms: u64,
}
