//! How the features that were read again differ from those of the evidence, field by field.

use assay_domain::{ChainId, Origin, Source, SourcedPart, features::Features};
use serde_json::Value;

/// A field that differs.
pub(super) struct Difference {
    /// In words: the field, what it was and what it is.
    pub words: String,
    /// The source, if it cannot be read again: an explorer or a price API.
    pub excuse: Option<Origin>,
}

/// The fields of `was` that differ in `is`, for the chains in `read`. Fields of all chains are compared only if each
/// chain was read.
pub(super) fn differences(
    was: &Features,
    is: &Features,
    read: &[ChainId],
    sources: &[Source],
) -> Result<Vec<Difference>, serde_json::Error> {
    let mut found = Found { sources, differences: Vec::new() };
    let is_read = |chain: &ChainId| read.contains(chain);
    for chain in was.chains.iter().filter(|chain| is_read(&chain.chain_id)) {
        let (id, other) = (chain.chain_id, is.chains.iter().find(|other| other.chain_id == chain.chain_id));
        found.compare(&format!("chains[{id}]"), Some(id), &serde_json::to_value(chain)?, &serde_json::to_value(other)?);
    }
    for market in was.markets.iter().filter(|market| is_read(&market.chain_id)) {
        let same = |other: &&assay_domain::features::MarketFeatures| {
            (other.chain_id, &other.protocol, &other.market) == (market.chain_id, &market.protocol, &market.market)
        };
        // A protocol may have several markets without a name on a chain: the n-th is compared with the n-th.
        let nth = was.markets.iter().take_while(|other| !std::ptr::eq(*other, market)).filter(same).count();
        let other = is.markets.iter().filter(same).nth(nth);
        let name = market.market.as_deref().unwrap_or_default();
        let path = format!("markets[{} {} {name}]", market.chain_id, market.protocol);
        found.compare(&path, Some(market.chain_id), &serde_json::to_value(market)?, &serde_json::to_value(other)?);
    }
    if was.chains.iter().all(|chain| is_read(&chain.chain_id)) {
        found.compare("holdings", None, &serde_json::to_value(&was.holdings)?, &serde_json::to_value(&is.holdings)?);
        found.compare("identity", None, &serde_json::to_value(&was.identity)?, &serde_json::to_value(&is.identity)?);
    }
    Ok(found.differences)
}

struct Found<'a> {
    sources: &'a [Source],
    differences: Vec<Difference>,
}

impl Found<'_> {
    fn compare(&mut self, path: &str, chain: Option<ChainId>, was: &Value, is: &Value) {
        match (was, is) {
            (Value::Object(was), Value::Object(is)) => {
                for (name, was) in was {
                    self.compare(&format!("{path}.{name}"), chain, was, is.get(name).unwrap_or(&Value::Null));
                }
            }
            (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
                for (at, (was, is)) in was.iter().zip(is).enumerate() {
                    self.compare(&format!("{path}[{at}]"), chain, was, is);
                }
            }
            // A sum over nothing may have either sign.
            _ if was == is || was.as_f64() == Some(0.0) && is.as_f64() == Some(0.0) => {}
            _ => {
                let excuse = parts(path).iter().find_map(|part| self.outside(chain, *part));
                self.differences.push(Difference { words: format!("{path} was {was} and is {is}"), excuse });
            }
        }
    }

    /// The source of `part`, other than a chain.
    fn outside(&self, chain: Option<ChainId>, part: SourcedPart) -> Option<Origin> {
        let told = |source: &&Source| {
            source.part == part && source.from != Origin::Chain && chain.is_none_or(|chain| chain == source.chain_id)
        };
        self.sources.iter().find(told).map(|source| source.from)
    }
}

/// The parts of a snapshot behind a field.
fn parts(path: &str) -> &'static [SourcedPart] {
    use SourcedPart::{Activity, Holdings, Identity, Markets, Prices};
    let is_money = path.ends_with("usd") || path.contains("position") || path.contains("dollars");
    match path {
        _ if path.starts_with("markets") && is_money => &[Markets, Prices],
        _ if path.starts_with("markets") => &[Markets],
        _ if path.starts_with("identity") => &[Identity],
        _ if path.starts_with("holdings") => &[Holdings, Prices],
        _ if path.ends_with("assets_usd") => &[Holdings, Prices],
        _ if is_money => &[Markets, Prices],
        _ => &[Activity],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::features::{ChainFeatures, Holding};

    fn features(transfers: Option<u64>, usd: f64) -> Features {
        let chain = |chain_id| ChainFeatures {
            chain_id,
            coverage: assay_domain::Coverage::Complete,
            first_transaction: None,
            last_transaction: None,
            transactions: 3,
            transfers,
            counterparties: None,
            active_days: None,
            active_hours: None,
            median_gap: None,
            assets_usd: usd,
            supplied_usd: -0.0,
            borrowed_usd: 0.0,
        };
        let holdings = vec![Holding { class: assay_domain::AssetClass::Token, usd, assets: 1 }];
        Features { as_of: 1, chains: vec![chain(1), chain(10)], holdings, ..Features::default() }
    }

    #[test]
    fn a_field_that_an_explorer_told_is_excused_and_every_other_one_is_named() {
        let (was, is) = (features(Some(5), 2.0), features(None, 1.0));
        let explorer = [Source { chain_id: 1, part: SourcedPart::Activity, from: Origin::Explorer, block: None }];
        let found = differences(&was, &is, &[1, 10], &explorer).unwrap();
        let found: Vec<_> = found.into_iter().map(|difference| (difference.words, difference.excuse)).collect();
        let expected = [
            ("chains[1].assets_usd was 2.0 and is 1.0", None),
            ("chains[1].transfers was 5 and is null", Some(Origin::Explorer)),
            ("chains[10].assets_usd was 2.0 and is 1.0", None),
            ("chains[10].transfers was 5 and is null", None),
            ("holdings[0].usd was 2.0 and is 1.0", None),
        ];
        assert_eq!(found, expected.map(|(words, excuse)| (words.to_owned(), excuse)));
        let some = differences(&was, &is, &[1], &explorer).unwrap();
        assert_eq!(some.len(), 2, "what concerns all chains is not compared if one was not read");
        assert!(differences(&was, &was, &[1, 10], &[]).unwrap().is_empty());
    }
}
