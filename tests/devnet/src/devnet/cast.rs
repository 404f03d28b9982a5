//! The wallets of the devnet and their histories. Every time is relative to now.

use super::actors::address;
use super::life::{BASE, ETHEREUM, Life};
use super::tokens::{ALL, DAI, LINK, MOON, USDC, WBTC, WETH};

/// Cycles of supply, borrow, repay and withdraw that make the busy wallet's 3,000 events.
const BUSY_CYCLES: usize = 750;
/// The cycles of one day.
const BUSY_PER_DAY: usize = 10;

/// All wallets, in the order of the printed table.
pub fn all() -> Vec<Life> {
    let mut lives = savers();
    lives.extend(borrowers());
    lives.extend(liquidated());
    lives.extend(intertwined());
    lives.extend(bystanders());
    lives.extend(tireless());
    lives.extend(ordinary());
    lives
}

fn savers() -> Vec<Life> {
    let mut saver = Life::new("saver", "Supplies stablecoins every half year, has never borrowed");
    saver = saver.arrives(1_450.0, 2.0, &[(USDC, 60_000.0), (DAI, 20_000.0)]);
    for half_year in 0..7 {
        saver = saver.supplies(1_440.0 - f64::from(half_year) * 182.0, USDC, 5_000.0);
    }
    saver = saver.supplies(700.0, DAI, 10_000.0).withdraws(150.0, USDC, 2_500.0);
    let whale = Life::new("whale", "Twenty million in collateral, three million in debt, on both chains")
        .arrives(1_400.0, 500.0, &[(WETH, 6_000.0), (WBTC, 200.0), (DAI, 500_000.0)])
        .supplies(1_399.0, WETH, 5_000.0)
        .supplies(1_300.0, WBTC, 150.0)
        .borrows(1_250.0, DAI, 2_000_000.0)
        .repays(800.0, DAI, 500_000.0)
        .borrows(500.0, DAI, 1_500_000.0)
        .repays(200.0, DAI, 250_000.0)
        .on(BASE)
        .arrives(700.0, 100.0, &[(WETH, 2_000.0)])
        .supplies(699.0, WETH, 1_500.0);
    let farmer =
        Life::new("farmer", "Supplies two stablecoins, borrows one against the other, pays back and leaves again")
            .arrives(1_000.0, 1.0, &[(USDC, 40_000.0), (DAI, 15_000.0)])
            .supplies(990.0, USDC, 30_000.0)
            .borrows(980.0, DAI, 12_000.0)
            .repays(760.0, DAI, ALL)
            .supplies(750.0, DAI, 10_000.0)
            .borrows(500.0, USDC, 5_000.0)
            .repays(260.0, USDC, ALL)
            .withdraws(250.0, DAI, ALL);
    vec![saver, whale, farmer]
}

fn borrowers() -> Vec<Life> {
    let mut borrower = Life::new("borrower", "Borrows every quarter against ether and always pays back");
    borrower = borrower.arrives(1_300.0, 3.0, &[(WETH, 25.0), (USDC, 10_000.0)]).supplies(1_295.0, WETH, 20.0);
    for quarter in 0..13 {
        let day = 1_280.0 - f64::from(quarter) * 91.0;
        borrower = borrower.borrows(day, USDC, 4_000.0).repays(day - 30.0, USDC, 2_000.0).repays(day - 70.0, USDC, ALL);
    }
    vec![
        borrower,
        Life::new("long-debtor", "Has owed the same loan for more than three years without a payment")
            .arrives(1_350.0, 1.0, &[(WETH, 12.0)])
            .supplies(1_340.0, WETH, 10.0)
            .borrows(1_330.0, USDC, 6_000.0),
        Life::new("leveraged", "Supplies what the borrowed money bought, three times over")
            .arrives(420.0, 1.0, &[(WETH, 25.0)])
            .supplies(380.0, WETH, 10.0)
            .borrows(379.0, USDC, 12_000.0)
            .supplies(378.0, WETH, 6.0)
            .borrows(377.0, USDC, 7_000.0)
            .supplies(376.0, WETH, 3.5)
            .borrows(375.0, USDC, 4_000.0),
        Life::new("atoken-repayer", "Borrows what it has supplied and repays with the receipt tokens")
            .arrives(650.0, 1.0, &[(DAI, 20_000.0)])
            .supplies(640.0, DAI, 20_000.0)
            .borrows(630.0, DAI, 8_000.0)
            .repays_with_a_tokens(500.0, DAI, 3_000.0)
            .repays_with_a_tokens(300.0, DAI, ALL),
        Life::new("leaver", "Came, borrowed, paid back, withdrew everything and has not been seen for two years")
            .arrives(1_150.0, 1.0, &[(WETH, 8.0), (USDC, 1_000.0)])
            .supplies(1_140.0, WETH, 8.0)
            .borrows(1_130.0, USDC, 5_000.0)
            .repays(900.0, USDC, ALL)
            .withdraws(730.0, WETH, ALL),
        Life::new("collector", "Four kinds of collateral, two kinds of debt")
            .arrives(880.0, 2.0, &[(WETH, 10.0), (USDC, 10_000.0), (WBTC, 1.0), (DAI, 10_000.0)])
            .supplies(870.0, WETH, 5.0)
            .supplies(868.0, USDC, 5_000.0)
            .supplies(866.0, WBTC, 0.5)
            .supplies(864.0, DAI, 5_000.0)
            .borrows(600.0, USDC, 7_000.0)
            .borrows(590.0, DAI, 6_000.0)
            .repays(450.0, USDC, 3_500.0)
            .repays(350.0, DAI, 3_000.0),
    ]
}

