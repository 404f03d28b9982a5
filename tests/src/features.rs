//! Generated features: every shape that the model contract allows. A seed gives the same features on every machine.

use assay_domain::{
    AssetClass, Coverage, EventKind, ExposureClass, Protocol,
    features::{
        AttestationFeature, ChainFeatures, Dollars, Exposure, Features, Holding, LendingEvent, MarketFeatures,
        PositionFeatures,
    },
};

use crate::dice::Dice;

/// 2026-01-01, in the middle of ordinary times.
const NOW: u64 = 1_767_225_600;
const YEAR: u64 = 31_557_600;

/// Returns `n` feature sets. Most are ordinary wallets. Others are empty or unreadable, have more markets than fit into
/// one page of a guest's memory, or have extreme numbers in every field, including infinities and NaN.
pub fn generate(seed: u64, n: usize) -> Vec<Features> {
    let mut dice = Dice(seed);
    (0..n).map(|_| dice.features()).collect()
}

/// Like [`generate`], with the additions of `wit/v2`: events, dollars and positions. Some lenders are unknown.
pub fn generate_v2(seed: u64, n: usize) -> Vec<Features> {
    let (mut all, mut dice) = (generate(seed, n), Dice(!seed));
    for market in all.iter_mut().flat_map(|features| &mut features.markets) {
        if dice.chance(90) {
            *market = dice.detailed(market.clone());
        }
        if dice.chance(10) {
            market.protocol = "a lender of tomorrow".to_owned();
        }
    }
    all
}

impl Dice {
    fn features(&mut self) -> Features {
        let as_of = if self.chance(95) { NOW - self.below(2 * YEAR) } else { self.count() };
        let (chains, markets) = match self.below(100) {
            0 => (0, 0),
            1 => (16, 300),
            2..12 => (12, 40),
            _ => (1 + self.below(5), self.below(9)),
        };
        let failed = self.chance(3);
        let mut features = Features {
            as_of,
            chains: self.list(chains, Self::chain),
            markets: self.list(markets, Self::market),
            holdings: self.holdings(),
            identity: Vec::new(),
        };
        let attestations = self.below(4);
        features.identity = self.list(attestations, Self::attestation);
        if failed {
            features.chains.iter_mut().for_each(|chain| chain.coverage = Coverage::Failed);
            features.markets.iter_mut().for_each(|market| market.coverage = Coverage::Failed);
        }
        features
    }

    /// Often a small number, sometimes ordinary, rarely any number.
    fn count(&mut self) -> u64 {
        match self.below(20) {
            0 => self.next(),
            1 => self.pick(&[0, 1, u64::MAX, 1 << 53, i64::MAX as u64]),
            2..11 => self.below(6),
            _ => self.below(3_000),
        }
    }

    fn small(&mut self) -> u32 {
        if self.chance(5) { self.next() as u32 } else { self.below(400) as u32 }
    }

    fn time(&mut self) -> u64 {
        if self.chance(4) { self.count() } else { NOW - self.below(9 * YEAR) }
    }

