//! The events of a watch as their receivers see them.

use serde_json::{Map, Value, json};

use crate::{
    evidence::Fields,
    reading::{Liquidated, Sample},
    records::{EventRecord, WatchRecord, event_id},
    series::{Change, What},
    trigger::Trigger,
};
use assay_domain::{Address, ReadBlock, Time};

/// Maximum size of a body, which Standard Webhooks advises.
const MOST_BYTES: usize = 20_000;
/// Unread parts that one event names.
const MOST_NAMED: usize = 10;

/// The subject of the events of one evaluation.
pub(crate) struct Told<'a> {
    pub watch: &'a WatchRecord,
    pub address: Option<Address>,
    pub now: Time,
}

/// The time in the form of all bodies.
pub(crate) fn moment(at: Time) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl Told<'_> {
    /// The fields of every event.
    fn base(&self, seq: u64) -> Map<String, Value> {
        let mut data = Map::new();
        data.insert("id".into(), event_id(self.watch.id, seq).into());
        data.insert("seq".into(), seq.into());
        data.insert("watch_id".into(), self.watch.id.to_string().into());
        data.insert("subject".into(), self.watch.subject.clone().into());
        data.insert("address".into(), self.address.map(|address| address.to_string()).into());
        data
    }

    /// An event about the watch itself.
    pub(crate) fn plain(&self, seq: u64, kind: &str, more: Value) -> EventRecord {
        let mut data = self.base(seq);
        if let Value::Object(more) = more {
            data.extend(more);
        }
        EventRecord { seq, kind: format!("watch.{kind}"), at: self.now, data: data.into() }
    }

    /// The event of `change`, with what explains it.
    pub(crate) fn of(&self, trigger: &Trigger, change: &Change, evidence: Fields) -> EventRecord {
        let measure = trigger.measure;
        let sample = |sample: &Sample| {
            let value = measure.shown(sample.value);
            json!({ "value": value, "blocks": blocks(&sample.blocks), "at": moment(sample.at) })
        };
        let values = |before: Option<&Sample>, after: &Sample| {
            json!({
                "before": before.map_or(Value::Null, sample),
                "after": sample(after),
                // An event of a block that can still be reorganised may be retracted.
                "final": false,
                "model_version": after.version.as_ref().map(|version| version.as_str().to_owned()),
            })
        };
        let (kind, series, more) = match &change.what {
            What::Crossed { series, before, after } => ("crossed", series.as_str(), values(before.as_ref(), after)),
            What::Cleared { series, before, after } => ("cleared", series.as_str(), values(Some(before), after)),
            What::RangeChanged { before, after } => ("range_changed", "", values(Some(before), after)),
            What::Liquidated { series, before, after, liquidation } => {
                let found = liquidation.as_ref().map(|found| liquidated(found, after));
                ("liquidated", series.as_str(), with(values(Some(before), after), [("liquidation", found.into())]))
            }
            What::Stale { unread, since } => {
                let named: Vec<&String> = unread.iter().take(MOST_NAMED).collect();
                ("stale", "", json!({ "since": moment(*since), "unread": named, "unread_count": unread.len() }))
            }
            What::Current { stale_since } => ("current", "", json!({ "since": moment(*stale_since) })),
            What::ModelChanged { before, after, fired } => {
                let version = |sample: &Sample| sample.version.as_ref().map(|version| version.as_str().to_owned());
                let more = [("model_version_before", version(before).into()), ("fired", (*fired).into())];
                ("model_changed", "", with(values(Some(before), after), more))
            }
            What::Retracted { seq, series, after } => {
                let retracted = event_id(self.watch.id, *seq);
                ("retracted", series.as_str(), json!({ "retracts": retracted, "after": sample(after) }))
            }
        };
        let mut record = self.plain(change.seq, kind, more);
        let bounds = trigger.limit.map(|limit| (limit.side(), limit.bounds()));
        let shown = |value: f64| measure.shown(Some(value));
        if let Value::Object(data) = &mut record.data {
            data.insert("measure".into(), measure.as_str().into());
            data.insert("market".into(), Some(series).filter(|name| !name.is_empty()).into());
            data.insert("side".into(), bounds.map(|(side, _)| side).into());
            data.insert("bound".into(), bounds.map_or(Value::Null, |(_, (at, _))| shown(at)));
            data.insert("clear".into(), bounds.map_or(Value::Null, |(_, (_, clear))| shown(clear)));
            data.extend(evidence);
        }
        record.shorten();
        record
    }
}

/// A liquidation that was read with `after`. Its place in the chain is null if its log was not found.
fn liquidated(found: &Liquidated, after: &Sample) -> Value {
    let chain_id = after.blocks.first().map(|block| block.chain_id);
    let block = found.log.as_ref().zip(chain_id).map(
        |(log, chain_id)| json!({ "chain_id": chain_id, "number": log.block, "hash": log.block_hash.to_string() }),
    );
    let transaction = found.log.map(|log| log.transaction.to_string());
    json!({ "at": moment(found.at), "usd": found.usd, "block": block, "transaction_hash": transaction })
}

fn blocks(blocks: &[ReadBlock]) -> Value {
    let block =
        |at: &ReadBlock| json!({ "chain_id": at.chain_id, "number": at.number, "hash": format!("{:#x}", at.hash) });
    blocks.iter().map(block).collect()
}

impl EventRecord {
    /// The body of the event: that of Standard Webhooks.
    pub(crate) fn body(&self) -> Value {
        json!({ "type": self.kind, "timestamp": moment(self.at), "data": self.data })
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
/// The object `data` with more fields.
fn with<const N: usize>(mut data: Value, more: [(&str, Value); N]) -> Value {
    if let Value::Object(fields) = &mut data {
        fields.extend(more.map(|(name, value)| (name.to_owned(), value)));
    }
    data
}
