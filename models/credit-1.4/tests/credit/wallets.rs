//! Whole wallets, built by hand and drawn from a seed.

use credit_1_4::types::{
    ChainFeatures, Coverage, Dollars, EventKind, Exposure, ExposureClass, Features, LendingEvent, MarketFeatures,
    Position,
};

pub const AS_OF: u64 = 1_750_000_000;
pub const DAY: u64 = 86_400;

/// SplitMix64: the same wallets on every machine.
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// As many values between 1 and 10 as between 10 and 100.
    pub fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.share())
    }

    pub fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    fn coverage(&mut self) -> Coverage {
        use Coverage::{Complete, Failed, Partial, Pending};
        self.of(&[Complete, Complete, Complete, Complete, Complete, Partial, Pending, Failed])
    }
}

/// A market without any event, read whole.
pub fn market(protocol: &str) -> MarketFeatures {
    MarketFeatures {
        chain_id: 1,
        protocol: protocol.into(),
        market: None,
        coverage: Coverage::Complete,
        feeds_score: true,
        supply: Some(0),
        withdraw: Some(0),
        borrow: Some(0),
        repay: Some(0),
        liquidation: Some(0),
        first_event: None,
        last_event: None,
        last_liquidation: None,
        supplied_usd: 0.0,
        borrowed_usd: 0.0,
        events_coverage: Coverage::Complete,
        events: vec![],
        dollars: Dollars {
            supply: Some(0.0),
            withdraw: Some(0.0),
            borrow: Some(0.0),
            repay: Some(0.0),
            liquidation: Some(0.0),
        },
        liquidation_days: Some(0),
        position: Some(free()),
    }
}

/// A position without debt.
pub fn free() -> Position {
    Position {
        coverage: Coverage::Complete,
        collateral: vec![],
        debt: vec![],
        liquidation_threshold: None,
        health_factor: None,
        utilisation: None,
    }
}

/// As the host describes a position that it could not read.
pub fn failed() -> Position {
    Position { coverage: Coverage::Failed, ..free() }
}

/// Ether against dollars.
pub const PLAIN: (ExposureClass, ExposureClass) = (ExposureClass::Native, ExposureClass::Stablecoin);

impl Owes for MarketFeatures {}

/// Changes of a market that keep its figures consistent.
pub trait Owes: Into<MarketFeatures> {
    /// Owes `usd` at this health factor.
    fn owes(self, usd: f64, factor: f64, threshold: f64, pair: (ExposureClass, ExposureClass)) -> MarketFeatures {
        let market = self.into();
        let supplied = usd * factor / threshold;
        let one = |class, usd| vec![Exposure { class, usd }];
        MarketFeatures {
            supply: market.supply.map(|count| count.max(1)),
            borrow: market.borrow.map(|count| count.max(1)),
            supplied_usd: supplied,
            borrowed_usd: usd,
            position: Some(Position {
                coverage: Coverage::Complete,
                collateral: one(pair.0, supplied),
                debt: one(pair.1, usd),
                liquidation_threshold: Some(threshold),
                health_factor: Some(factor),
                utilisation: Some(usd / supplied),
            }),
            ..market
        }
    }

    /// Deposited `usd`, and owes nothing.
    fn holds(self, usd: f64) -> MarketFeatures {
        let market = self.into();
        let collateral = vec![Exposure { class: ExposureClass::Native, usd }];
        MarketFeatures {
            supply: Some(1),
            first_event: market.first_event.or(Some(AS_OF - DAY)),
            supplied_usd: usd,
            position: Some(Position { collateral, liquidation_threshold: Some(0.8), ..free() }),
            ..market
        }
    }

    /// Borrowed `usd` this many days ago and repaid it `after` days, if that is not later than now.
    fn carried(self, usd: f64, days: f64, after: f64) -> MarketFeatures {
        let mut market = self.into();
        let at = |days: f64| AS_OF - (days * DAY as f64) as u64;
        let event = |kind, days| LendingEvent { time: at(days), kind, usd: Some(usd), class: None };
        if after < days {
            market.repay = Some(market.repay.unwrap_or(0) + 1);
            market.events.push(event(EventKind::Repay, days - after));
        }
        market.events.push(event(EventKind::Borrow, days));
        let (supply, borrow) = (market.supply.unwrap_or(0).max(1), market.borrow.unwrap_or(0) + 1);
        MarketFeatures { supply: Some(supply), borrow: Some(borrow), first_event: Some(at(days)), ..market }
    }

