//! Wallets that a lender meets, each with the score that it gets and one sentence why that is right.

use crate::wallets::{AS_OF, DAY, Owes as _, PLAIN, failed, market, wallet};
use credit_1_4::{
    explain, score,
    types::{Coverage, EventKind, ExposureClass, Features, LendingEvent, MarketFeatures, Rating, Refusal},
};

const STABLE: (ExposureClass, ExposureClass) = (ExposureClass::Stablecoin, ExposureClass::Stablecoin);
const ETHER: (ExposureClass, ExposureClass) = (ExposureClass::Native, ExposureClass::Native);
const LONG_TAIL: (ExposureClass, ExposureClass) = (ExposureClass::Other, ExposureClass::Stablecoin);

fn aave() -> MarketFeatures {
    market("lenderA_v3")
}

/// $1,000 carried for a year and still owed, so that the history does not limit the score.
fn known() -> MarketFeatures {
    aave().carried(10_000.0, 365.0, 1_000.0)
}

fn owes(factor: f64) -> MarketFeatures {
    known().owes(10_000.0, factor, 0.8, PLAIN)
}

fn dark() -> MarketFeatures {
    MarketFeatures {
        coverage: Coverage::Failed,
        supply: None,
        withdraw: None,
        borrow: None,
        repay: None,
        liquidation: None,
        events_coverage: Coverage::Failed,
        position: Some(failed()),
        ..market("lenderA_v2")
    }
}

fn unpriced(days: f64) -> MarketFeatures {
    let time = AS_OF - (days * DAY as f64) as u64;
    let event = LendingEvent { time, kind: EventKind::Borrow, usd: None, class: Some(ExposureClass::Native) };
    MarketFeatures { borrow: Some(1), first_event: Some(time), events: vec![event], ..aave() }
}

struct Case {
    wallet: &'static str,
    why: &'static str,
    score: u32,
    features: Features,
}

fn case(wallet: &'static str, score: u32, features: Features, why: &'static str) -> Case {
    Case { wallet, why, score, features }
}

