//! What an evaluation has to tell.

use crate::reading::{Liquidated, Sample};
use assay_domain::Time;

/// Something to tell, under the number of its event.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub seq: u64,
    pub what: What,
}

/// What happened. `series` is the name of a market, or empty.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// `before` is absent if the first value was beyond the bound.
    Crossed {
        series: String,
        before: Option<Sample>,
        after: Sample,
    },
    Cleared {
        series: String,
        before: Sample,
        after: Sample,
    },
    RangeChanged {
        before: Sample,
        after: Sample,
    },
    /// One liquidation; its details are absent if the history does not date it.
    Liquidated {
        series: String,
        before: Sample,
        after: Sample,
        liquidation: Option<Liquidated>,
    },
    Stale {
        unread: Vec<String>,
        since: Time,
    },
    Current {
        stale_since: Time,
    },
    ModelChanged {
        before: Sample,
        after: Sample,
        fired: bool,
    },
    /// The event `seq` did not happen: its block is not in the chain any more. `after` is absent if the value on the
    /// new chain is not known.
    Retracted {
        seq: u64,
        series: String,
        after: Option<Sample>,
    },
}
