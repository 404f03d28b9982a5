use std::convert::Infallible;

use super::{MOST_CALLS, Outlook, Step, StepKind, outlook};
use crate::{
    Coverage, ExposureClass, Score,
    features::{Change, Dollars, Exposure, Features, MarketFeatures, PositionFeatures},
};

fn market(name: &str, supplied: f64, borrowed: f64) -> MarketFeatures {
    let exposure = |class, usd| vec![Exposure { class, usd }];
    MarketFeatures {
        chain_id: 1,
        protocol: "lenderB_v3".into(),
        market: Some(name.into()),
        coverage: Coverage::Complete,
        feeds_score: true,
        supply: None,
        withdraw: None,
        borrow: None,
        repay: None,
        liquidation: None,
        first_event: None,
        last_event: None,
        last_liquidation: None,
        supplied_usd: supplied,
        borrowed_usd: borrowed,
        events_coverage: Coverage::Complete,
        events: Vec::new(),
        dollars: Dollars::UNREAD,
        liquidation_days: None,
        position: Some(PositionFeatures {
            coverage: Coverage::Complete,
            collateral: exposure(ExposureClass::Native, supplied),
            debt: exposure(ExposureClass::Stablecoin, borrowed),
            liquidation_threshold: Some(0.8),
            health_factor: Some(supplied * 0.8 / borrowed),
            utilisation: Some(borrowed / supplied),
        }),
    }
}

fn wallet(markets: Vec<MarketFeatures>) -> Features {
    Features { markets, ..Features::default() }
}

/// 400 points for each unit of the lowest health factor; 1000 without a debt.
fn by_health(features: &Features) -> Score {
    let factors = features.markets.iter().filter_map(|market| market.position.as_ref()?.health_factor);
    let lowest = factors.reduce(f64::min).map_or(1_000.0, |lowest| lowest * 400.0);
    Score::new(lowest.clamp(300.0, 1_000.0) as u32).unwrap()
}

fn found(features: &Features, target: Option<u32>, ask: impl Fn(&Features) -> Score) -> Outlook {
    let target = target.map(|target| Score::new(target).unwrap());
    outlook(features, ask(features), target, |changed| Ok::<_, Infallible>(Some(ask(changed)))).unwrap()
}

fn step(outlook: &Outlook, kind: StepKind) -> &Step {
    outlook.raise.iter().chain(&outlook.lower).find(|step| step.kind == kind).unwrap()
}

fn change(step: &Step) -> serde_json::Value {
    serde_json::to_value(&step.best.as_ref().unwrap().change).unwrap()
}

#[test]
fn the_smallest_change_is_found_to_the_dollar() {
    // A health factor of 1.6 is 640 points; 10,000 x 0.8 / 5,000 is needed, and one dollar less is not enough.
    let features = wallet(vec![market("A", 10_000.0, 6_000.0)]);
    let outlook = found(&features, None, by_health);
    assert_eq!((outlook.target, outlook.floor), (Score::new(640), None), "{outlook:?}");
    let repay = step(&outlook, StepKind::Repay);
    assert!(repay.reaches && repay.minimal);
    assert_eq!(change(repay), serde_json::json!({"repay": {"market": "1/lenderB_v3/A", "usd": 1000.0}}));
    assert_eq!(repay.best.as_ref().unwrap().health_factor.map(|health| (health * 1e6).round()), Some(1.6e6));
    let deposit = step(&outlook, StepKind::Deposit);
    assert_eq!(change(deposit), serde_json::json!({"deposit": {"market": "1/lenderB_v3/A", "usd": 2000.0}}));
    let wait = step(&outlook, StepKind::Wait);
    assert!(!wait.reaches && !wait.minimal, "not reachable by waiting alone");
    assert!(outlook.calls <= MOST_CALLS, "{}", outlook.calls);
}

