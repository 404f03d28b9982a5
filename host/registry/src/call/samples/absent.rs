//! A wallet of which everything was read, and the same without each optional field.

use super::{CallSample, NOW, YEAR, detailed};
use crate::compile::world::Generation;
use assay_domain::features::{
    AttestationFeature, ChainFeatures, Dollars, Features, LendingEvent, MarketFeatures, PositionFeatures,
};

/// The name of a field, and the function that removes it.
type Removal = (&'static str, fn(&mut Features));

/// The name of a wallet, and the function that removes several fields.
type Together<'a> = (&'static str, &'a dyn Fn(&mut Features));

macro_rules! without {
    ($items:ident, $list:literal: $($field:ident),+) => {
        &[$((
            concat!("an ordinary wallet without ", $list, ".", stringify!($field)),
            |features: &mut Features| $items(features).for_each(|item| item.$field = None),
        )),+]
    };
}

static V1: [&[Removal]; 3] = [
    without!(chains, "chains": first_transaction, last_transaction, transfers, counterparties, active_days,
        active_hours,
        median_gap),
    without!(markets, "markets": market, supply, withdraw, borrow, repay, liquidation, first_event, last_event,
        last_liquidation),
    without!(identity, "identity": issued, expires, score),
];
/// Fields that exist only in `wit/v2`.
static V2: [&[Removal]; 4] = [
    without!(markets, "markets": liquidation_days, position),
    without!(dollars, "markets.dollars": supply, withdraw, borrow, repay, liquidation),
    without!(events, "markets.events": usd, class),
    without!(positions, "markets.position": liquidation_threshold, health_factor, utilisation),
];

/// One wallet for each optional field of the contract.
pub(super) fn each(generation: Generation) -> Vec<CallSample> {
    let more: &[&[Removal]] = if generation == Generation::V2 { &V2 } else { &[] };
    let removals = V1.iter().chain(more).flat_map(|removals| removals.iter());
    let sample = |&(name, remove): &Removal| {
        let mut features = complete();
        remove(&mut features);
        CallSample { name, features, must_answer: false }
    };
    removals.map(sample).collect()
}

/// Wallets without several optional fields, as real ones are without them together.
pub(super) fn together(generation: Generation) -> Vec<CallSample> {
    let unlisted = |features: &mut Features| {
        chains(features).for_each(|chain| {
            (chain.transfers, chain.counterparties, chain.median_gap) = (None, None, None);
            (chain.active_days, chain.active_hours) = (None, None);
        });
    };
    let undated = |features: &mut Features| {
        chains(features).for_each(|chain| (chain.first_transaction, chain.last_transaction) = (None, None));
    };
    let unread = |features: &mut Features| {
        markets(features).for_each(|market| {
            (market.supply, market.withdraw, market.borrow) = (None, None, None);
            (market.repay, market.liquidation, market.liquidation_days) = (None, None, None);
            (market.first_event, market.last_event, market.last_liquidation) = (None, None, None);
            market.dollars = Dollars::default();
            market.events.clear();
        });
    };
    let idle = |features: &mut Features| {
        markets(features).for_each(|market| {
            (market.supply, market.withdraw, market.borrow) = (Some(0), Some(0), Some(0));
            (market.repay, market.liquidation, market.liquidation_days) = (Some(0), Some(0), Some(0));
            (market.first_event, market.last_event, market.last_liquidation) = (None, None, None);
            market.events.clear();
        });
    };
    let unstated = |features: &mut Features| {
        positions(features).for_each(|position| {
            (position.liquidation_threshold, position.health_factor, position.utilisation) = (None, None, None);
        });
    };
    let everything = |features: &mut Features| {
        let removals = V1.iter().chain(&V2).flat_map(|removals| removals.iter());
        removals.for_each(|(_, remove)| remove(features));
    };
    let strange = |features: &mut Features| {
        identity(features).for_each(|attestation| attestation.provider = "one-nobody-knows".to_owned());
    };
    let v1: [Together<'_>; 6] = [
        ("a wallet whose transactions are not dated", &undated),
        ("a wallet whose activity is not listed", &unlisted),
        ("a wallet whose lending was not read", &unread),
        ("a wallet in markets without an event", &idle),
        ("a wallet without any optional field", &everything),
        ("a wallet with attestations of a provider that nobody knows", &strange),
    ];
    let v2: [Together<'_>; 1] = [("a wallet whose positions have no figures", &unstated)];
    let v2 = v2.into_iter().filter(|_| generation == Generation::V2);
    let sample = |(name, change): Together<'_>| {
        let mut features = complete();
        change(&mut features);
        CallSample { name, features, must_answer: false }
    };
    v1.into_iter().chain(v2).map(sample).collect()
}

/// An ordinary wallet in later years: all its times are as far from the moment of the question as today.
pub(super) fn later() -> Vec<CallSample> {
    let sample =
        |(name, years): (&'static str, u64)| CallSample { name, features: in_years(years), must_answer: false };
    [("an ordinary wallet in 2031", 6), ("an ordinary wallet in 2039", 14)].map(sample).into()
}

/// The same wallet so many years later.
pub(crate) fn in_years(years: u64) -> Features {
    let (mut features, later) = (complete(), years * YEAR);
    let shift = |time: &mut Option<u64>| *time = time.map(|time| time + later);
    features.as_of += later;
    chains(&mut features).for_each(|chain| {
        shift(&mut chain.first_transaction);
        shift(&mut chain.last_transaction);
    });
    for market in markets(&mut features) {
        shift(&mut market.first_event);
        shift(&mut market.last_event);
        shift(&mut market.last_liquidation);
        market.events.iter_mut().for_each(|event| event.time += later);
    }
    identity(&mut features).for_each(|attestation| {
        shift(&mut attestation.issued);
        shift(&mut attestation.expires);
    });
    features
}

fn complete() -> Features {
    let mut features = detailed();
    for market in markets(&mut features) {
        market.market = Some("Core".to_owned());
        (market.supply, market.withdraw, market.liquidation) = (Some(12), Some(5), Some(1));
        (market.last_liquidation, market.liquidation_days) = (Some(NOW - YEAR), Some(1));
        let all = Some(600.0);
        market.dollars = Dollars { supply: all, withdraw: all, borrow: all, repay: all, liquidation: all };
    }
    events(&mut features).for_each(|event| event.usd = event.usd.or(Some(300.0)));
    identity(&mut features).for_each(|attestation| attestation.score = Some(20.0));
    features
}

fn chains(features: &mut Features) -> impl Iterator<Item = &mut ChainFeatures> {
    features.chains.iter_mut()
}

fn markets(features: &mut Features) -> impl Iterator<Item = &mut MarketFeatures> {
    features.markets.iter_mut()
}

fn identity(features: &mut Features) -> impl Iterator<Item = &mut AttestationFeature> {
    features.identity.iter_mut()
}

fn dollars(features: &mut Features) -> impl Iterator<Item = &mut Dollars> {
    markets(features).map(|market| &mut market.dollars)
}

fn events(features: &mut Features) -> impl Iterator<Item = &mut LendingEvent> {
    markets(features).flat_map(|market| &mut market.events)
}

fn positions(features: &mut Features) -> impl Iterator<Item = &mut PositionFeatures> {
    markets(features).flat_map(|market| &mut market.position)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wit_parser::{Resolve, SourceMap, Type, TypeDefKind};

    use super::*;

    /// The optional fields below a type, by their names in the contract.
    fn options(resolve: &Resolve, at: &str, of: &Type, found: &mut BTreeSet<String>) {
        let Type::Id(id) = of else { return };
        match &resolve.types[*id].kind {
            TypeDefKind::Record(record) => {
                let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
                record.fields.iter().for_each(|field| options(resolve, &below(&field.name), &field.ty, found));
            }
            TypeDefKind::List(inner) | TypeDefKind::Type(inner) => options(resolve, at, inner, found),
            TypeDefKind::Option(inner) => {
                found.insert(at.to_owned());
                options(resolve, at, inner, found);
            }
            _ => {}
        }
    }

    #[test]
    fn each_optional_field_of_the_contract_is_absent_once() {
        let contracts = [
            (Generation::V1, include_str!("../../../../../wit/v1/types.wit")),
            (Generation::V2, include_str!("../../../../../wit/v2/types.wit")),
        ];
        for (generation, text) in contracts {
            let (mut files, mut resolve, mut expected) = (SourceMap::new(), Resolve::new(), BTreeSet::new());
            files.push_str("types.wit", text);
            resolve.push_group(files.parse().map_err(|(_, error)| error).unwrap()).unwrap();
            let (id, _) = resolve.types.iter().find(|(_, of)| of.name.as_deref() == Some("features")).unwrap();
            options(&resolve, "", &Type::Id(id), &mut expected);
            let samples = each(generation);
            let named = |sample: &CallSample| sample.name.rsplit(' ').next().unwrap().replace('_', "-");
            assert_eq!(samples.iter().map(named).collect::<BTreeSet<_>>(), expected);
            let whole = complete();
            assert!(samples.iter().all(|sample| sample.features != whole), "each lacks what the whole one has");
        }
    }
}
