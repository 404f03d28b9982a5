//! The data of events by type, with their schemas.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    evidence::Fields,
    reading::{Liquidated, Sample},
    records::{WatchRecord, event_id},
    summary::SummaryBody,
    trigger::{Measure, Trigger},
};
use assay_domain::{Address, ReadBlock};
use assay_http::values::Moment;

/// The fields of every event.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchEventSource)]
pub(crate) struct Source {
    /// `evt_`, the watch and the number; the same over all retries.
    pub id: String,
    /// The number of the event in its watch, from 1.
    #[schema(minimum = 1)]
    pub seq: u64,
    #[schema(format = Uuid)]
    pub watch_id: String,
    /// The address or name that is watched.
    pub subject: String,
    /// The address that was read; null if none was.
    pub address: Option<String>,
}

/// The measure and the bound that an event is about.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchEventTrigger)]
pub(crate) struct OfTrigger {
    pub measure: Measure,
    /// Null for a measure of the whole wallet.
    pub market: Option<String>,
    /// `below` or `above`; null for a measure of which every change fires.
    #[schema(value_type = Option<String>)]
    pub side: Option<&'static str>,
    /// A number, or the name of a coverage.
    #[schema(value_type = Option<Value>)]
    pub bound: Value,
    /// The value that clears it.
    #[schema(value_type = Option<Value>)]
    pub clear: Value,
}

/// A value that was read.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchEventValue)]
pub(crate) struct Shown {
    /// A number; the name of a range or of a coverage; null for a health factor without debt.
    #[schema(value_type = Option<Value>)]
    pub value: Value,
    /// The blocks at which the chains behind the value were read.
    pub blocks: Vec<ShownBlock>,
    #[schema(value_type = String, format = DateTime)]
    pub at: Moment,
}

/// A block of a chain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchEventBlock)]
pub(crate) struct ShownBlock {
    pub chain_id: u64,
    pub number: u64,
    pub hash: String,
}

/// The values before and after, both by the same version of a model.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchEventValues)]
pub(crate) struct Values {
    /// Null if the first value was beyond the bound.
    pub before: Option<Shown>,
    pub after: Shown,
    /// Whether the block of `after` is final. An event of another block can be retracted.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// Null for a measure that no model computes.
    pub model_version: Option<String>,
}

/// `watch.crossed`, `watch.cleared` and `watch.range_changed`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchValueEvent)]
pub(crate) struct ValueEvent {
    #[serde(flatten)]
    pub source: Source,
    #[serde(flatten)]
    pub of: OfTrigger,
    #[serde(flatten)]
    pub values: Values,
    #[serde(flatten)]
    #[schema(value_type = EvidenceFields)]
    pub evidence: Fields,
}

/// What explains a value. Each field is absent if it does not apply or is not known.
#[derive(ToSchema)]
#[schema(as = WatchEventEvidence)]
#[expect(dead_code, reason = "the schema of fields that are made one by one")]
pub(crate) struct EvidenceFields {
    /// Id of the score, for `GET /api/v2/score/{id}`.
    #[schema(nullable = false)]
    score_id: Option<String>,
    /// Path of the inputs of the score.
    #[schema(nullable = false)]
    evidence: Option<String>,
    /// As `reasons` of a score.
    #[schema(nullable = false, value_type = Option<Vec<Object>>)]
    reasons: Option<Vec<Value>>,
    #[schema(nullable = false)]
    reason_codes: Option<String>,
    /// As `clamp` of a score.
    #[schema(nullable = false, value_type = Option<Object>)]
    clamp: Option<Value>,
    /// Of `watch.crossed`.
    #[schema(nullable = false)]
    changes: Option<WayBack>,
    /// As `POST /api/v2/score/address/{address}/attestation` returns it, if the watch has `statement`.
    #[schema(nullable = false, value_type = Option<Object>)]
    statement: Option<Value>,
}

/// What leads back over the bound.
#[derive(ToSchema)]
#[schema(as = WatchEventChanges)]
#[expect(dead_code, reason = "the schema of fields that are made one by one")]
pub(crate) struct WayBack {
    /// The value that clears the bound.
    #[schema(value_type = Value)]
    target: Value,
    /// Each by itself: `kind`, whether it `reaches` the target, and `change` in the form of the path `what-if`.
    #[schema(value_type = Vec<Object>)]
    steps: Vec<Value>,
}

/// `watch.liquidated`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchLiquidatedEvent)]
pub(crate) struct LiquidatedEvent {
    #[serde(flatten)]
    pub source: Source,
    #[serde(flatten)]
    pub of: OfTrigger,
    #[serde(flatten)]
    pub values: Values,
    /// Null if the history does not date it.
    pub liquidation: Option<LiquidationBody>,
}

/// One liquidation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchLiquidation)]
pub(crate) struct LiquidationBody {
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
    /// The repaid debt in dollars; null if its asset does not follow the dollar.
    usd: Option<f64>,
    /// Null if its log was not found.
    block: Option<ShownBlock>,
    transaction_hash: Option<String>,
}

/// `watch.stale`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchStaleEvent)]
pub(crate) struct StaleEvent {
    #[serde(flatten)]
    pub source: Source,
    #[serde(flatten)]
    pub of: OfTrigger,
    /// When all inputs were last read, or the watch began.
    #[schema(value_type = String, format = DateTime)]
    pub since: Moment,
    /// The first ten inputs that were not read.
    pub unread: Vec<String>,
    pub unread_count: usize,
}

