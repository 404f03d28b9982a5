//! Dollar amounts in responses.

use std::iter::Sum;

use serde::{Serialize, Serializer};

/// An amount in US dollars. It is rounded to the cent only when it is written, so sums add unrounded amounts.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usd(pub f64);

impl Usd {
    /// Rounds to the cent; 0 if the amount is not finite.
    pub fn cents(self) -> f64 {
        if !self.0.is_finite() {
            return 0.0;
        }
        let cents = self.0 * 100.0;
        // A larger f64 cannot represent cents, and the multiplication may overflow.
        let rounded = if cents.abs() < 9e15 { cents.round() / 100.0 } else { self.0 };
        // Write zero without a sign.
        rounded + 0.0
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        Self(amounts.map(|amount| amount.0).filter(|amount| amount.is_finite()).fold(0.0, |sum, amount| sum + amount))
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.cents())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_written_to_the_cent() {
        let shown = |usd| serde_json::to_string(&Usd(usd)).unwrap();
        assert_eq!(shown(125_000.501), "125000.5");
        assert_eq!(shown(0.005), "0.01");
        assert_eq!(shown(-0.001), "0.0");
        assert_eq!(shown(f64::NAN), "0.0");
        assert_eq!(shown(f64::INFINITY), "0.0");
        assert_eq!(shown(1e300), "1e+300");
    }
}