/// Ten ether against 12,000 dollars: a fall to 1,400 leaves the health factor just below one.
fn at_risk(name: &'static str, description: &'static str, chain: u64, days: f64) -> Life {
    Life::new(name, description)
        .on(chain)
        .arrives(days, 1.0, &[(WETH, 12.0), (USDC, 5_000.0)])
        .supplies(days - 5.0, WETH, 10.0)
        .borrows(days - 10.0, USDC, 12_000.0)
}

fn liquidated() -> Vec<Life> {
    // Both have the same days, amounts and calls, and after the Equalise step the same tokens. When the price falls,
    // both can be liquidated, but only one is.
    let twin = |name, description| {
        at_risk(name, description, ETHEREUM, 800.0)
            .repays(700.0, USDC, 2_000.0)
            .borrows(650.0, USDC, 2_000.0)
            .repays(300.0, USDC, ALL)
            .withdraws(290.0, WETH, ALL)
            .supplies(200.0, WETH, 5.0)
            .borrows(190.0, USDC, 2_000.0)
            .repays(60.0, USDC, 1_000.0)
    };
    let mut serial =
        at_risk("liquidated-serially", "Liquidated four times, borrowing as much again after each", ETHEREUM, 950.0);
    serial = serial.receives(950.0, 0.0, &[(WETH, 10.0)]);
    for day in [880.0, 580.0, 380.0] {
        serial = serial.supplies(day, WETH, 2.25).borrows(day - 1.0, USDC, 3_000.0);
    }
    vec![
        twin("liquidated", "Liquidated once, a good year ago; otherwise exactly like its twin"),
        twin(
            "liquidated-twin",
            "As liquidatable in the same hour, and nobody came; otherwise exactly like the liquidated one",
        ),
        at_risk("liquidated-long-ago", "Liquidated more than three years ago, flawless since", ETHEREUM, 1_380.0)
            .repays(1_100.0, USDC, ALL)
            .borrows(800.0, USDC, 2_000.0)
            .repays(500.0, USDC, ALL)
            .borrows(400.0, USDC, 2_000.0)
            .repays(50.0, USDC, ALL),
        at_risk("liquidated-recently", "Liquidated less than two weeks ago", ETHEREUM, 700.0),
        serial,
        at_risk("liquidated-on-base", "Liquidated once, on chain 8453", BASE, 500.0).repays(200.0, USDC, ALL),
    ]
}

fn intertwined() -> Vec<Life> {
    vec![
        Life::new("sponsor", "Supplies on behalf of another")
            .arrives(560.0, 2.0, &[(USDC, 30_000.0)])
            .supplies(550.0, USDC, 5_000.0)
            .supplies_for(540.0, address("beneficiary"), USDC, 10_000.0)
            .supplies_for(340.0, address("beneficiary"), USDC, 5_000.0),
        Life::new("beneficiary", "Others have supplied for it; it has never sent a transaction"),
        Life::new("delegator", "Lets another borrow against its collateral, and so owns the debt")
            .arrives(620.0, 1.0, &[(WBTC, 1.0)])
            .supplies(610.0, WBTC, 1.0)
            .delegates(605.0, address("delegate"), DAI, 15_000.0),
        Life::new("delegate", "Borrowed at another's risk; the debt is not its own")
            .receives(604.0, 0.5, &[])
            .borrows_for(603.0, address("delegator"), DAI, 10_000.0)
            .approves(602.0, DAI)
            .repays_for(403.0, address("delegator"), DAI, 4_000.0),
        Life::new("helped", "Its debt was paid by another")
            .arrives(520.0, 1.0, &[(WETH, 3.0)])
            .supplies(510.0, WETH, 3.0)
            .borrows(505.0, USDC, 2_500.0),
        Life::new("helper", "Paid another's debt, has none of its own")
            .arrives(320.0, 1.0, &[(USDC, 10_000.0)])
            .repays_for(310.0, address("helped"), USDC, 2_000.0),
    ]
}