/// Those whose answers by 1.3 a lender would not give come first, with these answers in the names.
fn cases() -> Vec<Case> {
    let one = |market: MarketFeatures| wallet(vec![market]);
    let two = |first: MarketFeatures, second: MarketFeatures| wallet(vec![first, second]);
    let tiny = |usd: f64| aave().carried(usd, 1.0, 1.0 / 1440.0);
    vec![
        case(
            "everything liquidated today, owes nothing (1.3: 980)",
            418,
            one(known().liquidated(1, 0.0)),
            "Of those liquidated in the last week, 39 % were liquidated again within 90 days.",
        ),
        case(
            "twenty liquidations, the last today, owes nothing (1.3: 912)",
            389,
            one(known().liquidated(20, 0.0)),
            "More liquidations are more risk, and the debt does not carry them away.",
        ),
        case(
            "five liquidations, the last 20 days ago, health factor 3 (1.3: 896)",
            521,
            one(owes(3.0).liquidated(5, 20.0)),
            "A good position does not undo a habit: 25 % of those like it were liquidated again.",
        ),
        case(
            "two days old, borrowed $10 and repaid it in a minute (1.3: 1000)",
            749,
            one(tiny(10.0)),
            "Ten dollars for a minute show nothing, so it is a newcomer.",
        ),
        case("the same with $9 (1.3: 749)", 749, one(tiny(9.0)), "There is no step at ten dollars."),
        case(
            "$9.99 at health factor 1.01 (1.3: 1000)",
            927,
            one(known().owes(9.99, 1.01, 0.8, PLAIN)),
            "A debt that nobody liquidates for the fee weighs little.",
        ),
        case(
            "$10.00 at health factor 1.01 (1.3: 480)",
            927,
            one(known().owes(10.0, 1.01, 0.8, PLAIN)),
            "A cent more is a cent more.",
        ),
        case(
            "$1M at health factor 5, and $11 at 1.01 elsewhere (1.3: 481)",
            857,
            two(known().owes(1e6, 5.0, 0.8, PLAIN), market("lenderB_v3").owes(11.0, 1.01, 0.8, PLAIN)),
            "Eleven dollars beside millions that could be moved there put nothing at risk.",
        ),
        case(
            "$1M at health factor 5 alone",
            857,
            one(known().owes(1e6, 5.0, 0.8, PLAIN)),
            "The eleven dollars of the wallet above cost it nothing.",
        ),
        case(
            "$1M at health factor 5, and $500,000 at 1.01 elsewhere",
            479,
            two(known().owes(1e6, 5.0, 0.8, PLAIN), market("lenderB_v3").owes(5e5, 1.01, 0.8, PLAIN)),
            "A loan of this size is material, and it is about to be liquidated.",
        ),
        case(
            "USDC against USDT at 1.05 (1.3: 498)",
            651,
            one(known().owes(10_000.0, 1.05, 0.95, STABLE)),
            "Both follow the dollar, so 5 % is far away; a judgement, without a claim.",
        ),
        case(
            "wstETH against ETH at 1.05 (1.3: 498)",
            651,
            one(known().owes(10_000.0, 1.05, 0.95, ETHER)),
            "Both follow ether; a judgement, without a claim.",
        ),
        case(
            "a long-tail token against USDC at 1.05 (1.3: 498)",
            498,
            one(known().owes(10_000.0, 1.05, 0.6, LONG_TAIL)),
            "A fall of 5 % is a matter of hours.",
        ),
        case(
            "safe position and a market unread (1.3: 692)",
            639,
            two(owes(5.0), dark()),
            "Nobody knows what is in the other market, so it does not pass 640.",
        ),
        case(
            "the same with the market read clean",
            857,
            two(owes(5.0), market("lenderA_v2")),
            "A known empty market costs nothing.",
        ),
        case(
            "the same with the market read risky (1.3: 411)",
            484,
            two(owes(5.0), market("lenderA_v2").owes(10_000.0, 1.02, 0.8, PLAIN)),
            "What was unread turned out to be a loan about to be liquidated.",
        ),
        // Thirty more.
        case("health factor 1.00", 474, one(owes(1.0)), "It can be liquidated now."),
        case("health factor 1.10", 521, one(owes(1.1)), "A fall of 9 % liquidates it."),
        case("health factor 1.25", 583, one(owes(1.25)), "A fall of 20 % liquidates it: an ordinary month."),
        case("health factor 1.41", 640, one(owes(1.41)), "About 5 in 100 such vaults were liquidated within 90 days."),
        case("health factor 1.60", 662, one(owes(1.6)), "A fall of 38 % liquidates it; most years of ether had one."),
        case("health factor 2", 700, one(owes(2.0)), "A fall by half liquidates it; few quarters had one."),
        case("health factor 3", 769, one(owes(3.0)), "Only a fall by two thirds liquidates it."),
        case("health factor 5", 857, one(owes(5.0)), "Few falls of any market reach it."),
        case("health factor 10", 975, one(owes(10.0)), "A tenth of what its deposits could secure."),
        case(
            "health factor 10, loan of today",
            749,
            one(aave().carried(10_000.0, 0.0, 1.0).owes(10_000.0, 10.0, 0.8, PLAIN)),
            "Nobody has seen yet whether it stays there.",
        ),
        case(
            "health factor 10, loan of a month",
            857,
            one(aave().carried(10_000.0, 30.0, 99.0).owes(10_000.0, 10.0, 0.8, PLAIN)),
            "A month of a careful loan is worth something.",
        ),
        case("only a deposit", 749, one(aave().holds(50_000.0)), "It never borrowed: its first loan is unknown."),
        case(
            "loan of a year repaid, owes nothing",
            975,
            one(aave().carried(10_000.0, 500.0, 365.0)),
            "A loan that lasted a year and was repaid, and nothing at risk.",
        ),
        case(
            "flash loan of $1M, repaid in the same block",
            749,
            one(aave().carried(1e6, 100.0, 0.0)),
            "No time passed, so nothing was shown.",
        ),
        case(
            "fifty wash loans of $1,000 for a minute each",
            749,
            one((0..50).fold(aave(), |all, n| all.carried(1_000.0, 90.0 - f64::from(n), 1.0 / 1440.0))),
            "Fifty minutes of a loan are fifty minutes.",
        ),
        case(
            "$1 carried for three years",
            756,
            one(aave().carried(1.0, 1_095.0, 2_000.0)),
            "A dollar shows little, however long.",
        ),
        case(
            "$100 carried for a year, repaid",
            869,
            one(aave().carried(100.0, 400.0, 365.0)),
            "A small loan for long is some evidence.",
        ),
        case(
            "ether borrowed for a year, at health factor 3",
            728,
            one(unpriced(365.0).owes(10_000.0, 3.0, 0.8, PLAIN)),
            "Its events have no dollars, so the loan counts as a small one.",
        ),
        case(
            "liquidated once, 12 days ago, owes nothing",
            496,
            one(known().liquidated(1, 12.0)),
            "26 % of those liquidated one to four weeks ago were liquidated again.",
        ),
        case(
            "liquidated four times, last 100 days ago, owes nothing",
            669,
            one(known().liquidated(4, 100.0)),
            "Time passed without another one, but not enough to forget four.",
        ),
        case(
            "liquidated once, 45 days ago, owes nothing",
            619,
            one(known().liquidated(1, 45.0)),
            "12 % of those liquidated one to three months ago were liquidated again.",
        ),
        case(
            "liquidated once, a year ago, health factor 3",
            734,
            one(owes(3.0).liquidated(1, 365.0)),
            "A year of good conduct weighs more than one old liquidation.",
        ),
        case(
            "liquidated once, three years ago, health factor 3",
            763,
            one(owes(3.0).liquidated(1, 1_095.0)),
            "Old enough to be close to one that never was.",
        ),
        case(
            "liquidated yesterday, health factor 1.05",
            373,
            one(owes(1.05).liquidated(1, 1.0)),
            "A partial liquidation left it at the edge: half of such were liquidated again.",
        ),
        case(
            "liquidated, without a date",
            572,
            one(MarketFeatures { last_liquidation: None, ..known().liquidated(1, 30.0) }),
            "A date that is not known is not taken for an old one.",
        ),
        case(
            "$200 at health factor 1.01",
            479,
            one(known().owes(200.0, 1.01, 0.8, PLAIN)),
            "Small, but a liquidation is worth the fee.",
        ),
        case(
            "$50 at health factor 1.01",
            733,
            one(known().owes(50.0, 1.01, 0.8, PLAIN)),
            "Hardly worth the fee of a liquidation.",
        ),
        case(
            "$10,000 unsecured in a market without a health factor",
            366,
            one(MarketFeatures { borrowed_usd: 10_000.0, borrow: Some(1), position: None, ..known() }),
            "No deposit was found that secures it.",
        ),
        case(
            "Compound v2: deposit in one market, debt in the other",
            700,
            {
                let deposit = MarketFeatures { position: None, ..market("lenderB_v2").holds(20_000.0) };
                let debt =
                    MarketFeatures { borrowed_usd: 8_000.0, borrow: Some(1), position: None, ..market("lenderB_v2") };
                two(deposit, MarketFeatures { events: known().events, ..debt })
            },
            "Its markets secure each other: 8,000 of 16,000 that it may owe.",
        ),
        case(
            "ten loans of $10 at 1.01",
            479,
            wallet((0..10).map(|_| known().owes(10.0, 1.01, 0.8, PLAIN)).collect()),
            "Split into ten, it is the loan of $100 that it is.",
        ),
        case(
            "deposits of $100,000, and a history still being read",
            639,
            one(MarketFeatures { coverage: Coverage::Pending, ..aave().holds(100_000.0) }),
            "A liquidation may be in the part that was not read.",
        ),
        case(
            "health factor 3, its position unread",
            639,
            one(MarketFeatures { position: Some(failed()), borrowed_usd: 0.0, supplied_usd: 0.0, ..owes(3.0) }),
            "A failed call is no good news.",
        ),
        case(
            "health factor 1.3, half of the deposit in the debt's own class",
            675,
            {
                let mut mixed = owes(1.3);
                let position = mixed.position.as_mut().unwrap();
                position.collateral.push(position.collateral[0]);
                position.collateral[1].class = ExposureClass::Stablecoin;
                position.collateral.iter_mut().for_each(|one| one.usd /= 2.0);
                one(mixed)
            },
            "Half of what secures it does not fall with ether.",
        ),
    ]
}

