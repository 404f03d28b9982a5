//! Fees for a unit of gas, in wei, of new transactions and of the replacements of stuck ones: never above the ceiling,
//! and high enough in a replacement that every node accepts it.

/// The fees of recent blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeeMarket {
    /// Base fee of the next block.
    pub base: u64,
    /// Median priority fee.
    pub tip: u64,
}

/// The fees in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    pub max_fee: u64,
    pub priority_fee: u64,
}

/// The lowest priority fee that is offered: what the sequencers of rollups require.
const LEAST_TIP: u64 = 1_000_000;

impl FeeMarket {
    /// For a new transaction: twice the base fee, which covers its rise over six full blocks. `None` while the base fee
    /// is at `ceiling` or above.
    pub fn offer(self, ceiling: u64) -> Option<Offer> {
        let tip = self.tip.max(LEAST_TIP);
        let max_fee = self.base.saturating_mul(2).saturating_add(tip).min(ceiling);
        (max_fee > self.base).then(|| Offer { max_fee, priority_fee: tip.min(max_fee) })
    }

    /// The price of a unit of gas in the next block.
    pub fn price(self) -> u64 {
        self.base.saturating_add(self.tip.max(LEAST_TIP))
    }

    /// Whether a transaction with `offer` is mined at this price: after the base fee, its tip is at least the usual
    /// one.
    pub fn is_met_by(self, offer: Offer) -> bool {
        let tip = offer.max_fee.checked_sub(self.base).map(|room| room.min(offer.priority_fee));
        tip.is_some_and(|tip| tip >= self.tip.max(LEAST_TIP))
    }

    /// Whether `offer` is more than three times what a new transaction offers.
    pub fn is_far_below(self, offer: Offer) -> bool {
        let far = |fee: u64, fresh: u64| fee > fresh.saturating_mul(3);
        self.offer(u64::MAX)
            .is_some_and(|fresh| far(offer.max_fee, fresh.max_fee) || far(offer.priority_fee, fresh.priority_fee))
    }

    /// For a replacement of `last`: both fees a quarter higher, or those of a new transaction if they are higher.
    /// `None` if `ceiling` is below the eighth more that nodes require of a replacement.
    pub fn replacement(self, last: Offer, ceiling: u64) -> Option<Offer> {
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
        let market = FeeMarket { base: 10 * GWEI, tip: GWEI };
        assert_eq!(market.offer(100 * GWEI), Some(Offer { max_fee: 21 * GWEI, priority_fee: GWEI }));
        assert_eq!(market.offer(12 * GWEI), Some(Offer { max_fee: 12 * GWEI, priority_fee: GWEI }));
        assert_eq!(market.offer(10 * GWEI), None);
        assert_eq!(
            FeeMarket { base: 0, tip: 0 }.offer(GWEI),
            Some(Offer { max_fee: LEAST_TIP, priority_fee: LEAST_TIP })
        );
        assert_eq!(FeeMarket { base: u64::MAX, tip: u64::MAX }.offer(u64::MAX), None);
    }

    #[test]
    fn a_replacement_is_at_least_an_eighth_more_or_none() {
        let market = FeeMarket { base: GWEI, tip: 1 };
        for last in [1, 7, 8, 1_000, 3 * GWEI].map(|fee| Offer { max_fee: fee, priority_fee: fee.div_ceil(2) }) {
            let next = market.replacement(last, 1_000 * GWEI).unwrap();
            assert!(
                next.max_fee * 8 >= last.max_fee * 9 && next.priority_fee * 8 >= last.priority_fee * 9,
                "{last:?} {next:?}"
            );
            assert!(next.priority_fee <= next.max_fee);
        }
        let last = Offer { max_fee: 100 * GWEI, priority_fee: GWEI };
        assert_eq!(market.replacement(last, 110 * GWEI), None);
        assert_eq!(
            market.replacement(last, 113 * GWEI),
            Some(Offer { max_fee: 113 * GWEI, priority_fee: GWEI + GWEI / 4 })
        );
        // If the base fee has risen far above the last offer, one replacement reaches it.
        let spiked = FeeMarket { base: 400 * GWEI, tip: 1 };
        assert!(spiked.replacement(last, 1_000 * GWEI).is_some_and(|offer| offer.max_fee > 800 * GWEI));
    }

    #[test]
    fn a_price_asks_for_more_only_where_an_offer_is_below_it() {
        let market = FeeMarket { base: 10 * GWEI, tip: GWEI };
        let fresh = market.offer(100 * GWEI).unwrap();
        assert!(market.is_met_by(fresh) && !market.is_far_below(fresh));
        assert!(FeeMarket { base: 20 * GWEI, ..market }.is_met_by(fresh));
        assert!(!FeeMarket { base: 20 * GWEI + 1, ..market }.is_met_by(fresh));
        assert!(!FeeMarket { tip: GWEI + 1, ..market }.is_met_by(fresh));
        assert!(!FeeMarket { base: u64::MAX, ..market }.is_met_by(fresh));
        assert!(FeeMarket { base: 10 * GWEI, tip: GWEI / 4 }.is_far_below(fresh));
        assert!(FeeMarket { base: GWEI, tip: GWEI }.is_far_below(fresh));
    }

    #[test]
    fn replacing_ends_at_the_ceiling() {
        let market = FeeMarket { base: GWEI, tip: GWEI };
        let mut last = market.offer(50 * GWEI);
        let mut steps = 0;
        while let Some(offer) = last {
            assert!(offer.max_fee <= 50 * GWEI);
            last = market.replacement(offer, 50 * GWEI);
            steps += 1;
        }
        assert!(steps > 3 && steps < 40, "{steps}");
    }
}