#[test]
fn the_market_that_needs_fewest_dollars_is_named() {
    // Both are at 1.2, and the second owes a tenth.
    let features = wallet(vec![market("A", 15_000.0, 10_000.0), market("B", 150_000.0, 1_000.0)]);
    let ask = |features: &Features| {
        let owed: f64 = features.markets.iter().map(|market| market.borrowed_usd).sum();
        let weighed = features.markets[1].borrowed_usd * 9.0 + owed;
        Score::new((1_000.0 - weighed / 50.0).clamp(300.0, 1_000.0) as u32).unwrap()
    };
    let repay = found(&features, Some(620), ask);
    let repay = step(&repay, StepKind::Repay);
    assert_eq!(change(repay), serde_json::json!({"repay": {"market": "1/lenderB_v3/B", "usd": 100.0}}));
    assert!(repay.reaches && repay.minimal);
}

#[test]
fn what_lowers_a_score_is_a_fall_of_the_collateral() {
    let features = wallet(vec![market("A", 10_000.0, 4_000.0)]);
    let outlook = found(&features, None, by_health);
    assert_eq!((outlook.target, outlook.floor), (Score::new(840), Score::new(749)));
    let fall = step(&outlook, StepKind::PriceFall);
    // 800 points fall to 749 at 93.6 % of the price.
    assert_eq!(change(fall), serde_json::json!({"price": {"asset": "native", "percent": -6.3}}));
    assert_eq!((fall.reaches, fall.minimal), (true, true));
}

#[test]
fn a_path_that_goes_up_and_down_is_not_called_minimal() {
    let features = wallet(vec![market("A", 10_000.0, 6_000.0)]);
    let ask = |features: &Features| {
        let owed = features.markets[0].borrowed_usd;
        let score = if (3_000.0..4_000.0).contains(&owed) { 700 } else { 500 };
        Score::new(score).unwrap()
    };
    let outlook = found(&features, None, ask);
    let repay = step(&outlook, StepKind::Repay);
    assert!(repay.reaches && !repay.minimal, "{repay:?}");
    let Change::Repay(amount) = &repay.best.as_ref().unwrap().change else { panic!("{repay:?}") };
    assert!((2_000.0..=3_000.0).contains(&amount.usd), "{amount:?}");
}

#[test]
fn what_is_not_reached_says_how_far_it_leads() {
    let features = wallet(vec![market("A", 10_000.0, 6_000.0), market("B", 10_000.0, 6_000.0)]);
    let outlook = found(&features, Some(900), by_health);
    let repay = step(&outlook, StepKind::Repay);
    // The other market stays where it is.
    assert_eq!((repay.reaches, repay.minimal, &repay.best), (false, false, &None));
    let alone = found(&wallet(vec![market("A", 10_000.0, 6_000.0)]), Some(1_000), |features| {
        Score::new(700.min(by_health(features).get())).unwrap()
    });
    let repay = step(&alone, StepKind::Repay);
    assert_eq!((repay.reaches, repay.best.as_ref().unwrap().score), (false, Score::new(700).unwrap()));
    let nothing = found(&wallet(Vec::new()), Some(1_000), |_| Score::new(700).unwrap());
    assert_eq!(step(&nothing, StepKind::Repay).best, None, "nothing to repay");
}

#[test]
fn a_reached_target_needs_no_change() {
    let features = wallet(vec![market("A", 10_000.0, 6_000.0)]);
    assert_eq!(found(&features, Some(400), by_health).raise, []);
    let top = found(&features, None, |_| Score::MAX);
    assert_eq!((top.target, top.raise), (None, Vec::new()));
}

#[test]
fn calls_are_bounded_and_a_search_that_ran_out_is_not_minimal() {
    let markets = (0..8).map(|at| market(&format!("M{at}"), 1e12, 9e11 + f64::from(at))).collect();
    // Every market reaches it with a little less than the one before.
    let ask = |features: &Features| {
        let repaid = |market: &MarketFeatures| {
            let at: f64 = market.market.as_ref().unwrap()[1..].parse().unwrap();
            (9e11 + at - market.borrowed_usd) * (1.0 + (7.0 - at) / 100.0)
        };
        let most = features.markets.iter().map(repaid).fold(0.0, f64::max);
        Score::new(if most > 4e11 { 700 } else { 500 }).unwrap()
    };
    let outlook = found(&wallet(markets), None, ask);
    assert!(outlook.calls <= MOST_CALLS, "{}", outlook.calls);
    let repay = step(&outlook, StepKind::Repay);
    assert!(repay.reaches && !repay.minimal, "{repay:?}");
}