#[test]
fn a_wallet_of_the_table_has_its_score() {
    let mut wrong = Vec::new();
    for Case { wallet, why, score: expected, features } in cases() {
        let found = score(&features).unwrap_or_else(|refused| panic!("{wallet}: {refused:?}")).score;
        println!("| {wallet} | {found} | {why} |");
        if found != expected {
            wrong.push(format!("{wallet}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_rating_does_not_contradict_its_sentence() {
    for (features, is_low) in [
        (wallet(vec![owes(1.01).liquidated(4, 5.0)]), true),
        (wallet(vec![known().liquidated(1, 0.0)]), true),
        (wallet(vec![owes(1.01)]), false),
    ] {
        let factors = explain(&features).unwrap();
        assert_eq!(factors[1].rating == Rating::Low, is_low, "{factors:?}");
        assert_eq!(factors[1].description.contains("were liquidated"), is_low, "{factors:?}");
    }
}

#[test]
fn a_wallet_that_never_lent_is_refused() {
    assert_eq!(score(&wallet(vec![])), Err(Refusal::NoActivity));
    assert_eq!(score(&wallet(vec![aave()])), Err(Refusal::NoActivity));
    let refused = score(&wallet(vec![dark()]));
    assert!(matches!(&refused, Err(Refusal::Missing(why)) if why.contains("a chain or market")), "{refused:?}");
}
