//! The first-party models as native code: the reference for the components' answers and speed.

use assay_domain::{
    EventKind, ExposureClass,
    features::{self, Features},
};
use assay_model::{AssetClass, Attestation, ChainFeatures, Coverage, Holding, MarketFeatures, types, v2};

/// Converts the host's features to the models' types.
pub fn features(from: &Features) -> types::Features {
    types::Features {
        as_of: from.as_of,
        chains: from.chains.iter().map(chain).collect(),
        markets: from.markets.iter().map(market).collect(),
        holdings: from.holdings.iter().map(holding).collect(),
        identity: from.identity.iter().map(attestation).collect(),
    }
}

/// Like [`features()`], with the additions of `wit/v2`.
pub fn features_v2(from: &Features) -> v2::Features {
    let mut all: v2::Features = features(from).into();
    for (market, from) in all.markets.iter_mut().zip(&from.markets) {
        market.events_coverage = coverage(from.events_coverage).into();
        market.events = from.events.iter().map(event).collect();
        let features::Dollars { supply, withdraw, borrow, repay, liquidation } = from.dollars;
        market.dollars = v2::Dollars { supply, withdraw, borrow, repay, liquidation };
        market.liquidation_days = from.liquidation_days;
        market.position = from.position.as_ref().map(|position| v2::Position {
            coverage: coverage(position.coverage).into(),
            collateral: position.collateral.iter().map(exposure).collect(),
            debt: position.debt.iter().map(exposure).collect(),
            liquidation_threshold: position.liquidation_threshold,
            health_factor: position.health_factor,
            utilisation: position.utilisation,
        });
    }
    all
}

fn event(from: &features::LendingEvent) -> v2::LendingEvent {
    let kind = match from.kind {
        EventKind::Supply => v2::EventKind::Supply,
        EventKind::Withdraw => v2::EventKind::Withdraw,
        EventKind::Borrow => v2::EventKind::Borrow,
        EventKind::Repay => v2::EventKind::Repay,
        EventKind::Liquidation => v2::EventKind::Liquidation,
    };
    v2::LendingEvent { time: from.time, kind, usd: from.usd, class: from.class.map(class) }
}

fn exposure(from: &features::Exposure) -> v2::Exposure {
    v2::Exposure { class: class(from.class), usd: from.usd }
}

fn class(from: ExposureClass) -> v2::ExposureClass {
    match from {
        ExposureClass::Stablecoin => v2::ExposureClass::Stablecoin,
        ExposureClass::Native => v2::ExposureClass::Native,
        ExposureClass::Bitcoin => v2::ExposureClass::Bitcoin,
        ExposureClass::Other => v2::ExposureClass::Other,
    }
}

fn chain(from: &features::ChainFeatures) -> ChainFeatures {
    ChainFeatures {
        chain_id: from.chain_id,
        coverage: coverage(from.coverage),
        first_transaction: from.first_transaction,
        last_transaction: from.last_transaction,
        transactions: from.transactions,
        transfers: from.transfers,
        counterparties: from.counterparties,
        active_days: from.active_days,
        active_hours: from.active_hours,
        median_gap: from.median_gap,
        assets_usd: from.assets_usd,
        supplied_usd: from.supplied_usd,
        borrowed_usd: from.borrowed_usd,
    }
}

fn market(from: &features::MarketFeatures) -> MarketFeatures {
    MarketFeatures {
        chain_id: from.chain_id,
        protocol: from.protocol.clone(),
        market: from.market.clone(),
        coverage: coverage(from.coverage),
        feeds_score: from.feeds_score,
        supply: from.supply,
        withdraw: from.withdraw,
        borrow: from.borrow,
        repay: from.repay,
        liquidation: from.liquidation,
        first_event: from.first_event,
        last_event: from.last_event,
        last_liquidation: from.last_liquidation,
        supplied_usd: from.supplied_usd,
        borrowed_usd: from.borrowed_usd,
    }
}

fn holding(from: &features::Holding) -> Holding {
    let class = match from.class {
        assay_domain::AssetClass::Native => AssetClass::Native,
        assay_domain::AssetClass::Stablecoin => AssetClass::Stablecoin,
        assay_domain::AssetClass::Token => AssetClass::Token,
        assay_domain::AssetClass::Wrapped => AssetClass::Wrapped,
        assay_domain::AssetClass::Liquidity => AssetClass::Liquidity,
        assay_domain::AssetClass::Collateral => AssetClass::Collateral,
    };
    Holding { class, usd: from.usd, assets: from.assets }
}

fn attestation(from: &features::AttestationFeature) -> Attestation {
    Attestation { provider: from.provider.clone(), issued: from.issued, expires: from.expires, score: from.score }
}

fn coverage(from: assay_domain::Coverage) -> Coverage {
    match from {
        assay_domain::Coverage::Complete => Coverage::Complete,
        assay_domain::Coverage::Partial => Coverage::Partial,
        assay_domain::Coverage::Pending => Coverage::Pending,
        assay_domain::Coverage::Failed => Coverage::Failed,
    }
}

#[cfg(test)]
mod tests {
    use assay_backtest::Record;
    use assay_model::{Wallet, v2};

    use super::features;

    #[test]
    fn the_host_and_the_kit_read_and_write_the_same_lines() {
        let sets = [crate::features::generate(17, 3_000), crate::features::generate_v2(18, 3_000)];
        let record = |features| Record::new(Some("one".into()), Some(true), features);
        let mut read = 0;
        for record in sets.into_iter().flatten().map(record) {
            // A features file cannot hold infinities or NaN.
            let Ok(line) = record.clone().write() else { continue };
            let wallet = Wallet::read(&line).unwrap();
            assert_eq!(wallet.features, features(&record.features), "a model of wit/v1 sees what it saw before");
            let wallet = v2::Wallet::read(&line).unwrap();
            assert_eq!(wallet.write().unwrap() + "\n", line);
            assert_eq!(Record::read(1, line.as_bytes()), Ok(Some(record)));
            read += 1;
        }
        assert!(read > 2_000, "{read}");
    }
}
