//! What is offered for a unit of gas, in wei: never more than the ceiling, and for a replacement enough that every node
//! takes it.

/// What the chain asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Market {
    /// Base fee of the next block.
    pub base: u64,
    /// What the median transaction of late paid on top.
    pub tip: u64,
}

/// What a transaction offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    pub max_fee: u64,
    pub priority_fee: u64,
}

/// The least that is offered on top of the base fee: what the sequencers of rollups ask for.
const LEAST_TIP: u64 = 1_000_000;

impl Market {
    /// For a new transaction: twice the base fee, which then may rise for six full blocks. `None` while the chain asks
    /// for more than `ceiling`.
    pub fn offer(self, ceiling: u64) -> Option<Offer> {
        let tip = self.tip.max(LEAST_TIP);
        let max_fee = self.base.saturating_mul(2).saturating_add(tip).min(ceiling);
        (max_fee > self.base).then(|| Offer { max_fee, priority_fee: tip.min(max_fee) })
    }

    /// In place of `last`: a quarter more of both, or what a new transaction would offer where that is more. `None`
    /// where `ceiling` does not leave room for the eighth more that nodes ask of a replacement.
    pub fn instead(self, last: Offer, ceiling: u64) -> Option<Offer> {
        let more = |fee: u64| fee.saturating_add(fee.div_ceil(4)).max(1);
        let least = |fee: u64| fee.saturating_add(fee.div_ceil(8)).max(1);
        let fresh = self.offer(ceiling);
        let max_fee = more(last.max_fee).max(fresh.map_or(0, |offer| offer.max_fee)).min(ceiling);
        let priority_fee = more(last.priority_fee).max(fresh.map_or(0, |offer| offer.priority_fee)).min(max_fee);
        (max_fee >= least(last.max_fee) && priority_fee >= least(last.priority_fee))
            .then_some(Offer { max_fee, priority_fee })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GWEI: u64 = 1_000_000_000;

    #[test]
    fn an_offer_has_room_and_keeps_to_the_ceiling() {
        let market = Market { base: 10 * GWEI, tip: GWEI };
        assert_eq!(market.offer(100 * GWEI), Some(Offer { max_fee: 21 * GWEI, priority_fee: GWEI }));
        assert_eq!(market.offer(12 * GWEI), Some(Offer { max_fee: 12 * GWEI, priority_fee: GWEI }));
        assert_eq!(market.offer(10 * GWEI), None);
        assert_eq!(Market { base: 0, tip: 0 }.offer(GWEI), Some(Offer { max_fee: LEAST_TIP, priority_fee: LEAST_TIP }));
        assert_eq!(Market { base: u64::MAX, tip: u64::MAX }.offer(u64::MAX), None);
    }

    #[test]
    fn a_replacement_is_at_least_an_eighth_more_or_none() {
        let market = Market { base: GWEI, tip: 1 };
        for last in [1, 7, 8, 1_000, 3 * GWEI].map(|fee| Offer { max_fee: fee, priority_fee: fee.div_ceil(2) }) {
            let next = market.instead(last, 1_000 * GWEI).unwrap();
            assert!(
                next.max_fee * 8 >= last.max_fee * 9 && next.priority_fee * 8 >= last.priority_fee * 9,
                "{last:?} {next:?}"
            );
            assert!(next.priority_fee <= next.max_fee);
        }
        let last = Offer { max_fee: 100 * GWEI, priority_fee: GWEI };
        assert_eq!(market.instead(last, 110 * GWEI), None);
        assert_eq!(
            market.instead(last, 113 * GWEI),
            Some(Offer { max_fee: 113 * GWEI, priority_fee: GWEI + GWEI / 4 })
        );
        // A base fee that has run away is followed in one step.
        let spiked = Market { base: 400 * GWEI, tip: 1 };
        assert!(spiked.instead(last, 1_000 * GWEI).is_some_and(|offer| offer.max_fee > 800 * GWEI));
    }

    #[test]
    fn replacing_ends_at_the_ceiling() {
        let market = Market { base: GWEI, tip: GWEI };
        let mut last = market.offer(50 * GWEI);
        let mut steps = 0;
        while let Some(offer) = last {
            assert!(offer.max_fee <= 50 * GWEI);
            last = market.instead(offer, 50 * GWEI);
            steps += 1;
        }
        assert!(steps > 3 && steps < 40, "{steps}");
    }
}
