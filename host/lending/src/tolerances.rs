//! Tolerances of the comparison of a history with a position: by how much they may differ.

use assay_domain::U256;

// Rounding, in the smallest unit of a token.
/// Each move is rounded to a scaled balance and back, an error of less than this many of the smallest units.
pub(crate) const MOVE_ROUNDING: u64 = 2;
/// Allows for rounding of the position itself, and for dust of the same size from gateways and vaults.
pub(crate) const POSITION_ROUNDING: u64 = 10;
/// Each change is rounded to a principal and back, an error of less than this many of the smallest units.
pub(crate) const COMET_CHANGE_ROUNDING: u64 = 4;
/// The market computes the supplied part from its rounded-down principal, which may differ by a few of the smallest
/// units. An amount of debt below this is rounding, not a borrowing or repayment.
pub(crate) const COMET_SPLIT_ROUNDING: U256 = U256::from_limbs([10, 0, 0, 0]);
/// Positions in a Comet market that are smaller than this are too rounded to show the index of interest.
pub(crate) const COMET_SMALL_POSITION: u64 = 1_000_000;

// Interest.
/// Upper bound of an index's yearly growth after the market was looked up: the steepest rate models charge 300% a year
/// at full utilisation.
pub(crate) const STEEPEST_RATE: f64 = 3.0;
/// Upper bound of the yearly growth of debt at a fixed rate, continuously compounded: its rate was the market's when
/// the debt began, and no market stays at full utilisation for years.
pub(crate) const FIXED_RATE: f64 = 1.0;