/// `watch.current`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchCurrentEvent)]
pub(crate) struct CurrentEvent {
    #[serde(flatten)]
    pub source: Source,
    #[serde(flatten)]
    pub of: OfTrigger,
    /// Since when it was stale.
    #[schema(value_type = String, format = DateTime)]
    pub since: Moment,
}

/// `watch.model_changed`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchModelChangedEvent)]
pub(crate) struct ModelChangedEvent {
    #[serde(flatten)]
    pub source: Source,
    #[serde(flatten)]
    pub of: OfTrigger,
    #[serde(flatten)]
    pub values: Values,
    #[serde(flatten)]
    #[schema(value_type = EvidenceFields)]
    pub evidence: Fields,
    /// The version of `before`.
    pub model_version_before: Option<String>,
    /// Whether the new value is beyond the bound.
    pub fired: bool,
}

/// `watch.retracted`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchRetractedEvent)]
pub(crate) struct RetractedEvent {
    #[serde(flatten)]
    pub source: Source,
    #[serde(flatten)]
    pub of: OfTrigger,
    /// Id of the event that did not happen.
    pub retracts: String,
    /// The value on the new chain; null if the watch has got other bounds or another address since.
    pub after: Option<Shown>,
}

/// `watch.unchecked`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchUncheckedEvent)]
pub(crate) struct UncheckedEvent {
    #[serde(flatten)]
    pub source: Source,
    /// Ids of events whose blocks are not final, and for which no `watch.retracted` will come.
    pub event_ids: Vec<String>,
}

/// `watch.moved`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchMovedEvent)]
pub(crate) struct MovedEvent {
    #[serde(flatten)]
    pub source: Source,
    /// The addresses of the name.
    pub before: String,
    pub after: String,
}

/// `watch.ended`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchEndedEvent)]
pub(crate) struct EndedEvent {
    #[serde(flatten)]
    pub source: Source,
    /// `until` or `key_revoked`.
    #[schema(value_type = String)]
    pub reason: &'static str,
}

/// What became of the watches of a group.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchDigestEvent)]
pub(crate) struct DigestEvent {
    #[serde(flatten)]
    pub source: Source,
    #[serde(flatten)]
    pub summary: SummaryBody,
}

/// `watch.test`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchTestEvent)]
pub(crate) struct TestEvent {
    #[serde(flatten)]
    pub source: Source,
}

/// `watch.verify`: asks a receiver for its consent. It is no event of the watch.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WatchVerifyEvent)]
pub(crate) struct VerifyEvent {
    #[schema(format = Uuid)]
    pub watch_id: String,
    /// To return, as text or as `{"challenge": "…"}`.
    pub challenge: String,
}

impl Source {
    pub(crate) fn new(watch: &WatchRecord, address: Option<Address>, seq: u64) -> Self {
        Self {
            id: event_id(watch.id, seq),
            seq,
            watch_id: watch.id.to_string(),
            subject: watch.subject.clone(),
            address: address.map(|address| address.to_string()),
        }
    }
}

impl OfTrigger {
    /// `series` is the name of a market, or empty.
    pub(crate) fn new(trigger: &Trigger, series: &str) -> Self {
        let shown = |value: f64| trigger.measure.shown(Some(value));
        Self {
            measure: trigger.measure,
            market: Some(series).filter(|name| !name.is_empty()).map(str::to_owned),
            side: trigger.limit.map(|limit| limit.side()),
            bound: trigger.limit.map_or(Value::Null, |limit| shown(limit.bounds().0)),
            clear: trigger.limit.map_or(Value::Null, |limit| shown(limit.bounds().1)),
        }
    }
}

impl Shown {
    pub(crate) fn new(measure: Measure, sample: &Sample) -> Self {
        let blocks = sample.blocks.iter().map(|block| ShownBlock::from(*block)).collect();
        Self { value: measure.shown(sample.value), blocks, at: Moment(sample.at) }
    }
}

impl From<ReadBlock> for ShownBlock {
    fn from(ReadBlock { chain_id, number, hash }: ReadBlock) -> Self {
        Self { chain_id, number, hash: hash.to_string() }
    }
}

impl Values {
    pub(crate) fn new(measure: Measure, before: Option<&Sample>, after: &Sample) -> Self {
        Self {
            before: before.map(|sample| Shown::new(measure, sample)),
            after: Shown::new(measure, after),
            is_final: false,
            model_version: after.version.as_ref().map(|version| version.as_str().to_owned()),
        }
    }
}

impl LiquidationBody {
    /// A liquidation that was read with `after`.
    pub(crate) fn new(found: &Liquidated, after: &Sample) -> Self {
        let chain_id = after.blocks.first().map(|block| block.chain_id);
        let block = found.log.zip(chain_id).map(|(log, chain_id)| ShownBlock {
            chain_id,
            number: log.block,
            hash: log.block_hash.to_string(),
        });
        let transaction_hash = found.log.map(|log| log.transaction.to_string());
        Self { at: Moment(found.at), usd: found.usd, block, transaction_hash }
    }
}
