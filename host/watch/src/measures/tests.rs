use super::*;
use assay_domain::{
    Activity, Address, B256, ChainOrigin, EventCounts, PoolEvents, Position, Protocol, ReadBlock, Unread,
    features::PositionFeatures,
};

fn pool(last_byte: u8, health_factor: Option<f64>) -> PoolHistory {
    PoolHistory {
        chain_id: 1,
        protocol: Protocol::LenderAV3,
        market_address: Address::with_last_byte(last_byte),
        market: None,
        feeds_score: true,
        coverage: Coverage::Complete,
        synced_to_block: Some(9),
        counts: EventCounts::ZERO,
        first_event_at: None,
        last_event_at: None,
        last_liquidation_at: None,
        stopped: None,
        remark: None,
        events: PoolEvents::UNREAD,
        position: Some(PositionFeatures { coverage: Coverage::Complete, health_factor, ..PositionFeatures::UNREAD }),
    }
}

fn snapshot(pools: Vec<PoolHistory>, unread: Vec<Unread>) -> Snapshot {
    let borrowed = |pool: &PoolHistory| Position {
        chain_id: 1,
        protocol: pool.protocol,
        market_address: pool.market_address,
        market: None,
        supplied_usd: 200.0,
        borrowed_usd: 100.0,
        supplied_assets: 1,
        assets: Vec::new(),
        health_factor: None,
        mode: None,
        delegations: None,
    };
    let block = ReadBlock { chain_id: 1, number: 9, hash: B256::repeat_byte(9) };
    let chain = ChainSnapshot {
        chain_id: 1,
        chain_name: "One".into(),
        coverage: if unread.is_empty() { Coverage::Complete } else { Coverage::Partial },
        activity: Activity::default(),
        tokens: Vec::new(),
        nfts: Vec::new(),
        positions: pools.iter().map(borrowed).collect(),
        pools,
        unread,
        origin: ChainOrigin { block: Some(block), ..ChainOrigin::default() },
    };
    let (attestations, identity) = (Vec::new(), Vec::new());
    let as_of = time_from_unix(100);
    Snapshot { address: Address::ZERO, as_of, chains: vec![chain], attestations, identity }
}

fn trigger(measure: Measure, market: Option<u8>) -> Trigger {
    let name = |byte| MarketName::of(&pool(byte, None));
    Trigger { measure, market: market.map(name), model_version: None, horizon_days: None, limit: None }
}

fn values(trigger: &Trigger, snapshot: &Snapshot) -> Vec<Option<Option<f64>>> {
    let value = |reading| if let Reading::Read(sample) = reading { Some(sample.value) } else { None };
    readings(trigger, snapshot, None).into_values().map(value).collect()
}

#[test]
fn each_market_counts_by_itself_and_only_its_own_inputs_matter() {
    let pools = || vec![pool(1, Some(1.5)), pool(2, None)];
    let any = trigger(Measure::HealthFactor, None);
    assert_eq!(values(&any, &snapshot(pools(), vec![])), [Some(Some(1.5)), Some(None)]);
    let other = Part::Position(Protocol::LenderAV3, Address::with_last_byte(2));
    let partly = snapshot(pools(), vec![Unread::new(other, "no price")]);
    assert_eq!(values(&any, &partly), [Some(Some(1.5)), None]);
    assert_eq!(values(&trigger(Measure::HealthFactor, Some(1)), &partly), [Some(Some(1.5))]);
    assert_eq!(values(&trigger(Measure::DebtUsd, Some(1)), &partly), [Some(Some(100.0))]);
    assert_eq!(values(&trigger(Measure::DebtUsd, None), &partly), [None], "a sum needs every market");
    assert_eq!(values(&trigger(Measure::HealthFactor, Some(3)), &partly), [None], "it is not configured");
    for part in [Part::Chain, Part::Head] {
        let doubted = snapshot(pools(), vec![Unread::new(part, "no answer")]);
        assert_eq!(values(&any, &doubted), [None, None]);
    }
    // Neither transfers nor the history are inputs of a health factor.
    let mut without_history = pool(1, Some(1.5));
    without_history.coverage = Coverage::Pending;
    let transfers = vec![Unread::new(Part::Transfers, "no source")];
    assert_eq!(values(&any, &snapshot(vec![without_history], transfers)), [Some(Some(1.5))]);
}

#[test]
fn a_position_that_was_not_read_has_no_health_factor() {
    let lacks = PoolHistory { position: None, ..pool(1, None) };
    let failed = PoolHistory { position: Some(PositionFeatures::UNREAD), ..pool(2, None) };
    let found = values(&trigger(Measure::HealthFactor, None), &snapshot(vec![lacks, failed], vec![]));
    assert_eq!(found, [None, None]);
}

#[test]
fn liquidations_count_in_a_complete_history() {
    let counts = |coverage, liquidation| {
        let pool = PoolHistory { coverage, counts: EventCounts { liquidation, ..EventCounts::ZERO }, ..pool(1, None) };
        values(&trigger(Measure::Liquidation, None), &snapshot(vec![pool], vec![]))
    };
    assert_eq!(counts(Coverage::Complete, Some(2)), [Some(Some(2.0))]);
    assert_eq!(counts(Coverage::Partial, Some(2)), [None]);
    assert_eq!(counts(Coverage::Complete, None), [None]);
}

#[test]
fn coverage_is_always_read() {
    let doubted = snapshot(vec![pool(1, None)], vec![Unread::new(Part::Head, "old")]);
    let partial = coverage_rank(Coverage::Partial);
    assert_eq!(values(&trigger(Measure::Coverage, None), &doubted), [Some(Some(partial))]);
}
