//! What an event says of the score, the position or the log behind its values, as far as that is known.

use serde_json::{Map, Value, json};

use crate::{
    market::MarketName,
    measures::ScoreReading,
    reading::{Reading, Readings, Sample},
    records::WatchRecord,
    series::{ChainFacts, Change, TriggerState, What},
    sweep::SweepReading,
    trigger::{Limit, Measure, Trigger},
    watches::WatchesInner,
    way_back::way_back,
};
use assay_domain::{Address, Score};
use assay_score::{
    Baseline,
    bodies::{ReasonsBody, StatementBody, StepBody},
};
use assay_store::StoreError;

/// Fields of an event.
pub(crate) type Fields = Map<String, Value>;

/// Blocks in which the log of a liquidation is searched.
const MOST_BLOCKS: u64 = 10_000;

impl WatchesInner {
    /// The fields that explain `change` of the wallet at `address`.
    ///
    /// # Errors
    /// The store's failure.
    pub(crate) async fn evidence(
        &self,
        watch: &WatchRecord,
        trigger: &Trigger,
        change: &Change,
        (address, read): (Address, &SweepReading),
    ) -> Result<Fields, StoreError> {
        let mut fields = Fields::new();
        let is_of_value = matches!(
            change.what,
            What::Crossed { .. } | What::Cleared { .. } | What::RangeChanged { .. } | What::ModelChanged { .. }
        );
        if !is_of_value {
            return Ok(fields);
        }
        if trigger.measure.is_scored() {
            if let Some(score) = read.score(watch, trigger, address) {
                self.of_score(watch, (trigger, change), score, &mut fields).await?;
            }
        } else if let (What::Crossed { series, .. }, Some(limit), Some(snapshot)) =
            (&change.what, trigger.limit, read.snapshot(address))
        {
            let market = series.parse::<MarketName>().ok();
            let steps = way_back(trigger.measure, limit, market, snapshot);
            fields.insert("changes".to_owned(), changes(trigger.measure.shown(Some(limit.bounds().1)), steps));
        }
        Ok(fields)
    }

    /// The score with its evidence, its reasons, the changes that lead back over the bound, and its statement.
    async fn of_score(
        &self,
        watch: &WatchRecord,
        (trigger, change): (&Trigger, &Change),
        score: &ScoreReading,
        fields: &mut Fields,
    ) -> Result<(), StoreError> {
        let ScoreReading::Scored { answering, scored, features, .. } = score else { return Ok(()) };
        let explained = self.scoring.in_words(answering, scored, features);
        let statement = match (&self.attestor, watch.statement) {
            (Some(attestor), true) => attestor.attest(&explained, features).await.map_err(|why| {
                tracing::warn!(watch = %watch.id, why, "an event has no statement");
            }),
            _ => Err(()),
        };
        let valid = self.attestor.as_ref().map(|attestor| attestor.valid()).unwrap_or_default();
        let (owner, keep) = ((watch.owner.as_str(), watch.by.as_str()), self.settings.keep.max(valid));
        let id = self.scoring.record((&explained, features), owner, keep).await?.to_string();
        // A payer without a key cannot read them.
        if watch.paid_until.is_none() {
            fields.insert("score_id".to_owned(), id.as_str().into());
            fields.insert("evidence".to_owned(), format!("/api/v2/score/{id}/evidence").into());
        }
        let reasons = ReasonsBody::from(self.scoring.reasons(&self.cards, &explained).await);
        if let Ok(Value::Object(reasons)) = serde_json::to_value(reasons) {
            fields.extend(reasons);
        }
        if let (Measure::Score, What::Crossed { .. }, Some(Limit::Below { clear, .. })) =
            (trigger.measure, &change.what, trigger.limit)
        {
            let target = Score::new(clear.ceil() as u32);
            let baseline = Baseline::new(answering.model.clone(), explained.clone(), features.clone());
            match baseline.outlook(target).await {
                Ok(outlook) => {
                    let steps = outlook.raise.into_iter().map(StepBody::from);
                    let steps = steps.filter_map(|step| serde_json::to_value(step).ok()).collect();
                    fields.insert("changes".to_owned(), changes(json!(clear), steps));
                }
                Err(error) => tracing::warn!(watch = %watch.id, %error, "an event has no changes"),
            }
        }
        if let Ok(signed) = statement {
            let body = StatementBody::new(id, signed.into());
            fields.insert("statement".to_owned(), serde_json::to_value(body).unwrap_or_default());
        }
        Ok(())
    }

    /// Adds the blocks and transactions to the liquidations in `readings` that are new to `state`, or that it reported
    /// of orphaned blocks, if the logs of their market show as many.
    pub(crate) async fn locate(
        &self,
        address: Address,
        (state, chains): (&TriggerState, &ChainFacts),
        readings: &mut Readings,
    ) {
        for (name, reading) in readings {
            let (Reading::Read(sample), Some(series)) = (reading, state.series.get(name)) else { continue };
            let Ok(market) = name.parse::<MarketName>() else { continue };
            let (before, count) = series.compared(sample, chains);
            let block = |sample: &Sample| sample.blocks.first().map(|block| block.number);
            let Some((from, to)) = block(before).zip(block(sample)).filter(|_| count > 0) else { continue };
            if to.saturating_sub(from) > MOST_BLOCKS {
                continue;
            }
            let place = (market.chain, market.address);
            let logs = self.scoring.liquidations(place, address, (from.saturating_add(1), to)).await;
            // Another number of logs would leave open which one is which.
            if let Some(logs) = logs.filter(|logs| logs.len() == count) {
                let newest = sample.liquidations.iter_mut().zip(logs.into_iter().rev());
                newest.for_each(|(found, log)| found.log = Some(log.into()));
            }
        }
    }
}

/// Changes, of which each by itself leads to `target`.
fn changes(target: Value, steps: Vec<Value>) -> Value {
    json!({ "target": target, "steps": steps })
}
