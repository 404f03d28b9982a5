//! From a figure to points: straight lines over the logarithm of the figure, so that each doubling counts alike.

/// Corners `(figure, points)`, both rising, starting implicitly at `(0, 0)`. Past the last corner the points stay.
pub struct Curve(pub &'static [(f64, f64)]);

impl Curve {
    /// Points of a figure that is finite and not negative. Never falls as the figure rises.
    #[inline]
    pub fn at(&self, figure: f64) -> f64 {
        let mut low = (0.0, 0.0);
        for &high in self.0 {
            if figure < high.0 {
                // One is added to every figure, so that zero has a logarithm.
                let share = libm::log((1.0 + figure) / (1.0 + low.0)) / libm::log((1.0 + high.0) / (1.0 + low.0));
                return low.1 + (high.1 - low.1) * share.clamp(0.0, 1.0);
            }
            low = high;
        }
        low.1
    }
}

/// 1 for something that happened now, half of that after `half` days, a quarter after three times as many: it fades and
/// never ends.
#[inline]
pub fn faded(days: f64, half: f64) -> f64 {
    half / (half + days)
}

/// To the nearest whole point, halves up. Points stay far below the range of `i32`.
#[inline]
pub fn whole(points: f64) -> i32 {
    (points + 0.5).floor() as i32
}
