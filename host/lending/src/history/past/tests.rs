//! Which events have an amount, and how a history shows an unknown amount or time.

use super::*;
use assay_domain::Address;

const DOLLAR: Address = Address::repeat_byte(1);
const ETHER: Address = Address::repeat_byte(2);

fn event(kind: EventKind, block: u64, time: Option<u64>) -> Event {
    Event { market: 0, kind, block, time }
}

fn moved(block: u64, amount: Move) -> Moved {
    Moved { market: 0, block, amount }
}

fn gain(side: Side, asset: Address, amount: u64) -> Move {
    Move::gain(side, asset, U256::from(amount))
}

fn loss(side: Side, asset: Address, amount: u64) -> Move {
    Move::loss(side, asset, U256::from(amount))
}

fn past(events: &[Event], moves: &[Moved]) -> Past {
    let mut past = Past::default();
    for (event, moved) in events.iter().zip(paired(events, moves)) {
        past.add(event.kind, event.time, moved);
    }
    past
}

fn known(_: Side, asset: Asset) -> Option<(ExposureClass, f64)> {
    Some((if asset == DOLLAR.into() { ExposureClass::Stablecoin } else { ExposureClass::Native }, 100.0))
}

#[test]
fn an_amount_belongs_to_the_only_event_that_can_have_moved_it() {
    let events = [
        event(EventKind::Supply, 1, Some(10)),
        event(EventKind::Borrow, 1, Some(10)),
        event(EventKind::Repay, 2, Some(20)),
        event(EventKind::Liquidation, 2, Some(20)),
        event(EventKind::Repay, 3, Some(30)),
        event(EventKind::Repay, 3, Some(30)),
        event(EventKind::Withdraw, 4, Some(40)),
    ];
    let moves = [
        moved(1, gain(Side::Supply, ETHER, 5)),
        moved(1, gain(Side::Debt, DOLLAR, 300)),
        moved(2, loss(Side::Debt, DOLLAR, 50)),
        moved(2, loss(Side::Debt, DOLLAR, 60)),
        moved(3, loss(Side::Debt, DOLLAR, 70)),
        moved(3, loss(Side::Debt, DOLLAR, 80)),
    ];
    let amounts: Vec<_> = paired(&events, &moves).iter().map(|m| m.map(|m| m.amount.unsigned_abs())).collect();
    let of = |amount: u64| Some(U256::from(amount));
    assert_eq!(amounts, [of(5), of(300), None, None, of(70), of(80), None]);
}

#[test]
fn dollars_are_known_of_stablecoins_alone_and_only_where_every_amount_is() {
    let events = [event(EventKind::Supply, 1, Some(10)), event(EventKind::Borrow, 1, Some(10))];
    let moves = [moved(1, gain(Side::Supply, ETHER, 500)), moved(1, gain(Side::Debt, DOLLAR, 300))];
    let past = past(&events, &moves);
    let counts = EventCounts { supply: Some(1), borrow: Some(1), ..EventCounts::ZERO };
    let found = past.resolved(Coverage::Complete, &counts, known);
    let one = |kind, usd, class| LendingEvent { time: 10, kind, usd, class: Some(class) };
    assert_eq!(
        found.events,
        [
            one(EventKind::Borrow, Some(3.0), ExposureClass::Stablecoin),
            one(EventKind::Supply, None, ExposureClass::Native)
        ],
        "of one second, the last in the chain comes first"
    );
    let Dollars { supply, withdraw, borrow, repay, .. } = found.dollars;
    assert_eq!((supply, withdraw, borrow, repay), (None, Some(0.0), Some(3.0), Some(0.0)));
    // The amount of one more event is unknown.
    let more = EventCounts { borrow: Some(2), ..counts };
    assert_eq!(past.resolved(Coverage::Complete, &more, known).dollars.borrow, None);
    // The assets are unknown.
    let unknown = past.resolved(Coverage::Complete, &counts, |_, _| None);
    assert_eq!((unknown.dollars.borrow, unknown.events[0].class), (None, None));
    assert_eq!(past.resolved(Coverage::Failed, &counts, known), PoolEvents::UNREAD);
}

#[test]
fn the_newest_events_are_kept_and_an_event_without_a_time_shows_in_the_coverage() {
    let most = u64::try_from(MOST_EVENTS).unwrap();
    let (mut first, mut second) = (Past::default(), Past::default());
    (0..most).for_each(|at| first.add(EventKind::Liquidation, Some(at * DAY / 2), None));
    (most..most + 10).for_each(|at| second.add(EventKind::Repay, Some(at * DAY), None));
    let all = first.then(&second);
    let counts = EventCounts { repay: Some(10), liquidation: Some(most), ..EventCounts::ZERO };
    let found = all.resolved(Coverage::Complete, &counts, known);
    assert_eq!((found.events.len(), found.events[0].time), (MOST_EVENTS, (most + 9) * DAY));
    assert_eq!((found.liquidation_days, found.coverage), (Some(100), Coverage::Complete));
    let mut timeless = all.clone();
    timeless.add(EventKind::Liquidation, None, None);
    let found = timeless.resolved(Coverage::Complete, &counts, known);
    assert_eq!((found.liquidation_days, found.coverage), (None, Coverage::Partial));
    let text = serde_json::to_string(&timeless.record()).unwrap();
    assert_eq!(Past::from(serde_json::from_str::<PastRecord>(&text).unwrap()), timeless);
}
