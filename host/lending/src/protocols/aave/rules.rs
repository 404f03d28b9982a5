//! By which rules a pool liquidates: the threshold of each reserve, the categories of e-mode, and isolation.

use alloy::{primitives::Bytes, sol};

use super::Version;
use assay_domain::{Address, LendingMode, U256};
use assay_evm::{Call, returned};

sol! {
    function getReserveConfigurationData(address asset) external view returns (uint256 decimals, uint256 ltv,
        uint256 liquidationThreshold, uint256 liquidationBonus, uint256 reserveFactor, bool usageAsCollateralEnabled,
        bool borrowingEnabled, bool stableBorrowRateEnabled, bool isActive, bool isFrozen);
    /// Not zero for an asset that secures debt only in isolation.
    function getDebtCeiling(address asset) external view returns (uint256 ceiling);
    /// Before 3.2, in which an asset has one category.
    function getReserveEModeCategory(address asset) external view returns (uint256 category);
    /// Since 3.2, in which an asset may be in several: one bit for each reserve.
    function getEModeCategoryCollateralBitmap(uint8 id) external view returns (uint128 bitmap);
    #[derive(Debug)]
    struct EModeCategory {
        uint16 ltv; uint16 liquidationThreshold; uint16 liquidationBonus; address priceSource; string label;
    }
    function getEModeCategoryData(uint8 id) external view returns (EModeCategory category);
    function getUserEMode(address user) external view returns (uint256 category);
}

/// Categories are numbered from 1. A position in a later one has no thresholds by asset, unless it has one collateral.
const CATEGORIES: u8 = 32;
/// Basis points in a whole.
pub(super) const BASIS: f64 = 10_000.0;
/// The pool rounds the mean threshold down to a basis point, and the health factor with it.
const MEAN_ROUNDED: f64 = 1.01;
const FACTOR_ROUNDED: f64 = 0.001;

/// The rules for one reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ReserveRules {
    /// In basis points; `None` if unread.
    pub threshold: Option<u64>,
    category: Option<u8>,
    is_isolated: bool,
}

/// A category of e-mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Category {
    id: u8,
    threshold: u64,
    label: String,
    /// One bit for each reserve; `None` if each reserve names its category.
    reserves: Option<u128>,
}

/// What the pool states of an account, to compare with the sum of its assets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stated {
    pub threshold: Option<f64>,
    pub health_factor: Option<f64>,
}

impl ReserveRules {
    pub(super) fn calls(version: Version, data_provider: Address, asset: Address) -> Vec<Call> {
        let threshold = Call::new(data_provider, &getReserveConfigurationDataCall { asset });
        match version {
            Version::V2 => vec![threshold],
            Version::V3 => vec![
                threshold,
                Call::new(data_provider, &getDebtCeilingCall { asset }),
                Call::new(data_provider, &getReserveEModeCategoryCall { asset }),
            ],
        }
    }

    pub(super) fn read(answers: &[Option<Bytes>]) -> Self {
        let number = |number: U256| u64::try_from(number).ok();
        let threshold = returned::<getReserveConfigurationDataCall>(answers.first());
        Self {
            threshold: threshold.and_then(|data| number(data.liquidationThreshold)),
            is_isolated: returned::<getDebtCeilingCall>(answers.get(1)).is_some_and(|ceiling| !ceiling.is_zero()),
            category: returned::<getReserveEModeCategoryCall>(answers.get(2)).and_then(|id| u8::try_from(id).ok()),
        }
    }
}

impl Category {
    /// The calls for all categories of a pool.
    pub(super) fn calls(version: Version, pool: Address) -> Vec<Call> {
        let ids = 1..=if version == Version::V3 { CATEGORIES } else { 0 };
        let two = |id| {
            [
                Call::new(pool, &getEModeCategoryDataCall { id }),
                Call::new(pool, &getEModeCategoryCollateralBitmapCall { id }),
            ]
        };
        ids.flat_map(two).collect()
    }

    pub(super) fn read(answers: &[Option<Bytes>]) -> Vec<Self> {
        let category = |(id, answers): (u8, &[Option<Bytes>])| {
            let data = returned::<getEModeCategoryDataCall>(answers.first())?;
            let reserves = returned::<getEModeCategoryCollateralBitmapCall>(answers.get(1));
            let threshold = u64::from(data.liquidationThreshold);
            (threshold > 0).then_some(Self { id, threshold, label: data.label, reserves })
        };
        (1..).zip(answers.chunks(2)).filter_map(category).collect()
    }

