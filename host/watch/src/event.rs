//! The events of a watch as their receivers see them.

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    evidence::Fields,
    reading::Sample,
    records::{EventRecord, WatchRecord, event_id},
    series::{Change, What},
    told::{
        CurrentEvent, LiquidatedEvent, LiquidationBody, ModelChangedEvent, OfTrigger, RetractedEvent, Shown, Source,
        StaleEvent, ValueEvent, Values,
    },
    trigger::Trigger,
};
use assay_domain::{Address, Time};
use assay_http::values::Moment;

/// Maximum size of a body, which Standard Webhooks advises.
const MOST_BYTES: usize = 20_000;
/// Unread parts that one event names.
const MOST_NAMED: usize = 10;

/// The types of events, each after `watch.`.
pub(crate) const KINDS: [&str; 13] = [
    "crossed",
    "cleared",
    "range_changed",
    "liquidated",
    "stale",
    "current",
    "model_changed",
    "retracted",
    "unchecked",
    "moved",
    "ended",
    "digest",
    "test",
];

/// The subject of the events of one evaluation.
pub(crate) struct Told<'a> {
    pub watch: &'a WatchRecord,
    pub address: Option<Address>,
    pub now: Time,
}

impl Told<'_> {
    pub(crate) fn source(&self, seq: u64) -> Source {
        Source::new(self.watch, self.address, seq)
    }

    /// An event of one of [`KINDS`], with this data.
    pub(crate) fn event(&self, seq: u64, kind: &str, data: impl Serialize) -> EventRecord {
        debug_assert!(KINDS.contains(&kind), "{kind}");
        // Data of strings, numbers and lists has a form in JSON.
        let data = serde_json::to_value(data).unwrap_or_default();
        let mut record = EventRecord { seq, kind: format!("watch.{kind}"), at: self.now, data };
        record.shorten();
        record
    }

    /// The event of `change`, with what explains it.
    pub(crate) fn of(&self, trigger: &Trigger, change: &Change, evidence: Fields) -> EventRecord {
        let (seq, measure) = (change.seq, trigger.measure);
        let source = self.source(seq);
        let of = |series: &str| OfTrigger::new(trigger, series);
        let valued = |source, series: &str, before: Option<&Sample>, after: &Sample, evidence| ValueEvent {
            source,
            of: of(series),
            values: Values::new(measure, before, after),
            evidence,
        };
        match &change.what {
            What::Crossed { series, before, after } => {
                self.event(seq, "crossed", valued(source, series, before.as_ref(), after, evidence))
            }
            What::Cleared { series, before, after } => {
                self.event(seq, "cleared", valued(source, series, Some(before), after, evidence))
            }
            What::RangeChanged { before, after } => {
                self.event(seq, "range_changed", valued(source, "", Some(before), after, evidence))
            }
            What::Liquidated { series, before, after, liquidation } => {
                let liquidation = liquidation.as_ref().map(|found| LiquidationBody::new(found, after));
                let (of, values) = (of(series), Values::new(measure, Some(before), after));
                self.event(seq, "liquidated", LiquidatedEvent { source, of, values, liquidation })
            }
            What::Stale { unread, since } => {
                let (named, of) = (unread.iter().take(MOST_NAMED).cloned().collect(), of(""));
                let (since, unread_count) = (Moment(*since), unread.len());
                self.event(seq, "stale", StaleEvent { source, of, since, unread: named, unread_count })
            }
            What::Current { stale_since } => {
                self.event(seq, "current", CurrentEvent { source, of: of(""), since: Moment(*stale_since) })
            }
            What::ModelChanged { before, after, fired } => {
                let (of, values) = (of(""), Values::new(measure, Some(before), after));
                let model_version_before = before.version.as_ref().map(|version| version.as_str().to_owned());
                let fired = *fired;
                let data = ModelChangedEvent { source, of, values, evidence, model_version_before, fired };
                self.event(seq, "model_changed", data)
            }
            What::Retracted { seq: retracted, series, after } => {
                let retracts = event_id(self.watch.id, *retracted);
                let (of, after) = (of(series), after.as_ref().map(|after| Shown::new(measure, after)));
                self.event(seq, "retracted", RetractedEvent { source, of, retracts, after })
            }
        }
    }
}

impl EventRecord {
    /// The body of the event: that of Standard Webhooks.
    pub(crate) fn body(&self) -> Value {
        json!({ "type": self.kind, "timestamp": Moment(self.at), "data": self.data })
    }

    /// Leaves out what only explains the event, the largest first, while its body is not below [`MOST_BYTES`].
    fn shorten(&mut self) {
        for field in ["statement", "changes", "reasons"] {
            if self.body().to_string().len() < MOST_BYTES {
                return;
            }
            if let Value::Object(data) = &mut self.data {
                data.remove(field);
            }
        }
    }

    /// The block of the event is final.
    pub(crate) fn settle(&mut self) {
        if let Some(is_final) = self.data.get_mut("final") {
            *is_final = true.into();
        }
    }
}