fn bystanders() -> Vec<Life> {
    let mut spender =
        Life::new("spender", "Pays many people in ether, has never lent or borrowed").receives(1_000.0, 20.0, &[]);
    for (i, payee) in ["saver", "borrower", "holder", "helper", "farmer", "newcomer", "bot", "leaver"]
        .into_iter()
        .cycle()
        .take(40)
        .enumerate()
    {
        spender = spender.sends(990.0 - 20.0 * i as f64, address(payee), 0.05);
    }
    vec![
        Life::new("newcomer", "Five days old, one small supply")
            .arrives(5.0, 0.3, &[(USDC, 500.0)])
            .supplies(4.0, USDC, 300.0),
        Life::new("empty", "Has never done anything, owns nothing"),
        Life::new("holder", "Owns tokens, one without a price, and has never lent")
            .receives(1_100.0, 1.5, &[(USDC, 2_500.0), (WBTC, 0.25), (LINK, 300.0), (MOON, 1_000_000.0)])
            .transfers(900.0, address("receiver"), LINK, 10.0)
            .transfers(100.0, address("receiver"), USDC, 100.0),
        Life::new("receiver", "Has only ever been paid").receives(850.0, 1.0, &[(DAI, 50.0)]),
        spender,
        Life::new("dormant", "Was busy four years ago and has been silent since")
            .arrives(1_480.0, 0.8, &[(DAI, 3_000.0)])
            .supplies(1_470.0, DAI, 2_000.0)
            .borrows(1_465.0, USDC, 500.0)
            .approves(1_461.0, USDC)
            .repays(1_460.0, USDC, 400.0),
    ]
}

fn tireless() -> Vec<Life> {
    let mut busy = Life::new("busy", "Three thousand lending events");
    busy = busy.arrives(1_200.0, 5.0, &[(WETH, 50.0), (USDC, 100_000.0)]).supplies(1_190.0, WETH, 30.0);
    for cycle in 0..BUSY_CYCLES {
        let day = 1_180.0 - 10.0 * (cycle / BUSY_PER_DAY) as f64;
        busy = busy
            .supplies(day, USDC, 1_000.0)
            .borrows(day, USDC, 500.0)
            .repays(day, USDC, 500.0)
            .withdraws(day, USDC, 900.0);
    }
    let mut bot = Life::new("bot", "Two hundred transactions exactly six hours apart, on chain 8453").on(BASE);
    bot = bot.arrives(120.0, 1.0, &[(USDC, 20_000.0)]);
    for call in 0..100 {
        let day = 115.1 - 0.5 * f64::from(call);
        bot = bot.supplies(day, USDC, 100.0).withdraws(day - 0.25, USDC, 90.0);
    }
    vec![busy, bot]
}

fn ordinary() -> Vec<Life> {
    let plain = |name, description, chain, start: f64, ether: f64, loan: f64| {
        Life::new(name, description)
            .on(chain)
            .arrives(start, 1.0, &[(WETH, ether * 2.0), (USDC, loan)])
            .supplies(start - 10.0, WETH, ether)
            .borrows(start - 20.0, USDC, loan)
            .repays(start / 2.0, USDC, loan / 2.0)
            .supplies(start / 3.0, WETH, ether / 2.0)
            .repays(start / 4.0, USDC, ALL)
            .borrows(start / 5.0, USDC, loan / 2.0)
    };
    vec![
        plain("mainnet-only", "An ordinary borrower known on chain 1 alone", ETHEREUM, 770.0, 4.0, 3_000.0),
        plain("base-only", "An ordinary borrower known on chain 8453 alone", BASE, 640.0, 4.0, 3_000.0),
        plain("both-chains", "Borrows on chain 1, borrowed and left on chain 8453", ETHEREUM, 830.0, 6.0, 5_000.0)
            .on(BASE)
            .arrives(410.0, 0.5, &[(DAI, 8_000.0), (USDC, 100.0)])
            .supplies(405.0, DAI, 8_000.0)
            .borrows(404.0, USDC, 2_000.0)
            .repays(204.0, USDC, ALL)
            .withdraws(203.0, DAI, ALL),
        plain("ordinary-one", "An ordinary borrower of three years", ETHEREUM, 1_120.0, 2.0, 1_500.0),
        plain("ordinary-two", "An ordinary borrower of two years", ETHEREUM, 740.0, 1.0, 800.0),
        plain("ordinary-three", "An ordinary borrower of one year", ETHEREUM, 360.0, 3.0, 2_000.0),
        plain("ordinary-four", "An ordinary borrower of half a year, on chain 8453", BASE, 180.0, 2.0, 1_000.0),
    ]
}
