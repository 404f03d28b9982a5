//! What a watch waits for: a measure of the wallet, and the bound at which it fires and clears.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::market::{MarketName, WatchedMarket};
use assay_domain::{Coverage, ModelVersion, Range, Score};

/// Distance between the bound and the value that clears it, as a share of the bound, unless the caller chooses one.
const HYSTERESIS: f64 = 0.02;
/// Days within which the outcome of `probability` is expected, unless the caller chooses.
const HORIZON: u32 = 90;

/// A figure of a wallet that a watch follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = WatchMeasure)]
pub enum Measure {
    /// Collateral times its threshold over debt, of each market.
    HealthFactor,
    /// Debt in dollars, of one market or of all together.
    DebtUsd,
    /// The credit score.
    Score,
    /// The named range of the score.
    Range,
    /// The rate that the model's card claims for the wallet.
    Probability,
    /// Liquidations of the wallet.
    Liquidation,
    /// How completely the wallet could be read.
    Coverage,
}

/// The bound of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "side", rename_all = "snake_case")]
pub enum Limit {
    /// Fires below `at`; clears from `clear` upwards.
    Below { at: f64, clear: f64 },
    /// Fires above `at`; clears from `clear` downwards.
    Above { at: f64, clear: f64 },
}

/// One entry of `when`, checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    pub measure: Measure,
    /// Only this market; otherwise each market by itself, or for `debt_usd` all together.
    pub market: Option<MarketName>,
    /// The version that scores; if absent, the one that answers the key of the watch about this wallet.
    pub model_version: Option<ModelVersion>,
    /// Of `probability`.
    pub horizon_days: Option<u32>,
    /// Absent for `range` and `liquidation`, of which every change fires.
    pub limit: Option<Limit>,
}

/// One entry of `when` as a request has it.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `measure`")]
#[schema(as = NewWatchTrigger, example = json!({ "measure": "health_factor", "below": 1.3, "clear_above": 1.4 }))]
pub struct NewTrigger {
    measure: Measure,
    /// `<chain>/<protocol>/<address>`, or as `POST …/what-if` names it, for `health_factor`, `debt_usd` and
    /// `liquidation`. Without it each market counts by itself, and for `debt_usd` all of them together.
    market: Option<String>,
    /// For `score`, `range` and `probability`. By default the version that answers your key: its pin, the share of the
    /// wallet, or the champion.
    model_version: Option<String>,
    /// For `probability`; 90 by default.
    #[schema(minimum = 1)]
    horizon_days: Option<u32>,
    /// Fires once the value is below this: a number, or for `coverage` one of `complete`, `partial` and `pending`.
    #[schema(value_type = Option<Value>)]
    below: Option<Value>,
    /// Fires once the value is above this.
    above: Option<f64>,
    /// The value from which it can fire again, at least `below`; 2 % above it by default.
    clear_above: Option<f64>,
    /// The value down to which it can fire again, at most `above`; 2 % below it by default.
    clear_below: Option<f64>,
}

impl Measure {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::HealthFactor => "health_factor",
            Self::DebtUsd => "debt_usd",
            Self::Score => "score",
            Self::Range => "range",
            Self::Probability => "probability",
            Self::Liquidation => "liquidation",
            Self::Coverage => "coverage",
        }
    }

    /// Whether a model computes it.
    pub fn is_scored(self) -> bool {
        matches!(self, Self::Score | Self::Range | Self::Probability)
    }

    /// Whether it is of lending markets.
    pub fn is_of_markets(self) -> bool {
        matches!(self, Self::HealthFactor | Self::DebtUsd | Self::Liquidation)
    }

    /// The least and the greatest value that it can have.
    fn reach(self) -> (f64, f64) {
        match self {
            Self::Score => (f64::from(Score::MIN.get()), f64::from(Score::MAX.get())),
            Self::Probability => (0.0, 1.0),
            _ => (0.0, f64::INFINITY),
        }
    }

    /// `value` as the API shows it. A health factor without debt has no number.
    pub fn shown(self, value: Option<f64>) -> Value {
        match (self, value) {
            (_, None) => Value::Null,
            (Self::Range, Some(rank)) => named(&Range::ALL.map(Range::as_str), rank),
            (Self::Coverage, Some(rank)) => named(&COVERAGES.map(Coverage::as_str), rank),
            (Self::Liquidation, Some(whole)) => Value::from(whole as u64),
            (Self::Score, Some(points)) if points.fract() == 0.0 => Value::from(points as u64),
            (_, Some(number)) => Value::from(number),
        }
    }
}

/// Coverages by rank.
const COVERAGES: [Coverage; 4] = [Coverage::Failed, Coverage::Pending, Coverage::Partial, Coverage::Complete];

/// The rank of a coverage, from 0.
pub fn coverage_rank(coverage: Coverage) -> f64 {
    COVERAGES.iter().position(|known| *known == coverage).unwrap_or_default() as f64
}

/// The rank of a range, from 0.
pub fn range_rank(range: Range) -> f64 {
    Range::ALL.iter().position(|known| *known == range).unwrap_or_default() as f64
}