    /// Usually a log-uniform amount from a cent to ten million; sometimes zero, rarely extreme.
    fn usd(&mut self) -> f64 {
        match self.below(20) {
            0 => f64::from_bits(self.next()),
            1 => self.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -5.0, -0.0, 1e308, f64::MIN_POSITIVE]),
            2..6 => 0.0,
            _ => {
                let magnitude = [0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];
                self.pick(&magnitude) * (1.0 + self.below(9_000) as f64 / 1_000.0)
            }
        }
    }

    fn coverage(&mut self) -> Coverage {
        self.pick(&[
            Coverage::Complete,
            Coverage::Complete,
            Coverage::Complete,
            Coverage::Partial,
            Coverage::Pending,
            Coverage::Failed,
        ])
    }

    fn chain(&mut self) -> ChainFeatures {
        ChainFeatures {
            chain_id: self.pick(&[1, 10, 56, 137, 8453, 42161, u64::MAX]),
            coverage: self.coverage(),
            first_transaction: self.maybe(85, Self::time),
            last_transaction: self.maybe(85, Self::time),
            transactions: self.count(),
            transfers: self.maybe(60, Self::count),
            counterparties: self.maybe(60, Self::small),
            active_days: self.maybe(60, Self::small),
            active_hours: self.maybe(60, |dice| dice.below(26) as u32),
            median_gap: self.maybe(60, Self::count),
            assets_usd: self.usd(),
            supplied_usd: self.usd(),
            borrowed_usd: self.usd(),
        }
    }

    fn market(&mut self) -> MarketFeatures {
        let protocol = self.pick(&[Protocol::LenderAV2, Protocol::LenderAV3, Protocol::LenderBV2, Protocol::LenderBV3]);
        let names = ["Core", "cUSDCv3", "", "ein Märkt mit Umlauten und einem recht langen Namen"];
        MarketFeatures {
            chain_id: self.pick(&[1, 10, 137, 8453]),
            protocol: protocol.as_str().to_owned(),
            market: self.maybe(70, |dice| dice.pick(&names).to_owned()),
            coverage: self.coverage(),
            feeds_score: protocol.feeds_score() != self.chance(5),
            supply: self.maybe(85, Self::count),
            withdraw: self.maybe(85, Self::count),
            borrow: self.maybe(85, Self::count),
            repay: self.maybe(85, Self::count),
            liquidation: self.maybe(40, Self::count),
            first_event: self.maybe(80, Self::time),
            last_event: self.maybe(80, Self::time),
            last_liquidation: self.maybe(60, Self::time),
            supplied_usd: self.usd(),
            borrowed_usd: self.usd(),
            events_coverage: Coverage::Failed,
            events: Vec::new(),
            dollars: Dollars::default(),
            liquidation_days: None,
            position: None,
        }
    }

    fn detailed(&mut self, market: MarketFeatures) -> MarketFeatures {
        let events = self.below(4);
        MarketFeatures {
            events_coverage: self.coverage(),
            events: self.list(events, Self::event),
            dollars: Dollars {
                repay: self.maybe(50, Self::usd),
                borrow: self.maybe(50, Self::usd),
                ..Dollars::default()
            },
            liquidation_days: self.maybe(50, Self::small),
            position: self.maybe(80, Self::position),
            ..market
        }
    }

    fn event(&mut self) -> LendingEvent {
        LendingEvent {
            time: self.time(),
            kind: self.pick(&EventKind::ALL),
            usd: self.maybe(60, Self::usd),
            class: self.maybe(80, |dice| dice.pick(&ExposureClass::ALL)),
        }
    }

    fn position(&mut self) -> PositionFeatures {
        let (collateral, debt) = (self.below(3), self.below(3));
        PositionFeatures {
            coverage: self.coverage(),
            collateral: self.list(collateral, Self::exposure),
            debt: self.list(debt, Self::exposure),
            liquidation_threshold: self.maybe(60, |dice| dice.below(101) as f64 / 100.0),
            health_factor: self.maybe(60, Self::usd),
            utilisation: self.maybe(60, Self::usd),
        }
    }

    fn exposure(&mut self) -> Exposure {
        Exposure { class: self.pick(&ExposureClass::ALL), usd: self.usd() }
    }

    fn holdings(&mut self) -> Vec<Holding> {
        let classes = [
            AssetClass::Native,
            AssetClass::Stablecoin,
            AssetClass::Token,
            AssetClass::Wrapped,
            AssetClass::Liquidity,
            AssetClass::Collateral,
        ];
        classes
            .into_iter()
            .filter_map(|class| self.maybe(50, |dice| Holding { class, usd: dice.usd(), assets: dice.small() }))
            .collect()
    }

    fn attestation(&mut self) -> AttestationFeature {
        AttestationFeature {
            provider: self.pick(&["ens", "basename", "coinbase", "human-passport", "worldcoin", ""]).to_owned(),
            issued: self.maybe(70, Self::time),
            expires: self.maybe(50, Self::time),
            score: self.maybe(50, Self::usd),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::generate;

    #[test]
    fn a_seed_gives_the_same_features() {
        // NaN does not equal itself, so compare the texts.
        assert_eq!(format!("{:?}", generate(7, 50)), format!("{:?}", generate(7, 50)));
        assert_ne!(format!("{:?}", generate(7, 50)), format!("{:?}", generate(8, 50)));
    }
}