    fn has(&self, place: usize, rules: &ReserveRules) -> bool {
        match self.reserves {
            Some(reserves) => {
                u32::try_from(place).ok().and_then(|place| reserves.checked_shr(place)).unwrap_or(0) & 1 == 1
            }
            None => rules.category == Some(self.id),
        }
    }

    /// The threshold of the reserve at `place` for a wallet in `category`, 0 to 1.
    pub(super) fn threshold(category: Option<&Self>, place: usize, rules: &ReserveRules) -> Option<f64> {
        let points = category.filter(|category| category.has(place, rules)).map(|category| category.threshold);
        Some(points.or(rules.threshold)? as f64 / BASIS)
    }

    /// The mode of a wallet in the category `chosen`, with deposits that secure debts in reserves with these rules.
    pub(super) fn mode(all: &[Self], chosen: u8, collateral: &[ReserveRules]) -> Option<LendingMode> {
        if chosen > 0 {
            let label = all.iter().find(|category| category.id == chosen).map(|category| category.label.clone());
            return Some(LendingMode::EMode { category: chosen, label });
        }
        matches!(collateral, [only] if only.is_isolated).then_some(LendingMode::Isolation)
    }

    pub(super) fn find(all: &[Self], id: u8) -> Option<&Self> {
        all.iter().find(|category| category.id == id)
    }
}

impl Stated {
    /// Whether these figures follow from assets with the mean threshold and the health factor given.
    pub(super) fn follows(&self, threshold: Option<f64>, health_factor: Option<f64>) -> bool {
        let is_near = |stated: Option<f64>, computed: Option<f64>, most: fn(f64) -> f64| match (stated, computed) {
            (Some(stated), Some(computed)) => (stated - computed).abs() <= most(stated),
            (stated, computed) => stated.is_none() && computed.is_none(),
        };
        is_near(self.threshold, threshold, |_| MEAN_ROUNDED / BASIS)
            && is_near(self.health_factor, health_factor, |stated| stated * FACTOR_ROUNDED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn category(id: u8, reserves: Option<u128>) -> Category {
        Category { id, threshold: 9_300, label: "ETH correlated".into(), reserves }
    }

    #[test]
    fn a_reserve_in_the_chosen_category_has_its_threshold() {
        let rules = |category| ReserveRules { threshold: Some(8_250), category, is_isolated: false };
        let by_reserve = category(1, None);
        assert_eq!(Category::threshold(Some(&by_reserve), 0, &rules(Some(1))), Some(0.93));
        assert_eq!(Category::threshold(Some(&by_reserve), 0, &rules(Some(2))), Some(0.825));
        assert_eq!(Category::threshold(None, 0, &rules(Some(1))), Some(0.825));
        let by_bits = category(1, Some(0b100));
        assert_eq!(
            [0, 2, 200].map(|at| Category::threshold(Some(&by_bits), at, &rules(None))),
            [0.825, 0.93, 0.825].map(Some)
        );
    }

    #[test]
    fn a_mode_is_the_category_or_one_isolated_collateral() {
        let all = [category(1, None)];
        let isolated = ReserveRules { is_isolated: true, ..ReserveRules::default() };
        let label = Some("ETH correlated".to_owned());
        assert_eq!(Category::mode(&all, 1, &[isolated]), Some(LendingMode::EMode { category: 1, label }));
        assert_eq!(Category::mode(&all, 9, &[]), Some(LendingMode::EMode { category: 9, label: None }));
        assert_eq!(Category::mode(&all, 0, &[isolated]), Some(LendingMode::Isolation));
        for collateral in [&[][..], &[isolated, isolated], &[ReserveRules::default()]] {
            assert_eq!(Category::mode(&all, 0, collateral), None);
        }
    }

    #[test]
    fn figures_follow_within_the_rounding_of_the_pool() {
        let stated = Stated { threshold: Some(0.8123), health_factor: Some(1.5) };
        assert!(stated.follows(Some(0.81239), Some(1.5001)));
        assert!(!stated.follows(Some(0.8126), Some(1.5)) && !stated.follows(Some(0.8123), Some(1.51)));
        assert!(!stated.follows(None, Some(1.5)) && !stated.follows(Some(0.8123), None));
    }
}