fn named(names: &[&'static str], rank: f64) -> Value {
    names.get(rank as usize).map_or(Value::Null, |name| Value::from(*name))
}

impl Limit {
    /// Whether it fires at `value`. A value without a number, a health factor without debt, is above every number.
    pub fn fires(self, value: Option<f64>) -> bool {
        let value = value.unwrap_or(f64::INFINITY);
        match self {
            Self::Below { at, .. } => value < at,
            Self::Above { at, .. } => value > at,
        }
    }

    /// Whether `value` clears it.
    pub fn clears(self, value: Option<f64>) -> bool {
        let value = value.unwrap_or(f64::INFINITY);
        match self {
            Self::Below { clear, .. } => value >= clear,
            Self::Above { clear, .. } => value <= clear,
        }
    }

    pub fn side(self) -> &'static str {
        match self {
            Self::Below { .. } => "below",
            Self::Above { .. } => "above",
        }
    }

    /// The bound, and the value that clears it.
    pub fn bounds(self) -> (f64, f64) {
        let (Self::Below { at, clear } | Self::Above { at, clear }) = self;
        (at, clear)
    }
}

impl NewTrigger {
    /// The trigger, of one of `markets` if it names any.
    ///
    /// # Errors
    /// What is wrong with it, and what to do.
    pub fn checked(self, markets: &[WatchedMarket]) -> Result<Trigger, String> {
        let (measure, name) = (self.measure, self.measure.as_str());
        let market = self.market.as_deref().map(|text| WatchedMarket::named(text, markets)).transpose()?;
        if market.is_some() && !measure.is_of_markets() {
            return Err(format!("{name} is not of a market; leave out market"));
        }
        if market.is_some_and(|market| measure == Measure::HealthFactor && !market.protocol.has_details()) {
            return Err("a market of lenderB_v2 has no health factor; watch debt_usd there".to_owned());
        }
        if self.model_version.is_some() && !measure.is_scored() {
            return Err(format!("no model computes {name}; leave out model_version"));
        }
        let model_version = self.model_version.as_deref().map(str::parse).transpose()?;
        if self.horizon_days.is_some() && measure != Measure::Probability {
            return Err("only probability has horizon_days".to_owned());
        }
        let horizon_days = (measure == Measure::Probability).then(|| self.horizon_days.unwrap_or(HORIZON));
        if horizon_days == Some(0) {
            return Err("horizon_days must be at least 1".to_owned());
        }
        Ok(Trigger { measure, market, model_version, horizon_days, limit: self.limit()? })
    }

    fn limit(&self) -> Result<Option<Limit>, String> {
        let name = self.measure.as_str();
        let none = self.below.is_none() && self.above.is_none();
        if matches!(self.measure, Measure::Range | Measure::Liquidation) {
            let is_bare = none && self.clear_above.is_none() && self.clear_below.is_none();
            return if is_bare { Ok(None) } else { Err(format!("every change of {name} fires; leave out the bounds")) };
        }
        if none || self.below.is_some() && self.above.is_some() {
            return Err(format!("{name} needs below or above, not both"));
        }
        if self.measure == Measure::Coverage {
            return self.coverage().map(Some);
        }
        let (least, most) = self.measure.reach();
        let limit = match (&self.below, self.above) {
            (Some(below), _) => {
                let at = below.as_f64().ok_or_else(|| format!("below must be a number for {name}"))?;
                if self.clear_below.is_some() {
                    return Err("clear_below belongs to above; use clear_above".to_owned());
                }
                Limit::Below { at, clear: self.clear_above.unwrap_or((at * (1.0 + HYSTERESIS)).min(most)) }
            }
            (None, above) => {
                let at = above.unwrap_or_default();
                if self.clear_above.is_some() {
                    return Err("clear_above belongs to below; use clear_below".to_owned());
                }
                Limit::Above { at, clear: self.clear_below.unwrap_or((at * (1.0 - HYSTERESIS)).max(least)) }
            }
        };
        let (at, clear) = limit.bounds();
        if [at, clear].iter().any(|bound| !bound.is_finite() || *bound < least || *bound > most) {
            let range = if most.is_finite() { format!("{least} to {most}") } else { format!("{least} or more") };
            return Err(format!("a bound of {name} must be a value that it can have, {range}"));
        }
        match limit {
            Limit::Below { .. } if at <= least => Err(format!("{name} is never below {least}; give a greater bound")),
            Limit::Above { .. } if at >= most => Err(format!("{name} is never above {most}; give a smaller bound")),
            Limit::Below { .. } if clear < at => Err("clear_above must be at least below".to_owned()),
            Limit::Above { .. } if clear > at => Err("clear_below must be at most above".to_owned()),
            limit => Ok(Some(limit)),
        }
    }

    fn coverage(&self) -> Result<Limit, String> {
        let wrong = || "coverage needs below: \"complete\", \"partial\" or \"pending\"".to_owned();
        if self.above.is_some() || self.clear_above.is_some() || self.clear_below.is_some() {
            return Err(wrong());
        }
        let text = self.below.as_ref().and_then(Value::as_str).ok_or_else(wrong)?;
        let rank = COVERAGES.iter().position(|known| known.as_str() == text).filter(|rank| *rank > 0);
        let at = rank.ok_or_else(wrong)? as f64;
        Ok(Limit::Below { at, clear: at })
    }
}

#[cfg(test)]
mod tests;
