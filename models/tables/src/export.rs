//! The component: the functions of `wit/v1`, and the features of a call as the source of expressions.

use crate::{
    Data, Part, Source, answer,
    data::{AUTHORS, READS, TITLE, VERSION},
    decile,
    fields::{CHAINS, HOLDINGS, MARKETS},
    memory,
};

mod bindings {
    wit_bindgen::generate!({ path: "../../wit/v1", world: "credit-model" });
}

use bindings::{
    assay::model::types::{
        Attestation, ChainFeatures, Factor, Features, Holding, Kind, MarketFeatures, ModelInfo, Rating, Refusal,
    },
    exports::assay::model::credit::{Assessment, Guest},
};

struct Component;

impl Guest for Component {
    fn describe() -> ModelInfo {
        let data = packed();
        let lines = |at| data.plain(at).split('\n').filter(|line| !line.is_empty()).map(Into::into).collect();
        ModelInfo {
            kind: Kind::Credit,
            version: data.plain(VERSION).into(),
            title: data.plain(TITLE).into(),
            authors: lines(AUTHORS),
            reads: lines(READS),
        }
    }

    fn score(features: Features) -> Result<Assessment, Refusal> {
        let data = packed();
        let Some(found) = answer(data, &Wallet(&features)) else {
            return Err(Refusal::Missing("a chain or market that could be read".into()));
        };
        let factors = found.parts.into_iter().map(factor).collect();
        Ok(Assessment { score: found.score, decile: decile(data, found.score), factors })
    }

    fn decile(score: u32) -> u8 {
        decile(packed(), score)
    }
}

bindings::export!(Component with_types_in bindings);

/// Without data every call stops.
fn packed() -> Data<'static> {
    match Data::new(memory::data()) {
        Some(data) => data,
        None => std::process::abort(),
    }
}

fn factor(part: Part<'_>) -> Factor {
    let rating = match part.rating {
        0 => Rating::Low,
        1 => Rating::Fair,
        2 => Rating::Good,
        3 => Rating::VeryGood,
        _ => Rating::Excellent,
    };
    let Part { label, description, points, possible, .. } = part;
    Factor { label: label.into(), rating, description, points, possible }
}

struct Wallet<'a>(&'a Features);

impl Source for Wallet<'_> {
    fn as_of(&self) -> f64 {
        self.0.as_of as f64
    }

    fn count(&self, list: u8) -> usize {
        match list {
            CHAINS => self.0.chains.len(),
            MARKETS => self.0.markets.len(),
            HOLDINGS => self.0.holdings.len(),
            _ => self.0.identity.len(),
        }
    }

    #[inline]
    fn number(&self, list: u8, item: usize, field: u8) -> f64 {
        let number = match list {
            CHAINS => self.0.chains.get(item).map(|chain| of_chain(chain, field)),
            MARKETS => self.0.markets.get(item).map(|market| of_market(market, field)),
            HOLDINGS => self.0.holdings.get(item).map(|holding| of_holding(holding, field)),
            _ => self.0.identity.get(item).map(|one| of_attestation(one, field)),
        };
        number.unwrap_or(f64::NAN)
    }

    fn text(&self, list: u8, item: usize, field: u8) -> &str {
        let market = || self.0.markets.get(item);
        let text = match (list, field) {
            (MARKETS, 13) => market().map(|market| market.protocol.as_str()),
            (MARKETS, _) => market().and_then(|market| market.market.as_deref()),
            _ => self.0.identity.get(item).map(|one| one.provider.as_str()),
        };
        text.unwrap_or_default()
    }
}

fn some(number: Option<u64>) -> f64 {
    number.map_or(f64::NAN, |number| number as f64)
}

fn few(number: Option<u32>) -> f64 {
    number.map_or(f64::NAN, f64::from)
}

fn of_chain(chain: &ChainFeatures, field: u8) -> f64 {
    match field {
        0 => chain.chain_id as f64,
        1 => f64::from(chain.coverage as u8),
        2 => some(chain.first_transaction),
        3 => some(chain.last_transaction),
        4 => chain.transactions as f64,
        5 => some(chain.transfers),
        6 => few(chain.counterparties),
        7 => few(chain.active_days),
        8 => few(chain.active_hours),
        9 => some(chain.median_gap),
        10 => chain.assets_usd,
        11 => chain.supplied_usd,
        12 => chain.borrowed_usd,
        _ => f64::NAN,
    }
}

fn of_market(market: &MarketFeatures, field: u8) -> f64 {
    match field {
        0 => market.chain_id as f64,
        1 => f64::from(market.coverage as u8),
        2 => f64::from(u8::from(market.feeds_score)),
        3 => some(market.supply),
        4 => some(market.withdraw),
        5 => some(market.borrow),
        6 => some(market.repay),
        7 => some(market.liquidation),
        8 => some(market.first_event),
        9 => some(market.last_event),
        10 => some(market.last_liquidation),
        11 => market.supplied_usd,
        12 => market.borrowed_usd,
        _ => f64::NAN,
    }
}

fn of_holding(holding: &Holding, field: u8) -> f64 {
    match field {
        0 => f64::from(holding.class as u8),
        1 => holding.usd,
        2 => f64::from(holding.assets),
        _ => f64::NAN,
    }
}

fn of_attestation(one: &Attestation, field: u8) -> f64 {
    match field {
        0 => some(one.issued),
        1 => some(one.expires),
        2 => one.score.unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}