    /// Liquidated this often, the last time so many days ago.
    fn liquidated(self, times: u64, days: f64) -> MarketFeatures {
        let market = self.into();
        let last = AS_OF - (days * DAY as f64) as u64;
        let first_event = market.first_event.map_or(last, |first| first.min(last));
        MarketFeatures {
            supply: Some(1),
            borrow: market.borrow.map(|count| count.max(1)),
            liquidation: Some(times),
            last_liquidation: Some(last),
            first_event: Some(first_event),
            ..market
        }
    }
}

/// A wallet with these markets on one chain that was read whole.
pub fn wallet(markets: Vec<MarketFeatures>) -> Features {
    let mut features = Features { as_of: AS_OF, chains: vec![chain(1)], markets, holdings: vec![], identity: vec![] };
    total(&mut features);
    features
}

fn chain(chain_id: u64) -> ChainFeatures {
    ChainFeatures {
        chain_id,
        coverage: Coverage::Complete,
        first_transaction: Some(AS_OF - 1_000 * DAY),
        last_transaction: Some(AS_OF - DAY),
        transactions: 100,
        transfers: None,
        counterparties: None,
        active_days: None,
        active_hours: None,
        median_gap: None,
        assets_usd: 0.0,
        supplied_usd: 0.0,
        borrowed_usd: 0.0,
    }
}

/// The sums of each chain are those of its markets.
pub fn total(features: &mut Features) {
    for chain in &mut features.chains {
        let of_chain = || features.markets.iter().filter(|market| market.chain_id == chain.chain_id);
        chain.supplied_usd = of_chain().map(|market| market.supplied_usd).sum();
        chain.borrowed_usd = of_chain().map(|market| market.borrowed_usd).sum();
    }
}

/// A wallet of one to four markets on two chains, in any state of coverage.
pub fn drawn(draw: &mut Draw) -> Features {
    let markets = (0..1 + draw.below(4)).map(|_| drawn_market(draw)).collect();
    let chains = [1, 10].map(|id| ChainFeatures { coverage: draw.coverage(), ..chain(id) }).to_vec();
    let mut features = Features { as_of: AS_OF, chains, markets, holdings: vec![], identity: vec![] };
    total(&mut features);
    // Some debt is of no market that the host reads.
    if draw.chance(0.1) {
        features.chains[0].borrowed_usd += draw.log(1.0, 1e6);
        features.chains[0].supplied_usd += draw.log(1.0, 1e7);
    }
    features
}

fn class(draw: &mut Draw) -> ExposureClass {
    use ExposureClass::{Bitcoin, Native, Other, Stablecoin};
    draw.of(&[Stablecoin, Native, Bitcoin, Other])
}

fn drawn_market(draw: &mut Draw) -> MarketFeatures {
    let mut found = market(draw.of(&["lenderA_v3", "lenderA_v2", "lenderB_v2", "maker"]));
    found.chain_id = draw.of(&[1, 10]);
    for _ in 0..draw.below(3) {
        let days = draw.log(0.01, 2_000.0);
        let after = draw.log(0.001, 2_000.0);
        found = found.carried(draw.log(1.0, 1e6), days, after);
    }
    found.events.sort_by_key(|event| std::cmp::Reverse(event.time));
    if draw.chance(0.4) {
        found = found.liquidated(1 + draw.below(25) as u64, draw.log(0.01, 2_000.0));
    }
    found = match draw.below(4) {
        0 => found,
        1 => found.holds(draw.log(1.0, 1e7)),
        _ => {
            let (usd, factor, threshold) = (draw.log(0.5, 1e7), draw.log(0.7, 30.0), 0.4 + 0.55 * draw.share());
            let pair = (class(draw), class(draw));
            found.owes(usd, factor, threshold, pair)
        }
    };
    if let Some(position) = &mut found.position {
        match draw.below(12) {
            0 => position.coverage = Coverage::Failed,
            1 => (position.coverage, position.health_factor) = (Coverage::Partial, None),
            2 | 3 => found.position = None,
            _ => {}
        }
    }
    found.coverage = draw.coverage();
    found.events_coverage = found.coverage;
    if draw.chance(0.2) {
        (found.events_coverage, found.events) = (Coverage::Failed, vec![]);
    }
    if draw.chance(0.1) {
        found.last_liquidation = None;
    }
    found
}
